//! Stories of the autoscaler: a small cluster, groups, flags, and what is to be added and taken away.
//!
//! `scenarios/scale/README.md` describes the format. The cluster is made as that of every other scenario; what the cloud says of groups is
//! written as shorthand, made the JSON that the cloud would answer, and read by core's own reader.

pub mod big;
mod file;
mod groups;
mod harness;
mod memory;
mod play;
mod story;

pub use harness::check;
