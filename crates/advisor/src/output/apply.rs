//! What can be applied: only what may be changed without a person's decision; the rest is there as comments.

use crate::finding::{Recommendation, Report};
use knobs::{Flavour, Platform};
use std::fmt::Write;

/// One call of `ModifyDBParameterGroup` takes no more (RDS API reference).
const RDS_CALL: usize = 20;

fn split(report: &Report) -> (Vec<&Recommendation>, Vec<&Recommendation>) {
    report.recommendations().partition(|recommendation| recommendation.automatic)
}

fn head(report: &Report, comment: &str) -> String {
    format!("{comment} Advice of tunesmith for {}\n", report.identity)
}

fn by_hand(out: &mut String, comment: &str, left: &[&Recommendation]) {
    if left.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n{comment} For you to decide, not applied:");
    for recommendation in left {
        let _ = writeln!(
            out,
            "{comment}   {} = {} (now {}): {}",
            recommendation.knob,
            recommendation.value.to_cnf(),
            recommendation.current.to_cnf(),
            recommendation.effect
        );
    }
}

/// The larger of an ordered pair goes first when it grows and last when it shrinks, so that the server never clamps
/// the other in between.
fn ordered<'a>(changes: &[&'a Recommendation]) -> Vec<&'a Recommendation> {
    let mut changes = changes.to_vec();
    changes.sort_by_key(|change| {
        let larger = matches!(change.knob.as_str(), "innodb_io_capacity_max" | "innodb_max_dirty_pages_pct");
        match (larger, change.value.as_f64() > change.current.as_f64()) {
            (true, true) => 0,
            (false, _) => 1,
            (true, false) => 2,
        }
    });
    changes
}

pub(super) fn sql(report: &Report) -> String {
    // SET PERSIST is MySQL 8.0's; elsewhere the option file must be changed too.
    let persists = report.identity.flavour != Flavour::MariaDb
        && report.identity.version >= knobs::Version::new(8, 0, 0)
        && report.identity.platform == Platform::SelfManaged;
    let (now, left) = split(report);
    let (at_once, restart): (Vec<_>, Vec<_>) = now.into_iter().partition(|change| !change.restart);
    let mut out = head(report, "--");
    if at_once.is_empty() && restart.is_empty() {
        out.push_str("-- Nothing to change.\n");
    }
    let verb = if persists { "PERSIST" } else { "GLOBAL" };
    let changes = ordered(&at_once);
    for change in &changes {
        let _ = writeln!(out, "SET {verb} {} = {};", change.knob, change.value.to_sql());
    }
    if !persists && !changes.is_empty() {
        out.push_str("-- Put the same lines into the option file, or they are gone with the next restart.\n");
    }
    if !restart.is_empty() {
        out.push_str("\n-- After a restart:\n");
        for change in &restart {
            if persists {
                let _ = writeln!(out, "SET PERSIST_ONLY {} = {};", change.knob, change.value.to_sql());
            } else {
                let _ = writeln!(out, "-- option file: {} = {}", change.knob, change.value.to_cnf());
            }
        }
    }
    if !changes.is_empty() || (persists && !restart.is_empty()) {
        out.push_str("\n-- The way back:\n");
        for change in changes.iter().rev() {
            let _ = writeln!(out, "-- SET {verb} {} = {};", change.knob, change.current.to_sql());
        }
        if persists {
            for change in &restart {
                let _ = writeln!(out, "-- RESET PERSIST IF EXISTS {};", change.knob);
            }
        }
    }
    by_hand(&mut out, "--", &left);
    out
}

pub(super) fn cnf(report: &Report) -> String {
    let (now, left) = split(report);
    let mut out = head(report, "#");
    out.push_str("[mysqld]\n");
    for change in now {
        let _ = writeln!(out, "# {}", change.why);
        let _ = writeln!(out, "{} = {}", change.knob, change.value.to_cnf());
    }
    by_hand(&mut out, "#", &left);
    out
}

/// RDS wants numbers for switches.
fn rds_value(change: &Recommendation) -> String {
    match &change.value {
        knobs::Value::Bool(on) => i32::from(*on).to_string(),
        other => other.to_cnf(),
    }
}

pub(super) fn rds_cli(report: &Report) -> String {
    let (now, left) = split(report);
    let mut out = head(report, "#");
    out.push_str(
        "# A default.* group cannot be changed: name a group of your own, used by this instance only.\n",
    );
    out.push_str(": \"${PARAMETER_GROUP:?name of the parameter group}\"\n");
    let changes = ordered(&now);
    if changes.is_empty() {
        out.push_str("# Nothing to change.\n");
    }
    for call in changes.chunks(RDS_CALL) {
        out.push_str(
            "\naws rds modify-db-parameter-group --db-parameter-group-name \"$PARAMETER_GROUP\" --parameters",
        );
        for change in call {
            let method = if change.restart { "pending-reboot" } else { "immediate" };
            let _ = write!(
                out,
                " \\\n  'ParameterName={},ParameterValue={},ApplyMethod={method}'",
                change.knob,
                rds_value(change)
            );
        }
        out.push('\n');
    }
    by_hand(&mut out, "#", &left);
    out
}

fn family(report: &Report) -> String {
    let version = report.identity.version;
    let flavour = if report.identity.flavour == Flavour::MariaDb { "mariadb" } else { "mysql" };
    format!("{flavour}{}.{}", version.major, version.minor)
}

pub(super) fn terraform(report: &Report) -> String {
    let (now, left) = split(report);
    let mut out = head(report, "#");
    let _ = write!(
        out,
        "resource \"aws_db_parameter_group\" \"tuned\" {{\n  name_prefix = \"tuned-\"\n  family      = \"{}\"\n",
        family(report)
    );
    for change in ordered(&now) {
        let method = if change.restart { "pending-reboot" } else { "immediate" };
        let _ = write!(
            out,
            "\n  parameter {{\n    name         = \"{}\"\n    value        = \"{}\"\n    apply_method = \"{method}\"\n  }}\n",
            change.knob,
            rds_value(change)
        );
    }
    out.push_str("\n  lifecycle {\n    create_before_destroy = true\n  }\n}\n");
    by_hand(&mut out, "#", &left);
    out
}
