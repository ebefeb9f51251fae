//! Crate root.

pub mod plain_scheduler;
pub mod recordings;
pub mod sched_load;
pub mod sched_random;
