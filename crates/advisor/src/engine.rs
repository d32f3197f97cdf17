//! Runs the rules, and turns what they wish into recommendations that this server can take.

use crate::context::{Context, Draft, Wish};
use crate::finding::{Finding, MemoryFigures, Recommendation, Report, Severity, Window};
use crate::rules::RULES;
use crate::snapshot::Snapshot;
use knobs::{
    ChangeMode, Configuration, Facts, Knob, Live, Platform, Registry, Resolution, Support, Value,
    check_budget,
};
use std::collections::BTreeSet;

/// Version of the report's JSON.
pub(crate) const REPORT_SCHEMA: u32 = 1;

/// Advises on a snapshot. Pure: the same snapshot always gives the same report.
pub fn advise(snapshot: &Snapshot) -> Report {
    let context = Context::new(snapshot);
    let mut drafts: Vec<(&'static str, &'static [&'static str], Draft)> = Vec::new();
    for rule in RULES {
        if let Some(draft) = (rule.check)(&context) {
            drafts.push((rule.id, rule.suppresses, draft));
        }
    }
    // A rule that found something silences those that would only say the same from another side.
    let silenced: BTreeSet<&str> = drafts
        .iter()
        .filter(|(.., draft)| draft.finding.severity >= Severity::Notice)
        .flat_map(|(_, suppresses, _)| suppresses.iter().copied())
        .collect();
    drafts.retain(|(id, ..)| !silenced.contains(id));
    drafts.sort_by_key(|(.., draft)| std::cmp::Reverse(draft.finding.severity));

    let mut findings = Vec::new();
    let mut taken = BTreeSet::new();
    for (id, _, draft) in drafts {
        findings.extend(settle(&context, id, draft, &mut taken));
    }
    complete_pairs(&context, &mut findings, &mut taken);
    keep_budget(&context, &mut findings);
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));

    let mut report = Report {
        schema: REPORT_SCHEMA,
        identity: snapshot.identity.clone(),
        window: Window { seconds: context.window(), sampled: context.is_sampled() },
        memory: MemoryFigures {
            machine: snapshot.machine.memory.map(|memory| memory.0),
            now: context.model().estimate(&Configuration::new()),
            then: context.model().estimate(&Configuration::new()),
        },
        findings,
        missing: snapshot.missing.clone(),
    };
    report.memory.then = context.model().estimate(&report.configuration());
    report
}

/// One finding for each change a draft asks for; the draft alone when it asks for none that can be had.
fn settle(
    context: &Context<'_>,
    id: &'static str,
    draft: Draft,
    taken: &mut BTreeSet<String>,
) -> Vec<Finding> {
    let Draft { mut finding, wishes } = draft;
    finding.rule = id.to_owned();
    let asked = !wishes.is_empty();
    let mut settled: Vec<Finding> = Vec::new();
    let mut reason = None;
    for wish in wishes {
        match recommend(context, &wish, &finding.evidence) {
            Ok(recommendation) if taken.insert(recommendation.knob.clone()) => {
                settled.push(Finding { recommendation: Some(recommendation), ..finding.clone() });
            }
            // Another rule has already said what is best for this knob.
            Ok(_) => reason = reason.or(Some(None)),
            Err(why) => reason = reason.or(Some(why)),
        }
    }
    if settled.is_empty() {
        match reason {
            // What is wished is already so, or another finding carries the change: nothing is left to say.
            Some(None) if asked && finding.advice.is_none() => return Vec::new(),
            Some(Some(why)) => finding.advice = Some(why),
            _ => {}
        }
        settled.push(finding);
    }
    settled
}

/// A recommendation that this server can take. `Err(None)` when it already has the value, `Err(Some(text))` when
/// the platform does not allow it.
fn recommend(context: &Context<'_>, wish: &Wish, why: &str) -> Result<Recommendation, Option<String>> {
    let registry = Registry::builtin();
    let knob = registry.get(wish.knob).ok_or(None)?;
    let variables = &context.snapshot.variables;
    // The name from the live server; a knob that it does not have does not exist.
    let name = std::iter::once(&knob.name)
        .chain(&knob.aliases)
        .find(|name| variables.contains_key(*name))
        .ok_or(None)?;
    let facts = match registry.resolve(context.identity(), name) {
        Resolution::Present(_, facts) => Some(facts),
        _ => None,
    };
    let current = Value::parse_server(knob, &variables[name].value).map_err(|_| None)?;
    let value = fit(knob, facts, context, name, &wish.value);
    if value.same(&current) {
        return Err(None);
    }
    let (platform, support) = match context.identity().platform {
        Platform::Aurora => ("Aurora", knob.aurora),
        Platform::Rds => ("RDS", knob.rds),
        _ => ("", Support::Free),
    };
    match support {
        Support::Inert => return Err(Some(format!("{name} has no effect on {platform}"))),
        Support::Fixed => return Err(Some(format!("{platform} does not let {name} be changed"))),
        Support::Free | Support::Ask => {}
    }
    let restart = match variables[name].read_only {
        Some(read_only) => read_only,
        None => facts.is_none_or(|facts| facts.change == ChangeMode::Restart),
    };
    let rollback = if restart {
        format!("{name} = {}", current.to_cnf())
    } else {
        format!("SET GLOBAL {name} = {};", current.to_sql())
    };
    Ok(Recommendation {
        knob: name.clone(),
        why: format!("{why}; {} now", current.show(knob.unit)),
        effect: wish.effect.to_owned(),
        risk: knob.risk,
        restart,
        automatic: knob.risk.may_be_automatic() && !wish.by_hand,
        rollback,
        current,
        value,
    })
}

