//! The Kubernetes API on the wire, in front of the simulated cluster.
//!
//! One thread owns the world; it alone writes. What it writes is published to a read model, from which lists, gets and watches are answered without waiting
//! for it.

pub mod answer;
pub mod auth;
mod client;
mod lookers;
pub mod manage;
mod meta;
pub mod mirror;
pub mod owner;
pub mod pace;
mod pki;
mod query;
pub mod read;
mod release;
pub mod route;
pub mod serve;
pub mod served;
mod table;
mod wire;
pub mod x509;

pub use auth::{Authorization, OutsideTokens, TokenSigner, User};
pub use client::{CallError, Client, Sent, call};
pub use hyper::Method;
pub use manage::Manage;
pub use owner::{Cluster, Owner};
pub use pace::Pace;
pub use pki::{Identity, Kubeconfig, Secrets};
pub use release::Release;
pub use serve::{Listen, Server};
pub use served::{Deprecation, Newest, OlderVersion, Versions};
