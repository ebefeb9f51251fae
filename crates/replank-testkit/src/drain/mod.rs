//! Drains that a person asks for, in small clusters and random ones: what is evicted, what is refused, and what every Service has left.

mod play;
mod stage;

pub use play::{Compared, compare};
pub use stage::{Stage, deployment, node, pod};