/// The value within the server's own range and on its grid.
fn fit(knob: &Knob, facts: Option<&Facts>, context: &Context<'_>, name: &str, value: &Value) -> Value {
    let Value::Int(n) = value else { return value.clone() };
    if knob.specials.iter().any(|(special, _)| special == n) {
        return value.clone();
    }
    let step = facts.map_or(1, |facts| facts.step).max(1);
    let (low, high) = context.snapshot.variables[name].range().map_or_else(
        || {
            let low = facts.and_then(|facts| facts.min).unwrap_or(0.0);
            (low as i64, facts.and_then(|facts| facts.max).map_or(i64::MAX, |high| high as i64))
        },
        |(low, high)| (low as i64, high as i64),
    );
    let n = (*n).clamp(low, high.max(low));
    Value::Int(if n % step == 0 { n } else { (n - n.rem_euclid(step)).max(low) })
}

/// A change of one knob of an ordered pair brings the other along: the server would clamp the first otherwise.
fn complete_pairs(context: &Context<'_>, findings: &mut Vec<Finding>, taken: &mut BTreeSet<String>) {
    let pair = ("innodb_io_capacity", "innodb_io_capacity_max");
    let Some(at) = findings.iter().position(|f| f.recommendation.as_ref().is_some_and(|r| r.knob == pair.0))
    else {
        return;
    };
    let Some(small) = findings[at].recommendation.as_ref().and_then(|r| r.value.as_i64()) else { return };
    let large = context.int(pair.1).unwrap_or(i64::MAX);
    if small <= large || taken.contains(pair.1) {
        return;
    }
    let wish =
        Wish { knob: "innodb_io_capacity_max", value: Value::Int(small * 2), effect: "", by_hand: false };
    let why = format!("must not be below innodb_io_capacity {small}");
    if let Ok(recommendation) = recommend(context, &wish, &why) {
        taken.insert(recommendation.knob.clone());
        let finding = Finding { recommendation: Some(recommendation), ..findings[at].clone() };
        findings.insert(at + 1, finding);
    }
}

/// All sizes share one budget: growth is taken back until the whole fits, the buffer pool's last.
fn keep_budget(context: &Context<'_>, findings: &mut [Finding]) {
    let grows = |recommendation: &Recommendation| {
        recommendation.knob != "innodb_buffer_pool_size"
            && recommendation.risk == knobs::Risk::Memory
            && recommendation.value.as_f64() > recommendation.current.as_f64()
    };
    let fits = |findings: &[Finding]| {
        let configuration: Configuration = findings
            .iter()
            .filter_map(|finding| finding.recommendation.as_ref())
            .filter(|recommendation| recommendation.automatic)
            .map(|recommendation| (recommendation.knob.clone(), recommendation.value.clone()))
            .collect();
        check_budget(&context.model(), &configuration, &context.snapshot.machine).is_ok()
    };
    if fits(findings) {
        return;
    }
    // The pool gives way first, in steps, but never below what the server already has.
    let unit = pool_unit(context);
    for _ in 0..4096 {
        let Some(pool) = findings
            .iter_mut()
            .filter_map(|finding| finding.recommendation.as_mut())
            .find(|recommendation| recommendation.knob == "innodb_buffer_pool_size")
        else {
            break;
        };
        let (Some(value), Some(current)) = (pool.value.as_i64(), pool.current.as_i64()) else { break };
        if value - unit <= current {
            break;
        }
        pool.value = Value::Int(value - unit);
        if fits(findings) {
            return;
        }
    }
    for index in 0..findings.len() {
        if findings[index].recommendation.as_ref().is_some_and(grows) {
            let finding = &mut findings[index];
            finding.advice = Some("there is no memory left for it on this machine".into());
            finding.recommendation = None;
            if fits(findings) {
                return;
            }
        }
    }
}

/// The pool's unit: chunks times instances on MySQL, at least 1 MiB.
pub(crate) fn pool_unit(context: &Context<'_>) -> i64 {
    let vars = &context.snapshot.variables;
    let mib = 1 << 20;
    let chunk = vars.int("innodb_buffer_pool_chunk_size").unwrap_or(mib).max(mib);
    let instances =
        if context.is_mariadb() { 1 } else { vars.int("innodb_buffer_pool_instances").unwrap_or(1) };
    chunk.saturating_mul(instances.max(1))
}
