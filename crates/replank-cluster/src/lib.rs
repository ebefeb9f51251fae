//! The simulated cluster behind the Kubernetes API: what `replank cluster up` serves.
//!
//! The world knows nothing of the wire, and the wire nothing of the world; here they are joined.

mod api_services;
mod bootstrap;
mod controllers;
mod faults;
mod journal;
mod keeper;
mod leases;
mod nodes;
mod outside;
mod trust;
mod world;

pub use journal::{Files, JournalError, Kept};
pub use nodes::{Fleet, nodes};
pub use trust::Trust;
pub use world::{Begin, Start, begin};
