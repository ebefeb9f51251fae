//! What our answers are held to, without anything of ours that answers: recordings of Kubernetes' own code, a plain second
//! scheduler, and random clusters for both. Tests only.

pub mod plain_scheduler;
pub mod recordings;
pub mod sched_cases;
pub mod sched_load;
pub mod sched_random;
pub mod tell;
