//! What a command is about: incarnations, never names alone.

use replank_model::object::Kind;
use replank_model::object::meta::Key;
use replank_model::text::{Name, NodeName, Uid};
use serde::{Deserialize, Serialize};

/// A node's incarnation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeTarget {
    /// Name.
    pub name: NodeName,
    /// Uid: a node that came back under the same name is another one.
    pub uid: Uid,
}

/// A NodeClaim's incarnation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClaimTarget {
    /// Name.
    pub name: Name,
    /// Uid.
    pub uid: Uid,
}

/// A pod's incarnation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PodTarget {
    /// Namespace and name.
    pub key: Key,
    /// Uid: a StatefulSet's pod comes back under the same name.
    pub uid: Uid,
}

/// A workload that `kubectl rollout restart` can restart.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkloadTarget {
    /// What it is.
    pub kind: Restartable,
    /// Namespace and name.
    pub key: Key,
    /// Uid: a workload that was made anew under the same name is another one.
    pub uid: Uid,
}

/// Kinds that `kubectl rollout restart` knows (polymorphichelpers `objectrestarter.go`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Restartable {
    /// apps/v1 Deployment; not while it is paused.
    Deployment,
    /// apps/v1 StatefulSet.
    StatefulSet,
    /// apps/v1 DaemonSet.
    DaemonSet,
}

impl Restartable {
    /// The kind of its objects.
    #[must_use]
    pub fn kind(self) -> Kind {
        match self {
            Self::Deployment => Kind::Deployment,
            Self::StatefulSet => Kind::StatefulSet,
            Self::DaemonSet => Kind::DaemonSet,
        }
    }
}
