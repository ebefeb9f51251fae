//! Selectors, terms and requests, as they are asked of one pod or one node.

use std::collections::BTreeMap;

use replank_model::labels::Labels;
use replank_model::object::affinity::{
    InclusionPolicy, NodeSelectorOperator, NodeSelectorRequirement, NodeSelectorTerm, PodAffinityTerm,
    TaintEffect, TopologySpreadConstraint,
};
use replank_model::object::node::Node;
use replank_model::object::pod::{Pod, RestartPolicy};
use replank_model::object::requests::{
    Counting, has_pod_level_requests, of_containers_and_overhead, of_spec,
};
use replank_model::object::resources::Resources;
use replank_model::quantity::{Format, Quantity};
use replank_model::selector::{LabelSelector, Operator, Requirement, Selector};
use replank_model::text::Text;

use super::Question;

/// Milli-cpu or units of each resource that counts.
pub(crate) type Amounts = BTreeMap<String, i64>;

pub(crate) fn amounts(list: &Resources) -> Amounts {
    let counts = |name: &str| {
        matches!(name, "cpu" | "memory" | "ephemeral-storage")
            || name.starts_with("hugepages-")
            || (name.contains('/') && !name.starts_with("requests."))
    };
    list.iter()
        .filter(|(name, _)| counts(name))
        .map(|(name, quantity)| {
            let amount = if &**name == "cpu" { quantity.milli_value() } else { quantity.value() };
            (name.to_string(), amount)
        })
        .collect()
}

fn assumed(names: &[&str]) -> Resources {
    let all = [
        ("cpu", Quantity::from_milli(100, Format::DecimalSi)),
        ("memory", Quantity::from_units(200 * 1024 * 1024, Format::BinarySi)),
    ];
    all.into_iter().filter(|(name, _)| names.contains(name)).collect()
}

/// What the pod to be placed asks for, and what LeastAllocated takes it to ask for.
pub(crate) fn wanted(pod: &Pod) -> (Amounts, Amounts) {
    let plain = of_spec(&pod.spec, Counting::default());
    let missing = assumed(&["cpu", "memory"]);
    let scored = of_containers_and_overhead(&pod.spec, Counting { status: None, assumed: Some(&missing) });
    (amounts(&plain), amounts(&scored))
}

/// What a pod on a node takes, and what LeastAllocated takes it to take.
pub(crate) fn taken(pod: &Pod) -> (Amounts, Amounts) {
    let status = Some(&pod.status);
    let plain = of_spec(&pod.spec, Counting { status, assumed: None });
    let mut missing = vec!["cpu", "memory"];
    if has_pod_level_requests(&pod.spec) {
        missing.retain(|name| plain.get(name).is_none());
    }
    let filled = assumed(&missing);
    let scored = of_spec(&pod.spec, Counting { status, assumed: Some(&filled) });
    (amounts(&plain), amounts(&scored))
}

pub(crate) fn get(amounts: &Amounts, name: &str) -> i64 {
    amounts.get(name).copied().unwrap_or(0)
}

/// Address, protocol and number of each port of the host.
pub(crate) fn host_ports(pod: &Pod) -> Vec<(String, String, i32)> {
    let sidecars =
        pod.spec.init_containers.iter().filter(|c| c.restart_policy == Some(RestartPolicy::Always));
    let or = |text: &Text, default: &str| if text.is_empty() { default.to_owned() } else { text.to_string() };
    sidecars
        .chain(&pod.spec.containers)
        .flat_map(|container| &container.ports)
        .filter(|port| port.host_port > 0)
        .map(|port| (or(&port.host_ip, "0.0.0.0"), or(&port.protocol, "TCP"), port.host_port))
        .collect()
}

fn operator(of: NodeSelectorOperator) -> Operator {
    match of {
        NodeSelectorOperator::In => Operator::In,
        NodeSelectorOperator::NotIn => Operator::NotIn,
        NodeSelectorOperator::Exists => Operator::Exists,
        NodeSelectorOperator::DoesNotExist => Operator::DoesNotExist,
        NodeSelectorOperator::Gt => Operator::GreaterThan,
        NodeSelectorOperator::Lt => Operator::LessThan,
    }
}

/// Whether the labels meet a requirement; `None` if it cannot be read.
fn meets(labels: &Labels, requirement: &NodeSelectorRequirement) -> Option<bool> {
    let values = requirement.values.clone();
    let compiled = Requirement::new(requirement.key.clone(), operator(requirement.operator), values).ok()?;
    Some(compiled.matches(labels.value(&requirement.key)))
}

