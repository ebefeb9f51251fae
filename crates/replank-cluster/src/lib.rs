//! The simulated cluster behind the Kubernetes API: what `replank cluster up` serves.
//!
//! The world knows nothing of the wire, and the wire nothing of the world; here they are joined.

mod api_services;
mod aws;
mod bootstrap;
mod controllers;
mod faults;
mod journal;
mod keeper;
mod leases;
mod nodes;
mod outside;
mod start;
mod trust;
mod world;

pub use aws::{AwsBackend, IamTokens, places};
pub use journal::{Files, JournalError, Kept};
pub use nodes::{Fleet, nodes};
pub use start::Start;
pub use trust::Trust;
pub use world::{Begin, begin};
