//! Which cores are tried, and the outcome of a trial.

use replank_facts::plan::{OnFailure, Plan, RunOptions};
use replank_model::delta::Delta;
use replank_model::time::{Span, Time};
use replank_model::view::View;
use replank_protocol::command::{CommandKey, Effect};
use replank_protocol::decision::End;
use replank_protocol::waiting::Waiting;
use replank_sim::{Mishaps, TraceHash};

use crate::check::{Sights, Violation};
use crate::clusters::Neighbour;
use crate::successor::{Beside, Starts};

/// The outcome of a run.
#[derive(Clone, Debug)]
pub struct Trial {
    /// Seed of the cluster.
    pub seed: u64,
    /// Who else was there.
    pub neighbour: Neighbour,
    /// Nodes before the run, those of groups that were not rolled too.
    pub nodes: usize,
    /// How the run ended, if it did.
    pub end: Option<End>,
    /// Broken promises.
    pub violations: Vec<Violation>,
    /// What was met on the way.
    pub sights: Sights,
    /// Evictions of others that a budget refused.
    pub refused_of_others: usize,
    /// What the network did.
    pub mishaps: Mishaps,
    /// From what processes were started after the first one, where that is counted.
    pub starts: Starts,
    /// How often a planted driver bug acted, where that can be told.
    pub wrongs: usize,
    /// Everything that happened, in one number.
    pub trace: TraceHash,
    /// Commands in order: when each was given, its key, what it was.
    pub commands: Vec<(Time, CommandKey, Effect)>,
    /// What the last decision of the run waited for.
    pub waiting: Vec<Waiting>,
    /// Events of the simulation.
    pub events: u64,
    /// How long it took in the cluster's time.
    pub took: Span,
}

/// All that a view holds.
pub(super) fn everything(view: &View) -> Vec<Delta> {
    let objects = view.objects().into_iter().map(Delta::Put);
    let groups = view.groups().values().cloned().map(Delta::Group);
    let instances = view.instances().values().cloned().map(Delta::Instance);
    objects.chain(groups).chain(instances).collect()
}

/// What makes cores for one run, all alike and knowing nothing.
#[derive(Clone, Debug)]
pub struct Cores {
    pub(super) plan: Plan,
    pub(super) options: RunOptions,
    pub(super) beside: Beside,
}

impl Cores {
    /// Whether the run goes back where it cannot go on.
    pub(super) fn goes_back(&self) -> bool {
        self.plan.on_failure == OnFailure::Rollback
    }
}
