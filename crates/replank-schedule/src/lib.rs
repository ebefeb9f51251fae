//! Where pods can go: kube-scheduler's answers.
//!
//! A [`Scheduler`] is fed with the [`Change`]s of one [`View`] and asked where pods fit. It answers as kube-scheduler 1.36
//! with its default profile does, all nodes scored. It is a cache over the View: [`Scheduler::load`] makes an equal one
//! from scratch at any time. Only pods that were assumed on a node ([`Scheduler::assume`]) are not in the View.

mod amounts;
mod assumed;
mod attempt;
mod base;
mod bits;
mod certain_fit;
mod compile;
mod counters;
mod counts;
mod cycle;
mod detail;
mod eligible;
mod explain;
mod filter;
mod histogram;
mod ids;
mod images;
mod intern;
mod labels;
mod nodes;
mod options;
mod owners;
mod place;
mod placed;
mod plan;
mod plugin;
mod pods;
mod ports;
pub mod predicate;
mod preempt;
mod refusals;
mod refuse;
mod scheduler;
mod scope;
mod score;
mod select;
mod services;
mod slack;
mod sorting;
mod topology;
mod trial;
mod volumes;
mod world;

use replank_model::object::pod::Pod;
use replank_model::view::View;
use std::sync::Arc;

pub use attempt::Unplaced;
pub use certain_fit::{CertainFit, CertainFits};
pub use cycle::Rejection;
pub use detail::{Detail, HostPort, Shortage, Skew};
pub use explain::{Explanation, Scores, Verdict};
use filter::Cycle;
pub use options::{FeatureGates, Gate, Options, UnknownGate};
pub use place::{Placed, Unschedulable};
pub use plugin::{Code, CycleError, Failure, Plugin, Reason, Reasons};
pub use preempt::{Nomination, Preemption};
pub use trial::{Mark, Trial};
pub use volumes::VolumeDecisions;

pub use scheduler::Scheduler;

impl Scheduler {
    /// Every node's answer to a pod, with reasons and scores.
    #[must_use]
    pub fn explain(&mut self, view: &View, pod: &Arc<Pod>) -> Explanation {
        self.tidy();
        let Self { options, world, classes, bases, marks: _, epoch: _ } = self;
        let (mut cycle, rejected) = Cycle::begin(world, (classes, bases), options, view, pod);
        cycle.explain(world, rejected)
    }
}
