//! Which nodes a volume can be used on (component-helpers `storage/volume`, `nodeaffinity`).

use replank_model::object::affinity::{
    NodeSelector, NodeSelectorOperator, NodeSelectorRequirement, NodeSelectorTerm,
};
use replank_model::object::node::Node;
use replank_model::object::volume::PersistentVolume;

/// Whether a volume can be used on a node.
pub(super) fn reaches(node: &Node, volume: &PersistentVolume) -> bool {
    let required = volume.spec.node_affinity.as_ref().and_then(|affinity| affinity.required.as_ref());
    required.is_none_or(|selector| matches(selector, node))
}

/// Terms are alternatives; an empty one matches nothing.
fn matches(selector: &NodeSelector, node: &Node) -> bool {
    selector.node_selector_terms.iter().any(|term| {
        let is_empty = term.match_expressions.is_empty() && term.match_fields.is_empty();
        !is_empty && term_matches(term, node)
    })
}

fn term_matches(term: &NodeSelectorTerm, node: &Node) -> bool {
    let labels =
        |requirement: &NodeSelectorRequirement| holds(requirement, node.meta.labels.value(&requirement.key));
    let fields = |requirement: &NodeSelectorRequirement| {
        &*requirement.key == "metadata.name" && holds(requirement, Some(node.meta.name.as_str()))
    };
    term.match_expressions.iter().all(labels) && term.match_fields.iter().all(fields)
}

fn holds(requirement: &NodeSelectorRequirement, value: Option<&str>) -> bool {
    let is_listed = value.is_some_and(|value| requirement.values.iter().any(|listed| **listed == *value));
    let compared = || {
        let value: i64 = value?.parse().ok()?;
        let bound: i64 = requirement.values.first()?.parse().ok()?;
        Some(value.cmp(&bound))
    };
    match requirement.operator {
        NodeSelectorOperator::In => is_listed,
        NodeSelectorOperator::NotIn => !is_listed,
        NodeSelectorOperator::Exists => value.is_some(),
        NodeSelectorOperator::DoesNotExist => value.is_none(),
        NodeSelectorOperator::Gt => compared() == Some(std::cmp::Ordering::Greater),
        NodeSelectorOperator::Lt => compared() == Some(std::cmp::Ordering::Less),
    }
}
