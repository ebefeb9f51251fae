//! What a node alone decides: node selector, node affinity, taints.
//!
//! Sources (Kubernetes 1.36): component-helpers `scheduling/corev1/nodeaffinity/nodeaffinity.go` and
//! `scheduling/corev1/helpers.go`; `pkg/scheduler/framework/plugins/{nodeaffinity,tainttoleration,nodeunschedulable}`.
//!
//! The functions here need no engine: the DaemonSet controller and findings ask them of one node.

use std::sync::Arc;

use replank_model::labels::{Labels, TextMap};
use replank_model::object::affinity::{
    NodeAffinity, NodeSelector, NodeSelectorOperator, NodeSelectorRequirement, NodeSelectorTerm,
    PreferredSchedulingTerm, Taint, TaintEffect, Toleration,
};
use replank_model::object::node::Node;
use replank_model::object::pod::{Pod, PodSpec};
use replank_model::selector::validate::FieldError;
use replank_model::selector::{Operator, Requirement};
use replank_model::text::{NodeName, Text};

/// Taint that a cordoned node is taken to have.
const UNSCHEDULABLE: &str = "node.kubernetes.io/unschedulable";

/// Whether node selector and required node affinity of a pod let it onto a node. A pod that is pinned (by its
/// DaemonSet's controller) goes to the node it is pinned to only.
#[must_use]
pub fn node_affinity_matches(pod: &Pod, node: &Node) -> bool {
    spec_matches(&pod.spec, pod.pin.as_ref(), node)
}

/// As [`node_affinity_matches`], for a template's spec and the node that a pod of it would be pinned to.
#[must_use]
pub fn spec_matches(spec: &PodSpec, pin: Option<&NodeName>, node: &Node) -> bool {
    let is_pinned_elsewhere = pin.is_some_and(|pin| *pin != node.name());
    !is_pinned_elsewhere
        && RequiredNodeAffinity::of(spec, pin.is_some())
            .is_none_or(|required| required.matches(node.meta.name.as_str(), &node.meta.labels))
}

/// Whether one term of required node affinity matches a node. One that cannot be read does not.
#[must_use]
pub fn term_matches(term: &NodeSelectorTerm, name: &str, labels: &Labels) -> bool {
    !is_empty(term) && Term::compile(term, "").is_ok_and(|term| term.matches(name, labels))
}

/// The first taint of a node that keeps a pod off it or ends it, and that none of these tolerations covers.
/// `compare_numbers` is the state of the gate TaintTolerationComparisonOperators.
#[must_use]
pub fn untolerated_taint<'a>(
    tolerations: &[Toleration],
    taints: &'a [Taint],
    compare_numbers: bool,
) -> Option<&'a Taint> {
    let keeps_off = |taint: &&Taint| matches!(taint.effect, TaintEffect::NoSchedule | TaintEffect::NoExecute);
    taints.iter().filter(keeps_off).find(|taint| !is_tolerated(tolerations, taint, compare_numbers))
}

/// Whether these tolerations let a pod onto a cordoned node.
#[must_use]
pub fn tolerates_cordon(tolerations: &[Toleration], compare_numbers: bool) -> bool {
    is_tolerated(tolerations, &Taint::new(UNSCHEDULABLE, TaintEffect::NoSchedule), compare_numbers)
}

fn is_tolerated(tolerations: &[Toleration], taint: &Taint, compare_numbers: bool) -> bool {
    tolerations.iter().any(|toleration| toleration.tolerates(taint, compare_numbers))
}

/// How many taints of a node ask that others be preferred, and are not tolerated.
#[must_use]
pub fn avoided_taints(tolerations: &[Toleration], taints: &[Taint], compare_numbers: bool) -> usize {
    let avoids = |taint: &&Taint| taint.effect == TaintEffect::PreferNoSchedule;
    taints.iter().filter(avoids).filter(|taint| !is_tolerated(tolerations, taint, compare_numbers)).count()
}

