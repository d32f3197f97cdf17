//! Studies and trials: the state machine that applies, measures and judges configurations.
#![forbid(unsafe_code)]
