//! The simulated cluster: virtual time, an API server, controllers, a scheduler, kubelets and node groups.
//!
//! It is judged by one question: would the real cluster have done this? `World` runs events in the order in which they are
//! due; every write goes through [`replank_apiserver::Api`], every change is shown to whoever watches, and all randomness comes from
//! one seed, entity by entity.

mod agenda;
mod cloud;
mod controllers;
mod driver;
mod durations;
mod kubelet;
pub mod load;
pub mod rehearse;
pub mod replay;
mod scheduling;
pub mod script;
#[cfg(test)]
mod testing;
mod ties;
mod trace;
mod world;

pub use cloud::{CloudTimings, Range, Told};
pub use driver::{Pilot, Sent};
pub use durations::{Assumption, Durations, Source, Workload, workload_of};
pub use kubelet::{ImageFault, ImageName, KubeletModel, PodAct};
pub use replank_apiserver::draw::{Draw, Draws, Purpose};
pub use ties::TieBreaker;
pub use trace::TraceHash;
pub use world::{Observer, Settings, World};
