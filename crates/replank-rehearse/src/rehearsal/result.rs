//! What a rehearsal found, in the form that `-o json` prints.
//!
//! The form is versioned ([`RehearsalResult::version`]): members may be added within a version, none is taken away or given
//! another meaning.

use std::collections::BTreeSet;

use replank_facts::coverage::Coverage;
use replank_model::list::List;
use replank_model::object::Kind;
use replank_model::text::Text;
use replank_model::time::{Span, Time};
use replank_protocol::decision::End;
use serde::{Deserialize, Serialize};

use crate::finding_entry::FindingEntry;

use super::back::Rollback;
use super::connections::ConnectionFigures;
use super::course::CountAt;
use super::elasticity::AutoscalerFigures;
use super::ended::EndedBatch;
use super::evictions::EvictionEntry;
use super::happened::ScriptEventEntry;
use super::ids::{OUTAGE, STOPS};
use super::interruptions::InterruptionFigures;
use super::stages::StageEntry;
use super::starts::StartEntry;
use super::timeline::NodeTimeline;
use super::waits::Wait;

/// The version of the form.
pub const RESULT_VERSION: &str = "replank.dev/rehearsal/v1alpha1";

/// Something that somebody else did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NoticedEntry {
    /// When it was noticed.
    pub at: Time,
    /// What it was.
    pub what: String,
}

/// What a rehearsal found.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RehearsalResult {
    /// Version of this form.
    pub version: &'static str,
    /// What it comes to.
    pub verdict: Verdict,
    /// What of the cluster the rehearsal could see.
    pub coverage: Coverage,
    /// Seed of all randomness.
    pub seed: u64,
    /// Hash of everything that happened: equal for equal input, seed and program.
    pub trace_hash: String,
    /// The moment of the snapshot, when the rehearsal began.
    pub start: Time,
    /// How long the roll took in the rehearsal.
    #[serde(rename = "virtualDurationMs", serialize_with = "crate::millis::millis")]
    pub virtual_duration: Span,
    /// How long the rehearsal itself took.
    pub wall_ms: u64,
    /// Events simulated.
    pub events: u64,
    /// Nodes.
    pub nodes: NodeFigures,
    /// Pods.
    pub pods: PodFigures,
    /// Batch pods.
    pub batch: BatchFigures,
    /// Disruption budgets of pods that were to be moved, sorted.
    pub budgets: Vec<BudgetFigures>,
    /// Every eviction, in order.
    pub evictions: List<EvictionEntry>,
    /// Workloads that had pods to be moved, or lost some, sorted.
    pub workloads: Vec<WorkloadFigures>,
    /// Unschedulable pods beyond those of the snapshot, from the first one on: an entry for each second in which their number changed, and one before it where it
    /// was higher within that second.
    pub unschedulable: Vec<CountAt>,
    /// What was found before the start.
    pub findings: Vec<FindingEntry>,
    /// Changes that were made first (`--with-remedies`), as a person pastes them.
    pub remedies: Vec<String>,
    /// What blocks, if the verdict is `partial` or `blocked`.
    pub blockers: Vec<Blocker>,
    /// The same, grouped by what a person would have to change.
    pub causes: Vec<Cause>,
    /// How the run itself ended.
    pub ending: Ending,
    /// What nodes are after a rollback, counted on the cluster; none where nothing was rolled back.
    pub rollback: Option<Rollback>,
    /// What was waited for, the longest first.
    pub waits: Vec<Wait>,
    /// What ran on new nodes while canaries and waves were watched, in order.
    pub stages: Vec<StageEntry>,
    /// When CronJobs and CronWorkflows begin next whose pods may land on the nodes, the first one first.
    pub starts: Vec<StartEntry>,
    /// What others did in the middle of the run, as far as it was the run's business: it was left as they did it.
    pub noticed: Vec<NoticedEntry>,
    /// What clients lose, for the workloads whose load was given.
    pub connections: Vec<ConnectionFigures>,
    /// What the autoscalers whose targets' load was given made of it, sorted.
    pub autoscalers: Vec<AutoscalerFigures>,
    /// Instances that were to be taken away, or were, by others than the run, in order.
    pub interruptions: Vec<InterruptionFigures>,
    /// How long was looked at: longer than the roll where a load or interruptions went on.
    #[serde(rename = "watchedMs", serialize_with = "crate::millis::millis")]
    pub watched: Span,
    /// What a script made happen besides, in order.
    pub script_events: Vec<ScriptEventEntry>,
    /// What became of every node.
    pub timeline: Vec<NodeTimeline>,
    /// What had to be assumed, and what could be learnt.
    pub assumptions: Vec<AssumptionEntry>,
}