/// Node selector and required node affinity of a pod, compiled; without the node it is pinned to.
#[derive(Clone, Debug)]
pub struct RequiredNodeAffinity {
    selector: TextMap,
    terms: Option<Vec<Term>>,
}

impl RequiredNodeAffinity {
    /// Of a spec; `None` if it restricts nothing. In the shared spec of pods that are pinned, every term has lost its
    /// requirement on the node's name, and a term with nothing else matches.
    #[must_use]
    pub fn of(spec: &PodSpec, is_pinned: bool) -> Option<Self> {
        let required = required(spec);
        (required.is_some() || !spec.node_selector.is_empty())
            .then(|| Self::new(&spec.node_selector, required, is_pinned))
    }

    pub(super) fn new(selector: &TextMap, required: Option<&NodeSelector>, is_pinned: bool) -> Self {
        let compile = |terms: &NodeSelector| {
            let used = terms.node_selector_terms.iter().filter(|term| is_pinned || !is_empty(term));
            used.filter_map(|term| Term::compile(term, "").ok()).collect()
        };
        Self { selector: selector.clone(), terms: required.map(compile) }
    }

    /// Whether a node of this name with these labels is let through.
    #[must_use]
    pub fn matches(&self, name: &str, labels: &Labels) -> bool {
        self.selector.pairs().iter().all(|(key, value)| labels.get(key) == Some(value))
            && self.terms.as_ref().is_none_or(|terms| terms.iter().any(|term| term.matches(name, labels)))
    }
}

/// The required node affinity of a spec.
pub(super) fn required(spec: &PodSpec) -> Option<&NodeSelector> {
    node_affinity(spec)?.required.as_ref()
}

pub(super) fn node_affinity(spec: &PodSpec) -> Option<&NodeAffinity> {
    spec.affinity.as_ref()?.node_affinity.as_ref()
}

/// Preferred node affinity, compiled.
#[derive(Clone, Debug, Default)]
pub(super) struct Preference {
    terms: Vec<(Term, i64)>,
}

impl Preference {
    /// # Errors
    /// What is wrong with the terms, as the scheduler words it. The API server lets some of it through (`Gt` with a
    /// value that is not a label value), and the pod can then not be scored.
    pub(super) fn compile(preferred: &[PreferredSchedulingTerm]) -> Result<Self, Text> {
        let mut errors: Vec<String> = Vec::new();
        let mut terms = Vec::new();
        for (index, term) in preferred.iter().enumerate() {
            if term.weight == 0 || is_empty(&term.preference) {
                continue;
            }
            match Term::compile(&term.preference, &format!("[{index}].")) {
                Ok(compiled) => terms.push((compiled, term.weight)),
                Err(found) => errors.extend(found),
            }
        }
        if errors.is_empty() { Ok(Self { terms }) } else { Err(joined(&errors).into()) }
    }

    /// The weights of the terms that match, added up.
    pub(super) fn score(&self, name: &str, labels: &Labels) -> i64 {
        self.terms.iter().filter(|(term, _)| term.matches(name, labels)).map(|(_, weight)| weight).sum()
    }
}

/// Several messages as one: alone as it is, else in brackets, each once (`utilerrors.Aggregate`).
fn joined(messages: &[String]) -> String {
    let mut once: Vec<&str> = Vec::new();
    for message in messages {
        if !once.contains(&message.as_str()) {
            once.push(message);
        }
    }
    match once.as_slice() {
        [only] => (*only).to_owned(),
        several => format!("[{}]", several.join(", ")),
    }
}

/// One term: all must hold.
#[derive(Clone, Debug)]
struct Term {
    labels: Vec<Requirement>,
    fields: Vec<Field>,
}

/// A requirement on a node's field. Only `metadata.name` is known; any other reads as empty.
#[derive(Clone, Debug)]
struct Field {
    is_name: bool,
    wants_equal: bool,
    value: Text,
}

fn is_empty(term: &NodeSelectorTerm) -> bool {
    term.match_expressions.is_empty() && term.match_fields.is_empty()
}

