//! The registry against real servers: what it says of a knob is what the server says, and what is drawn from the
//! search space starts and reads back as it was set.

use knobs::{
    ChangeMode, Configuration, Facts, Flavour, Identity, Kind, Knob, Live, LiveVariable, Machine,
    MemoryModel, Registry, Resolution, Selection, Tunable, Value, check_budget, relations, repair, tunable,
};
use server::fixture::{Running, servers};
use std::collections::BTreeMap;

/// How many configurations are drawn for each server; `TUNESMITH_DRAWS` sets another number, and
/// `TUNESMITH_DRAWS_SEED` draws others.
const DRAWS: u64 = 3;

/// Settings that every knob's default is compared under: none of the fixture's own may stand in the way.
const NO_SETTINGS: [(&str, &str); 0] = [];

#[tokio::test(flavor = "multi_thread")]
async fn every_record_agrees_with_the_server() {
    for binary in servers() {
        let running = Running::start(&binary, &NO_SETTINGS).await;
        let mut admin = running.admin().await;
        let identity = admin.identity().await.unwrap();
        let live = admin.variables().await.unwrap();
        let defaults = defaults(&mut admin, &identity, &live).await;
        let mut wrong = Vec::new();
        let mut seen = 0;
        for knob in Registry::builtin().iter() {
            let name = std::iter::once(&knob.name).chain(&knob.aliases).find(|name| live.contains_key(*name));
            match (Registry::builtin().resolve(&identity, &knob.name), name) {
                (Resolution::Present(_, facts), Some(name)) => {
                    seen += 1;
                    let default = defaults.get(name).map(String::as_str);
                    wrong.extend(disagreements(knob, facts, &live[name], default));
                    let dynamic = is_dynamic(&mut admin, &live[name], name).await;
                    if dynamic.is_some_and(|dynamic| dynamic != (facts.change == ChangeMode::Dynamic)) {
                        wrong.push(format!("{name}: dynamic is {dynamic:?}"));
                    }
                }
                (Resolution::Present(..), None) => wrong.push(format!("{}: the server has none", knob.name)),
                (_, Some(name)) => wrong.push(format!("{name}: the server has it")),
                (_, None) => {}
            }
        }
        assert!(wrong.is_empty(), "{identity}:\n{}", wrong.join("\n"));
        assert!(seen >= 110, "{identity}: only {seen} records apply");
        eprintln!("{identity}: {seen} records agree");
    }
}

/// Compiled defaults by name: MariaDB states them; on MySQL a value whose source is COMPILED is one.
async fn defaults(
    admin: &mut server::Admin,
    identity: &Identity,
    live: &BTreeMap<String, LiveVariable>,
) -> BTreeMap<String, String> {
    let sql = if identity.flavour == Flavour::MariaDb {
        "SELECT LOWER(variable_name) AS n, default_value AS v FROM information_schema.SYSTEM_VARIABLES"
    } else {
        "SELECT variable_name AS n, variable_source AS v FROM performance_schema.variables_info"
    };
    let told = admin.records(sql).await.unwrap_or_else(|e| panic!("{e}"));
    told.into_iter()
        .filter_map(|mut row| {
            let (name, text) = (row.remove("n")??, row.remove("v")??);
            match identity.flavour {
                Flavour::MariaDb => Some((name, text)),
                _ if text == "COMPILED" => Some((name.clone(), live.text(&name)?.to_owned())),
                _ => None,
            }
        })
        .collect()
}

/// Whether a running server lets the variable be changed. MySQL does not say, so it is asked to set the value
/// that it already has; `None` where that is refused for another reason.
async fn is_dynamic(admin: &mut server::Admin, variable: &LiveVariable, name: &str) -> Option<bool> {
    if let Some(read_only) = variable.read_only {
        return Some(!read_only);
    }
    match admin.execute(&format!("SET GLOBAL {name} = @@GLOBAL.{name}")).await {
        Ok(()) => Some(true),
        Err(e) => (e.server_code() == Some(1238)).then_some(false),
    }
}

fn disagreements(knob: &Knob, facts: &Facts, live: &LiveVariable, default: Option<&str>) -> Vec<String> {
    let mut wrong = Vec::new();
    let name = &live.name;
    if let (Some(ours), Some(theirs)) = (&facts.default, default) {
        match Value::parse_server(knob, theirs) {
            Ok(value) if value.same(ours) || both_unlimited(&value, ours) => {}
            Ok(value) => wrong.push(format!("{name}: default is {value}, not {ours}")),
            Err(e) => wrong.push(e.to_string()),
        }
    }
    if Value::parse_server(knob, &live.value).is_err() {
        wrong.push(format!("{name}: `{}` is not of its kind", live.value));
    }
    if matches!(knob.kind, Kind::Int | Kind::Float)
        && let Some((low, high)) = live.range()
    {
        // MySQL prints a fraction's bounds without the fraction.
        let near = |ours: f64, theirs: f64| ours == theirs || ours.trunc() == theirs;
        if facts.min.is_some_and(|ours| !near(ours, low)) {
            wrong.push(format!("{name}: least is {low}, not {:?}", facts.min));
        }
        match facts.max {
            Some(ours) if !near(ours, high) => wrong.push(format!("{name}: most is {high}, not {ours}")),
            None if high < 4e9 => wrong.push(format!("{name}: most is {high}, not unlimited")),
            _ => {}
        }
    }
    if knob.kind == Kind::Enum && !live.options.is_empty() {
        let (mut ours, mut theirs) = (facts.options.clone(), live.options.clone());
        ours.sort();
        theirs.sort();
        if ours != theirs {
            wrong.push(format!("{name}: options are {theirs:?}, not {ours:?}"));
        }
    }
    wrong
}

