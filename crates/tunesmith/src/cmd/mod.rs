//! One module for each command: its arguments, and the few lines that call the library.

pub mod advise;
pub mod bench;
pub mod compare;
pub mod connection;
pub mod doctor;
pub mod knobs;
pub mod lab;
pub mod price;
pub mod report;
pub mod sandbox;
pub mod search;
pub mod studies;
pub mod sweep;
pub mod tune;
