//! What a plan says of pods, as far as reasons for waiting name it.

use replank_model::text::Text;
use serde::{Deserialize, Serialize};
use std::fmt;

/// See [`StuckTerminating::action`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum StuckAction {
    /// It is reported with what is known; a person decides.
    Report,
    /// Once nothing but stuck pods is left on the node, its instance is ended, and the pods go with it.
    ReplaceNode,
    /// The same; and when the instance is gone, pods that are still there are taken out of the API without waiting for garbage
    /// collection. Never while the instance may run: a StatefulSet's pod would then run twice.
    ForceDelete,
}

/// Why a pod is not moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Refused {
    /// It has no controller.
    Bare,
    /// Its DaemonSet is gone.
    Orphan,
    /// It has data in an emptyDir.
    LocalStorage,
    /// Its author declares that its work must not be run again.
    RerunUnsafe,
    /// It cannot be read: what it is, and whether it may go, nobody can say.
    Unreadable,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bare => "it has no controller that would recreate it (barePods: refuse)",
            Self::Orphan => "its DaemonSet is gone, so it would not be recreated",
            Self::RerunUnsafe => "its work must not be run again (replank.dev/rerun: unsafe)",
            Self::Unreadable => "it cannot be read",
            Self::LocalStorage => "its emptyDir data would be lost (localStorage: refuse)",
        })
    }
}

/// Why `kubectl drain` does not begin a node: a class of pods that it takes off no node unless a flag says so (kubectl `pkg/drain/filters.go`).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum PodClass {
    /// Pods of DaemonSets.
    DaemonSet,
    /// Pods of a DaemonSet that is gone.
    OrphanedDaemonSet {
        /// Its name.
        name: Text,
    },
    /// Pods with an emptyDir.
    LocalStorage,
    /// Pods without a controller.
    Unmanaged,
    /// Pods that cannot be read: what they are, nobody can say.
    Unreadable,
}

impl PodClass {
    /// What to do about it.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::DaemonSet => "pass --ignore-daemonsets: they stay on the node, as on every other",
            Self::OrphanedDaemonSet { .. } => "pass --force: nothing will create them again",
            Self::LocalStorage => "pass --delete-emptydir-data if the data in their emptyDir may be lost",
            Self::Unmanaged => "pass --force if they may be lost: nothing will create them again",
            Self::Unreadable => {
                "delete or repair them: the API server serves them in a form that Replank cannot read"
            }
        }
    }
}

/// kubectl's words.
impl fmt::Display for PodClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DaemonSet => f.write_str("DaemonSet-managed Pods (use --ignore-daemonsets to ignore)"),
            Self::OrphanedDaemonSet { name } => write!(f, "daemonsets.apps {name:?} not found"),
            Self::LocalStorage => {
                f.write_str("Pods with local storage (use --delete-emptydir-data to override)")
            }
            Self::Unmanaged => f.write_str("Pods that declare no controller (use --force to override)"),
            Self::Unreadable => f.write_str("Pods that cannot be read"),
        }
    }
}

/// How a pod is known to be a batch pod; the first that holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum BatchKind {
    /// A Job manages it.
    Job,
    /// An Argo Workflow manages it.
    Workflow,
    /// It says so to Cluster Autoscaler.
    NotSafeToEvict,
    /// It says so to Karpenter.
    DoNotDisrupt,
    /// The plan's `batch.selector` matches it.
    Selected,
    /// It ends by itself: its restart policy is Never or OnFailure, which only what runs to an end has.
    RunsOnce,
}

impl fmt::Display for BatchKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Job => "pod of a Job",
            Self::Workflow => "pod of a Workflow",
            Self::NotSafeToEvict => "safe-to-evict=false",
            Self::DoNotDisrupt => "do-not-disrupt",
            Self::Selected => "matched by batch.selector",
            Self::RunsOnce => "restartPolicy Never or OnFailure",
        })
    }
}
