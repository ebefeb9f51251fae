//! Crate root.

pub mod plain_scheduler;
pub mod dynamics;
pub mod recordings;
pub mod requests;
pub mod sched_load;
pub mod sched_random;
