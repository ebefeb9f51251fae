//! The JSON documents that pages are made of, as far as they are shown: docs/rehearsal-json.md.
//!
//! Members that are not known are left alone, and most that are missing count as empty: a document of another version of the program is still a report.

use std::collections::BTreeMap;
use std::fmt;

use replank_model::time::Time;
use serde::Deserialize;

/// One rehearsal.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Rehearsal {
    pub(crate) verdict: String,
    /// The plan's name.
    #[serde(default)]
    pub(crate) plan: String,
    /// What was read.
    #[serde(default)]
    pub(crate) snapshot: String,
    /// The verdict in a sentence, or several.
    #[serde(default)]
    pub(crate) sentence: String,
    /// What to do next.
    #[serde(default)]
    pub(crate) next: Vec<String>,
    #[serde(default)]
    pub(crate) ending: String,
    #[serde(default)]
    pub(crate) coverage: Coverage,
    pub(crate) seed: u64,
    pub(crate) trace_hash: String,
    pub(crate) start: Time,
    pub(crate) virtual_duration_ms: i64,
    #[serde(default)]
    pub(crate) watched_ms: i64,
    #[serde(default)]
    pub(crate) events: usize,
    pub(crate) nodes: Nodes,
    pub(crate) pods: Pods,
    #[serde(default)]
    pub(crate) batch: Batch,
    #[serde(default)]
    pub(crate) budgets: Vec<Budget>,
    #[serde(default)]
    pub(crate) evictions: Vec<Eviction>,
    #[serde(default)]
    pub(crate) workloads: Vec<Workload>,
    #[serde(default)]
    pub(crate) unschedulable: Vec<PodsAt>,
    #[serde(default)]
    pub(crate) findings: Vec<Finding>,
    #[serde(default)]
    pub(crate) causes: Vec<Cause>,
    #[serde(default)]
    pub(crate) blockers: Vec<Blocker>,
    #[serde(default)]
    pub(crate) waits: Vec<Wait>,
    #[serde(default)]
    pub(crate) stages: Vec<Stage>,
    #[serde(default)]
    pub(crate) starts: Vec<Start>,
    #[serde(default)]
    pub(crate) noticed: Vec<Noticed>,
    #[serde(default)]
    pub(crate) script_events: Vec<ScriptEvent>,
    #[serde(default)]
    pub(crate) timeline: Vec<Node>,
    #[serde(default)]
    pub(crate) assumptions: Vec<Assumption>,
}

macro_rules! part {
    ($(#[$doc:meta])* $name:ident { $($member:ident: $type:ty,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
        #[serde(rename_all = "camelCase", default)]
        pub(crate) struct $name { $(pub(crate) $member: $type,)* }
    };
}

part!(
    /// Nodes of the groups that were rolled.
    Nodes { total: usize, replaced: usize, surge_max: usize, cordoned: usize, }
);
part!(
    /// Pods that had to move.
    Pods { moved: usize, moved_more_than_once: usize, evictions_refused: usize, preempted: usize, unschedulable_max: usize, }
);
part!(
    /// Batch pods.
    Batch { on_nodes: usize, waited: usize, killed: usize, ended_by_run: Vec<EndedPod>, ended_by_others: Vec<EndedPod>, }
);
part!(
    /// A batch pod that was ended before it was done, and what became of its work.
    EndedPod { pod: String, by: String, owner: String, outcome: String, alerted: Vec<String>, }
);
part!(
    /// A finding.
    Finding { id: String, severity: Severity, object: String, reason: String, remedy: String, remedy_blocks: Vec<Block>, proof: Proof, withheld: Option<String>, unseen: Vec<Unseen>, }
);
part!(
    /// A piece of a remedy, which goes to one place.
    Block { sort: Sort, text: String, }
);
part!(
    /// A kind that was not seen, or not all of it, although a finding rests on it; no kind where nobody knows what unreadable parts hold.
    Unseen { kind: Option<String>, why: String, count: u64, }
);
part!(
    /// What keeps nodes from being replaced.
    Cause { object: String, reason: String, nodes: Vec<String>, pods: usize, finding: Option<String>, finding_object: Option<String>, }
);
part!(
    /// What blocks.
    Blocker { what: String, reason: String, }
);
part!(
    /// An assumption.
    Assumption { about: String, value: String, source: String, samples: usize, }
);
part!(
    /// What of the cluster could be seen.
    Coverage { complete: bool, present: BTreeMap<String, u64>, absent: Vec<Absent>, missing: Vec<String>, accepted: Vec<String>, skipped: Skipped, }
);
part!(
    /// A kind of which the input has nothing.
    Absent { kind: String, unseen: String, needed: bool, }
);
part!(
    /// What could not be read.
    Skipped { parts: u64, first: Vec<String>, }
);

impl fmt::Display for Unseen {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&*self.why, &self.kind) {
            ("absent", Some(kind)) => write!(out, "no {kind} in the input"),
            ("dangling", Some(kind)) => {
                write!(out, "{kind} objects that others name and that are not in the input: {}", self.count)
            }
            ("unread", Some(kind)) => write!(out, "{kind} objects that could not be read: {}", self.count),
            ("unread", None) => write!(out, "parts of the input that could not be read: {}", self.count),
            (_, Some(kind)) => write!(out, "{kind} objects"),
            (_, None) => out.write_str("parts of the input"),
        }
    }
}

