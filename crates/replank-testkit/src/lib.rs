//! Crate root.

pub mod autoscaling;
pub mod big;
pub mod bound;
pub mod check;
pub mod clusters;
pub mod dynamics;
pub mod finding;
pub mod fuzz;
pub mod interruptions;
pub mod migrate;
pub mod on_core;
pub mod requests;
pub mod scale;
pub mod scenario;
pub mod successor;
pub mod trial;
