//! Replank on a real Kubernetes API: the driver's side of the wire.
//!
//! Nothing decides here. What is read becomes objects of the model; what is written was decided by an engine.

mod answer;
pub mod aws;
mod capture;
pub mod cloud;
mod connect;
pub mod drive;
mod error;
mod lease;
mod list;
mod nodes;
pub mod queue;
mod resource;
mod rights;
mod slim;
mod write;

pub use answer::Answer;
pub use capture::{Asked as Captured, Capture, Purpose, Taken, reduced, snapshot_rules};
pub use connect::{Asked, Connection};
pub use error::{LiveError, Missing};
pub use lease::{Attempt, Holder, Lease, Term};
pub use nodes::nodes;
pub use resource::Resource;
pub use rights::{Rule, missing};
pub use write::{create, delete, patch};

/// kube is built upon these types and wants one version of them chosen.
use k8s_openapi as _;
