//! The renderers, from outside.

mod csv;
mod formats;
mod page;
mod sample;