impl Term {
    fn compile(term: &NodeSelectorTerm, path: &str) -> Result<Self, Vec<String>> {
        let mut errors = Vec::new();
        let mut labels = Vec::new();
        for (index, expression) in term.match_expressions.iter().enumerate() {
            let values: Vec<Arc<str>> = expression.values.clone();
            match Requirement::new(expression.key.clone(), operator(expression.operator), values) {
                Ok(requirement) => labels.push(requirement),
                Err(found) => {
                    let path = format!("{path}matchExpressions[{index}]");
                    errors.extend(found.iter().map(|error| {
                        FieldError { path: format!("{path}.{}", error.path), ..error.clone() }.to_string()
                    }));
                }
            }
        }
        let mut fields = Vec::new();
        for (index, field) in term.match_fields.iter().enumerate() {
            match Self::field(field) {
                Ok(field) => fields.push(field),
                Err(error) => errors.push(format!("{path}matchFields[{index}]{error}")),
            }
        }
        if errors.is_empty() { Ok(Self { labels, fields }) } else { Err(errors) }
    }

    fn field(field: &NodeSelectorRequirement) -> Result<Field, String> {
        let wants_equal = match field.operator {
            NodeSelectorOperator::In => true,
            NodeSelectorOperator::NotIn => false,
            NodeSelectorOperator::Exists
            | NodeSelectorOperator::DoesNotExist
            | NodeSelectorOperator::Gt
            | NodeSelectorOperator::Lt => {
                let operator = field.operator;
                return Err(format!(
                    ".operator: Unsupported value: \"{operator}\": supported values: \"In\", \"NotIn\""
                ));
            }
        };
        let [value] = field.values.as_slice() else {
            let shown: Vec<String> = field.values.iter().map(|value| format!("\"{value}\"")).collect();
            return Err(format!(".values: Invalid value: [{}]: must have one element", shown.join(",")));
        };
        Ok(Field { is_name: &*field.key == "metadata.name", wants_equal, value: value.clone() })
    }

    fn matches(&self, name: &str, labels: &Labels) -> bool {
        self.labels.iter().all(|requirement| requirement.matches(labels.value(requirement.key())))
            && self.fields.iter().all(|field| {
                let is_equal = *field.value == *(if field.is_name { name } else { "" });
                is_equal == field.wants_equal
            })
    }
}

fn operator(operator: NodeSelectorOperator) -> Operator {
    match operator {
        NodeSelectorOperator::In => Operator::In,
        NodeSelectorOperator::NotIn => Operator::NotIn,
        NodeSelectorOperator::Exists => Operator::Exists,
        NodeSelectorOperator::DoesNotExist => Operator::DoesNotExist,
        NodeSelectorOperator::Gt => Operator::GreaterThan,
        NodeSelectorOperator::Lt => Operator::LessThan,
    }
}

/// Whether a volume with this node affinity can be reached from a node with these labels. Fields are not looked at
/// (component-helpers `storage/volume/helpers.go` `CheckNodeAffinity`).
pub(super) fn reaches(required: &NodeSelector, labels: &Labels) -> bool {
    let used = required.node_selector_terms.iter().filter(|term| !is_empty(term));
    let mut terms = used.filter_map(|term| Term::compile(term, "").ok());
    terms.any(|term| {
        term.labels.iter().all(|requirement| requirement.matches(labels.value(requirement.key())))
    })
}

/// Which nodes the search can be narrowed to before any is looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Narrowing {
    /// To none in particular.
    All,
    /// To those that every term names, sorted.
    Names(Vec<NodeName>),
    /// The terms' names exclude each other.
    Conflict,
}

