//! One line of a journal.

use replank_model::object::node::Node;
use replank_model::object::pod::Pod;
use replank_model::text::{NodeName, Text};
use replank_model::time::Time;
use replank_protocol::command::{Answer, Command, CommandKey, NodeTarget, PodTarget};
use replank_protocol::decision::End;
use replank_protocol::intent::Intent;
use replank_protocol::noticed::Noticed;
use replank_protocol::waiting::{Subject, Waiting};
use serde::{Deserialize, Serialize};

/// The version of the lines. It goes up when a reader of the last one would misread what is written; members that are added do not change it.
pub const VERSION: u32 = 1;

/// One line: something at a moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// When.
    pub at: Time,
    /// What.
    pub what: What,
}

/// What a line says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum What {
    /// The first line: what this is a journal of.
    Began(Beginning),
    /// The operator's intent changed.
    Intended(Intent),
    /// Another process took over.
    StartedAnew,
    /// A command was given to the driver. It is written before it is sent.
    Sent(Sent),
    /// What became of a command.
    Answered(Answered),
    /// Reasons to wait that came up or changed their kind, and what no longer waits.
    Waits(Waits),
    /// What somebody else did.
    Noticed(Noticed),
    /// What was observed of what the run had acted on.
    Seen(Seen),
    /// The run is over.
    Ended(End),
}

/// What a journal is of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Beginning {
    /// [`VERSION`] of the writer.
    pub version: u32,
    /// The program that wrote it.
    pub writer: Text,
    /// What was done: `rehearse`, `drain`, `roll`.
    pub verb: Text,
    /// On what: a snapshot or a context.
    pub on: Text,
    /// The plan or the nodes.
    pub of: Text,
}

/// A command, and where the pod that it is about is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Sent {
    /// The command, whole.
    pub command: Command,
    /// Of a command about a pod: where that is, and whose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod: Option<Place>,
}

/// Where a pod is, and whose it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Place {
    /// Its node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<NodeName>,
    /// Its controller, as `ReplicaSet web-6d4b`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub controller: Option<Text>,
}

/// What became of a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Answered {
    /// Which.
    pub key: CommandKey,
    /// What is known of it.
    pub answer: Answer,
}

/// How the reasons to wait changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Waits {
    /// What waits now, and did not for this kind of reason before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub since: Vec<Waiting>,
    /// What does not wait any more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub over: Vec<Subject>,
}

/// What was observed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Seen {
    /// A pod that a command was about is gone.
    PodGone(PodTarget),
    /// A node is Ready that was not there when the run began.
    NodeReady(NodeTarget),
    /// A node is gone.
    NodeGone(NodeTarget),
}

impl Place {
    /// Where a pod is.
    #[must_use]
    pub fn of(pod: &Pod) -> Self {
        let owner = pod.meta.controller();
        Self {
            node: pod.node.clone(),
            controller: owner.map(|owner| Text::from(format!("{} {}", owner.kind, owner.name))),
        }
    }
}

/// A node's incarnation.
pub(crate) fn incarnation(node: &Node) -> NodeTarget {
    NodeTarget { name: NodeName::from(&node.meta.name), uid: node.meta.uid.clone() }
}
