//! Which configuration to try next.

pub(crate) mod moves;
pub(crate) mod search;
pub(crate) mod start;
