//! Memory: the whole against the machine.

use crate::context::{Context, Draft};
use crate::snapshot::MachineSource;
use knobs::{Bytes, Configuration, Platform, rds_potential as potential};

pub(super) fn unknown(context: &Context<'_>) -> Option<Draft> {
    if context.memory().is_some() {
        return None;
    }
    Some(
        Draft::new(
            crate::Severity::NotEnoughData,
            "the machine's memory is not known",
            "the server is not on this machine, and nothing it reports tells its memory",
        )
        .advice("state it with --memory and --cores; sizes are not advised upwards without it"),
    )
}

pub(super) fn realistic(context: &Context<'_>) -> Option<Draft> {
    let memory = context.memory()?;
    let estimate = context.model().estimate(&Configuration::new());
    let evidence = format!("about {} in realistic use on a machine with {memory}", estimate.realistic);
    if estimate.realistic > memory {
        return Some(
            Draft::critical("the configuration needs more memory than there is", evidence)
                .advice("lower innodb_buffer_pool_size, or max_connections and the buffers of sessions"),
        );
    }
    if estimate.realistic > memory.share(0.9) {
        return Some(Draft::warning("the configuration leaves no memory to the system", evidence));
    }
    Some(Draft::fine("memory fits the machine", evidence))
}

pub(super) fn worst(context: &Context<'_>) -> Option<Draft> {
    let memory = context.memory()?;
    let estimate = context.model().estimate(&Configuration::new());
    if estimate.worst <= memory {
        return None;
    }
    Some(
        Draft::notice(
            "all connections at once could need more memory than there is",
            format!(
                "{} if each of {} connections uses every buffer; {} in realistic use; {memory} there",
                estimate.worst,
                context.int("max_connections").unwrap_or(0),
                estimate.realistic
            ),
        )
        .advice("keep max_connections near what the application's pools can open"),
    )
}

/// Above 1.2 x the class's memory RDS puts an instance into `incompatible-parameters` (RDS User Guide,
/// troubleshooting).
pub(super) fn rds_potential(context: &Context<'_>) -> Option<Draft> {
    if context.identity().platform != Platform::Rds {
        return None;
    }
    let memory = context.memory()?;
    let need = potential(&Configuration::new(), &context.snapshot.variables);
    let evidence = format!("{need} by Amazon's rule, limit {} (1.2 x {memory})", memory.share(1.2));
    Some(if need > memory.share(1.2) {
        Draft::critical("RDS may refuse to start this configuration", evidence)
            .advice("lower max_connections or the buffers of sessions in the parameter group")
    } else {
        Draft::fine("Amazon's memory rule is kept", evidence)
    })
}

pub(super) fn container(context: &Context<'_>) -> Option<Draft> {
    if context.on("innodb_dedicated_server") != Some(true)
        || context.snapshot.machine_source != MachineSource::Local
    {
        return None;
    }
    let memory = context.memory()?;
    let pool = Bytes(u64::try_from(context.int("innodb_buffer_pool_size")?).ok()?);
    if pool <= memory.share(0.8) {
        return None;
    }
    Some(
        Draft::critical(
            "innodb_dedicated_server sized the pool for more memory than the container has",
            format!("pool {pool}, limit {memory}"),
        )
        .advice("set container_aware = ON (MySQL 9.x), or state server_memory or the sizes themselves"),
    )
}
