//! Rules of what only a rehearsal finds.

/// What stopped the roll, if no other finding explains it.
pub(super) const STOPS: &str = "stops-the-roll";

/// A workload without a Ready pod for a while, if no other finding explains it.
pub(super) const OUTAGE: &str = "outage";

/// Batch work that failed because somebody other than the run ended its pod.
pub(super) const BATCH_FAILED: &str = "batch-failed";
