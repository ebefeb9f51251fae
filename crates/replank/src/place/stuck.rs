//! A pod that waits, and why.

use replank_advice::place::{Queued, Remedy};

/// Pods of one workload that wait for the same reason, and the smallest remedy.
#[derive(Debug)]
pub(super) struct Stuck<'a> {
    /// The first of them.
    pub(super) first: &'a Queued,
    /// How many.
    pub(super) pods: usize,
    /// The smallest change with which the first would fit, if it was looked for and found.
    pub(super) remedy: Option<Remedy>,
}
