//! What others did in the middle of a run, as it is told.

use std::fmt;

use crate::taker::Taker;
use replank_model::object::Kind;
use replank_model::object::cloud::GroupSize;
use replank_model::object::meta::Key;
use replank_model::text::{GroupName, InstanceId, NodeName, Text};
use serde::{Deserialize, Serialize};

/// Something that somebody else did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Noticed {
    /// A node was cordoned.
    Cordoned(NodeName),
    /// A node was uncordoned.
    Uncordoned(NodeName),
    /// Our mark was taken off a node.
    MarkTaken(NodeName),
    /// The label by which we had taken a node out of load balancers was taken off.
    LabelTaken(NodeName),
    /// The object of a node whose instance runs on was deleted.
    NodeDeleted(NodeName),
    /// A node is taken away by somebody else.
    TakenAway(NodeName, Taker),
    /// A node is taken away no more.
    Spared(NodeName, Taker),
    /// A node stopped being Ready.
    NotReady(NodeName),
    /// The object of a node was deleted, and whether its machine runs is not known.
    NodeGone(NodeName),
    /// An instance was ended.
    InstanceEnded(InstanceId),
    /// A group's size was changed.
    Resized {
        /// The group.
        group: GroupName,
        /// Its size before.
        from: GroupSize,
        /// Its size after.
        to: GroupSize,
    },
    /// Our tag was taken off a group.
    TagTaken(GroupName, Text),
    /// A workload was scaled.
    Scaled {
        /// Its kind.
        kind: Kind,
        /// Namespace and name.
        key: Key,
        /// Pods wanted before.
        from: i32,
        /// Pods wanted after.
        to: i32,
    },
    /// The pod template of a workload was changed: it is rolled out.
    RolledOut(Kind, Key),
    /// A disruption budget was changed.
    BudgetChanged(Key),
    /// A workload or a budget was deleted.
    Deleted(Kind, Key),
}

impl fmt::Display for Noticed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cordoned(node) => write!(f, "node {node} was cordoned"),
            Self::Uncordoned(node) => write!(f, "node {node} was uncordoned"),
            Self::MarkTaken(node) => write!(f, "node {node} lost the run's mark"),
            Self::LabelTaken(node) => write!(f, "node {node} was added back to load balancers"),
            Self::NodeDeleted(node) => write!(f, "node {node} was deleted, its instance still runs"),
            Self::TakenAway(node, by) => write!(f, "node {node} is taken away by {by}"),
            Self::Spared(node, by) => write!(f, "node {node} is no longer taken away by {by}"),
            Self::NotReady(node) => write!(f, "node {node} stopped being Ready"),
            Self::NodeGone(node) => write!(f, "node {node} was deleted"),
            Self::InstanceEnded(id) => write!(f, "instance {id} was terminated"),
            Self::Resized { group, from, to } => write!(f, "group {group} was resized from {from} to {to}"),
            Self::TagTaken(group, key) => write!(f, "group {group} lost the run's tag {key}"),
            Self::Scaled { kind, key, from, to } => {
                write!(f, "{} {key} was scaled from {from} to {to}", kind.as_str())
            }
            Self::RolledOut(kind, key) => write!(f, "{} {key} was rolled out", kind.as_str()),
            Self::BudgetChanged(key) => write!(f, "PodDisruptionBudget {key} was changed"),
            Self::Deleted(kind, key) => write!(f, "{} {key} was deleted", kind.as_str()),
        }
    }
}
