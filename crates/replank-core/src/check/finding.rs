//! Findings and the list of all rules.

use std::fmt;

use replank_model::object::meta::Key;
use replank_model::text::Text;

/// One thing that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Which rule found it.
    pub rule: Rule,
    /// How bad it is.
    pub severity: Severity,
    /// What it is about.
    pub object: ObjectName,
    /// What is wrong, with its numbers.
    pub reason: String,
    /// What to do: commands or YAML to be pasted.
    pub remedy: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}: {}", self.severity, self.rule.id(), self.object, self.reason)
    }
}

/// How bad a finding is, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The roll cannot be done while it is so.
    Blocking,
    /// Somebody will notice, work may be lost, or it takes long.
    Warning,
    /// Good to know.
    Info,
}

impl Severity {
    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Blocking => "blocking",
            Self::Warning => "warning",
            Self::Info => "info",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Kind, namespace and name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectName {
    /// Kind.
    pub kind: Text,
    /// Namespace and name.
    pub key: Key,
}

impl ObjectName {
    pub(super) fn new(kind: &str, key: Key) -> Self {
        Self { kind: Text::from(kind), key }
    }
}

impl fmt::Display for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, self.key)
    }
}

/// `1 pod`, `2 pods`.
pub(super) fn pods(count: usize) -> String {
    format!("{count} pod{}", if count == 1 { "" } else { "s" })
}

macro_rules! rules {
    ($( $variant:ident = $id:literal, $title:literal; )*) => {
        /// The rules. Their ids are stable: scripts and people refer to them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Rule { $( #[doc = concat!("`", $id, "`: ", $title)] $variant, )* }

        impl Rule {
            /// All rules.
            pub const ALL: &'static [Rule] = &[ $( Rule::$variant ),* ];

            /// The stable id.
            #[must_use]
            pub fn id(self) -> &'static str {
                match self { $( Self::$variant => $id ),* }
            }

            /// What the rule is about, in a sentence.
            #[must_use]
            pub fn title(self) -> &'static str {
                match self { $( Self::$variant => $title ),* }
            }
        }
    };
}

rules! {
    PdbNeverAllows = "pdb-never-allows", "a disruption budget that lets no pod go even when all are healthy";
    PdbNotCounted = "pdb-not-counted", "a disruption budget whose pods the controller cannot count, so that it allows nothing";
    PdbSeveral = "pdb-several", "pods under several disruption budgets, which the eviction API never evicts";
    PdbUnready = "pdb-unready", "a disruption budget that allows nothing now because pods are not ready";
    PdbWaitsForBatch = "pdb-waits-for-batch", "a disruption budget that keeps batch pods until they are done";
    PdbWeak = "pdb-weak", "a disruption budget that lets most pods go at once";
    NoBudget = "no-budget", "several replicas without a disruption budget";
    Singleton = "singleton", "one replica without a disruption budget: it is gone while it moves";
    WaitsInVain = "waits-in-vain", "pods that are waited for as batch pods and do not end by themselves";
    BatchUnprotected = "batch-unprotected", "batch pods whose work an eviction would lose";
    NoRoom = "no-room", "pods that fit on no node that stays and on no new one";
    NodeNotReady = "node-not-ready", "nodes that are not Ready, so that pods may not end on them";
    PendingBefore = "pending-before", "pods that had no node before the roll";
    BarePod = "bare-pod", "pods that nobody would make again";
    LocalStorage = "local-storage", "data in an emptyDir, which is lost when the pod moves";
    ZoneBound = "zone-bound", "volumes that only nodes of one zone, or one node, can reach";
    PinnedToGroup = "pinned-to-group", "pods that name the node group they run in";
    PlacedApart = "placed-apart", "replicas that must not share a zone or a node";
    SpotOnly = "spot-only", "pods that run on spot capacity only";
    HpaAtMaximum = "hpa-at-maximum", "an autoscaler at its maximum: no replica can be added";
    LongGrace = "long-grace", "pods that may take long to stop";
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.id())
    }
}
