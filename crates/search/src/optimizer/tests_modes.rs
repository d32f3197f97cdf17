//! Safe mode, crashes, restarts, earlier studies, stopping and explaining, on seeded studies.

use super::*;
use crate::rng::Rng;
use crate::space::{Param, Value};

fn space() -> Space {
    Space::new((0..6).map(|i| Param::float(format!("x{i}"), 0.0, 1.0, 0.3)).collect(), vec![]).unwrap()
}

fn x(values: &Values, i: usize) -> f64 {
    values[&format!("x{i}")].as_f64().unwrap()
}

/// Only the first two knobs matter, the first one most.
fn truth(values: &Values) -> f64 {
    100.0 * (1.0 + 0.6 * x(values, 0) + 0.2 * x(values, 1))
}

fn settings(seed: u64) -> Settings {
    Settings { seed, trials: Some(25), ..Settings::default() }
}

fn study(
    o: &mut Optimizer,
    trials: usize,
    noise: f64,
    outcome: impl Fn(&Values) -> Option<f64>,
) -> Vec<Suggestion> {
    let mut rng = Rng::of_step(o.settings().seed, 99);
    (0..trials)
        .map(|_| {
            let s = o.ask();
            let told = outcome(&s.values).map(|v| Outcome::value(v * (1.0 + noise * rng.normal())));
            o.tell(s.id, told.unwrap_or(Outcome::Failed), None).unwrap();
            s
        })
        .collect()
}

#[test]
fn safe_mode_takes_small_steps_and_keeps_the_floor() {
    let safe = Some(Safe { floor: 115.0, step: 0.2, knobs: 2 });
    let mut o = Optimizer::new(space(), Settings { safe, ..settings(1) });
    let mut from = o.space().default_values();
    let mut below = 0;
    for _ in 0..20 {
        let s = o.ask();
        let changed: Vec<_> = s.values.iter().filter(|(k, v)| from[*k] != **v).collect();
        assert!(changed.len() <= 2, "{changed:?}");
        for (k, v) in changed {
            assert!((v.as_f64().unwrap() - from[k].as_f64().unwrap()).abs() <= 0.221, "{k} went to {v}");
        }
        below += usize::from(truth(&s.values) < 115.0);
        o.tell(s.id, Outcome::value(truth(&s.values)), None).unwrap();
        let arms = history::arms(&o.space, &o.trials);
        let model = o.model(&arms).unwrap();
        from = o.space.decode(&arms[model.measured[model.incumbent()]].point);
    }
    assert!(below <= 2, "{below} of 20 trials were below the floor");
    assert!(truth(&o.best().unwrap().values) > 130.0);
}

#[test]
fn a_crashing_region_is_left_alone_once_it_is_known() {
    let works = |v: &Values| (x(v, 2) + x(v, 3) < 1.37).then(|| truth(v));
    let mut late = 0;
    for seed in 1..4 {
        let mut o = Optimizer::new(space(), settings(seed));
        let asked = study(&mut o, 25, 0.02, works);
        late += asked[10..].iter().filter(|s| works(&s.values).is_none()).count();
        assert!(works(&o.best().unwrap().values).is_some());
    }
    assert!(late <= 5, "{late} of 45 late trials crashed");
}

#[test]
fn a_constraint_binds_what_is_deployed() {
    let mut o = Optimizer::new(space(), settings(2));
    for _ in 0..25 {
        let s = o.ask();
        let constraint = x(&s.values, 0) - 0.6;
        o.tell_all(s.id, Outcome::value(truth(&s.values)), None, vec![constraint]).unwrap();
    }
    let best = o.best().unwrap();
    assert!(x(&best.values, 0) <= 0.6 && truth(&best.values) > 140.0, "{best:?}");
}

