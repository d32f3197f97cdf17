//! What each format looks like, as files that a reviewer can read.

use super::sample;
use insta::assert_snapshot;
use tunesmith_report::{StudyDocument, StudyState, render};

#[test]
fn terminal() {
    for (name, study) in sample::all() {
        assert_snapshot!(format!("terminal-{name}"), render::terminal(&study, 100, false));
    }
}

#[test]
fn markdown() {
    for (name, study) in sample::all() {
        assert_snapshot!(format!("markdown-{name}"), render::markdown(&study));
    }
}

#[test]
fn csv() {
    assert_snapshot!("csv-interrupted", render::csv(&sample::interrupted()).replace("\r\n", "\n"));
}

#[test]
fn json() {
    assert_snapshot!("json-interrupted", render::json(&sample::interrupted()));
}

#[test]
fn json_is_the_whole_document() {
    for (name, study) in sample::all() {
        let back: StudyDocument = serde_json::from_str(&render::json(&study)).unwrap();
        assert_eq!(back, study, "{name}");
    }
}

#[test]
fn json_keeps_the_names_that_scripts_rely_on() {
    let document: serde_json::Value = serde_json::from_str(&render::json(&sample::improved())).unwrap();
    for pointer in [
        "/schema",
        "/study",
        "/state",
        "/baseline/mean",
        "/best/configuration",
        "/best/trial",
        "/gain/ratio",
        "/gain/low",
        "/gain/high",
        "/trials/0/id",
        "/trials/0/configuration",
        "/trials/0/state",
        "/trials/0/objective",
    ] {
        assert!(document.pointer(pointer).is_some(), "{pointer} is missing");
    }
    assert_eq!(document["verdict"], "improved");
    let other: serde_json::Value = serde_json::from_str(&render::json(&sample::no_improvement())).unwrap();
    assert_eq!(other["verdict"], "no-improvement");
}

#[test]
fn a_document_of_an_older_version_without_the_newer_fields_is_read() {
    let mut document: serde_json::Value = serde_json::from_str(&render::json(&sample::improved())).unwrap();
    let fields = document.as_object_mut().unwrap();
    for newer in ["because", "method", "units"] {
        fields.remove(newer);
    }
    fields.insert("from_the_future".to_owned(), 1.into());
    let study: StudyDocument = serde_json::from_value(document).unwrap();
    assert_eq!(study.method, None);
}

#[test]
fn the_terminal_has_no_escape_sequences_without_color_and_some_with_it() {
    for (name, study) in sample::all() {
        assert!(!render::terminal(&study, 80, false).contains('\u{1b}'), "{name}");
        assert!(render::terminal(&study, 80, true).contains("\u{1b}["), "{name}");
    }
}

#[test]
fn a_servers_error_text_does_not_steer_the_terminal() {
    let mut study = sample::all_failed();
    study.trials[5].failure = Some("\u{1b}[2J\u{7}boo".to_owned());
    let shown = render::terminal(&study, 80, false);
    assert!(shown.contains("boo") && !shown.contains(['\u{1b}', '\u{7}']), "{shown}");
}

#[test]
fn the_terminal_keeps_to_its_width() {
    for width in [60, 80, 120] {
        for (name, study) in sample::all() {
            for line in render::terminal(&study, width, false).lines() {
                assert!(line.chars().count() <= width, "{name} at {width}: {line}");
            }
        }
    }
}

#[test]
fn only_a_proven_gain_comes_with_texts_to_copy() {
    for (name, study) in sample::all() {
        let proven = matches!(name, "improved" | "latency");
        assert_eq!(render::html(&study).contains("class=\"copy\""), proven, "{name}");
        assert_eq!(render::markdown(&study).contains("### my.cnf"), proven, "{name}");
    }
}

#[test]
fn changes_without_a_proof_are_called_unproven() {
    let mut study = sample::improved();
    (study.state, study.verdict, study.gain) = (StudyState::Interrupted, None, None);
    for text in [render::html(&study), render::markdown(&study), render::terminal(&study, 100, false)] {
        assert!(text.contains("The best configuration so far") && !text.contains("What to change"), "{text}");
    }
}

#[test]
fn every_format_for_people_says_that_tpcc_is_not_audited() {
    for (name, study) in sample::all() {
        for text in [render::html(&study), render::markdown(&study), render::terminal(&study, 1000, false)] {
            assert!(text.contains("TPC-C-like") && text.contains("not audited"), "{name}");
        }
    }
    let mut other = sample::improved();
    other.workload.name = "sysbench:oltp_read_write".to_owned();
    assert!(!render::html(&other).contains("TPC"));
}

#[test]
fn a_failed_trial_shows_the_servers_own_words() {
    let study = sample::all_failed();
    for text in [
        render::html(&study),
        render::csv(&study),
        render::json(&study),
        render::terminal(&study, 500, false),
    ] {
        assert!(text.contains("innodb_lru_scan_depht=256"), "{text}");
    }
    assert!(render::markdown(&study).contains("innodb\\_lru\\_scan\\_depht=256"));
}
