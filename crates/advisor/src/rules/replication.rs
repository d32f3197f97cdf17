//! Replicas, Galera and Group Replication.

use crate::context::{Context, Draft, percent};
use knobs::Value;

pub(super) fn stopped(context: &Context<'_>) -> Option<Draft> {
    let channels = context.snapshot.replicas.as_ref()?;
    if channels.is_empty() {
        return None;
    }
    let down: Vec<String> = channels
        .iter()
        .filter(|channel| !channel.receiving || !channel.applying)
        .map(|channel| {
            let what = match (channel.receiving, channel.applying) {
                (false, false) => "neither receives nor applies",
                (false, true) => "does not receive",
                _ => "does not apply",
            };
            format!("channel `{}` {what}: {}", channel.name, channel.error)
        })
        .collect();
    if down.is_empty() {
        return Some(Draft::fine("replication runs", format!("{} channels", channels.len())));
    }
    Some(Draft::critical("replication has stopped", down.join("; ")))
}

pub(super) fn lag(context: &Context<'_>) -> Option<Draft> {
    let channels = context.snapshot.replicas.as_ref().filter(|channels| !channels.is_empty())?;
    // NULL is "unknown", not a number of seconds.
    let known: Vec<u64> = channels.iter().filter_map(|channel| channel.lag_seconds).collect();
    if known.len() < channels.len() {
        return Some(Draft::not_enough("the server does not know how far a replica is behind"));
    }
    let worst = known.into_iter().max().unwrap_or(0);
    let evidence = format!("{worst} s behind the source");
    Some(if worst > 60 {
        Draft::warning("the replica is behind", evidence)
    } else {
        Draft::fine("the replica keeps up", evidence)
    })
}

pub(super) fn writable(context: &Context<'_>) -> Option<Draft> {
    let channels = context.snapshot.replicas.as_ref()?;
    if channels.is_empty() || context.on("read_only")? || context.on("wsrep_on") == Some(true) {
        return None;
    }
    Some(Draft::notice("the replica takes writes", "read_only is off").suggest(
        "read_only",
        Value::Bool(true),
        "the replica cannot come to differ from its source by accident",
    ))
}

pub(super) fn parallel(context: &Context<'_>) -> Option<Draft> {
    let channels = context.snapshot.replicas.as_ref()?;
    let behind = channels.iter().any(|channel| channel.lag_seconds.is_some_and(|lag| lag > 60));
    if !behind {
        return None;
    }
    // The names differ: the live server's is taken.
    let knob = if context.is_mariadb() { "slave_parallel_threads" } else { "replica_parallel_workers" };
    let workers = context.int(knob).or_else(|| context.int("slave_parallel_workers"))?;
    let cores = i64::from(context.snapshot.machine.cores.unwrap_or(4));
    (workers <= 1).then(|| {
        Draft::notice("one thread applies what many have written", format!("{knob} {workers}")).suggest(
            knob,
            Value::Int(cores.clamp(2, 16)),
            "the replica applies independent transactions together; replication must be stopped for the change",
        )
    })
}

/// Gaps of one source's transactions in MySQL's notation: `uuid:1-5:7`, `uuid:tag:1-3`. A tag is no number.
pub(crate) fn gaps(executed: &str) -> Vec<String> {
    let mut found = Vec::new();
    for part in executed.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let mut pieces = part.split(':');
        let Some(source) = pieces.next() else { continue };
        let mut intervals = 0;
        let mut tag = "";
        let mut close = |tag: &str, intervals: usize| {
            if intervals > 1 {
                found.push(if tag.is_empty() { source.to_owned() } else { format!("{source}:{tag}") });
            }
        };
        for piece in pieces {
            if piece.starts_with(|c: char| c.is_ascii_digit()) {
                intervals += 1;
            } else {
                close(tag, intervals);
                (tag, intervals) = (piece, 0);
            }
        }
        close(tag, intervals);
    }
    found
}

