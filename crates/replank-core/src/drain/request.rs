//! What a person asks for: nodes to be cordoned, uncordoned or drained, and how.

use replank_facts::kubectl::Filters;
use replank_facts::plan::StuckTerminating;
use replank_model::text::RunId;
use replank_model::time::Span;
use replank_protocol::command::NodeTarget;
use replank_protocol::policy::StuckAction;

/// What becomes of the nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// They take no new pods.
    Cordon,
    /// They take pods again.
    Uncordon,
    /// They take no new pods, and those that are there leave.
    Drain,
}

/// What becomes of the nodes that are not drained yet when a person interrupts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnInterrupt {
    /// They stay as they are: cordoned.
    Keep,
    /// Those that were not cordoned before take pods again.
    Uncordon,
}

/// What is done about a workload of which no pod can be spared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sparing {
    /// Its pod is evicted, as by kubectl: it is missing until its successor is Ready.
    Evict,
    /// A rolling restart moves it, where its Deployment surges.
    Surge,
}

/// `--dry-run`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DryRun {
    /// Everything is carried out.
    None,
    /// Nothing is sent: the first decision is the last.
    Client,
    /// Everything is sent once, to a server that checks it and carries nothing out. It decrements no budget, so that pods that share one all pass.
    Server,
}

/// How pods are taken off a node: kubectl's flags, and what goes beyond them.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Which pods go.
    pub filters: Filters,
    /// `--grace-period`; `None` for each pod's own.
    pub grace_seconds: Option<i64>,
    /// `--timeout`: how long the drain of one node may take.
    pub timeout: Option<Span>,
    /// `--disable-eviction`: pods are deleted, whatever their budgets say.
    pub disable_eviction: bool,
    /// Nodes that are drained at the same time.
    pub parallel: u32,
    /// How long a batch pod is waited for, from the cordon of its node on; `None` if it is evicted like any other.
    pub wait_batch: Option<Span>,
    /// Workloads of which no pod can be spared.
    pub sparing: Sparing,
    /// From when on a pod on its way out counts as stuck.
    pub stuck: StuckTerminating,
    /// What becomes of nodes that are not drained when a person interrupts.
    pub on_interrupt: OnInterrupt,
    /// Whether anything is changed.
    pub dry_run: DryRun,
}

/// kubectl's.
impl Default for Options {
    fn default() -> Self {
        Self {
            filters: Filters::default(),
            grace_seconds: None,
            timeout: None,
            disable_eviction: false,
            parallel: 1,
            wait_batch: None,
            sparing: Sparing::Evict,
            stuck: StuckTerminating { after: Span::from_minutes(5), action: StuckAction::Report },
            on_interrupt: OnInterrupt::Keep,
            dry_run: DryRun::None,
        }
    }
}

/// See the module's page.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The name of this call: no two have the same.
    pub run: RunId,
    /// What becomes of the nodes.
    pub verb: Verb,
    /// The nodes, in the order in which they are taken up.
    pub nodes: Vec<NodeTarget>,
    /// How.
    pub options: Options,
}
