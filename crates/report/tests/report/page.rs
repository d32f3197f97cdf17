//! The page is well formed, closed to the outside, and says what the document says whatever characters that takes.

use super::sample;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use proptest::prelude::*;
use sha2::{Digest, Sha256};
use tunesmith_report::{StudyDocument, render};

/// Elements of HTML that have no end tag.
const VOID: [&str; 1] = ["meta"];

/// The tags of a page in order: `name`, `/name`, or `name/` for one that closes itself. Fails on anything that is not well formed.
fn tags(page: &str) -> Result<Vec<String>, String> {
    let mut rest = page.strip_prefix("<!DOCTYPE html>").ok_or("no document type")?;
    let (mut open, mut tags) = (Vec::<String>::new(), Vec::new());
    while let Some(at) = rest.find('<') {
        check_text(&rest[..at])?;
        let end =
            tag_end(&rest[at..]).ok_or_else(|| format!("unclosed tag at {:?}", excerpt(&rest[at..])))? + at;
        let tag = &rest[at + 1..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            if open.pop().as_deref() != Some(name) {
                return Err(format!("</{name}> closes nothing"));
            }
            tags.push(tag.to_owned());
            continue;
        }
        let closed = tag.ends_with('/');
        let name = tag.trim_end_matches('/').split_whitespace().next().unwrap_or_default().to_owned();
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric()) {
            return Err(format!("a tag named {name:?}"));
        }
        attributes(tag[name.len()..].trim_end_matches('/'))?;
        if closed {
            tags.push(format!("{name}/"));
        } else if matches!(name.as_str(), "style" | "script") {
            let close = format!("</{name}>");
            let end = rest.find(&close).ok_or("an unclosed style or script")?;
            rest = &rest[end + close.len()..];
            tags.push(name);
        } else {
            if VOID.contains(&name.as_str()) {
                return Err(format!("<{name}> does not close itself"));
            }
            tags.push(name.clone());
            open.push(name);
        }
    }
    check_text(rest)?;
    if open.is_empty() { Ok(tags) } else { Err(format!("unclosed: {open:?}")) }
}

/// The tags without the labels of charts, of which long ones are left out where they would touch.
fn structure(page: &str) -> Result<Vec<String>, String> {
    Ok(tags(page)?.into_iter().filter(|t| t != "text" && t != "/text").collect())
}

fn tag_end(text: &str) -> Option<usize> {
    let mut quoted = false;
    text.char_indices().find_map(|(i, c)| {
        quoted ^= c == '"';
        (c == '>' && !quoted).then_some(i)
    })
}

fn attributes(text: &str) -> Result<(), String> {
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (name, after) =
            rest.split_once("=\"").ok_or_else(|| format!("an attribute without a quoted value: {rest:?}"))?;
        if !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
            || name.starts_with("on")
            || name == "style"
        {
            return Err(format!("an attribute named {name:?}"));
        }
        let (value, after) = after.split_once('"').ok_or("an unclosed attribute")?;
        check_text(value)?;
        rest = after.trim_start();
    }
    Ok(())
}

/// No bare markup, and each ampersand begins an entity that we write.
fn check_text(text: &str) -> Result<(), String> {
    if text.contains(['<', '>']) {
        return Err(format!("bare markup in {:?}", excerpt(text)));
    }
    let known = ["amp;", "lt;", "gt;", "quot;", "#39;"];
    match text.split('&').skip(1).find(|t| !known.iter().any(|k| t.starts_with(k))) {
        Some(bad) => Err(format!("a bare ampersand before {:?}", excerpt(bad))),
        None => Ok(()),
    }
}

fn excerpt(text: &str) -> String {
    text.chars().take(60).collect()
}

/// Puts a text into every field that holds one. It is never empty and never a word that has a meaning of its own.
fn with_text(text: &str) -> StudyDocument {
    let text = format!("x{text}");
    let mut study = sample::improved();
    for field in [
        &mut study.schema,
        &mut study.study,
        &mut study.name,
        &mut study.question,
        &mut study.created,
        &mut study.server.flavour,
        &mut study.server.version,
        &mut study.server.product,
        &mut study.server.target,
        &mut study.server.host,
        &mut study.workload.name,
        &mut study.objective.name,
        &mut study.objective.unit,
        &mut study.apply.set_persist,
        &mut study.apply.set_global,
        &mut study.apply.cnf,
        &mut study.apply.rollback,
    ] {
        field.clone_from(&text);
    }
    study.because = Some(text.clone());
    study.workload.parameters = [(text.clone(), text.clone())].into();
    study.warnings = vec![text.clone()];
    for note in &mut study.environment {
        (note.name, note.value) = (text.clone(), text.clone());
    }
    for change in &mut study.changes {
        (change.knob, change.why, change.unit) = (text.clone(), text.clone(), Some(text.clone()));
        change.to = text.clone().into();
    }
    for knob in &mut study.importance {
        knob.knob.clone_from(&text);
    }
    for trial in &mut study.trials {
        trial.origin.clone_from(&text);
        trial.failure = Some(text.clone());
        trial.configuration = [(text.clone(), text.clone().into())].into();
    }
    study
}

