//! The name of the autoscaler's run.

/// The name that the autoscaler's marks and commands bear.
pub const RUN: &str = "autoscaler";
