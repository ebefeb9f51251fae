//! Changes carried out on pods and nodes, to be asked again.

use std::sync::Arc;

use replank_model::object::affinity::{
    Affinity, NodeSelectorOperator, PodAffinity, Toleration, TolerationOperator, UnsatisfiableAction,
    WeightedPodAffinityTerm,
};
use replank_model::object::node::Node;
use replank_model::object::pod::{Container, Pod, PodSpec, PreemptionPolicy};
use replank_model::object::resources::{PODS, Resources};
use replank_model::text::Text;

use super::change::Change;
use super::what_if::uncordoned;
use replank_facts::amount::quantity;

/// Weight of a preference that was a requirement: the most that the API takes.
const HEAVIEST: i64 = 100;

/// The pod with all changes that concern it; `None` if one of them cannot be carried out.
pub(super) fn pod(pod: &Arc<Pod>, changes: &[Change]) -> Option<Arc<Pod>> {
    let spec = spec(&pod.spec, changes)?;
    if spec == *pod.spec {
        return Some(pod.clone());
    }
    Some(Arc::new(Pod { spec: Arc::new(spec), ..Pod::clone(pod) }))
}

/// The spec with all changes that concern it; `None` if one of them cannot be carried out.
pub(super) fn spec(spec: &PodSpec, changes: &[Change]) -> Option<PodSpec> {
    let mut spec = spec.clone();
    for change in changes {
        change_spec(&mut spec, change)?;
    }
    // Positions stay true until all changes are made; then what is empty goes.
    tidy(&mut spec);
    Some(spec)
}

fn change_spec(spec: &mut PodSpec, change: &Change) -> Option<()> {
    match change {
        Change::Tolerate(taint) => spec.tolerations.push(toleration(taint)),
        Change::Select { key, to, .. } => {
            spec.node_selector = spec.node_selector.with(key.clone(), to.clone());
        }
        Change::Unselect { key, .. } => spec.node_selector = spec.node_selector.without(key),
        Change::Admit { term, key, value } => {
            let term = required(spec)?.get_mut(*term)?;
            let is_in = |r: &&mut replank_model::object::affinity::NodeSelectorRequirement| {
                r.key == *key && r.operator == NodeSelectorOperator::In
            };
            term.match_expressions.iter_mut().find(is_in)?.values.push(value.clone());
        }
        Change::Unrequire { term, requirement } => {
            required(spec)?.get_mut(*term)?.match_expressions.retain(|known| known != requirement);
        }
        Change::UnrequireAll => node_affinity(spec)?.required = None,
        Change::Request { resource, from, to } => lower(spec, resource, from - to)?,
        Change::ReleasePort { port, protocol } => release(spec, *port, protocol),
        Change::Skew { constraint, to, .. } => {
            spec.topology_spread_constraints.get_mut(*constraint)?.max_skew = *to;
        }
        Change::SpreadAnyway { constraint, .. } => {
            spec.topology_spread_constraints.get_mut(*constraint)?.when_unsatisfiable =
                UnsatisfiableAction::ScheduleAnyway;
        }
        Change::PreferApart { term, .. } => {
            let away = affinity(spec)?.pod_anti_affinity.as_mut()?;
            let wanted = away.required.get(*term)?.clone();
            away.preferred.push(WeightedPodAffinityTerm { weight: HEAVIEST, pod_affinity_term: wanted });
        }
        Change::PreferNear => prefer(affinity(spec)?.pod_affinity.as_mut()?),
        Change::Prioritize { class, value, .. } => {
            spec.priority = Some(*value);
            spec.priority_class_name = class.text().clone();
            spec.preemption_policy = Some(PreemptionPolicy::PreemptLowerPriority);
        }
        Change::MakeClaim { .. }
        | Change::Reclass { .. }
        | Change::RenewClaim { .. }
        | Change::Label { .. }
        | Change::Unlabel { .. }
        | Change::Uncordon { .. }
        | Change::Untaint { .. }
        | Change::Free { .. }
        | Change::AddNode { .. }
        | Change::Enlarge { .. } => {}
    }
    if let Change::PreferApart { term, .. } = change {
        // Emptied, not taken out: other changes name terms by position.
        let away = affinity(spec)?.pod_anti_affinity.as_mut()?;
        *away.required.get_mut(*term)? = Default::default();
    }
    Some(())
}

fn tidy(spec: &mut PodSpec) {
    if let Some(away) = affinity(spec).and_then(|affinity| affinity.pod_anti_affinity.as_mut()) {
        away.required.retain(|term| !term.topology_key.is_empty());
    }
}

/// The toleration that matches a taint and nothing else.
fn toleration(taint: &replank_model::object::affinity::Taint) -> Toleration {
    let is_valued = !taint.value.is_empty();
    Toleration {
        key: taint.key.clone(),
        operator: Some(if is_valued { TolerationOperator::Equal } else { TolerationOperator::Exists }),
        value: taint.value.clone(),
        effect: Some(taint.effect),
        toleration_seconds: None,
    }
}

fn affinity(spec: &mut PodSpec) -> Option<&mut Affinity> {
    spec.affinity.as_mut().map(Arc::make_mut)
}

fn node_affinity(spec: &mut PodSpec) -> Option<&mut replank_model::object::affinity::NodeAffinity> {
    affinity(spec)?.node_affinity.as_mut()
}

