//! Studies on disk.
#![forbid(unsafe_code)]
