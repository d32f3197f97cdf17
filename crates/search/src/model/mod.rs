//! What the optimiser believes about configurations that were not measured.

pub(crate) mod earlier;
pub(crate) mod feasible;
pub(crate) mod gp;
pub(crate) mod kernel;
pub(crate) mod linalg;
mod minimise;
pub(crate) mod normal;
mod sample;
pub(crate) mod scale;
pub(crate) mod surrogate;
#[cfg(test)]
mod tests;
