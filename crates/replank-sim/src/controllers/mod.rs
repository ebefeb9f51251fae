//! The controllers of the simulated control plane.
//!
//! Each is level-triggered, as the real ones: a change that concerns it puts the slot of the object to be looked at on its
//! work queue, and a sync brings that object nearer to what it should be. A sync sees the API server's present state;
//! what a real controller would see late through its informers is modelled by [`REACTION`], the time between a change
//! and the sync it causes.

pub(crate) mod autoscaling;
pub(crate) mod control;
mod cron_job;
mod daemon_set;
mod deployment;
pub(crate) mod disruption;
pub(crate) mod endpoint_slice;
pub(crate) mod garbage;
mod hash;
pub(crate) mod history;
mod index;
mod job;
pub(crate) mod namespaces;
pub(crate) mod nodes;
pub(crate) mod operators;
mod phase;
pub(crate) mod pod_gc;
mod pods;
mod queue;
pub(crate) mod quotas;
mod replica_set;
pub(crate) mod rollouts;
mod stateful_set;
pub(crate) mod taint_eviction;
pub(crate) mod volumes;
pub(crate) mod workflows;
mod workloads;

use replank_model::time::Span;
use replank_model::view::View;

use crate::agenda::Agenda;
use crate::world::Event;
use replank_apiserver::Api;
use replank_apiserver::draw::Draws;

pub use autoscaling::takes_share;
pub use endpoint_slice::SERVICE_NAME as SERVICE_NAME_LABEL;
pub use history::supply as supply_revisions;
pub use operators::{REACTION as OPERATOR_REACTION, is_kept_up};
pub(crate) use queue::WorkQueue;
pub(crate) use workloads::Workloads;

/// Time from a write to the sync it causes: watch delivery, work queue and informer. Recorded reactions of the real
/// controllers on a quiet machine lie between 3 and 15 ms.
pub(crate) const REACTION: Span = Span::from_millis(5);

/// The controllers that keep a work queue.
#[expect(clippy::enum_variant_names, reason = "they are called as the kinds they keep")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Controller {
    /// Rolls a Deployment's ReplicaSets.
    Deployment,
    /// Keeps a ReplicaSet's pods.
    ReplicaSet,
    /// Keeps a ReplicationController's pods.
    ReplicationController,
    /// Keeps a StatefulSet's pods and claims.
    StatefulSet,
    /// Keeps a DaemonSet's pods.
    DaemonSet,
    /// Runs a Job's pods.
    Job,
    /// Takes the finalizer from pods that no Job counts.
    JobOrphan,
    /// Deletes a Job some time after its end.
    JobTtl,
    /// Makes a CronJob's Jobs.
    CronJob,
    /// Keeps the EndpointSlices of a Service.
    EndpointSlice,
}

/// Whether looking at an object is done.
pub(crate) enum Done {
    /// It is.
    Yes,
    /// It goes on after a while.
    GoesOn(Span),
}

/// What a controller may touch.
pub(crate) struct Ctx<'a> {
    /// The API server: the only way to change anything.
    pub(crate) api: &'a mut Api,
    /// What is due when.
    pub(crate) agenda: &'a mut Agenda<Event>,
    /// What waits to be synced.
    pub(crate) queue: &'a mut WorkQueue,
    /// Randomness.
    pub(crate) draws: &'a Draws,
}

impl Ctx<'_> {
    /// Everything there is.
    pub(crate) fn view(&self) -> &View {
        self.api.view()
    }

    /// Looks at an object soon.
    pub(crate) fn enqueue(&mut self, controller: Controller, slot: u32) {
        self.queue.add(self.agenda, controller, slot);
    }

    /// Looks at an object after a while.
    pub(crate) fn enqueue_after(&mut self, controller: Controller, slot: u32, span: Span) {
        self.queue.add_after(self.agenda, controller, slot, span);
    }

    /// Looks at an object again after a pause that grows with every failure.
    pub(crate) fn retry(&mut self, controller: Controller, slot: u32) {
        self.queue.retry(self.agenda, controller, slot);
    }
}

/// A count as the API writes it.
pub(crate) fn narrow(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}
