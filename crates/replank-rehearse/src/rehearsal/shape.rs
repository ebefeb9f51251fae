//! What a new node is like, as it registered.

use replank_model::object::node::Node;
use serde::Serialize;

/// A node's labels, taints and room, each as a person writes it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeShape {
    /// Labels, `key=value`.
    pub labels: Vec<String>,
    /// Taints, `key=value:Effect`.
    pub taints: Vec<String>,
    /// Room for pods, `resource=quantity`.
    pub allocatable: Vec<String>,
}

impl NodeShape {
    /// Reads it off a node.
    #[must_use]
    pub(super) fn of(node: &Node) -> Self {
        Self {
            labels: node.meta.labels.iter().map(|(key, value)| format!("{key}={value}")).collect(),
            taints: node.spec.taints.iter().map(ToString::to_string).collect(),
            allocatable: node
                .status
                .allocatable
                .iter()
                .map(|(name, quantity)| format!("{name}={quantity}"))
                .collect(),
        }
    }
}
