//! Crate root.

pub mod recordings;
pub mod sched_load;
