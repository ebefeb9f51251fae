//! Who owns a group, and the updates of those that EKS owns.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::eks_code::{EksSubject, explained};
use super::size::GroupSize;
use super::template::LaunchTemplateRef;
use crate::text::{GroupName, Text};
use crate::time::Time;

/// Which group is meant, under all of its names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GroupId {
    /// The node group's name: the managed node group's, or the one by which nodes show their group.
    pub node_group: GroupName,
    /// The name of the Auto Scaling group behind it.
    pub auto_scaling_group: Text,
    /// Who owns that.
    pub kind: GroupKind,
}

impl GroupId {
    /// A group of which no more is known than its name: its Auto Scaling group has the same one.
    #[must_use]
    pub fn self_managed(name: &GroupName) -> Self {
        Self {
            node_group: name.clone(),
            auto_scaling_group: name.text().clone(),
            kind: GroupKind::SelfManaged,
        }
    }
}

impl fmt::Display for GroupId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.node_group.fmt(f)
    }
}

/// Who owns the Auto Scaling group behind a node group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum GroupKind {
    /// The cluster's owner: its template and sizes are changed there.
    #[default]
    SelfManaged,
    /// EKS: a managed node group, which is changed by EKS's own calls only. A tool that changes its Auto Scaling group's launch template version
    /// makes the node group DEGRADED ("Customize managed nodes with launch templates" in the EKS user guide).
    EksManaged,
}

/// In which order EKS replaces the nodes of a managed node group (`updateConfig.updateStrategy`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum UpdateStrategy {
    /// New nodes come first.
    #[default]
    Default,
    /// Old nodes go first, and the Auto Scaling group replaces them: no room for more nodes is needed.
    Minimal,
}

impl UpdateStrategy {
    /// By the API's word.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        match word {
            "DEFAULT" => Some(Self::Default),
            "MINIMAL" => Some(Self::Minimal),
            _ => None,
        }
    }

    /// Whether it is the one that EKS takes where nothing is said.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::Default
    }
}

impl GroupKind {
    /// In words.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SelfManaged => "self-managed",
            Self::EksManaged => "managed by EKS",
        }
    }
}

/// An update of a managed node group (EKS `DescribeUpdate`): the last one that is known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodegroupUpdate {
    /// Its id, as UpdateNodegroupVersion answered.
    pub id: Text,
    /// The client request token by which it was asked for: the same token is the same request.
    pub token: Text,
    /// What it changes.
    pub change: NodegroupChange,
    /// How far it is.
    pub status: UpdateStatus,
    /// When it was asked for.
    pub created: Time,
    /// What it says of its failure.
    pub errors: Vec<UpdateError>,
    /// Whether it has been seen in progress, and ended later: EKS does not say when an update ended.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub was_followed: bool,
}

/// What an update of a managed node group changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum NodegroupChange {
    /// VersionUpdate: what nodes are made from. Each of them is replaced.
    Version {
        /// The version that nodes are made from in the end.
        to: LaunchTemplateRef,
    },
    /// ConfigUpdate: how many nodes there are.
    Config {
        /// The sizes.
        to: GroupSize,
    },
}

/// How far an update is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum UpdateStatus {
    /// It is under way.
    InProgress,
    /// It has failed.
    Failed,
    /// It was cancelled, which no update of a node group can be today.
    Cancelled,
    /// It is through.
    Successful,
}

/// Why an update failed (EKS `ErrorDetail`), or what is wrong with a managed node group (`Issue`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UpdateError {
    /// EKS's error code.
    pub code: Text,
    /// In its words.
    pub message: Text,
    /// What it is about: names of nodes or instances.
    pub resources: Vec<Text>,
}

impl UpdateError {
    /// Pods were left on a node when its time was up.
    pub const POD_EVICTION_FAILURE: &'static str = "PodEvictionFailure";
    /// New nodes did not join, or did not become Ready.
    pub const NODE_CREATION_FAILURE: &'static str = "NodeCreationFailure";

    /// What its code means, and what can be done about it.
    #[must_use]
    pub fn explained(&self) -> Option<&'static str> {
        explained(&self.code, EksSubject::Nodegroup)
    }
}

impl fmt::Display for UpdateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)?;
        match self.resources.as_slice() {
            [] => Ok(()),
            all => write!(f, " ({})", all.join(", ")),
        }
    }
}