impl Narrowing {
    /// NodeAffinity's PreFilter: if every required term names nodes by `metadata.name`, only those are looked at.
    pub(super) fn of(spec: &PodSpec, pin: Option<&NodeName>) -> Self {
        if let Some(pin) = pin {
            return Self::Names(vec![pin.clone()]);
        }
        let Some(required) = required(spec) else { return Self::All };
        let mut names: Vec<NodeName> = Vec::new();
        for term in &required.node_selector_terms {
            let mut own: Option<Vec<&Text>> = None;
            let is_in = |f: &&NodeSelectorRequirement| {
                &*f.key == "metadata.name" && f.operator == NodeSelectorOperator::In
            };
            for field in term.match_fields.iter().filter(is_in) {
                match &mut own {
                    None => own = Some(field.values.iter().collect()),
                    Some(known) => known.retain(|name| field.values.contains(name)),
                }
            }
            match own {
                Some(own) => names.extend(own.into_iter().map(|name| NodeName::new(name.clone()))),
                None => return Self::All,
            }
        }
        if required.node_selector_terms.is_empty() {
            return Self::All;
        }
        if names.is_empty() {
            return Self::Conflict;
        }
        names.sort();
        names.dedup();
        Self::Names(names)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requirement(key: &str, operator: NodeSelectorOperator, values: &[&str]) -> NodeSelectorRequirement {
        let values = values.iter().map(|value| Text::from(*value)).collect();
        NodeSelectorRequirement { key: key.into(), operator, values }
    }

    fn spec(terms: Vec<NodeSelectorTerm>) -> PodSpec {
        let required = Some(NodeSelector { node_selector_terms: terms });
        let node_affinity = Some(NodeAffinity { required, preferred: Vec::new() });
        let affinity = replank_model::object::affinity::Affinity { node_affinity, ..Default::default() };
        PodSpec { affinity: Some(Arc::new(affinity)), ..Default::default() }
    }

    fn node(name: &str, labels: &[(&str, &str)]) -> Node {
        let mut node = Node::default();
        node.meta.name = name.into();
        node.meta.labels = labels.iter().copied().collect();
        node
    }

    #[test]
    fn an_empty_term_matches_nothing_unless_the_pod_is_pinned() {
        let spec = spec(vec![NodeSelectorTerm::default()]);
        let a = node("a", &[]);
        assert!(!spec_matches(&spec, None, &a));
        assert!(spec_matches(&spec, Some(&"a".into()), &a));
        assert!(!spec_matches(&spec, Some(&"b".into()), &a));
    }

    #[test]
    fn a_term_that_cannot_be_read_drops_out_alone() {
        let bad = NodeSelectorTerm {
            match_expressions: vec![requirement("gen", NodeSelectorOperator::Gt, &["-1"])],
            ..Default::default()
        };
        let good = NodeSelectorTerm {
            match_expressions: vec![requirement("gen", NodeSelectorOperator::Exists, &[])],
            ..Default::default()
        };
        let five = node("a", &[("gen", "5")]);
        assert!(!spec_matches(&spec(vec![bad.clone()]), None, &five));
        assert!(spec_matches(&spec(vec![bad, good]), None, &five));
    }

    #[test]
    fn names_narrow_the_search_only_if_every_term_has_some() {
        let named = |names: &[&str]| NodeSelectorTerm {
            match_fields: vec![requirement("metadata.name", NodeSelectorOperator::In, names)],
            ..Default::default()
        };
        let narrowing = |terms| Narrowing::of(&spec(terms), None);
        let names =
            |names: &[&str]| Narrowing::Names(names.iter().map(|name| NodeName::from(*name)).collect());
        assert_eq!(narrowing(vec![named(&["b"]), named(&["a"])]), names(&["a", "b"]));
        assert_eq!(narrowing(vec![named(&["b"]), NodeSelectorTerm::default()]), Narrowing::All);
        let mut contradiction = named(&["a"]);
        contradiction.match_fields.extend(named(&["b"]).match_fields);
        assert_eq!(narrowing(vec![contradiction]), Narrowing::Conflict);
        assert_eq!(Narrowing::of(&spec(vec![NodeSelectorTerm::default()]), Some(&"n".into())), names(&["n"]));
    }
}
