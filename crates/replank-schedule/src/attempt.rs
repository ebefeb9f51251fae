//! One scheduling cycle: where a pod goes, and where that is nowhere, which pods would have to go for it.
//!
//! Source: `ScheduleOne` (Kubernetes 1.36 `pkg/scheduler/schedule_one.go`).

use std::collections::BTreeSet;
use std::sync::Arc;

use replank_model::object::pod::Pod;
use replank_model::text::Text;
use replank_model::view::View;

use super::Scheduler;
use super::filter::Cycle;
use super::place::{Placed, refused};
use super::plugin::{CycleError, Plugin};
use super::preempt::Preemption;

/// Why a pod goes nowhere, and what comes of that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unplaced {
    /// There are no nodes at all.
    NoNodes,
    /// No node fits.
    DoesNotFit {
        /// The scheduler's words, without what preemption adds.
        message: Text,
        /// Those whose objections decided.
        plugins: BTreeSet<Plugin>,
        /// How preemption comes out.
        preemption: Preemption,
    },
    /// The cycle ended in an error.
    Error(CycleError),
}

impl Scheduler {
    /// As [`Scheduler::place`], and where no node fits as [`Scheduler::preempt`] after it. Ties are broken by two draws, one for each.
    ///
    /// # Errors
    /// When no node fits.
    pub fn attempt(
        &mut self,
        view: &View,
        pod: &Arc<Pod>,
        draw: u64,
        draw_for_preemption: impl FnOnce() -> u64,
    ) -> Result<Placed, Unplaced> {
        self.tidy();
        let Self { options, world, classes, bases, marks, epoch: _ } = self;
        if world.nodes.len() == 0 {
            return Err(Unplaced::NoNodes);
        }
        let (mut cycle, rejected) = Cycle::begin(world, (classes, bases), options, view, pod);
        if let Some(rejected) = rejected {
            let (message, plugins) = refused(world, &rejected);
            let preemption = cycle.preempt_rejected(world, &rejected, draw_for_preemption());
            return Err(Unplaced::DoesNotFit { message, plugins, preemption });
        }
        if let Some(placed) = cycle.place(world, bases, marks, draw).map_err(Unplaced::Error)? {
            return Ok(placed);
        }
        let objections = cycle.objections(world, bases);
        let (message, plugins) = objections.words(world.nodes.len());
        let preemption = cycle.preempt(world, &objections, draw_for_preemption());
        Err(Unplaced::DoesNotFit { message: message.into(), plugins, preemption })
    }
}
