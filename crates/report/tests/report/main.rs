//! The renderers, from outside.

mod csv;
mod experiment;
mod formats;
mod page;
mod sample;
