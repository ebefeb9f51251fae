//! Two journals side by side: what was rehearsed, and what happened.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::mem::discriminant;

use replank_model::text::{NodeName, Text};
use replank_model::time::Span;
use replank_protocol::decision::End;
use serde::Serialize;

use crate::tale::{NodeTale, Tale};

/// Two journals, compared.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Comparison {
    /// Nodes whose pods both asked to leave.
    pub nodes: usize,
    /// Pods that were asked to leave, in the one and in the other.
    pub pods: [usize; 2],
    /// How often budgets refused.
    pub refused: [usize; 2],
    /// How long each took.
    pub took: [Span; 2],
    /// What differs, the weightiest first.
    pub differences: Vec<Difference>,
}

/// One thing in which two journals differ.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Difference {
    /// They ended otherwise.
    End {
        /// How each did; nothing where it did not end.
        ends: [Option<Text>; 2],
    },
    /// Only one of them asked pods of a node to leave.
    Node {
        /// The node.
        node: NodeName,
        /// Whether it is the first.
        is_first: bool,
    },
    /// Another number of a controller's pods was asked to leave a node.
    Pods {
        /// The node.
        node: NodeName,
        /// Whose pods; nothing where they have no controller.
        controller: Option<Text>,
        /// How many.
        pods: [usize; 2],
    },
    /// The nodes were taken in another order; the first place where it differs.
    Order {
        /// Which node, from 1.
        place: usize,
        /// The node there.
        nodes: [NodeName; 2],
    },
    /// Budgets refused another number of evictions.
    Refused {
        /// How many.
        refused: [usize; 2],
    },
    /// A node took longer or shorter by more than was tolerated.
    NodeTook {
        /// The node.
        node: NodeName,
        /// How long.
        took: [Span; 2],
    },
    /// It took longer or shorter, as a whole, by more than was tolerated.
    Took {
        /// How long.
        took: [Span; 2],
    },
}

/// What differs between two: times by more than `tolerance` (0.05 is 5 %), and more than two seconds, since moments are whole seconds.
#[must_use]
pub fn differences(tales: [&Tale; 2], tolerance: f64) -> Comparison {
    let [first, second] = tales;
    let [ours, theirs] = tales.map(of_nodes);
    let took = tales.map(Tale::took);
    let refused = tales.map(Tale::refused);
    let mut differences = Vec::new();
    let same_end = match (&first.end, &second.end) {
        (Some(one), Some(other)) => discriminant(one) == discriminant(other),
        (None, None) => true,
        (Some(_), None) | (None, Some(_)) => false,
    };
    if !same_end {
        let ends = tales.map(|tale| tale.end.as_ref().map(|end| Text::from(word(end))));
        differences.push(Difference::End { ends });
    }
    let names: BTreeSet<&NodeName> = ours.keys().chain(theirs.keys()).copied().collect();
    let mut nodes = 0;
    let mut times = Vec::new();
    for name in names {
        match (ours.get(name), theirs.get(name)) {
            (Some(one), Some(other)) => {
                nodes += 1;
                differences.extend(pods(name, one, other));
                if let (Some(one), Some(other)) = (one.took(), other.took())
                    && differ([one, other], tolerance)
                {
                    times.push(Difference::NodeTook { node: name.clone(), took: [one, other] });
                }
            }
            (one, _) => differences.push(Difference::Node { node: name.clone(), is_first: one.is_some() }),
        }
    }
    differences.extend(order(first, second));
    if refused[0] != refused[1] {
        differences.push(Difference::Refused { refused });
    }
    if differ(took, tolerance) {
        differences.push(Difference::Took { took });
    }
    differences.extend(times);
    Comparison { nodes, pods: tales.map(|tale| tale.pods().count()), refused, took, differences }
}

/// How a run ended, in a word.
#[must_use]
pub fn word(end: &End) -> &'static str {
    match end {
        End::Done => "done",
        End::RolledBack(_) => "rolled back",
        End::Blocked(_) => "blocked",
        End::Cancelled(_) => "cancelled",
        End::Refused(_) => "refused",
    }
}

/// Nodes whose pods were asked to leave.
fn of_nodes(tale: &Tale) -> BTreeMap<&NodeName, &NodeTale> {
    let nodes = tale.nodes.iter().filter(|node| !node.pods.is_empty());
    nodes.map(|node| (&node.name, node)).collect()
}

fn by_controller(node: &NodeTale) -> BTreeMap<Option<&Text>, usize> {
    let mut counts = BTreeMap::new();
    for pod in &node.pods {
        *counts.entry(pod.controller.as_ref()).or_default() += 1;
    }
    counts
}

fn pods(name: &NodeName, one: &NodeTale, other: &NodeTale) -> Vec<Difference> {
    let [one, other] = [one, other].map(by_controller);
    let controllers: BTreeSet<Option<&Text>> = one.keys().chain(other.keys()).copied().collect();
    let count = |counts: &BTreeMap<Option<&Text>, usize>, of| counts.get(&of).copied().unwrap_or_default();
    controllers
        .into_iter()
        .map(|of| (of, [count(&one, of), count(&other, of)]))
        .filter(|(_, pods)| pods[0] != pods[1])
        .map(|(of, pods)| Difference::Pods { node: name.clone(), controller: of.cloned(), pods })
        .collect()
}

/// The first place where the order of nodes differs, of those that both have.
fn order(first: &Tale, second: &Tale) -> Option<Difference> {
    let [ours, theirs] = [first, second].map(of_nodes);
    let shared = |tale: &Tale| -> Vec<NodeName> {
        let names = tale.nodes.iter().map(|node| &node.name);
        names.filter(|name| ours.contains_key(name) && theirs.contains_key(name)).cloned().collect()
    };
    let pairs = shared(first).into_iter().zip(shared(second)).enumerate();
    pairs
        .map(|(index, (one, other))| (index + 1, [one, other]))
        .find(|(_, nodes)| nodes[0] != nodes[1])
        .map(|(place, nodes)| Difference::Order { place, nodes })
}

/// Whether two times differ by more than `tolerance` of the first (0.05 is 5 %), and by more than two seconds.
#[must_use]
pub fn differ([one, other]: [Span; 2], tolerance: f64) -> bool {
    let apart = (one.as_secs_f64() - other.as_secs_f64()).abs();
    apart > 2.0 && apart > tolerance * one.as_secs_f64().max(1.0)
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::End { ends: [one, other] } => {
                let said = |end: &Option<Text>| end.clone().unwrap_or_else(|| "not ended".into());
                write!(f, "the end: {}, then {}", said(one), said(other))
            }
            Self::Node { node, is_first: true } => write!(f, "node {node}: drained in the first only"),
            Self::Node { node, is_first: false } => write!(f, "node {node}: drained in the second only"),
            Self::Pods { node, controller, pods: [one, other] } => {
                let of = controller.as_deref().unwrap_or("no controller");
                write!(f, "node {node}: {one} pods of {of}, then {other}")
            }
            Self::Order { place, nodes: [one, other] } => {
                write!(f, "the order of nodes: number {place} is {one} in the first, {other} in the second")
            }
            Self::Refused { refused: [one, other] } => {
                write!(f, "evictions that budgets refused: {one}, then {other}")
            }
            Self::NodeTook { node, took: [one, other] } => {
                write!(f, "node {node}: drained in {one}, then in {other}")
            }
            Self::Took { took: [one, other] } => write!(f, "the whole: {one}, then {other}"),
        }
    }
}
