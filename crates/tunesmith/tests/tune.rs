//! `tune` and `studies`, as a user runs them, on real private servers. Windows are as short as the rules allow: what is tested
//! is that the study is made, proven, stored and resumed, and never how fast anything is.

#![expect(clippy::unwrap_used, reason = "a helper of a test that fails has no better way to say so")]

mod common;

use common::{Tunesmith, flavours};
use serde_json::Value;
use std::time::Duration;

/// One warehouse, two trials, the least that a proof needs.
const SHORT: [&str; 16] = [
    "--warehouses",
    "1",
    "--terminals",
    "4",
    "--trials",
    "2",
    "--baseline-runs",
    "3",
    "--pairs",
    "5",
    "--warmup",
    "1s",
    "--measure",
    "5s",
    "--rebaseline-every",
    "9",
];

#[test]
fn a_study_ends_with_a_proven_verdict_and_every_trial_in_the_store() {
    for flavour in flavours() {
        let tunesmith = Tunesmith::new();
        let report = tunesmith.folder().join("report.html");
        let mut command = tunesmith.command();
        command
            .args(["tune", "--json", &format!("--sandbox={flavour}"), "--report"])
            .arg(&report)
            .args(SHORT);
        let run = tunesmith.run(command);
        assert_eq!(run.code, 0, "{}", run.stderr);
        let document: Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!(document["schema"], "tunesmith.study/1");
        assert_eq!(document["state"], "finished");
        let trials = document["trials"].as_array().unwrap();
        let kept = trials.iter().filter(|t| t["state"] == "kept").count();
        assert!(kept >= 5, "three baselines and two trials: {}", run.stderr);
        match document["verdict"].as_str().unwrap() {
            "improved" => {
                assert_eq!(document["gain"]["pairs"].as_array().unwrap().len(), 5);
                assert!(document["gain"]["low"].as_f64().unwrap() > 1.0);
                assert!(!document["changes"].as_array().unwrap().is_empty());
            }
            verdict => assert_eq!(verdict, "no-improvement"),
        }
        let html = std::fs::read_to_string(&report).unwrap();
        assert!(html.contains("</html>") && html.contains("TPC-C"), "a report of {} bytes", html.len());
        let shown = tunesmith.run_args(&["studies", "show", "1", "--json"]);
        assert_eq!(
            serde_json::from_str::<Value>(&shown.stdout).unwrap(),
            document,
            "show tells what tune told"
        );
        tunesmith.assert_nothing_left();
    }
}

