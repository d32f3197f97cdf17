//! What a space promises, as rules over many random points.

use super::*;
use crate::rng::Rng;

fn less_eq(small: &str, large: &str) -> Relation {
    Relation::LessEq { small: small.into(), large: large.into() }
}

fn server() -> Space {
    let gib = 1i64 << 30;
    Space::new(
        vec![
            Param::int("pool", gib / 8, 16 * gib, gib / 8).log(),
            Param::int("chunk", 1 << 20, 1 << 30, 128 << 20).log(),
            Param::int("io_capacity", 100, 40_000, 200).log(),
            Param::int("io_capacity_max", 100, 80_000, 2000).log(),
            Param::int("sort_buffer", 32_768, 64 << 20, 262_144).log(),
            Param::int("connections", 10, 1000, 151),
            Param::int("threads", 1, 512, 0).special(0),
            Param::choice("flush", &["fsync", "O_DIRECT"], "fsync"),
            Param::bool("cleaners_on", false),
            Param::int("cleaners", 1, 8, 4).when("cleaners_on", vec![Value::Bool(true)]),
        ],
        vec![
            less_eq("io_capacity", "io_capacity_max"),
            less_eq("chunk", "pool"),
            Relation::Budget {
                terms: vec![
                    Term { factor: 1.1, params: vec!["pool".into()] },
                    Term { factor: 1.0, params: vec!["sort_buffer".into(), "connections".into()] },
                ],
                limit: 12.0 * gib as f64,
            },
        ],
    )
    .unwrap()
}

fn random(space: &Space, rng: &mut Rng) -> Point {
    space
        .params()
        .iter()
        .map(|p| {
            let levels = p.levels();
            if levels > 0 && (!p.numeric() || rng.chance(0.2)) {
                Coord::Level(rng.below(levels))
            } else {
                Coord::Num(rng.unit())
            }
        })
        .collect()
}

#[test]
fn every_repaired_point_keeps_every_relation_and_is_its_own_value() {
    let space = server();
    let mut rng = Rng::of_step(3, 0);
    for _ in 0..2000 {
        let mut point = random(&space, &mut rng);
        space.repair(&mut point);
        let values = space.decode(&point);
        assert!(space.keeps_relations(&values).unwrap(), "{values:?}");
        assert_eq!(space.encode(&values).unwrap(), point);
        if values["cleaners_on"] == Value::Bool(false) {
            assert_eq!(values["cleaners"], Value::Int(4), "a switched-off parameter stays at its default");
        }
    }
}

#[test]
fn a_multiple_is_rounded_down_and_never_below_its_smallest_value() {
    let relation = Relation::MultipleOf { param: "pool".into(), of: "chunk".into() };
    let space =
        Space::new(vec![Param::int("pool", 5, 100, 50), Param::int("chunk", 1, 10, 5)], vec![relation])
            .unwrap();
    let mut rng = Rng::of_step(4, 0);
    for _ in 0..500 {
        let mut point = random(&space, &mut rng);
        space.repair(&mut point);
        let values = space.decode(&point);
        assert!(space.keeps_relations(&values).unwrap(), "{values:?}");
    }
}

#[test]
fn a_budget_that_can_never_be_met_is_refused() {
    let budget = Relation::Budget { terms: vec![Term { factor: 1.0, params: vec!["a".into()] }], limit: 5.0 };
    let error = Space::new(vec![Param::int("a", 10, 20, 10)], vec![budget]).unwrap_err();
    assert!(matches!(error.kind(), SpaceErrorKind::Relation(_)));
    assert!(error.to_string().contains("widen the limit"), "{error}");
}

#[test]
fn fixed_and_narrowed_parameters_stay_where_the_user_wants_them() {
    let space =
        server().fix("flush", &"O_DIRECT".into()).unwrap().narrow("io_capacity", 1000.0, 5000.0).unwrap();
    let mut rng = Rng::of_step(5, 0);
    for _ in 0..200 {
        let mut point = random(&space, &mut rng);
        space.repair(&mut point);
        let values = space.decode(&point);
        assert_eq!(values["flush"], "O_DIRECT".into());
        assert!((1000.0..=5000.0).contains(&values["io_capacity"].as_f64().unwrap()));
    }
    assert_eq!(
        space.default_values()["io_capacity"],
        Value::Int(1000),
        "the default moved to the nearest end"
    );
}

#[test]
fn a_space_survives_json() {
    let space = server();
    let json = serde_json::to_string(&space).unwrap();
    let back: Space = serde_json::from_str(&json).unwrap();
    assert_eq!(back.params(), space.params());
    assert_eq!(back.relations(), space.relations());
}

#[test]
fn a_value_that_is_missing_or_foreign_is_named() {
    let space = server();
    let mut values = space.default_values();
    values.insert("flush".into(), "O_SYNC".into());
    assert_eq!(
        space.encode(&values).unwrap_err().to_string(),
        "parameter flush: O_SYNC is not a value of it"
    );
    values.remove("flush");
    assert_eq!(space.encode(&values).unwrap_err().to_string(), "parameter flush: its value is missing");
}