/// How bad a finding is, the worst first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Severity {
    /// Nothing can be done while it is so.
    Blocking,
    /// Somebody will notice.
    Warning,
    /// Good to know.
    #[default]
    Info,
}

impl Severity {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Blocking => "blocking",
            Self::Warning => "warning",
            Self::Info => "info",
        }
    }
}

/// Where a piece of a remedy goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Sort {
    /// Into a shell.
    Command,
    /// Into a file of YAML.
    Yaml,
    /// Into a file of Terraform.
    Hcl,
    /// Nowhere: it says what to do.
    #[default]
    Words,
    /// Nowhere: it leads to what stands below it.
    Lead,
}

/// What is known of a remedy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Proof {
    /// With it the roll does not stop at the finding any more.
    Rehearsed,
    /// With it the finding is gone.
    Checked,
    /// A person has to look.
    Advice,
    /// A change that could not be proved.
    Withheld,
    /// Nothing.
    #[default]
    Untried,
}

/// A number of pods from a moment on.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct PodsAt {
    pub(crate) at: Time,
    pub(crate) pods: i64,
}

/// A disruption budget.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Budget {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) desired_healthy: i64,
    pub(crate) min_healthy: i64,
    #[serde(default)]
    pub(crate) violations: usize,
    #[serde(default)]
    pub(crate) history: Vec<BudgetAt>,
}

/// What a budget's status said from a moment on.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct BudgetAt {
    pub(crate) at: Time,
    pub(crate) healthy: i64,
}

/// A workload.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Workload {
    pub(crate) kind: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) desired: i64,
    pub(crate) min_ready: i64,
    pub(crate) without_ready_ms: i64,
    #[serde(default)]
    pub(crate) budgets: Vec<String>,
    #[serde(default)]
    pub(crate) history: Vec<PodsAt>,
}

/// A request to evict a pod.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Eviction {
    pub(crate) namespace: String,
    pub(crate) pod: String,
    pub(crate) node: Option<String>,
}

/// A wait.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Wait {
    pub(crate) what: String,
    pub(crate) reason: String,
    pub(crate) since: Time,
    pub(crate) waited_ms: i64,
}

/// A canary or a wave while it was watched.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Stage {
    pub(crate) group: String,
    pub(crate) wave: Option<u32>,
    pub(crate) from: Time,
    pub(crate) until: Time,
    pub(crate) pods: usize,
    #[serde(default)]
    pub(crate) workloads: Vec<String>,
}

/// The next start of a scheduled run.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Start {
    pub(crate) kind: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) schedule: String,
    pub(crate) next: Option<Time>,
    pub(crate) within: usize,
    pub(crate) on_old_nodes: usize,
}

/// What somebody else did.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Noticed {
    pub(crate) at: Time,
    pub(crate) what: String,
}

/// An event of a script.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct ScriptEvent {
    pub(crate) at: Time,
    pub(crate) what: String,
    pub(crate) refused: Option<String>,
}

/// The history of a node.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Node {
    pub(crate) node: Option<String>,
    pub(crate) instance: String,
    pub(crate) group: String,
    #[serde(default)]
    pub(crate) zone: String,
    pub(crate) old: bool,
    pub(crate) phases: Vec<PhaseStart>,
}

/// A phase of a node.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct PhaseStart {
    pub(crate) phase: Phase,
    pub(crate) at: Time,
}

/// Phases of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Phase {
    /// In use.
    Serving,
    /// Takes no new pods.
    Cordoned,
    /// Its pods are moved.
    Draining,
    /// Its instance is ending.
    Terminating,
    /// It is no more.
    Gone,
    /// Its instance starts.
    Booting,
    /// It registers.
    Joining,
    /// It takes pods.
    Ready,
}

/// Rehearsals with several seeds.
#[derive(Clone, Debug, Deserialize)]
struct Rehearsals {
    rehearsals: Vec<Rehearsal>,
}

/// What a file of `-o json` holds.
#[derive(Clone, Debug)]
pub enum Document {
    /// One rehearsal.
    One(Box<Rehearsal>),
    /// One for each seed.
    Many(Vec<Rehearsal>),
}

/// Why a text is no such document.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It is no JSON, or a member has another type.
    #[error("not the JSON of a rehearsal: {0}")]
    Json(#[from] serde_json::Error),
    /// It is something else.
    #[error("its version is {0:?}, not {ONE} or {MANY}")]
    Version(String),
}

const ONE: &str = "replank.dev/rehearsal/v1alpha1";
const MANY: &str = "replank.dev/rehearsals/v1alpha1";

#[derive(Deserialize)]
struct Versioned {
    #[serde(default)]
    version: String,
}

/// Reads what `rehearse -o json` has printed.
///
/// # Errors
/// Where the text is something else.
pub fn read(text: &str) -> Result<Document, ReadError> {
    let Versioned { version } = serde_json::from_str(text)?;
    match version.as_str() {
        ONE => Ok(Document::One(Box::new(serde_json::from_str(text)?))),
        MANY => Ok(Document::Many(serde_json::from_str::<Rehearsals>(text)?.rehearsals)),
        _ => Err(ReadError::Version(version)),
    }
}

impl Rehearsal {
    /// From the value that is printed as JSON.
    ///
    /// # Errors
    /// Where a member has another type.
    pub fn of(value: &impl serde::Serialize) -> Result<Self, ReadError> {
        Ok(serde_json::from_slice(&serde_json::to_vec(value)?)?)
    }
}
