//! Connections and the threads that serve them.

use crate::context::{Context, Draft, percent};
use knobs::{Configuration, Flavour, Value, check_budget};

pub(super) fn near_limit(context: &Context<'_>) -> Option<Draft> {
    let limit = context.int("max_connections").filter(|limit| *limit > 0)?;
    let peak = context.count("max_used_connections")?;
    let share = peak / limit as f64;
    let evidence = format!("peak of {peak} connections, limit {limit}");
    if share < 0.85 {
        return Some(Draft::fine("connections stay below their limit", evidence));
    }
    let wanted = Value::Int((peak * 1.5).ceil() as i64);
    let more: Configuration = [("max_connections".to_owned(), wanted.clone())].into_iter().collect();
    let draft = Draft::warning("connections are near their limit", evidence);
    Some(match check_budget(&context.model(), &more, &context.snapshot.machine) {
        Ok(_) => draft.suggest("max_connections", wanted, "no client is turned away"),
        Err(error) => {
            draft.advice(format!("more connections would not fit the memory ({error}): pool them instead"))
        }
    })
}

pub(super) fn aborted_connects(context: &Context<'_>) -> Option<Draft> {
    let share = context.ratio("aborted_connects", "connections", 100.0)?;
    let evidence = format!("{} of logins failed {}", percent(share), context.period());
    Some(if share > 0.03 {
        Draft::notice("many logins fail", evidence).advice(
            "wrong passwords, probes of a load balancer, or somebody who tries doors: see the error log",
        )
    } else {
        Draft::fine("logins succeed", evidence)
    })
}

pub(super) fn aborted_clients(context: &Context<'_>) -> Option<Draft> {
    let share = context.ratio("aborted_clients", "connections", 100.0)?;
    let evidence = format!("{} of connections were not closed {}", percent(share), context.period());
    Some(if share > 0.02 {
        Draft::notice("clients leave without closing", evidence)
            .advice("clients that die, or wait_timeout below their idle time")
    } else {
        Draft::fine("connections are closed properly", evidence)
    })
}

pub(super) fn thread_cache(context: &Context<'_>) -> Option<Draft> {
    // With a pool there is nothing to cache.
    if context.text("thread_handling").is_some_and(|t| t.contains("pool") || t == "loaded-dynamically") {
        return None;
    }
    let size = context.int("thread_cache_size")?;
    let rate = context.per_second("threads_created")?;
    if context.window() < 60.0 {
        return Some(Draft::not_enough(format!("only {:.0} s counted", context.window())));
    }
    let evidence = format!("{rate:.2} threads made a second {}, cache of {size}", context.period());
    if rate < 1.0 {
        return Some(Draft::fine("threads are reused", evidence));
    }
    let peak = context.count("max_used_connections").unwrap_or(100.0) as i64;
    let limit = context.int("max_connections").unwrap_or(151);
    Some(Draft::notice("threads are made anew for many connections", evidence).set(
        "thread_cache_size",
        Value::Int(peak.max(size.saturating_mul(2)).min(limit).min(16_384)),
        "cheaper connections",
    ))
}

pub(super) fn name_resolution(context: &Context<'_>) -> Option<Draft> {
    if context.on("skip_name_resolve")? {
        return Some(Draft::fine("no host name is asked for at login", "skip_name_resolve is on"));
    }
    // It can only be switched on when no account is granted to a name; without the accounts nobody knows.
    let accounts = context.snapshot.accounts.as_ref()?;
    let by_name: Vec<String> = accounts
        .iter()
        .filter(|account| is_host_name(&account.host))
        .map(|account| format!("{}@{}", account.user, account.host))
        .collect();
    if !by_name.is_empty() {
        return Some(Draft::fine(
            "host names are asked for, and are needed",
            format!("accounts granted to names: {}", by_name.join(", ")),
        ));
    }
    Some(
        Draft::notice(
            "every new connection waits for a host name that nothing needs",
            "no account is granted to a name",
        )
        .suggest(
            "skip_name_resolve",
            Value::Bool(true),
            "logins no longer depend on the name service",
        ),
    )
}

/// A host part that only name resolution can match. `localhost` also means the socket, and stays right without it
/// for clients that use the socket.
fn is_host_name(host: &str) -> bool {
    !host.is_empty()
        && host != "localhost"
        && host != "%"
        && host.chars().any(|c| c.is_ascii_alphabetic())
        && !host.contains(':')
}

pub(super) fn thread_pool(context: &Context<'_>) -> Option<Draft> {
    let pooled = context.text("thread_handling")?.contains("pool");
    if !pooled {
        return None;
    }
    // 16 to 36 groups is the rule of another product; MariaDB and Percona want one for each core.
    if !matches!(context.identity().flavour, Flavour::MariaDb | Flavour::Percona) {
        return None;
    }
    let (size, cores) = (context.int("thread_pool_size")?, i64::from(context.snapshot.machine.cores?));
    let evidence = format!("{size} groups of threads for {cores} cores");
    if size >= cores && size <= cores * 2 {
        return Some(Draft::fine("size of the thread pool", evidence));
    }
    Some(Draft::notice("the thread pool does not fit the cores", evidence).set(
        "thread_pool_size",
        Value::Int(cores),
        "one running thread for each core",
    ))
}
