//! What others would have done: the same nodes of the same cluster replaced by EKS's own update, by a person with kubectl, or by Replank.
//!
//! Everything else is the same: the seed, the script, the faults, the load. What others do is what their documentation, or their source, says; every
//! constant names where it is from.

mod eks;
mod fifteen;
mod kubectl;
mod way;

pub use eks::Eks;
pub use fifteen::{DRAIN_MAX, NodeDrain, Why, drains};
pub use kubectl::{Kubectl, of_managed};
pub use way::{AFTERWARDS, Come, Figures, Lowest, Way, WayResult};
