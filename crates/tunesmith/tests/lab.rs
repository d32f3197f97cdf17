//! `sweep`, `compare` and `lab run`, as a user runs them, on this machine as it is. How fast anything is decides nothing here.

#![expect(clippy::unwrap_used, reason = "a test that fails has no better way to say so")]

#[expect(dead_code, reason = "other tests kill what they start; these only interrupt it")]
mod common;

use common::{Tunesmith, flavours};
use serde_json::Value;
use std::time::Duration;

const WORK: [&str; 8] = [
    "--workload",
    "sysbench:oltp_point_select",
    "--sysbench-options=--table-size=1000",
    "--warmup",
    "0s",
    "--measure",
    "1s",
    "--quiet",
];

#[test]
fn a_sweep_goes_on_where_it_stopped() {
    let Some(flavour) = flavours().pop() else { return };
    let tunesmith = Tunesmith::new();
    let results = tunesmith.folder().join("runs.jsonl");
    let sweep = |threads: &str| {
        let mut command = tunesmith.command();
        command.args([
            "sweep",
            "--json",
            &format!("--sandbox={flavour}"),
            "--rest",
            "0s",
            "--threads",
            threads,
        ]);
        command.args(WORK).arg("--results").arg(&results);
        let run = tunesmith.run(command);
        assert_eq!(run.code, 0, "{}", run.stderr);
        serde_json::from_str::<Value>(&run.stdout).unwrap()
    };
    let first = sweep("1,2,3");
    assert_eq!(first["schema"], "tunesmith.sweep/1");
    let points = first["machines"][0]["points"].as_array().unwrap();
    assert_eq!(points.len(), 3);
    assert!(points.iter().all(|p| p["per_second"].as_f64().unwrap() > 0.0));
    assert!(first["machines"][0]["fit"]["law"]["alone"].as_f64().unwrap() > 0.0, "a law was fitted");

    // As a crash would leave it: one run of three, and half a line of the next.
    let text = std::fs::read_to_string(&results).unwrap();
    let kept: Vec<&str> = text.lines().take(2).collect();
    std::fs::write(&results, format!("{}\n{{\"run\":{{\"ce", kept.join("\n"))).unwrap();
    let second = sweep("1,2,3");
    let rate = |d: &Value, n: usize| d["machines"][0]["points"][n]["per_second"].as_f64().unwrap();
    assert_eq!(rate(&first, 0), rate(&second, 0), "what was measured is not measured again");
    assert_eq!(std::fs::read_to_string(&results).unwrap().lines().count(), 4);
    tunesmith.assert_nothing_left();
}

#[test]
fn an_interrupt_keeps_what_was_measured() {
    let Some(flavour) = flavours().pop() else { return };
    let tunesmith = Tunesmith::new();
    let results = tunesmith.folder().join("runs.jsonl");
    let mut command = tunesmith.command();
    let sandbox = format!("--sandbox={flavour}");
    let work = &WORK[..WORK.len() - 1];
    command.args(["sweep", &sandbox, "--rest", "0s", "--threads", "1,2,3,4,5,6,7,8,9"]).args(work);
    command.arg("--results").arg(&results);
    let mut running = tunesmith.spawn(command);
    running.wait_for("1 of 9", Duration::from_secs(120));
    running.interrupt();
    let run = running.finish();
    assert_eq!(run.code, 130, "{}", run.stderr);
    assert!(run.stderr.contains("goes on"), "{}", run.stderr);
    assert!(run.stdout.contains("most with"), "what was measured is shown: {}", run.stdout);
    let kept = std::fs::read_to_string(&results).unwrap().lines().count() - 1;
    assert!((1..9).contains(&kept), "{kept} runs kept");
    tunesmith.assert_nothing_left();
}

#[test]
fn a_recipe_is_done_step_by_step_and_leaves_a_report() {
    let Some(flavour) = flavours().pop() else { return };
    let tunesmith = Tunesmith::new();
    let recipe = tunesmith.folder().join("small.toml");
    let step = |name: &str, command: &str, rest: &str| {
        format!(
            "[[step]]\nname = \"{name}\"\ntitle = \"Step {name}\"\ncommand = \"{command}\"\nsandbox = \"{flavour}\"\n\
             workload = \"sysbench:oltp_point_select\"\nsysbench-options = \"--table-size=1000\"\nwarmup = \"0s\"\n{rest}\n"
        )
    };
    let pools = "config = [\"a.cnf\", \"b.cnf\"]\nterminals = 2\nrepeat = 3\nmeasure = \"9s\"\n[step.quick]\nmeasure = \"1s\"\nrepeat = 2";
    let threads = "threads = [1, 2, 3]\nrest = \"0s\"\nmeasure = \"1s\"";
    let text = format!(
        "title = \"Small <recipe>\"\nabout = \"A test.\"\npublished = [\"nothing\"]\n{}{}",
        step("pools", "compare", pools),
        step("threads", "sweep", threads)
    );
    std::fs::write(&recipe, text).unwrap();
    for (name, size) in [("a", "32M"), ("b", "64M")] {
        let text = format!("[mysqld]\ninnodb_buffer_pool_size = {size}\n");
        std::fs::write(tunesmith.folder().join(format!("{name}.cnf")), text).unwrap();
    }
    let out = tunesmith.folder().join("out");
    let lab = || {
        let mut command = tunesmith.command();
        command.args(["lab", "run", "--quick", "--quiet", "--out"]).arg(&out).arg(&recipe);
        tunesmith.run(command)
    };
    let run = lab();
    assert_eq!(run.code, 0, "{}", run.stderr);
    let page = std::fs::read_to_string(out.join("report.html")).unwrap();
    assert!(
        page.contains("Small &lt;recipe&gt;") && page.contains("Step pools") && page.contains("Step threads")
    );
    let runs = std::fs::read_to_string(out.join("pools.jsonl")).unwrap();
    assert_eq!(runs.lines().count(), 1 + 2 + 4, "the experiment, two contenders, two rounds of both");
    let again = lab();
    assert_eq!(again.code, 0, "{}", again.stderr);
    assert_eq!(std::fs::read_to_string(out.join("pools.jsonl")).unwrap(), runs, "nothing was measured twice");
    tunesmith.assert_nothing_left();
}

#[test]
fn what_can_not_be_done_is_said_before_anything_is_started() {
    let tunesmith = Tunesmith::new();
    let said = |args: &[&str], code: i32, text: &str| {
        let run = tunesmith.run_args(args);
        assert_eq!(run.code, code, "{}", run.stderr);
        assert!(run.stderr.contains(text), "{}", run.stderr);
    };
    said(&["lab", "run", "/nowhere.toml"], 2, "can't read /nowhere.toml");
    said(&["sweep", "--sandbox", "--workload", "tpch"], 2, "sysbench:SCRIPT");
    said(&["sweep", "--sandbox", "--machine", "db.m5.4xlarg"], 2, "db.m5.4xlarge");
    said(&["sweep", "--server", "mysql://a@localhost/x"], 2, "private ones");
    said(&["compare", "--sandbox", "--repeat", "0"], 2, "above zero");
    let recipe = tunesmith.folder().join("r.toml");
    let text = "title = \"\"\nabout = \"\"\n[[step]]\nname = \"a\"\ntitle = \"\"\ncommand = \"sweep\"\nno-such = 1\n";
    std::fs::write(&recipe, text).unwrap();
    let path = recipe.to_string_lossy().into_owned();
    said(&["lab", "run", &path], 2, "--no-such");
    said(&["lab", "run", &path, "--step", "b"], 2, "there are a");
}