fn both_unlimited(a: &Value, b: &Value) -> bool {
    let unlimited = |value: &Value| value.as_f64().is_some_and(|x| x >= 9e18);
    unlimited(a) && unlimited(b)
}

#[tokio::test(flavor = "multi_thread")]
async fn every_draw_starts_and_reads_back_as_it_was_set() {
    let told = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let draws = told("TUNESMITH_DRAWS").unwrap_or(DRAWS);
    let seed = told("TUNESMITH_DRAWS_SEED").unwrap_or(7);
    for binary in servers() {
        let (identity, live, tunables) = {
            let running = Running::start(&binary, &NO_SETTINGS).await;
            let mut admin = running.admin().await;
            let identity = admin.identity().await.unwrap();
            let live = admin.variables().await.unwrap();
            let selection = Selection { data_bytes: Some(1 << 30), ..Selection::default() };
            let tunables = tunable(Registry::builtin(), &identity, &live, &machine(), &selection);
            (identity, live, tunables)
        };
        let rules = relations(&tunables, &identity, &live, &machine());
        let mut random = SplitMix(seed);
        for draw in 0..draws {
            let drawn: Configuration =
                tunables.iter().map(|t| (t.name.clone(), t.domain.at(t.knob, random.unit()))).collect();
            let configuration = repair(&tunables, &rules, &drawn);
            let model = MemoryModel::new(&identity, &live);
            check_budget(&model, &configuration, &machine()).unwrap();
            let settings: Vec<(String, String)> =
                configuration.iter().map(|(name, value)| (name.to_owned(), value.to_cnf())).collect();
            let settings: Vec<(&str, &str)> =
                settings.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            let running = Running::start(&binary, &settings).await;
            let read = running.admin().await.variables().await.unwrap();
            assert_read_back(&tunables, &configuration, &read, &format!("{identity}, draw {draw}"));
        }
        eprintln!("{identity}: {draws} configurations of {} knobs started as they were set", tunables.len());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_dynamic_draw_is_taken_without_a_word() {
    for binary in servers() {
        let running = Running::start(&binary, &NO_SETTINGS).await;
        let mut admin = running.admin().await;
        let identity = admin.identity().await.unwrap();
        let live = admin.variables().await.unwrap();
        let selection = Selection { dynamic_only: true, data_bytes: Some(1 << 30), ..Selection::default() };
        let tunables = tunable(Registry::builtin(), &identity, &live, &machine(), &selection);
        let rules = relations(&tunables, &identity, &live, &machine());
        let mut random = SplitMix(11);
        for draw in 0..DRAWS {
            let drawn: Configuration =
                tunables.iter().map(|t| (t.name.clone(), t.domain.at(t.knob, random.unit()))).collect();
            let configuration = repair(&tunables, &rules, &drawn);
            for (name, value) in in_order(&configuration, &admin.variables().await.unwrap()) {
                let warnings = admin.set_global(&name, &value).await.unwrap();
                let truncated = warnings.iter().any(|w| w.code == 1292);
                assert!(!truncated, "{identity}: {name} = {value}: {warnings:?}");
            }
            // A pool is resized in the background, which takes as long as the machine is busy.
            let mut read = admin.variables().await.unwrap();
            for _ in 0..3600 {
                if same(&tunables, &configuration, &read) {
                    break;
                }
                tokio::time::sleep(std::time::Duration::from_millis(50)).await;
                read = admin.variables().await.unwrap();
            }
            assert_read_back(&tunables, &configuration, &read, &format!("{identity}, dynamic draw {draw}"));
        }
    }
}

/// Raises the larger of an ordered pair first and lowers it last, so that no moment breaks the order.
fn in_order(configuration: &Configuration, live: &BTreeMap<String, LiveVariable>) -> Vec<(String, Value)> {
    let grows =
        |name: &str, value: &Value| live.text(name).and_then(|t| t.parse::<f64>().ok()) < value.as_f64();
    let larger = ["innodb_io_capacity_max", "innodb_max_dirty_pages_pct"];
    let mut ordered: Vec<(u8, String, Value)> = configuration
        .iter()
        .map(|(name, value)| {
            let place = match larger.contains(&name) {
                true if grows(name, value) => 0,
                true => 2,
                false => 1,
            };
            (place, name.to_owned(), value.clone())
        })
        .collect();
    ordered.sort_by_key(|(place, ..)| *place);
    ordered.into_iter().map(|(_, name, value)| (name, value)).collect()
}

fn same(tunables: &[Tunable], configuration: &Configuration, read: &BTreeMap<String, LiveVariable>) -> bool {
    tunables.iter().filter(|t| !t.knob.drifts).all(|t| {
        let wanted = &configuration.0[&t.name];
        Value::parse_server(t.knob, &read[&t.name].value).is_ok_and(|got| got.same(wanted))
    })
}

fn assert_read_back(
    tunables: &[Tunable],
    configuration: &Configuration,
    read: &BTreeMap<String, LiveVariable>,
    place: &str,
) {
    for t in tunables.iter().filter(|t| !t.knob.drifts) {
        let (wanted, got) = (&configuration.0[&t.name], &read[&t.name].value);
        let got = Value::parse_server(t.knob, got).unwrap_or_else(|e| panic!("{e}"));
        assert!(got.same(wanted), "{place}: {} was set to {wanted} and is {got} in {configuration}", t.name);
    }
}

/// A stated machine, so that the test draws the same everywhere; small enough for any host that runs tests.
fn machine() -> Machine {
    Machine { memory: Some(knobs::Bytes::gib(3)), cores: Some(2) }
}

/// A few lines of generator (SplitMix64, Steele and others 2014) spare this crate a dependency.
struct SplitMix(u64);

impl SplitMix {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}
