//! The page of an experiment.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use sha2::{Digest, Sha256};
use tunesmith_report::experiment::{Bar, Chart, Curve, Experiment, Figure, Section, Table};
use tunesmith_report::render;

fn figure(title: &str, chart: Chart) -> Figure {
    Figure { title: title.into(), caption: "c".into(), wide: true, chart }
}

fn sample() -> Experiment {
    let bar = |label: &str, value| Bar {
        label: label.into(),
        value,
        interval: value.map(|v: f64| (v * 0.9, v * 1.1)),
    };
    let curve = Curve {
        name: "db.m1.small".into(),
        points: vec![(2.0, 10.0), (8.0, 30.0), (8.0, 32.0)],
        failed: vec![(128.0, "out of memory: <the limit>".into())],
        fitted: Vec::new(),
        knee: Some(5.0),
    };
    Experiment {
        title: "A & B".into(),
        about: "One.\n\nTwo.".into(),
        published: vec!["the knee is near 8".into()],
        sections: vec![Section {
            title: "S".into(),
            lead: "l".into(),
            findings: vec!["f".into()],
            warnings: vec!["w".into()],
            figures: vec![
                figure(
                    "bars",
                    Chart::Bars {
                        unit: "txn/s".into(),
                        bars: vec![bar("default", Some(17.3)), bar("broken", None)],
                    },
                ),
                figure(
                    "curves",
                    Chart::Curves { across: "threads".into(), unit: "txn/s".into(), curves: vec![curve] },
                ),
                figure(
                    "boxes",
                    Chart::Boxes {
                        unit: "txn/s".into(),
                        boxes: vec![("x".into(), vec![1.0, 2.0, 4.0]), ("none".into(), vec![])],
                    },
                ),
                figure(
                    "seconds",
                    Chart::Seconds { unit: "txn/s".into(), series: vec![("x".into(), vec![1.0, 0.0, 4.0])] },
                ),
            ],
            table: Table { head: vec!["a".into(), "b".into()], rows: vec![vec!["<x>".into(), "1".into()]] },
        }],
    }
}

#[test]
fn the_page_stands_alone_and_admits_its_own_style_sheets_only() {
    let page = render::experiment(&sample());
    assert!(!page.contains("<script") && !page.contains("http://") && !page.contains("https://"));
    let sheets: Vec<&str> =
        page.split("<style>").skip(1).filter_map(|rest| rest.split("</style>").next()).collect();
    assert_eq!(sheets.len(), 2);
    for sheet in sheets {
        let hash = BASE64_STANDARD.encode(Sha256::digest(sheet));
        assert!(page.contains(&hash), "the hash in experiment.rs should be {hash}");
    }
}

#[test]
fn every_chart_is_drawn_for_both_widths_and_failures_are_on_it_with_their_reason() {
    let page = render::experiment(&sample());
    assert_eq!(page.matches("<svg").count(), 8);
    assert!(page.contains("db.m1.small with 128: out of memory: &lt;the limit&gt;"));
    assert!(page.contains("db.m1.small: the knee is at 5.0"));
    assert!(page.contains("default: 17.3 txn/s (15.6 to 19)"), "a bar tells its interval");
    assert!(page.contains(">failed</text>"), "a bar without a value says so");
    assert!(page.contains("&lt;x&gt;") && page.contains("A &amp; B"));
}

#[test]
fn an_experiment_without_a_run_is_a_page_too() {
    let mut empty = sample();
    empty.sections[0].figures = vec![
        figure("c", Chart::Curves { across: "n".into(), unit: "u".into(), curves: Vec::new() }),
        figure("b", Chart::Boxes { unit: "u".into(), boxes: Vec::new() }),
        figure("s", Chart::Seconds { unit: "u".into(), series: Vec::new() }),
        figure("r", Chart::Bars { unit: "u".into(), bars: Vec::new() }),
    ];
    assert!(render::experiment(&empty).ends_with("</html>"));
}
