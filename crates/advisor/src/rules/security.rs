//! Accounts, encryption, and versions that nobody repairs any more. No password is ever tried.

use crate::context::{Context, Draft};
use crate::{lifecycle, vulnerabilities};
use knobs::Value;

pub(super) fn end_of_life(context: &Context<'_>) -> Option<Draft> {
    let identity = context.identity();
    let today = context.snapshot.today.as_deref()?;
    // What the vendor's cloud supports is the vendor's own matter.
    if identity.platform != knobs::Platform::SelfManaged {
        return None;
    }
    let series = format!("{} {}.{}", identity.flavour, identity.version.major, identity.version.minor);
    match lifecycle::end_of(identity.flavour, identity.version) {
        Some(end) if end < today => Some(
            Draft::warning("this version is no longer repaired", format!("{series} ended on {end}"))
                .advice("plan the upgrade: security holes stay open"),
        ),
        Some(end) => Some(Draft::fine("this version is supported", format!("{series} until {end}"))),
        // A series that is not in the file is unknown, not dead.
        None => None,
    }
}

pub(super) fn known_holes(context: &Context<'_>) -> Option<Draft> {
    let identity = context.identity();
    // A cloud repairs on its own schedule, under the same number.
    if identity.platform != knobs::Platform::SelfManaged {
        return None;
    }
    let galera = context.on("wsrep_on") == Some(true);
    let holes = vulnerabilities::open_in(identity.flavour, identity.version, galera);
    let worst = holes.first()?;
    let told: Vec<String> = holes
        .iter()
        .map(|h| format!("{} of {} (CVSS {:.1}): {}", h.cve, h.published, h.score, h.text))
        .collect();
    let evidence = format!(
        "{} {} has {}; by a list of {}",
        identity.flavour,
        identity.version,
        told.join("; "),
        vulnerabilities::LOOKED_UP
    );
    let fixed = holes.iter().map(|h| h.fixed).max()?;
    // 7.0 and more is "high" in CVSS 3.
    let draft = if worst.score >= 7.0 { Draft::warning } else { Draft::notice };
    Some(draft("this version has known holes", evidence).advice(format!(
        "upgrade to {fixed} or later; a distribution may have repaired it under the old number: see its own list"
    )))
}

pub(super) fn anonymous(context: &Context<'_>) -> Option<Draft> {
    let accounts = context.snapshot.accounts.as_ref()?;
    let hosts: Vec<&str> =
        accounts.iter().filter(|a| a.user.is_empty() && !a.locked).map(|a| a.host.as_str()).collect();
    (!hosts.is_empty()).then(|| {
        Draft::warning(
            "anybody can log in without a name",
            format!("anonymous accounts at {}", hosts.join(", ")),
        )
        .advice("DROP USER ''@'host'")
    })
}

pub(super) fn no_password(context: &Context<'_>) -> Option<Draft> {
    let accounts = context.snapshot.accounts.as_ref()?;
    // Accounts known by the operating system have no password and need none.
    let open: Vec<String> = accounts
        .iter()
        .filter(|a| a.no_password && !a.locked && !a.user.is_empty())
        .map(|a| format!("{}@{}", a.user, a.host))
        .collect();
    Some(if open.is_empty() {
        Draft::fine("every account has a password", format!("{} accounts", accounts.len()))
    } else {
        // Whom the network cannot reach, only accounts of this machine can abuse.
        let local = context.on("skip_networking") == Some(true);
        let draft = if local { Draft::warning } else { Draft::critical };
        draft("accounts without a password", open.join(", "))
            .advice("ALTER USER … IDENTIFIED BY …, or ACCOUNT LOCK")
    })
}

pub(super) fn open_root(context: &Context<'_>) -> Option<Draft> {
    let accounts = context.snapshot.accounts.as_ref()?;
    let open: Vec<String> = accounts
        .iter()
        .filter(|a| matches!(a.user.as_str(), "root" | "admin") && a.host == "%" && !a.locked)
        .map(|a| format!("{}@%", a.user))
        .collect();
    (!open.is_empty() && context.identity().platform == knobs::Platform::SelfManaged).then(|| {
        Draft::warning("an administrator can log in from everywhere", open.join(", "))
            .advice("limit the account to the hosts it is used from")
    })
}

pub(super) fn tls(context: &Context<'_>) -> Option<Draft> {
    let remote = context.on("skip_networking") != Some(true)
        && !matches!(context.text("bind_address"), Some("127.0.0.1" | "localhost" | "::1"));
    if !remote {
        return None;
    }
    // have_ssl is gone from MySQL 9: tls_version says what is offered, on both flavours. Whole words are compared:
    // MySQL writes TLSv1 where MariaDB writes TLSv1.0.
    let offered: Option<Vec<&str>> = context
        .text("tls_version")
        .map(|list| list.split(',').map(str::trim).filter(|version| !version.is_empty()).collect());
    let disabled = context.text("have_ssl").is_some_and(|have| have.eq_ignore_ascii_case("disabled"))
        || offered.as_ref().is_some_and(Vec::is_empty);
    if disabled {
        return Some(
            Draft::warning("connections over the network are not encrypted", "TLS is switched off")
                .advice("set ssl_cert, ssl_key and ssl_ca, then require_secure_transport"),
        );
    }
    let offered = offered?;
    let old: Vec<&str> =
        offered.iter().copied().filter(|v| matches!(*v, "TLSv1" | "TLSv1.0" | "TLSv1.1")).collect();
    if !old.is_empty() {
        return Some(Draft::warning("old versions of TLS are offered", old.join(", ")).suggest(
            "tls_version",
            Value::Text("TLSv1.2,TLSv1.3".into()),
            "only sound encryption is accepted",
        ));
    }
    Some(match context.on("require_secure_transport") {
        Some(false) => Draft::notice("encryption is offered, not required", offered.join(", ")).suggest(
            "require_secure_transport",
            Value::Bool(true),
            "no password or row crosses the network in the clear; clients that cannot encrypt are refused",
        ),
        _ => Draft::fine("encryption of connections", offered.join(", ")),
    })
}

pub(super) fn old_plugins(context: &Context<'_>) -> Option<Draft> {
    let accounts = context.snapshot.accounts.as_ref()?;
    let identity = context.identity();
    let removed = |plugin: &str| match plugin {
        "mysql_old_password" => Some("broken since long ago"),
        // MySQL 8.4 has it off by default and 9.0 has it no more; on MariaDB it is the ordinary plugin.
        "mysql_native_password" if identity.mysql_at_least(8, 0, 0) => Some("removed in MySQL 9.0"),
        "sha256_password" if identity.mysql_at_least(8, 0, 0) => Some("deprecated since MySQL 8.0"),
        _ => None,
    };
    let old: Vec<String> = accounts
        .iter()
        .filter(|a| !a.locked)
        .filter_map(|a| Some(format!("{}@{} ({}, {})", a.user, a.host, a.plugin, removed(&a.plugin)?)))
        .collect();
    (!old.is_empty()).then(|| {
        Draft::notice("accounts with an old way to log in", old.join(", "))
            .advice("ALTER USER … IDENTIFIED WITH caching_sha2_password BY …, when the clients can")
    })
}

pub(super) fn local_infile(context: &Context<'_>) -> Option<Draft> {
    // On by default in MariaDB, so only a word, never a change on our own.
    (context.on("local_infile")? && !context.is_mariadb()).then(|| {
        Draft::notice("clients may be asked for their files", "local_infile is on").suggest(
            "local_infile",
            Value::Bool(false),
            "a stolen server cannot read clients' files; LOAD DATA LOCAL stops working",
        )
    })
}