pub(super) fn gtid_gaps(context: &Context<'_>) -> Option<Draft> {
    // MariaDB's identifiers have no sets with gaps.
    if context.is_mariadb() {
        return None;
    }
    let channels = context.snapshot.replicas.as_ref().filter(|channels| !channels.is_empty())?;
    let found: Vec<String> = channels.iter().flat_map(|channel| gaps(&channel.executed_gtids)).collect();
    (!found.is_empty()).then(|| {
        Draft::notice("transactions of a source are missing", format!("gaps in {}", found.join(", ")))
    })
}

fn in_galera(context: &Context<'_>) -> bool {
    context.on("wsrep_on") == Some(true) && context.count("wsrep_cluster_size").is_some_and(|size| size > 0.0)
}

pub(super) fn galera_state(context: &Context<'_>) -> Option<Draft> {
    if !in_galera(context) {
        return None;
    }
    let state = context.status("wsrep_cluster_status").unwrap_or("unknown");
    let comment = context.status("wsrep_local_state_comment").unwrap_or("unknown");
    let ready = context.status("wsrep_ready").unwrap_or("unknown");
    let size = context.count("wsrep_cluster_size").unwrap_or(0.0);
    let evidence = format!("{size} nodes, status {state}, this node {comment}, ready {ready}");
    if !state.eq_ignore_ascii_case("primary") || !ready.eq_ignore_ascii_case("on") {
        return Some(Draft::critical("this node takes no part in the cluster", evidence));
    }
    if size < 3.0 || size % 2.0 == 0.0 {
        return Some(
            Draft::notice("a split may leave no majority", evidence)
                .advice("an odd number of nodes, three at least, or an arbitrator"),
        );
    }
    Some(Draft::fine("the node is part of the cluster", evidence))
}

pub(super) fn galera_flow_control(context: &Context<'_>) -> Option<Draft> {
    if !in_galera(context) {
        return None;
    }
    // A share of time since the last FLUSH STATUS, kept in the status, not among the provider's options.
    let paused = context.count("wsrep_flow_control_paused")?;
    let evidence = format!("paused {} of the time", percent(paused));
    Some(if paused > 0.02 {
        Draft::warning("the cluster waits for its slowest node", evidence).advice(
            "look at the node that sends flow control: its storage, and the number of its applying threads",
        )
    } else {
        Draft::fine("flow control rests", evidence)
    })
}

pub(super) fn galera_requirements(context: &Context<'_>) -> Option<Draft> {
    if !in_galera(context) {
        return None;
    }
    let mut broken = Vec::new();
    if context.text("binlog_format").is_some_and(|format| !format.eq_ignore_ascii_case("row")) {
        broken.push("binlog_format is not ROW");
    }
    if context.int("innodb_autoinc_lock_mode").is_some_and(|mode| mode != 2) {
        broken.push("innodb_autoinc_lock_mode is not 2");
    }
    // innodb_flush_log_at_trx_commit is no requirement: a trade-off, see durability.commit.
    Some(if broken.is_empty() {
        Draft::fine("Galera has what it needs", "ROW format, interleaved auto-increment")
    } else {
        Draft::critical("Galera needs other settings", broken.join(", "))
    })
}

pub(super) fn group_members(context: &Context<'_>) -> Option<Draft> {
    let members = &context.snapshot.group_members;
    if members.is_empty() {
        return None;
    }
    let odd: Vec<String> = members
        .iter()
        .filter(|(_, state)| !state.eq_ignore_ascii_case("online"))
        .map(|(host, state)| format!("{host} is {state}"))
        .collect();
    Some(if odd.is_empty() {
        Draft::fine("all members of the group are online", format!("{} members", members.len()))
    } else {
        Draft::critical("members of the group are missing", odd.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::gaps;

    #[test]
    fn a_tag_is_no_gap() {
        assert_eq!(gaps("3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5:backup:1-3"), Vec::<String>::new());
        assert_eq!(gaps("3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5, a1b2:7"), Vec::<String>::new());
    }

    #[test]
    fn a_gap_is_found_within_a_source_or_a_tag() {
        assert_eq!(gaps("a1b2:1-5:7-9"), ["a1b2"]);
        assert_eq!(gaps("a1b2:1-5:backup:1-3:5"), ["a1b2:backup"]);
        assert_eq!(gaps(""), Vec::<String>::new());
    }
}
