//! On which nodes a DaemonSet's pods belong (`NodeShouldRunDaemonPod`).

use replank_model::labels::TextMap;
use replank_model::object::affinity::{
    NodeSelectorOperator, NodeSelectorRequirement, NodeSelectorTerm, TaintEffect, Toleration,
};
use replank_model::object::node::Node;
use replank_model::object::pod::PodSpec;
use replank_model::selector::{Operator, Requirement};

/// Whether a pod belongs on a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fit {
    /// There should be one.
    Wanted,
    /// None is made, and one that is there may stay.
    Tolerated,
    /// None should be there.
    Unwanted,
}

/// What a pod asks of its node, read once.
#[derive(Debug, Default)]
pub(super) struct Demands {
    selector: TextMap,
    terms: Option<Vec<Term>>,
    tolerations: Vec<Toleration>,
}

#[derive(Debug)]
struct Term {
    labels: Vec<Requirement>,
    /// The names that are meant, or those that are not.
    names: Vec<NodeSelectorRequirement>,
}

impl Demands {
    /// Those of a template whose tolerations are complete.
    pub(super) fn of(spec: &PodSpec) -> Self {
        let affinity = spec.affinity.as_ref().and_then(|affinity| affinity.node_affinity.as_ref());
        let required = affinity.and_then(|affinity| affinity.required.as_ref());
        Self {
            selector: spec.node_selector.clone(),
            terms: required.map(|required| required.node_selector_terms.iter().filter_map(term).collect()),
            tolerations: spec.tolerations.clone(),
        }
    }

    /// Whether a node has the labels and the name that the pods ask for.
    pub(super) fn select(&self, node: &Node) -> bool {
        let labels = &node.meta.labels;
        self.selector.pairs().iter().all(|(key, value)| labels.get(key) == Some(value))
            && self.terms.as_ref().is_none_or(|terms| terms.iter().any(|term| term.matches(node)))
    }

    /// Whether a pod belongs on a node that is selected: its taints decide.
    pub(super) fn fit_of_selected(&self, node: &Node) -> Fit {
        let tolerates = |effect: TaintEffect| {
            let mut taints = node.spec.taints.iter().filter(|taint| taint.effect == effect);
            taints.all(|taint| self.tolerations.iter().any(|toleration| toleration.tolerates(taint, false)))
        };
        match (tolerates(TaintEffect::NoExecute), tolerates(TaintEffect::NoSchedule)) {
            (false, _) => Fit::Unwanted,
            (true, false) => Fit::Tolerated,
            (true, true) => Fit::Wanted,
        }
    }
}

/// A term that can be read and is not empty; others match nothing.
fn term(term: &NodeSelectorTerm) -> Option<Term> {
    if term.match_expressions.is_empty() && term.match_fields.is_empty() {
        return None;
    }
    let labels = term.match_expressions.iter().map(|expression| {
        let operator = match expression.operator {
            NodeSelectorOperator::In => Operator::In,
            NodeSelectorOperator::NotIn => Operator::NotIn,
            NodeSelectorOperator::Exists => Operator::Exists,
            NodeSelectorOperator::DoesNotExist => Operator::DoesNotExist,
            NodeSelectorOperator::Gt => Operator::GreaterThan,
            NodeSelectorOperator::Lt => Operator::LessThan,
        };
        Requirement::new(expression.key.clone(), operator, expression.values.clone()).ok()
    });
    Some(Term { labels: labels.collect::<Option<_>>()?, names: term.match_fields.clone() })
}

impl Term {
    fn matches(&self, node: &Node) -> bool {
        let has_label =
            |requirement: &Requirement| requirement.matches(node.meta.labels.value(requirement.key()));
        self.labels.iter().all(has_label) && self.names.iter().all(|field| is_named(field, node))
    }
}

fn is_named(field: &NodeSelectorRequirement, node: &Node) -> bool {
    let names_it = field.values.iter().any(|value| **value == *node.meta.name.as_str());
    &*field.key == "metadata.name"
        && match field.operator {
            NodeSelectorOperator::In => names_it,
            NodeSelectorOperator::NotIn => !names_it,
            NodeSelectorOperator::Exists
            | NodeSelectorOperator::DoesNotExist
            | NodeSelectorOperator::Gt
            | NodeSelectorOperator::Lt => false,
        }
}
