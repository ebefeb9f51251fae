//! What is known of a pod that does not end.

use std::fmt;

use replank_model::object::condition::ConditionStatus;
use replank_model::text::{NodeName, Text};
use replank_model::time::{Span, Time};
use serde::{Deserialize, Serialize};

/// What is known of a stuck pod.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Evidence {
    /// When it was due to be gone.
    pub due: Time,
    /// The grace that it was given.
    pub grace: Span,
    /// What keeps the object, whatever becomes of the containers.
    pub finalizers: Vec<Text>,
    /// Containers that still run, as the kubelet last said.
    pub running: usize,
    /// Its node; `None` if that is gone.
    pub node: Option<NodeEvidence>,
    /// Volumes that are attached to its node and belong to one of its claims.
    pub volumes: Vec<Text>,
}

/// What is known of a stuck pod's node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeEvidence {
    /// Its name.
    pub name: NodeName,
    /// Whether its kubelet says that it is Ready.
    pub ready: ConditionStatus,
    /// Since when that is so.
    pub since: Option<Time>,
    /// Version of the kubelet.
    pub kubelet: Text,
    /// Container runtime and its version; empty if it is not told.
    pub runtime: Text,
    /// The machine image, where it is known; else the operating system's name.
    pub image: Text,
    /// Stuck pods on all nodes of this image.
    pub alike: usize,
    /// Stuck pods on nodes of other images.
    pub elsewhere: usize,
}

impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { due, grace, finalizers, running, node, volumes } = self;
        write!(f, "should have terminated by {due} (grace period {grace})")?;
        if *running > 0 {
            write!(f, ", {running} container{} still running", if *running == 1 { "" } else { "s" })?;
        }
        match node {
            Some(node) => write!(f, "; {node}")?,
            None => f.write_str("; its node no longer exists")?,
        }
        let list = |texts: &[Text]| texts.iter().map(|text| &**text).collect::<Vec<_>>().join(", ");
        match finalizers.as_slice() {
            [] => f.write_str("; no finalizers")?,
            some => write!(f, "; finalizers {}", list(some))?,
        }
        if volumes.is_empty() { Ok(()) } else { write!(f, "; still attached: {}", list(volumes)) }
    }
}

impl fmt::Display for NodeEvidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name: _, ready, since, kubelet, runtime, image, alike, elsewhere } = self;
        let state = match ready {
            ConditionStatus::True => "Ready",
            ConditionStatus::False => "not Ready",
            ConditionStatus::Unknown => "not reporting",
        };
        write!(f, "kubelet {kubelet} {state}")?;
        if let (Some(since), false) = (since, *ready == ConditionStatus::True) {
            write!(f, " since {since}")?;
        }
        if !runtime.is_empty() {
            write!(f, ", {runtime}")?;
        }
        let image = if image.is_empty() { "image unknown" } else { image };
        write!(f, ", {image}: {alike} stuck on this image, {elsewhere} on others")
    }
}
