//! The Kubernetes API on the wire, in front of the simulated cluster.
//!
//! One thread owns the world; it alone writes. What it writes is published to a read model, from which lists, gets and watches are answered without waiting
//! for it.

pub mod answer;
mod meta;
pub mod mirror;
pub mod owner;
pub mod pace;
mod pki;
mod query;
pub mod read;
pub mod route;
pub mod serve;

pub use owner::{Cluster, Owner};
pub use pace::Pace;
pub use pki::{Identity, Kubeconfig};
pub use serve::{Listen, Server};
