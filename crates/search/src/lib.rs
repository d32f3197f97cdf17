//! The ask/tell optimiser. Pure and deterministic by seed.
#![forbid(unsafe_code)]