/// Whether a node matches a term; `None` if the term cannot be read. `name` is absent where fields do not count.
pub(crate) fn term_matches(term: &NodeSelectorTerm, labels: &Labels, name: Option<&str>) -> Option<bool> {
    let mut all = true;
    for requirement in &term.match_expressions {
        all &= meets(labels, requirement)?;
    }
    for field in &term.match_fields {
        let [value] = field.values.as_slice() else { return None };
        let is_equal = name.map(|name| (if &*field.key == "metadata.name" { name } else { "" }) == &**value);
        match field.operator {
            NodeSelectorOperator::In => all &= is_equal.unwrap_or(true),
            NodeSelectorOperator::NotIn => all &= !is_equal.unwrap_or(false),
            NodeSelectorOperator::Exists
            | NodeSelectorOperator::DoesNotExist
            | NodeSelectorOperator::Gt
            | NodeSelectorOperator::Lt => return None,
        }
    }
    Some(all)
}

/// Whether node selector and required node affinity let a pod onto a node.
pub(crate) fn affinity_matches(pod: &Pod, node: &Node) -> bool {
    let name = node.meta.name.as_str();
    let labels = &node.meta.labels;
    if pod.pin.as_ref().is_some_and(|pin| pin.as_str() != name) {
        return false;
    }
    if !pod.spec.node_selector.iter().all(|(key, value)| labels.value(key) == Some(value)) {
        return false;
    }
    let affinity = pod.spec.affinity.as_ref().and_then(|affinity| affinity.node_affinity.as_ref());
    let Some(required) = affinity.and_then(|affinity| affinity.required.as_ref()) else { return true };
    required.node_selector_terms.iter().any(|term| {
        let is_empty = term.match_expressions.is_empty() && term.match_fields.is_empty();
        (!is_empty || pod.pin.is_some()) && term_matches(term, labels, Some(name)) == Some(true)
    })
}

/// The first taint that keeps a pod off.
pub(crate) fn is_blocked(pod: &Pod, node: &Node, compare_numbers: bool) -> bool {
    node.spec.taints.iter().any(|taint| {
        taint.effect != TaintEffect::PreferNoSchedule
            && !pod.spec.tolerations.iter().any(|toleration| toleration.tolerates(taint, compare_numbers))
    })
}

pub(crate) fn selects(selector: Option<&LabelSelector>, labels: &Labels) -> bool {
    compiled(selector).matches(|key| labels.value(key))
}

pub(crate) fn compiled(selector: Option<&LabelSelector>) -> Selector {
    LabelSelector::compile_option(selector).unwrap_or(Selector::Nothing)
}

/// The selector of a spread constraint, with the pod's own values of `matchLabelKeys`.
pub(crate) fn spread_selector(constraint: &TopologySpreadConstraint, pod: &Pod) -> Selector {
    let base = compiled(constraint.label_selector.as_ref());
    let own: Vec<(Text, Text)> = constraint
        .match_label_keys
        .iter()
        .filter_map(|key| Some((key.clone(), pod.meta.labels.get(key)?.clone())))
        .collect();
    match base {
        Selector::Nothing => Selector::Nothing,
        Selector::All(requirements) => {
            let own = Selector::from_set(own);
            Selector::new(own.requirements().iter().chain(requirements.iter()).cloned().collect())
        }
    }
}

/// Whether a node counts for a spread constraint.
pub(crate) fn counts_for(
    constraint: &TopologySpreadConstraint,
    pod: &Pod,
    node: &Node,
    compare_numbers: bool,
) -> bool {
    let by_affinity = constraint.node_affinity_policy != Some(InclusionPolicy::Ignore);
    let by_taints = constraint.node_taints_policy == Some(InclusionPolicy::Honor);
    (!by_affinity || affinity_matches(pod, node)) && (!by_taints || !is_blocked(pod, node, compare_numbers))
}

impl Question<'_> {
    /// Whether a term of the pod `owner` means another pod. `is_own` if the owner is the pod to be placed.
    pub(crate) fn means(&self, term: &PodAffinityTerm, owner: &Pod, other: &Pod, is_own: bool) -> bool {
        selects(term.label_selector.as_ref(), &other.meta.labels)
            && self.covers(term, owner, other.meta.namespace.as_str(), is_own)
    }

    fn covers(&self, term: &PodAffinityTerm, owner: &Pod, namespace: &str, is_own: bool) -> bool {
        if term.namespaces.is_empty() && term.namespace_selector.is_none() {
            return owner.meta.namespace.as_str() == namespace;
        }
        if term.namespaces.iter().any(|name| &**name == namespace) {
            return true;
        }
        let Some(selector) = &term.namespace_selector else { return false };
        let known =
            self.view.namespaces.sorted().into_iter().find(|(_, n)| n.meta.name.as_str() == namespace);
        let none = Labels::default();
        match known {
            Some((_, namespace)) if selects(Some(selector), &namespace.meta.labels) => true,
            // The pod's own terms are also asked about no labels at all.
            Some(_) => is_own && selects(Some(selector), &none),
            None => selects(Some(selector), &none),
        }
    }
}