/// What a rehearsal comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Verdict {
    /// Everything was replaced, and nothing was found.
    Passes,
    /// The plan was carried out, and something was found or left out.
    Findings,
    /// Every node that can be emptied was replaced; what keeps the others is on them.
    Partial,
    /// Parts of the cluster are not in the input, so that nobody knows what they would do.
    Incomplete,
    /// Not everything could be replaced.
    Blocked,
    /// The plan refuses to begin with what was found.
    Refused,
}

/// Kinds that decide whether a pod may go, and what comes in its place.
const MOVED: [Kind; 4] = [Kind::Node, Kind::Pod, Kind::PodDisruptionBudget, Kind::ReplicaSet];

impl RehearsalResult {
    /// Notes what of the cluster the rehearsal could see: where something is missing, what ends well is not known to end well.
    pub fn cover(&mut self, coverage: Coverage) {
        let is_good = matches!(self.verdict, Verdict::Passes | Verdict::Findings | Verdict::Partial);
        if is_good && !coverage.complete {
            self.verdict = Verdict::Incomplete;
        }
        // What the rehearsal itself found rests on all that it moved.
        for finding in self.findings.iter_mut().filter(|finding| [STOPS, OUTAGE].contains(&finding.id)) {
            finding.unseen = coverage.unseen(&MOVED);
        }
        self.coverage = coverage;
    }
}

impl Verdict {
    /// All of them, the best first.
    const ALL: [Self; 6] =
        [Self::Passes, Self::Findings, Self::Partial, Self::Incomplete, Self::Blocked, Self::Refused];

    /// The one that is printed so.
    #[must_use]
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|verdict| verdict.as_str() == word)
    }

    /// As it is printed.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Passes => "passes",
            Self::Findings => "findings",
            Self::Partial => "partial",
            Self::Incomplete => "incomplete",
            Self::Blocked => "blocked",
            Self::Refused => "refused",
        }
    }
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Ending {
    /// The plan was carried out.
    Done,
    /// It could not go on, or somebody wanted it back, and every group has the nodes that it had before, or others like them.
    RolledBack,
    /// It could not go on.
    Blocked,
    /// Somebody ended it.
    Cancelled,
    /// It did not begin: the plan refuses to with what was found.
    Refused,
    /// It was not over when the rehearsal stopped.
    Open,
}

impl Ending {
    /// As the run says, and as the cluster shows where it says that everything is as before.
    #[must_use]
    pub(super) fn of(end: Option<&End>, rollback: Option<&Rollback>) -> Self {
        match end {
            Some(End::Done) => Self::Done,
            Some(End::RolledBack(_)) if rollback.is_none_or(Rollback::is_complete) => Self::RolledBack,
            Some(End::RolledBack(_)) => Self::Blocked,
            Some(End::Blocked(_)) => Self::Blocked,
            Some(End::Cancelled(_)) => Self::Cancelled,
            Some(End::Refused(_)) => Self::Refused,
            None => Self::Open,
        }
    }
}

/// Figures of nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeFigures {
    /// Nodes to be replaced.
    pub total: usize,
    /// Nodes replaced.
    pub replaced: usize,
    /// Most instances beyond the original number at one moment.
    pub surge_max: u32,
    /// Nodes that were not replaced and that the run, which is over, leaves cordoned.
    pub cordoned: usize,
}

/// Figures of pods.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PodFigures {
    /// Pods that were evicted, except batch pods: those are among the figures of batch work.
    pub moved: usize,
    /// Evictions of pods that had been made in place of an evicted one, except batch pods.
    pub moved_more_than_once: usize,
    /// Evictions that the API server refused.
    pub evictions_refused: usize,
    /// Pods that the scheduler removed so that pods of higher priority fit.
    pub preempted: usize,
    /// Most pods at one moment that no node could take, beyond those that the snapshot has.
    pub unschedulable_max: usize,
}

