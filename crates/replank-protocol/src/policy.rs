//! What a plan says of pods, as far as reasons for waiting name it.

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
    /// It cannot be read: what it is, and whether it may go, nobody can say.
    Unreadable,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bare => "it has no controller that would recreate it (barePods: refuse)",
            Self::Orphan => "its DaemonSet is gone, so it would not be recreated",
            Self::Unreadable => "it cannot be read",
            Self::LocalStorage => "its emptyDir data would be lost (localStorage: refuse)",
        })
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