#[test]
fn pages_are_well_formed() {
    for (name, study) in sample::all() {
        let tags = tags(&render::html(&study)).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!(tags.len() > 50, "{name}");
    }
}

#[test]
fn the_checker_sees_what_is_not_well_formed() {
    for bad in [
        "<p>",
        "<p></b>",
        "</p>",
        "<p onclick=\"x\"></p>",
        "a & b",
        "<p a=b></p>",
        "1 > 0",
        "<p x=\"<\"></p>",
        "<meta>",
    ] {
        assert!(tags(&format!("<!DOCTYPE html>{bad}")).is_err(), "{bad}");
    }
}

#[test]
fn pages_refer_to_nothing_outside() {
    for (name, study) in sample::all() {
        let page = render::html(&study);
        for reference in
            ["http:", "https:", "src=", "href=", "url(", "@import", "//cdn", "fetch(", "XMLHttpRequest"]
        {
            assert!(!page.contains(reference), "{name} has {reference}");
        }
    }
}

#[test]
fn the_policy_allows_exactly_our_style_sheet_and_script() {
    let page = render::html(&sample::improved());
    let inside = |element: &str| {
        let (open, close) = (format!("<{element}>"), format!("</{element}>"));
        let start = page.find(&open).unwrap() + open.len();
        &page[start..start + page[start..].find(&close).unwrap()]
    };
    for element in ["style", "script"] {
        let hash = BASE64_STANDARD.encode(Sha256::digest(inside(element)));
        assert!(
            page.contains(&format!("{element}-src &#39;sha256-{hash}&#39;")),
            "the hash of the {element} in html.rs should be {hash}"
        );
    }
    assert!(page.contains("default-src &#39;none&#39;"));
    assert!(!page.contains("unsafe-inline"));
}

#[test]
fn every_trial_that_ended_has_its_mark_in_both_widths_of_the_chart() {
    for (name, study) in sample::all() {
        let page = render::html(&study);
        for trial in &study.trials {
            let ended = trial.objective.is_some() || trial.state.is_failure();
            let marks = page.matches(&format!("<title>trial {} (", trial.id)).count();
            assert_eq!(marks, if ended { 2 } else { 0 }, "trial {} of {name}", trial.id);
        }
    }
}

#[test]
fn an_unfinished_trial_is_in_the_table_with_its_state() {
    assert!(render::html(&sample::interrupted()).contains(">measuring</td>"));
}

#[test]
fn numbers_that_are_none_leave_the_charts_whole() {
    let mut study = sample::improved();
    study.trials[3].objective = Some(f64::NAN);
    study.trials[4].objective = Some(f64::INFINITY);
    study.series.best[2] = f64::NAN;
    study.importance[0].share = f64::NAN;
    study.importance[1].sd = f64::NAN;
    if let Some(gain) = &mut study.gain {
        gain.pairs[0].baseline = 0.0;
    }
    let page = render::html(&study);
    tags(&page).unwrap();
    for attribute in ["NaN", "inf"] {
        for mark in ["x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "width", "height", "d"] {
            assert!(!page.contains(&format!(" {mark}=\"{attribute}")), "{mark}={attribute}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_changes_the_structure_of_the_page(text in any::<String>()) {
        let plain = structure(&render::html(&with_text("plain"))).unwrap();
        let page = render::html(&with_text(&text));
        prop_assert!(structure(&page).map_err(TestCaseError::fail)? == plain, "elements were added or are missing");
    }

    #[test]
    fn no_markup_gets_through(text in "[<>&\"'/=a-c ]{0,24}(</script>|</style>|<script>|<!--|\\]\\]>|&lt;|\" onload=\"|' x='){1,3}") {
        let plain = structure(&render::html(&with_text("plain"))).unwrap();
        let page = render::html(&with_text(&text));
        prop_assert!(structure(&page).map_err(TestCaseError::fail)? == plain, "elements were added or are missing");
        let escaped = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;").replace('\'', "&#39;");
        prop_assert!(page.contains(&format!("<li>x{escaped}</li>")), "the warning is not shown as it is");
    }
}
