//! Rules over a snapshot of a server: findings, and recommendations for knobs. Pure.
#![forbid(unsafe_code)]
