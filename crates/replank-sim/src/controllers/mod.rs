//! The controllers of the simulated control plane.
//!
//! Each is level-triggered, as the real ones: a change that concerns it puts the slot of the object to be looked at on its
//! work queue, and a sync moves that object closer to its spec. A sync sees the API server's present state;
//! what a real controller would see late through its informers is modelled by [`REACTION`], the time between a change
//! and the sync it causes.

pub(crate) mod autoscaling;
pub(crate) mod control;
mod cron_job;
mod daemon_set;
mod deployment;
pub(crate) mod disruption;
mod done;
pub(crate) mod drains;
pub(crate) mod endpoint_slice;
pub(crate) mod garbage;
mod hash;
pub(crate) mod history;
mod index;
mod job;
mod karpenter;
pub(crate) mod namespaces;
pub(crate) mod nodes;
pub(crate) mod operators;
mod owners;
mod phase;
mod pod_change;
pub(crate) mod pod_gc;
mod pods;
pub(crate) mod quotas;
mod replica_set;
pub(crate) mod rollouts;
mod slots;
mod stateful_set;
pub(crate) mod taint_eviction;
pub(crate) mod volumes;
pub(crate) mod workflows;
mod workloads;

pub(crate) use crate::context::{Ctx, REACTION};
pub(crate) use crate::event::Controller;
pub use autoscaling::takes_share;
pub use disruption::budget_status;
pub use endpoint_slice::SERVICE_NAME as SERVICE_NAME_LABEL;
pub use history::supply as supply_revisions;
pub use operators::{REACTION as OPERATOR_REACTION, is_kept_up};
pub(crate) use pod_change::PodChange;
pub(crate) use workloads::Workloads;

pub(crate) use done::{Done, narrow};