/// Each run is killed in another state of another trial; the next one goes on.
#[test]
fn a_study_that_is_killed_in_any_state_is_resumed_with_nothing_lost() {
    let Some(flavour) = flavours().into_iter().next() else { return };
    let tunesmith = Tunesmith::new();
    let holds = [
        "planned:1",
        "applying:1",
        "restarting:2",
        "verifying:3",
        "warming:4",
        "measuring:5",
        "judging:6",
        "measuring:8",
    ];
    let mut measured = 0;
    for (index, hold) in holds.iter().enumerate() {
        let mut command = tunesmith.command();
        command.env("TUNESMITH_HOLD", hold);
        if index == 0 {
            // More trials than holds: a search that finds nothing better has no proof to be killed in.
            command.args(["tune", &format!("--sandbox={flavour}")]).args(SHORT).args(["--trials", "6"]);
        } else {
            command.args(["studies", "resume", "1"]);
        }
        let mut running = tunesmith.spawn(command);
        running.wait_for(&format!("held at {hold}"), Duration::from_secs(240));
        running.kill();
        tunesmith.assert_no_server();
        let now = kept(&tunesmith);
        assert!(now >= measured, "{hold}: {measured} measured trials before, {now} after");
        measured = now;
    }
    let run = tunesmith.run_args(&["studies", "resume", "1", "--json"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let document: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(document["state"], "finished");
    assert!(document["trials"].as_array().unwrap().iter().all(|t| t["state"] == "kept"), "{document:#}");
    tunesmith.assert_nothing_left();
}

fn kept(tunesmith: &Tunesmith) -> usize {
    let shown = tunesmith.run_args(&["studies", "show", "1", "--json"]);
    let document: Value = serde_json::from_str(&shown.stdout).unwrap();
    document["trials"].as_array().unwrap().iter().filter(|t| t["state"] == "kept").count()
}

#[test]
fn an_interrupt_keeps_what_was_measured_and_says_how_to_go_on() {
    let Some(flavour) = flavours().into_iter().last() else { return };
    let tunesmith = Tunesmith::new();
    let mut command = tunesmith.command();
    command.args(["tune", "-v", &format!("--sandbox={flavour}")]).args(SHORT);
    command.args(["--workload", "sysbench:oltp_read_write", "--tables", "1", "--table-size", "5000"]);
    let mut running = tunesmith.spawn(command);
    running.wait_for("trial 2: measuring", Duration::from_secs(240));
    running.interrupt();
    let run = running.finish();
    assert_eq!(run.code, 130, "{}", run.stderr);
    assert!(run.stderr.contains("studies resume 1"), "{}", run.stderr);
    let shown = tunesmith.run_args(&["studies", "show", "1", "--json"]);
    let document: Value = serde_json::from_str(&shown.stdout).unwrap();
    assert_eq!(document["state"], "interrupted");
    // Also that client and server agree about what sysbench's script commits.
    assert_eq!(document["trials"][0]["state"], "kept", "{document:#}");
    assert_eq!(document["workload"]["name"], "sysbench:oltp_read_write");
    tunesmith.assert_nothing_left();
}

#[test]
fn a_configuration_that_does_not_start_fails_its_trial_with_the_servers_own_words() {
    let Some(flavour) = flavours().into_iter().next() else { return };
    let tunesmith = Tunesmith::new();
    let broken = tunesmith.folder().join("broken.cnf");
    std::fs::write(&broken, "[mysqld]\ninnodb_data_file_path = no_such_thing\n").unwrap();
    let mut command = tunesmith.command();
    command.args(["tune", "--json", &format!("--sandbox={flavour}"), "--try"]).arg(&broken).args(SHORT);
    let run = tunesmith.run(command);
    assert_eq!(run.code, 0, "the study goes on: {}", run.stderr);
    let document: Value = serde_json::from_str(&run.stdout).unwrap();
    let trial = &document["trials"][3];
    assert_eq!((&trial["state"], &trial["origin"]), (&"failed".into(), &"suggested: broken".into()));
    let failure = trial["failure"].as_str().unwrap();
    assert!(failure.contains("InnoDB") || failure.contains("innodb_data_file_path"), "{failure}");
    assert_eq!(document["state"], "finished");
}

#[test]
fn durability_is_not_for_sale_even_on_request() {
    let Some(flavour) = flavours().into_iter().next() else { return };
    let tunesmith = Tunesmith::new();
    let fast = tunesmith.folder().join("fast.cnf");
    std::fs::write(&fast, "[mysqld]\ninnodb_flush_log_at_trx_commit = 0\n").unwrap();
    let mut command = tunesmith.command();
    command.args(["tune", &format!("--sandbox={flavour}"), "--try"]).arg(&fast).args(SHORT);
    let run = tunesmith.run(command);
    assert_eq!(run.code, 2, "{}", run.stderr);
    assert!(run.stderr.contains("innodb_flush_log_at_trx_commit"), "{}", run.stderr);
}

#[test]
fn bad_requests_get_a_clear_error_and_the_documented_code() {
    let tunesmith = Tunesmith::new();
    let absent = tunesmith.folder().join("nothing-here");
    let absent = absent.to_str().unwrap();
    let cases: [(&[&str], i32, &str); 8] = [
        (&["tune", "--sandbox", "--trials", "0"], 2, "--trials is 0"),
        (&["tune", "--sandbox", "--pairs", "2"], 2, "at least 5"),
        (&["tune", "--sandbox", "--measure", "soon"], 2, "not a duration"),
        (&["tune", "--sandbox", "--workload", "sysbench:nothing"], 2, "oltp_read_write"),
        (&["studies", "show", "7"], 2, "no study 7"),
        (&["studies", "resume", "seven"], 2, "number"),
        (&["tune", "--socket", absent], 3, "nothing-here"),
        (&["tune", "--sandbox", "--try", absent], 2, "nothing-here"),
    ];
    for (args, code, text) in cases {
        let run = tunesmith.run_args(args);
        assert_eq!(run.code, code, "{args:?}: {}", run.stderr);
        assert!(run.stderr.contains(text), "{args:?}: {}", run.stderr);
        assert!(run.stdout.is_empty(), "{args:?} wrote to standard output: {}", run.stdout);
    }
}

#[test]
fn no_server_program_is_said_with_how_to_get_one() {
    let tunesmith = Tunesmith::new();
    let empty = tunesmith.folder().join("empty");
    std::fs::create_dir(&empty).unwrap();
    let run = tunesmith.run_args(&["tune", "--sandbox", "--server-binary", empty.to_str().unwrap()]);
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(run.stderr.contains("hint"), "{}", run.stderr);
}
