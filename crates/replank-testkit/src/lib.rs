//! Crate root.

pub mod big;
pub mod check;
pub mod clusters;
pub mod dynamics;
pub mod interruptions;
pub mod migrate;
pub mod on_core;
pub mod plain_scheduler;
pub mod recordings;
pub mod requests;
pub mod scale;
pub mod scenario;
pub mod sched_cases;
pub mod sched_load;
pub mod sched_random;
pub mod trial;