#[test]
fn costly_restarts_are_fewer() {
    let restarts = |cost: f64| {
        let mut params: Vec<Param> = (0..6).map(|i| Param::float(format!("x{i}"), 0.0, 1.0, 0.3)).collect();
        params[1].restart = true;
        params[4].restart = true;
        let space = Space::new(params, vec![]).unwrap();
        (1..4)
            .map(|seed| {
                let mut o = Optimizer::new(space.clone(), Settings { restart_cost: cost, ..settings(seed) });
                let asked = study(&mut o, 25, 0.02, |v| Some(truth(v)));
                asked[8..].windows(2).filter(|w| x(&w[0].values, 1) != x(&w[1].values, 1)).count()
            })
            .sum::<usize>()
    };
    assert!(restarts(10.0) < restarts(1.0));
}

#[test]
fn nothing_to_gain_is_called_so() {
    let kept = (1..11)
        .filter(|seed| {
            let mut o = Optimizer::new(space(), settings(*seed));
            study(&mut o, 25, 0.05, |_| Some(100.0));
            o.best().unwrap().values == o.space().default_values()
        })
        .count();
    assert!(kept >= 9, "{kept} of 10 pure-noise studies kept the default");
}

#[test]
fn the_expected_gain_falls_as_the_optimum_is_reached() {
    let mut o = Optimizer::new(space(), settings(3));
    assert_eq!(o.expected_gain(), None);
    study(&mut o, 6, 0.0, |v| Some(truth(v)));
    let early = o.expected_gain().unwrap();
    study(&mut o, 25, 0.0, |v| Some(truth(v)));
    let late = o.expected_gain().unwrap();
    assert!(late.ratio < 0.2 * early.ratio, "{early:?} then {late:?}");
}

#[test]
fn an_earlier_study_is_used_as_far_as_it_fits() {
    let mut source = Optimizer::new(space(), settings(4));
    study(&mut source, 25, 0.02, |v| Some(2.0 * truth(v)));
    let mut earlier: Vec<(Values, f64)> =
        source.trials().iter().map(|t| (t.values.clone(), 2.0 * truth(&t.values))).collect();
    earlier.push((Values::from([("y".into(), Value::Int(1))]), 1.0));
    let mut o = Optimizer::new(space(), settings(5));
    assert_eq!(o.add_earlier(&earlier), 25, "a foreign configuration is left out");
    let asked = study(&mut o, 6, 0.02, |v| Some(truth(v)));
    assert_eq!(asked[1].origin, Origin::Earlier);
    assert!(truth(&o.best().unwrap().values) > 160.0);
}

#[test]
fn explanations_name_what_matters_and_add_up() {
    let mut o = Optimizer::new(space(), settings(6));
    assert!(o.importance().is_empty());
    study(&mut o, 25, 0.01, |v| Some(truth(v)));
    let importance = o.importance();
    assert_eq!((importance[0].name.as_str(), importance[1].name.as_str()), ("x0", "x1"));
    assert!((importance.iter().map(|i| i.share).sum::<f64>() - 1.0).abs() < 1e-6);
    // The search looks where it is good, not everywhere, so shares are rough; that two of six matter is not.
    assert!(importance[0].share + importance[1].share > 0.7 && importance[0].sd < 0.2, "{importance:?}");
    let smallest = o.smallest().unwrap();
    assert!(smallest.kept >= 0.95 && smallest.values.contains_key("x0"), "{smallest:?}");
    assert!(smallest.values.len() <= 3, "{smallest:?}");
    let gain: f64 = importance.iter().map(|i| i.gain).sum();
    let best = o.best().unwrap();
    assert!((gain - (best.mean - 124.0)).abs() < 8.0, "parts add up to {gain}, the winner is {best:?}");
    let curve = o.effect("x0", None).unwrap();
    assert_eq!(curve.len(), 11);
    assert!(curve[10].mean > curve[0].mean + 10.0, "{curve:?}");
    assert_eq!(o.effect("x0", Some("x1")).unwrap().len(), 121);
    assert!(o.effect("y", None).is_err());
}
