//! What the optimiser promises its callers.

use super::*;
use crate::space::{Param, Value};

fn space() -> Space {
    Space::new(
        vec![
            Param::int("pool", 1, 1000, 10).log(),
            Param::float("share", 0.0, 1.0, 0.5),
            Param::choice("flush", &["fsync", "direct"], "fsync"),
            Param::int("threads", 1, 64, 0).special(0),
        ],
        vec![],
    )
    .unwrap()
}

fn truth(values: &Values) -> f64 {
    let pool = values["pool"].as_f64().unwrap().ln() / 1000f64.ln();
    let flush = if values["flush"] == "direct".into() { 1.2 } else { 1.0 };
    100.0 * flush * (0.5 + pool - 0.3 * (values["share"].as_f64().unwrap() - 0.2).powi(2))
}

fn study(optimizer: &mut Optimizer, trials: usize) -> Vec<Suggestion> {
    (0..trials)
        .map(|_| {
            let s = optimizer.ask();
            let reading = truth(&s.values) * (1.0 + 0.02 * ((s.id * 37 % 11) as f64 / 5.0 - 1.0));
            optimizer.tell(s.id, Outcome::value(reading), None).unwrap();
            s
        })
        .collect()
}

fn settings(seed: u64) -> Settings {
    Settings { seed, trials: Some(25), ..Settings::default() }
}

#[test]
fn the_default_is_first_then_the_seeds_in_their_order() {
    let mut o = Optimizer::new(space(), settings(1));
    assert!(o.add_seed(&Values::from([("pool".into(), Value::Int(700))]), "rule").unwrap());
    assert!(!o.add_seed(&o.space().default_values(), "same as now").unwrap(), "the default is no seed");
    assert!(!o.add_seed(&Values::from([("pool".into(), Value::Int(700))]), "again").unwrap());
    let asked = study(&mut o, 3);
    assert_eq!((asked[0].origin.clone(), asked[0].id), (Origin::Default, 1));
    assert_eq!(asked[0].values, o.space().default_values());
    assert_eq!(asked[1].origin, Origin::Seed("rule".into()));
    assert_eq!(asked[1].values["pool"], Value::Int(700));
    assert_eq!(asked[2].origin, Origin::Start);
}

#[test]
fn a_clear_gain_is_found() {
    for seed in 1..6 {
        let mut o = Optimizer::new(space(), settings(seed));
        study(&mut o, 25);
        let best = o.best().unwrap();
        assert!(truth(&best.values) > 170.0, "seed {seed}: {best:?} is truly {}", truth(&best.values));
        assert!((best.mean / truth(&best.values) - 1.0).abs() < 0.05, "seed {seed}: {best:?}");
    }
}

#[test]
fn the_same_seed_makes_the_same_suggestions_and_asking_for_the_best_changes_none() {
    let mut quiet = Optimizer::new(space(), settings(4));
    let mut curious = Optimizer::new(space(), settings(4));
    for _ in 0..15 {
        let (a, b) = (quiet.ask(), curious.ask());
        assert_eq!(a, b);
        let _ = curious.best();
        quiet.tell(a.id, Outcome::value(truth(&a.values)), None).unwrap();
        curious.tell(b.id, Outcome::value(truth(&b.values)), None).unwrap();
        let _ = curious.best();
    }
    let mut other = Optimizer::new(space(), settings(5));
    assert_ne!(study(&mut other, 10), study(&mut Optimizer::new(space(), settings(4)), 10));
}

#[test]
fn a_restored_study_goes_on_exactly_as_it_would_have() {
    let mut o = Optimizer::new(space(), settings(7));
    study(&mut o, 12);
    let pending = o.ask();
    let json = serde_json::to_string(&o.save()).unwrap();
    let mut restored = Optimizer::restore(serde_json::from_str(&json).unwrap());
    assert_eq!(serde_json::to_string(&restored.save()).unwrap(), json);
    for o in [&mut o, &mut restored] {
        o.tell(pending.id, Outcome::value(truth(&pending.values)), Some(3.0)).unwrap();
    }
    assert_eq!(o.best(), restored.best());
    assert_eq!(study(&mut o, 8), study(&mut restored, 8));
}

#[test]
fn points_under_way_are_not_suggested_twice() {
    let mut o = Optimizer::new(space(), settings(2));
    study(&mut o, 10);
    let batch: Vec<Suggestion> = (0..6).map(|_| o.ask()).collect();
    for (i, a) in batch.iter().enumerate() {
        assert!(batch[..i].iter().all(|b| b.values != a.values), "{a:?}");
    }
}

#[test]
fn minimising_is_maximising_the_other_way_round() {
    let mut o = Optimizer::new(space(), Settings { direction: Direction::Minimize, ..settings(3) });
    for _ in 0..25 {
        let s = o.ask();
        o.tell(s.id, Outcome::value(1e5 / truth(&s.values)), None).unwrap();
    }
    assert!(truth(&o.best().unwrap().values) > 170.0);
}

#[test]
fn wrong_calls_are_refused_and_change_nothing() {
    let mut o = Optimizer::new(space(), settings(1));
    let s = o.ask();
    let before = serde_json::to_string(&o.save()).unwrap();
    assert_eq!(o.tell(9, Outcome::value(1.0), None), Err(OptimizerError::UnknownTrial(9)));
    assert_eq!(o.tell(0, Outcome::value(1.0), None), Err(OptimizerError::UnknownTrial(0)));
    assert!(matches!(o.tell(s.id, Outcome::value(f64::NAN), None), Err(OptimizerError::NotANumber(_))));
    assert!(matches!(o.tell(s.id, Outcome::value(1.0), Some(-1.0)), Err(OptimizerError::NotANumber(_))));
    assert_eq!(serde_json::to_string(&o.save()).unwrap(), before);
    o.tell(s.id, Outcome::value(1.0), None).unwrap();
    assert_eq!(o.tell(s.id, Outcome::value(1.0), None), Err(OptimizerError::ToldTwice(s.id)));
    assert!(o.observe(&Values::new(), Outcome::value(1.0), None).is_err());
}
