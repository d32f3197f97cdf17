//! How a configuration is applied to a server, verified, and taken back.
#![forbid(unsafe_code)]
