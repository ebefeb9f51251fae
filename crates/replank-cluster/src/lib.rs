//! The simulated cluster behind the Kubernetes API: what `replank cluster up` serves.
//!
//! The world knows nothing of the wire, and the wire nothing of the world; here they are joined.

mod nodes;
mod world;

pub use nodes::{Fleet, nodes};
pub use world::{Begin, begin};