/// Figures of batch pods.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BatchFigures {
    /// Batch pods that ran on the nodes to be replaced at the start.
    pub on_nodes: usize,
    /// Batch pods that were waited for.
    pub waited: usize,
    /// Batch pods that were ended before they were done.
    pub killed: usize,
    /// Those that the run ended, with what became of their work.
    pub ended_by_run: Vec<EndedBatch>,
    /// Those that something else ended: a person, EKS, a controller, a kubelet, the loss of a node.
    pub ended_by_others: Vec<EndedBatch>,
}

/// One disruption budget.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BudgetFigures {
    /// Namespace.
    pub namespace: Text,
    /// Name.
    pub name: Text,
    /// Healthy pods that must stay.
    pub desired_healthy: i32,
    /// Fewest healthy pods at one moment.
    pub min_healthy: i32,
    /// Evictions of ours after which there were fewer healthy pods than must stay.
    pub violations: usize,
    /// Pods that an interrupted instance would have taken with it, deleted just before its end, after which there were fewer healthy pods than must
    /// stay: involuntary, and no violation.
    pub undercut_by_interruptions: usize,
    /// What the budget's status said, from the start on: one entry for each change.
    pub history: Vec<BudgetAt>,
}

/// What a budget's status said from a moment on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BudgetAt {
    /// The moment.
    pub at: Time,
    /// Healthy pods.
    pub healthy: i32,
    /// Evictions that it allowed.
    pub allowed: i32,
}

/// One workload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkloadFigures {
    /// Kind.
    pub kind: Text,
    /// Namespace.
    pub namespace: Text,
    /// Name.
    pub name: Text,
    /// Pods wanted.
    pub desired: i32,
    /// Fewest ready pods at one moment.
    pub min_ready: i32,
    /// How long no pod was Ready.
    #[serde(rename = "withoutReadyMs", serialize_with = "crate::millis::millis")]
    pub without_ready: Span,
    /// Disruption budgets that cover its pods, by name, sorted.
    pub budgets: Vec<Text>,
    /// Ready pods from the start on: an entry for each second in which their number changed, and one before it where it was lower within that second.
    pub history: Vec<CountAt>,
}

/// One thing that blocks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Blocker {
    /// What cannot go on.
    pub what: String,
    /// Why, with its numbers.
    pub reason: String,
}

/// What keeps nodes from being replaced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Cause {
    /// What would have to be changed: kind, namespace and name.
    pub object: String,
    /// The kind of reason, one word, as of waits.
    pub kind: &'static str,
    /// What it has to do with: the object, the pods that it keeps, their nodes, workloads and budgets.
    #[serde(skip)]
    pub related: BTreeSet<String>,
    /// Why, with its numbers, as for the first that it keeps.
    pub reason: String,
    /// Nodes that it keeps, sorted.
    pub nodes: Vec<String>,
    /// Pods that it keeps on them.
    pub pods: usize,
    /// The finding that tells of it, where there is one.
    pub finding: Option<&'static str>,
    /// What that finding is about.
    pub finding_object: Option<String>,
    /// What that finding says to do.
    pub remedy: Option<String>,
}

impl Cause {
    /// The finding that says more, and what it is about. One that the rehearsal made of the cause itself says the same, and is about the same object; one about
    /// what keeps another node does not. Pages, which know of a rehearsal only its JSON, have the same rule (`summary.rs` of replank-html).
    #[must_use]
    pub fn further_finding(&self) -> Option<(&'static str, &str)> {
        let (id, object) = self.finding.zip(self.finding_object.as_deref())?;
        (id != STOPS || object != self.object).then_some((id, object))
    }
}

impl RehearsalResult {
    /// As one has it who wants all nodes replaced, or none of it counts.
    pub fn require_all(&mut self) {
        if self.verdict == Verdict::Partial {
            self.verdict = Verdict::Blocked;
        }
    }
}

/// One assumption.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AssumptionEntry {
    /// What it is about.
    pub about: String,
    /// What is assumed.
    pub value: String,
    /// `learnt` or `default`.
    pub source: &'static str,
    /// Observations behind it.
    pub samples: usize,
}
