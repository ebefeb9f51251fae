//! What if: nodes gone, nodes cordoned, one group alone.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use replank_model::object::affinity::{Taint, TaintEffect};
use replank_model::object::node::Node;
use replank_model::text::{GroupName, NodeName, Text};
use replank_model::view::View;

use replank_facts::groups::{GroupBy, group_of};
use replank_facts::plan::nearest;

/// Taint that the node controller gives a cordoned node.
pub(super) const CORDON: &str = "node.kubernetes.io/unschedulable";

/// What is taken to be otherwise than it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WhatIf {
    /// Nodes that are gone, with their pods.
    pub without: Vec<Pick>,
    /// Nodes that are cordoned; their pods stay.
    pub cordon: Vec<Pick>,
    /// The group whose nodes alone take pods, as if all others were cordoned.
    pub only_group: Option<GroupName>,
}

/// Which nodes are meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pick {
    /// The node of a name.
    Named(NodeName),
    /// Nodes with a label's value.
    Labelled(Text, Text),
}

/// Text that picks no nodes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a node name or a label KEY=VALUE")]
pub struct NoPick;

impl FromStr for Pick {
    type Err = NoPick;

    fn from_str(text: &str) -> Result<Self, NoPick> {
        match text.trim().split_once('=') {
            Some((key, value)) if !key.is_empty() => Ok(Self::Labelled(key.into(), value.into())),
            None if !text.trim().is_empty() => {
                let name = text.trim();
                Ok(Self::Named(name.strip_prefix("node/").unwrap_or(name).into()))
            }
            Some(_) | None => Err(NoPick),
        }
    }
}

impl fmt::Display for Pick {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named(name) => write!(f, "{name}"),
            Self::Labelled(key, value) => write!(f, "{key}={value}"),
        }
    }
}

/// A what-if question that cannot be asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WhatIfError {
    /// There is no such node.
    #[error("nodes \"{name}\" not found")]
    NoSuchNode {
        /// The name.
        name: NodeName,
        /// A node's name that is nearly the same.
        meant: Option<NodeName>,
    },
    /// No node has the label's value.
    #[error("no node has the label {key}={value}")]
    NobodyLabelled {
        /// The key.
        key: Text,
        /// The value.
        value: Text,
    },
    /// There is no such group.
    #[error("node group \"{name}\" not found")]
    NoSuchGroup {
        /// The name.
        name: GroupName,
        /// A group's name that is nearly the same.
        meant: Option<GroupName>,
    },
    /// All nodes would be gone.
    #[error("no node would remain")]
    NoneLeft,
}

/// The nodes that are meant.
pub(super) fn picked(view: &View, picks: &[Pick]) -> Result<BTreeSet<NodeName>, WhatIfError> {
    let mut found = BTreeSet::new();
    for pick in picks {
        match pick {
            Pick::Named(name) if view.node(name).is_some() => {
                found.insert(name.clone());
            }
            Pick::Named(name) => {
                let names = view.nodes.sorted();
                let meant = nearest(name.as_str(), names.iter().map(|(_, node)| node.meta.name.as_str()));
                return Err(WhatIfError::NoSuchNode { name: name.clone(), meant: meant.map(NodeName::from) });
            }
            Pick::Labelled(key, value) => {
                let nodes = view.nodes_with(key, value).iter().filter_map(|ix| view.nodes.get(*ix));
                let before = found.len();
                found.extend(nodes.map(|node| node.name()));
                if found.len() == before && view.nodes_with(key, value).is_empty() {
                    return Err(WhatIfError::NobodyLabelled { key: key.clone(), value: value.clone() });
                }
            }
        }
    }
    Ok(found)
}

/// The nodes outside a group.
pub(super) fn others(view: &View, by: &GroupBy, only: &GroupName) -> Result<BTreeSet<NodeName>, WhatIfError> {
    let all = view.nodes.sorted();
    let is_inside = |node: &Node| group_of(node, by).as_ref() == Some(only);
    let others: BTreeSet<NodeName> =
        all.iter().filter(|(_, node)| !is_inside(node)).map(|(_, node)| node.name()).collect();
    if others.len() == all.len() {
        let groups: BTreeSet<GroupName> = all.iter().filter_map(|(_, node)| group_of(node, by)).collect();
        let meant = nearest(only.as_str(), groups.iter().map(GroupName::as_str)).map(GroupName::from);
        return Err(WhatIfError::NoSuchGroup { name: only.clone(), meant });
    }
    Ok(others)
}

/// The node as it is once it is cordoned.
pub(super) fn cordoned(node: &Arc<Node>) -> Node {
    let mut node = Node::clone(node);
    node.spec.unschedulable = true;
    if !node.spec.taints.iter().any(|taint| &*taint.key == CORDON) {
        node.spec.taints.push(Taint::new(CORDON, TaintEffect::NoSchedule));
    }
    node
}

/// The node as it is once it is uncordoned.
pub(super) fn uncordoned(node: &mut Node) {
    node.spec.unschedulable = false;
    node.spec.taints.retain(|taint| &*taint.key != CORDON);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pick_is_a_name_or_a_label() {
        let pick = |text: &str| text.parse::<Pick>();
        assert_eq!(pick("ip-10-0-0-1"), Ok(Pick::Named("ip-10-0-0-1".into())));
        assert_eq!(pick("node/a"), Ok(Pick::Named("a".into())));
        assert_eq!(pick("zone=c"), Ok(Pick::Labelled("zone".into(), "c".into())));
        assert_eq!(pick("zone="), Ok(Pick::Labelled("zone".into(), "".into())));
        assert!(pick("").is_err() && pick("=c").is_err());
    }
}
