//! Rules of what only a rehearsal finds.

/// What stopped the roll, and no other finding tells of.
pub(super) const STOPS: &str = "stops-the-roll";

/// A workload without a Ready pod for a while, and no other finding tells of it.
pub(super) const OUTAGE: &str = "outage";