fn required(spec: &mut PodSpec) -> Option<&mut Vec<replank_model::object::affinity::NodeSelectorTerm>> {
    Some(&mut node_affinity(spec)?.required.as_mut()?.node_selector_terms)
}

fn prefer(near: &mut PodAffinity) {
    let wanted = std::mem::take(&mut near.required).into_iter();
    near.preferred
        .extend(wanted.map(|term| WeightedPodAffinityTerm { weight: HEAVIEST, pod_affinity_term: term }));
}

/// The container that asks for most of a resource: the one that is asked to ask for less.
fn greediest<'a>(spec: &'a PodSpec, resource: &str) -> Option<&'a Container> {
    let asks = |container: &&Container| container.resources.requests.get(resource).is_some();
    // Of equally greedy ones the first.
    spec.containers.iter().rev().filter(asks).max_by(|a, b| {
        let of =
            |container: &Container| container.resources.requests.get(resource).cloned().unwrap_or_default();
        of(a).cmp(&of(b))
    })
}

/// What the greediest container would ask for; `None` if it does not ask for that much more.
pub(super) fn lowered(spec: &PodSpec, resource: &str, less: i64) -> Option<(Text, i64)> {
    let container = greediest(spec, resource)?;
    let known = counted(resource, &container.resources.requests);
    (known > less).then(|| (container.name.clone(), known - less))
}

fn counted(resource: &str, list: &Resources) -> i64 {
    let Some(quantity) = list.get(resource) else { return 0 };
    if resource == replank_model::object::resources::CPU { quantity.milli_value() } else { quantity.value() }
}

fn lower(spec: &mut PodSpec, resource: &Text, less: i64) -> Option<()> {
    if let Some(own) = &mut spec.resources
        && own.requests.get(resource).is_some()
    {
        let known = counted(resource, &own.requests);
        let to = Some(known - less).filter(|to| *to > 0)?;
        own.requests.set(resource.clone(), quantity(resource, to));
        return Some(());
    }
    let (name, to) = lowered(spec, resource, less)?;
    let container = spec.containers.iter_mut().find(|container| container.name == name)?;
    container.resources.requests.set(resource.clone(), quantity(resource, to));
    // Extended resources cannot be overcommitted: limit and request are one.
    if container.resources.limits.get(resource).is_some() && is_extended(resource) {
        container.resources.limits.set(resource.clone(), quantity(resource, to));
    }
    Some(())
}

fn is_extended(resource: &str) -> bool {
    resource.contains('/')
}

fn release(spec: &mut PodSpec, port: i32, protocol: &str) {
    for container in spec.containers.iter_mut().chain(&mut spec.init_containers) {
        for known in &mut container.ports {
            let own = if known.protocol.is_empty() { "TCP" } else { &known.protocol };
            if known.host_port == port && own == protocol {
                known.host_port = 0;
            }
        }
    }
}

/// The node with all changes that concern it; `None` if none does.
pub(super) fn node(node: &Arc<Node>, changes: &[Change]) -> Option<Arc<Node>> {
    let name = node.name();
    let own: Vec<&Change> = changes.iter().filter(|change| change.node() == Some(&name)).collect();
    if own.is_empty() {
        return None;
    }
    let mut node = Node::clone(node);
    for change in own {
        change_node(&mut node, change);
    }
    Some(Arc::new(node))
}

fn change_node(node: &mut Node, change: &Change) {
    match change {
        Change::Label { key, to, .. } => {
            node.meta.labels = node.meta.labels.with(key.clone(), to.clone());
        }
        Change::Unlabel { key, .. } => node.meta.labels = node.meta.labels.without(key),
        Change::Uncordon { .. } => uncordoned(node),
        Change::Untaint { taint, .. } => {
            node.spec.taints.retain(|known| known.key != taint.key || known.effect != taint.effect);
        }
        Change::Free { resource, amount, .. } => {
            let status = &mut node.status;
            let list =
                if status.allocatable.is_empty() { &mut status.capacity } else { &mut status.allocatable };
            // To free something and to have more of it are the same to the scheduler.
            let known = if &**resource == PODS {
                list.get(PODS).map_or(0, replank_model::quantity::Quantity::value)
            } else {
                counted(resource, list)
            };
            list.set(resource.clone(), quantity(resource, known + amount));
        }
        Change::Tolerate(_)
        | Change::Select { .. }
        | Change::Unselect { .. }
        | Change::Admit { .. }
        | Change::Unrequire { .. }
        | Change::UnrequireAll
        | Change::Request { .. }
        | Change::ReleasePort { .. }
        | Change::Skew { .. }
        | Change::SpreadAnyway { .. }
        | Change::PreferApart { .. }
        | Change::PreferNear
        | Change::MakeClaim { .. }
        | Change::Reclass { .. }
        | Change::RenewClaim { .. }
        | Change::Prioritize { .. }
        | Change::AddNode { .. }
        | Change::Enlarge { .. } => {}
    }
}

/// A node that would be added, as large as changes make it.
pub(super) fn enlarged(node: &Arc<Node>, changes: &[Change]) -> Arc<Node> {
    let mut node = node.clone();
    for change in changes {
        if let Change::Enlarge { resource, to, .. } = change {
            let status = &mut Arc::make_mut(&mut node).status;
            for list in [&mut status.allocatable, &mut status.capacity] {
                list.set(resource.clone(), quantity(resource, *to));
            }
        }
    }
    node
}
