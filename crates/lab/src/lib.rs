//! The lab: machines with their prices, and cloud machines emulated at scale on one Linux computer.
//!
//! The first half is pure: a dated [`Catalogue`] of Amazon RDS classes and EC2 sizes, what a machine costs a year ([`price`]), and the
//! configuration that the provider gives a server of that size ([`defaults`]), recipes of experiments ([`recipe`]), and what MySQLTuner's prose
//! means in values ([`mysqltuner`]). The second half ([`machine`]) makes such a machine: CPU and memory
//! by control groups, the disk with its provisioned IOPS by a loop device. It needs root, and says what it cannot do without.

#![forbid(unsafe_code)]

pub mod catalogue;
pub mod defaults;
pub mod machine;
pub mod mysqltuner;
pub mod price;
pub mod recipe;

pub use catalogue::{Catalogue, CatalogueError, Class};
