//! What waits, and whether waiting can help.

use std::fmt;

use replank_model::object::meta::Key;
use replank_model::text::{GroupName, InstanceId, MessageId, NodeName, Text};
use serde::{Deserialize, Serialize};

/// What waits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Subject {
    /// The run as a whole.
    Run,
    /// A group.
    Group(GroupName),
    /// A group's bounds, once the run is over.
    Bounds(GroupName),
    /// An instance that has not become a Ready node.
    Instance(InstanceId),
    /// A node's replacement.
    Node(NodeName),
    /// A pod's eviction.
    Pod(Key),
    /// An object that something was found about, by kind and name.
    Object(Text),
    /// A message of a queue.
    Message(MessageId),
}

/// Whether waiting can help.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Hope {
    /// Time alone, or what is already in motion, will end the wait.
    Moving,
    /// Another actor may end it: a budget's pods become healthy, room appears.
    Possible,
    /// Only an operator can end it.
    None,
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Run => write!(f, "run"),
            Self::Group(group) => write!(f, "group {group}"),
            Self::Bounds(group) => write!(f, "bounds of group {group}"),
            Self::Instance(instance) => write!(f, "instance {instance}"),
            Self::Node(node) => write!(f, "node {node}"),
            Self::Pod(pod) => write!(f, "pod {pod}"),
            Self::Object(object) => f.write_str(object),
            Self::Message(message) => write!(f, "message {message}"),
        }
    }
}
