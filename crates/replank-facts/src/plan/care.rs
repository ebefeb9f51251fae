//! How a roll is watched, paused, and taken back: the fields of a plan that people add once they have been hurt.

use replank_model::int_or_string::IntOrString;
use replank_model::time::{Span, Time};
use replank_protocol::policy::StuckAction;

use super::windows::Windows;

/// How much worse things may get, counted in pods and nodes. Everything that was so before the run is nobody's fault of the run's: it is
/// written down when the run begins ([`replank_protocol::mark::HEALTH`]), and increases over that count. New nodes begin with nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Health {
    /// Pods with a container that is in `CrashLoopBackOff`.
    pub crash_looping_max: u32,
    /// Pods on new nodes, those of DaemonSets aside, with a container that restarts again and again ([`crate::restarts`]).
    pub restarting_max: u32,
    /// Pods that are past their grace and past [`StuckTerminating::after`].
    pub stuck_terminating_max: u32,
    /// Pods that are kept up and have not been Ready for [`crate::plan::NOT_READY_AFTER`].
    pub not_ready_max: u32,
    /// New nodes of which the condition `MemoryPressure`, `DiskPressure`, `PIDPressure` or `NetworkUnavailable` is `True`.
    pub bad_nodes_max: u32,
}

/// Shares of the nodes after each of which the run stands still.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waves {
    /// How many of the nodes are replaced when each wave is over; the last is all of them.
    pub nodes: Vec<IntOrString>,
    /// How long the run stands still after each but the last.
    pub bake: Span,
}

/// So many nodes are replaced, then the run stands still for so long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stage {
    /// Nodes replaced when it is over.
    pub nodes: u32,
    /// How long the run stands still then.
    pub pause: Span,
}

/// What is kept of the nodes that were replaced, so that `undo` has something to go back to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retain {
    /// What is kept.
    pub capacity: Retained,
    /// For how long, from the moment at which the last old node is empty.
    pub span: Span,
}

/// What is kept of nodes that were replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Retained {
    /// The nodes themselves, empty and cordoned. The fastest way back, and the dearest.
    Cordoned,
    /// The launch template that was current: nodes can be made anew as they were.
    Template,
    /// Nothing.
    None,
}

/// What is done about pods that do not end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StuckTerminating {
    /// How long past its grace a pod may take to go before it counts as stuck.
    pub after: Span,
    /// What is done then.
    pub action: StuckAction,
}

/// What is done about old nodes that are not Ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeadNodes {
    /// How long one must not have been Ready to count as dead.
    pub after: Span,
    /// What is done then.
    pub action: DeadAction,
}

/// What is done about a dead node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DeadAction {
    /// Its instance is terminated when only pods are left on it that do not end, and replaced.
    Replace,
    /// It stays as it is, and is named.
    Leave,
}

/// What is done about workloads of one replica, and those whose budget never lets one go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Singletons {
    /// A rolling restart moves it: the new pod is Ready on another node before the old one goes. Only where the strategy surges,
    /// and no ReadWriteOnce volume, host port or anti-affinity forbids two at once; else it is evicted.
    Surge,
    /// It is evicted like any other pod, and missing while it moves.
    Evict,
    /// Its node is left out.
    Skip,
}

/// What is done about pods that their topology spread keeps on a node for as long as the node is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Spread {
    /// They stay, and so does the node.
    Honour,
    /// They are evicted, and what is made in their place is Pending until the node is gone.
    LastPending,
}

/// What is done about load balancers that send to nodes (target type `instance`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadBalancer {
    /// Whether a node is taken out of load balancers when its drain begins.
    pub exclude: bool,
    /// How long its instance is kept from then on.
    pub deregistration_delay: Span,
}

/// What is done where a check finds something blocking before the first node is touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum BlockingFindings {
    /// The run begins, and goes as far as it can.
    Proceed,
    /// Nothing is begun while it is so (promise S9).
    Refuse,
}

/// What becomes of the nodes that a run leaves, when it ends blocked. A run that is cancelled or rolled back uncordons all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AtEnd {
    /// Those that were begun stay cordoned, for fewer pods are left on them than on any other; the others are uncordoned.
    KeepBegun,
    /// All are uncordoned.
    Uncordon,
    /// All stay cordoned, or are cordoned again: nothing is to move onto them until a later run.
    Keep,
}

/// All fields of this page.
#[derive(Clone, Debug, PartialEq)]
pub struct Care {
    /// How much worse things may get.
    pub health: Option<Health>,
    /// Shares of the nodes after each of which the run stands still; not beside a canary.
    pub waves: Option<Waves>,
    /// What is kept of replaced nodes.
    pub retain: Retain,
    /// What is done about pods that do not end.
    pub stuck: StuckTerminating,
    /// What is done about nodes that are not Ready.
    pub dead_nodes: DeadNodes,
    /// What is done about workloads of one replica.
    pub singletons: Singletons,
    /// Pods that their topology spread keeps.
    pub spread: Spread,
    /// When pods may be moved.
    pub windows: Windows,
    /// What is done about load balancers.
    pub load_balancer: LoadBalancer,
    /// What is done where something blocking is found before the start.
    pub blocking_findings: BlockingFindings,
    /// What becomes of the nodes that are left.
    pub at_end: AtEnd,
}

impl Default for Care {
    fn default() -> Self {
        Self {
            health: None,
            waves: None,
            retain: Retain { capacity: Retained::None, span: Span::from_minutes(72 * 60) },
            stuck: StuckTerminating { after: Span::from_minutes(5), action: StuckAction::Report },
            // Twice as long as the control plane waits until it deletes the pods of such a node.
            dead_nodes: DeadNodes { after: Span::from_minutes(10), action: DeadAction::Replace },
            singletons: Singletons::Evict,
            spread: Spread::Honour,
            windows: Windows::default(),
            load_balancer: LoadBalancer { exclude: false, deregistration_delay: Span::from_secs(300) },
            blocking_findings: BlockingFindings::Proceed,
            at_end: AtEnd::KeepBegun,
        }
    }
}

impl Care {
    /// How long after the beginning of its drain an instance is ended at the earliest, for the sake of load balancers.
    #[must_use]
    pub fn instance_kept(&self) -> Span {
        if self.load_balancer.exclude { self.load_balancer.deregistration_delay } else { Span::ZERO }
    }

    /// From when on a pod counts as stuck that was due to be gone at a moment.
    #[must_use]
    pub fn stuck_from(&self, due: Time) -> Time {
        due + self.stuck.after
    }
}
