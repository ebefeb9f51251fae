//! The simulated cluster: virtual time, an API server, controllers, a scheduler, kubelets and node groups.
//!
//! It is judged by one question: would the real cluster have done this? `World` runs events in the order in which they are
//! due; every write goes through [`replank_apiserver::Api`], every change is shown to all observers, and all randomness comes from
//! one seed, entity by entity.
//!
//! Layers, each knows only those below it: `script` → `world` → `driver`, `kubelet`, `scheduling` → `cloud`, `controllers` →
//! `context`, `durations` → `agenda`, `asked`, `event`, `load`, `ties`, `timing`, `trace`. An event says what is due; only the world knows
//! all parts, and lets the right one handle it.

mod agenda;
mod asked;
mod cloud;
mod context;
mod controllers;
mod driver;
mod durations;
mod event;
mod kubelet;
pub mod load;
mod memory;
mod scheduling;
pub mod script;
#[cfg(test)]
mod testing;
mod ties;
mod timing;
mod trace;
mod world;

pub use asked::{Asked, Asker};
pub use cloud::{
    Cloud, DescribeCloud, GroupUpdate, NodegroupRequest, OwnCloud, Place, StatusCheck, TERMINATION_HOOK,
    TargetChecks, Told, VersionNamed,
};
pub use controllers::drains::StandingDrain;
pub use controllers::{
    OPERATOR_REACTION, SERVICE_NAME_LABEL, budget_status, is_kept_up, supply_revisions, takes_share,
};
pub use driver::{DriverBug, Fate, LATE_DELIVERY_MAX, Mishaps, Network, Sent};
pub use durations::{Assumption, Durations, Source, Workload, ends_by_itself, series_of};
pub use kubelet::{ImageFault, ImageName, KubeletModel, NodeTrouble, PodAct};
pub use memory::Memory;
pub use replank_apiserver::draw::{Draw, Draws, Purpose};
pub use ties::TieBreaker;
pub use timing::{CloudTimings, EksTimings, Range};
pub use trace::TraceHash;
pub use world::{Observer, Settings, World};
