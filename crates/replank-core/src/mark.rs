//! What Replank writes on other people's objects, and where.
//!
//! Every cordon of ours names its owner, its run and its expiry (promise S3), so that a person can see whose it is and a
//! later run can find and clear what a dead one left.

/// Annotation on a node: the run that cordoned it.
pub const RUN: &str = "replank.dev/run";
/// Annotation on a node: what the node is to the run.
pub const ROLE: &str = "replank.dev/role";
/// Annotation on a node: when the mark may be cleared by anybody.
pub const EXPIRES: &str = "replank.dev/expires";
/// Tag on a group: its size before the run, as `min/max/desired`.
pub const ORIGINAL_SIZE: &str = "replank.dev/original-size";
