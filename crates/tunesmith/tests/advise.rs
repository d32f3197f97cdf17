//! `advise` in a pipeline: its exit code, and what it writes.

#![expect(clippy::unwrap_used, reason = "a helper of a test that fails has no better way to say so")]

use std::process::{Command, Output};

/// The compiled defaults of a real server.
const VARIABLES: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../advisor/tests/fixtures/mysql-9.7.4.variables");

fn advise(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tunesmith"))
        .args(["advise", "--variables", VARIABLES, "--memory", "8G", "--json"])
        .args(args)
        .output()
        .unwrap()
}

/// Whether there is a finding of this severity, as JSON names it.
fn has(output: &Output, severity: &str) -> bool {
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    document["findings"].as_array().unwrap().iter().any(|f| f["severity"] == severity)
}

#[test]
fn fail_on_has_an_exit_code_of_its_own_and_still_writes_the_report() {
    let plain = advise(&[]);
    assert_eq!(plain.status.code(), Some(0));
    assert!(has(&plain, "notice") && !has(&plain, "warning"), "the case that the rest is about");
    let warned = advise(&["--fail-on", "notice"]);
    assert_eq!(warned.status.code(), Some(7));
    assert_eq!(warned.stdout, plain.stdout);
    assert!(String::from_utf8_lossy(&warned.stderr).contains("--fail-on"));
    assert_eq!(advise(&["--fail-on", "warning"]).status.code(), Some(0));
    // A typing error is not a finding.
    assert_eq!(advise(&["--fail-on", "never"]).status.code(), Some(2));
}
