//! One way, and what it came to.

use replank_model::list::List;
use replank_model::text::Text;
use replank_model::time::{Span, Time};
use replank_model::view::View;
use serde::Serialize;

use super::fifteen::NodeDrain;
use crate::rehearsal::{
    Blocker, ConnectionFigures, EvictionEntry, NodeFigures, Rehearsal, RehearsalResult, Remains,
    ScriptEventEntry, Verdict, WorkloadFigures,
};

/// Who replaces the nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// EKS's own update of managed node groups.
    Eks,
    /// The same with `force`.
    EksForce,
    /// A person who drains node after node with kubectl.
    Kubectl,
    /// Replank, as the plan says.
    Replank,
}

impl Way {
    /// As it is written.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Eks => "eks",
            Self::EksForce => "eks-force",
            Self::Kubectl => "kubectl",
            Self::Replank => "replank",
        }
    }
}

/// How a way came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Come {
    /// All nodes were replaced.
    Done,
    /// It came to its end, and left nodes out.
    Partial,
    /// It gave up in between.
    Failed,
    /// It would wait for ever, or was stopped by something that only a person can remove.
    Blocked,
    /// There is no such way for these nodes.
    NotApplicable,
}

impl Come {
    /// As it is printed.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Partial => "partial",
            Self::Failed => "failed",
            Self::Blocked => "blocked",
            Self::NotApplicable => "not applicable",
        }
    }
}

/// What a way came to.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WayResult {
    /// Who.
    pub way: Way,
    /// How it came out.
    pub outcome: Come,
    /// EKS's error code, where its update failed.
    pub code: Option<Text>,
    /// What came of it, or why there is no such way, in a sentence.
    pub said: String,
    /// What could not go on.
    pub blockers: Vec<Blocker>,
    /// What holds for this way and not for the others.
    pub notes: Vec<String>,
    /// Of EKS's own update: each node beside the 15 minutes that it is given, sorted.
    pub drains: Vec<NodeDrain>,
    /// The figures; none where there is no such way.
    pub figures: Option<Figures>,
}

/// Figures of one way.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Figures {
    /// How long it took, from the beginning until it was done or gave up.
    #[serde(rename = "virtualDurationMs", serialize_with = "crate::millis::millis")]
    pub took: Span,
    /// Nodes.
    pub nodes: NodeFigures,
    /// Pods that were evicted, except batch pods.
    pub moved: usize,
    /// Evictions that were refused.
    pub evictions_refused: usize,
    /// Every eviction, in order.
    pub evictions: List<EvictionEntry>,
    /// Batch pods that were ended before they were done.
    pub batch_killed: usize,
    /// The workload of which the least was left at one moment; none where no workload had less than before.
    pub lowest: Option<Lowest>,
    /// All workloads that had pods to be moved, but those that end by themselves.
    pub workloads: Vec<WorkloadFigures>,
    /// What clients lose, for the workloads whose load was given.
    pub connections: Vec<ConnectionFigures>,
    /// What the script made happen.
    pub script_events: Vec<ScriptEventEntry>,
    /// What is left, a quarter of an hour after its end.
    pub remains: Remains,
    /// Hash of everything that happened.
    pub trace_hash: String,
}

/// The workload of which the least was left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Lowest {
    /// Kind, namespace and name.
    pub workload: String,
    /// Fewest Ready pods at one moment.
    pub min_ready: i32,
    /// Pods wanted.
    pub desired: i32,
    /// How long none was Ready.
    #[serde(rename = "withoutReadyMs", serialize_with = "crate::millis::millis")]
    pub without_ready: Span,
}

/// How long is looked on after the end of a way: pods that were moved last have time to come up.
pub const AFTERWARDS: Span = Span::from_minutes(15);

impl Figures {
    /// Reads them off a rehearsal whose way was over at a moment, once it has settled; `before` is the cluster at its beginning.
    #[must_use]
    pub fn of(rehearsal: &Rehearsal, result: RehearsalResult, over: Time, before: &View) -> Self {
        let granted = result.evictions.iter().filter(|one| one.refused.is_none()).count();
        Self {
            took: over - result.start,
            nodes: result.nodes,
            moved: result.pods.moved,
            evictions_refused: result.evictions.len() - granted,
            evictions: result.evictions,
            batch_killed: rehearsal.batch_ended(),
            lowest: lowest(&result.workloads),
            workloads: result.workloads.into_iter().filter(serves).collect(),
            connections: result.connections,
            script_events: result.script_events,
            remains: rehearsal.remains(before),
            trace_hash: result.trace_hash,
        }
    }
}

/// Whether it is to be there all the time: what ends by itself has no Ready pod when it is done.
fn serves(workload: &WorkloadFigures) -> bool {
    !["Job", "CronJob", "Workflow", "CronWorkflow"].contains(&&*workload.kind)
}

/// The smallest share, then the longest time without a Ready pod, then the first by name.
fn lowest(all: &[WorkloadFigures]) -> Option<Lowest> {
    let short = all.iter().filter(|one| serves(one) && one.min_ready < one.desired);
    let least = short.min_by(|a, b| {
        let cross = |one: &WorkloadFigures, other: &WorkloadFigures| {
            i64::from(one.min_ready) * i64::from(other.desired)
        };
        cross(a, b).cmp(&cross(b, a)).then_with(|| b.without_ready.cmp(&a.without_ready))
    })?;
    Some(Lowest {
        workload: format!("{} {}/{}", least.kind, least.namespace, least.name),
        min_ready: least.min_ready,
        desired: least.desired,
        without_ready: least.without_ready,
    })
}

impl WayResult {
    /// That there is no such way.
    #[must_use]
    pub fn not_applicable(way: Way, why: String) -> Self {
        Self {
            way,
            outcome: Come::NotApplicable,
            code: None,
            said: why,
            blockers: Vec::new(),
            notes: Vec::new(),
            drains: Vec::new(),
            figures: None,
        }
    }

    /// What Replank's own rehearsal came to.
    #[must_use]
    pub fn of_replank(result: &RehearsalResult, figures: Figures) -> Self {
        let all = result.nodes.replaced == result.nodes.total;
        let outcome = match result.verdict {
            Verdict::Passes | Verdict::Findings | Verdict::Incomplete if all => Come::Done,
            Verdict::Passes | Verdict::Findings | Verdict::Incomplete | Verdict::Partial => Come::Partial,
            Verdict::Blocked | Verdict::Refused => Come::Blocked,
        };
        let said = match outcome {
            Come::Done => "every node was replaced".to_owned(),
            Come::Partial | Come::Failed | Come::Blocked | Come::NotApplicable => {
                let causes = result.causes.iter().map(|cause| {
                    let finding = cause.finding.map_or_else(String::new, |id| format!(" (finding {id})"));
                    format!("{}: {}{finding}", cause.object, cause.reason)
                });
                let causes: Vec<String> = causes.take(3).collect();
                let ended = if result.verdict == Verdict::Refused {
                    "the plan refuses to begin"
                } else {
                    "nodes were left"
                };
                if causes.is_empty() { ended.to_owned() } else { format!("{ended}: {}", causes.join("; ")) }
            }
        };
        Self {
            way: Way::Replank,
            outcome,
            code: None,
            said,
            blockers: result.blockers.clone(),
            notes: Vec::new(),
            drains: Vec::new(),
            figures: Some(figures),
        }
    }
}
