//! Whether a pod fits a node that will be there: an empty new one, or one that stays.
//!
//! Other pods count only as what they take of a node that stays: that they are in the way on new nodes, or must be near or far, depends
//! on the order.

use std::sync::Arc;

use replank_facts::plan::{Plan, TaintChange};
use replank_model::object::affinity::{
    NodeSelector, NodeSelectorOperator, NodeSelectorRequirement, Taint, TaintEffect,
};
use replank_model::object::meta::Key;
use replank_model::object::node::Node;
use replank_model::object::pod::Pod;
use replank_model::object::requests;
use replank_model::object::resources::Resources;
use replank_model::object::volume::{PersistentVolume, PersistentVolumeClaim};
use replank_model::quantity::Quantity;
use replank_model::text::{GroupName, NodeName};
use replank_model::view::View;

use super::super::Promised;
use super::super::truth::{Truth, daemon_set, is_node_ready, is_over};

/// Nodes that will be there, and what is taken of each already.
pub(super) struct Places(Vec<Place>);

struct Place {
    node: Node,
    taken: Vec<Resources>,
    /// DaemonSet pods come to it with the node.
    is_new: bool,
}

impl Places {
    pub(super) fn of(view: &View, plan: &Plan, promised: &Promised, truth: &Truth) -> Self {
        let mut all = Vec::new();
        for node in truth.nodes.values() {
            let stays =
                !promised.old.contains(&node.name()) && !node.spec.unschedulable && is_node_ready(node);
            if stays {
                let name = node.name();
                let pods = truth.pods_on(&name).filter(|pod| !is_over(pod));
                let taken = pods.map(|pod| requests::of_pod(pod)).collect();
                all.push(Place { node: Node::clone(node), taken, is_new: false });
            }
        }
        let old = view
            .instances()
            .values()
            .filter(|one| one.node.as_ref().is_some_and(|name| promised.old.contains(name)));
        let mut groups: Vec<GroupName> = match &plan.target.group {
            Some(group) => vec![group.clone()],
            None => old.map(|one| one.group.clone()).collect(),
        };
        groups.sort();
        groups.dedup();
        for group in groups.iter().filter_map(|name| view.groups().get(name)) {
            let profile = group.profile();
            for (zone, shape) in
                group.zones.iter().flat_map(|zone| profile.shapes.iter().map(move |shape| (zone, shape)))
            {
                let mut node = profile.node(&NodeName::from("new"), zone, shape);
                alter(&mut node, plan);
                all.push(Place { node, taken: Vec::new(), is_new: true });
            }
        }
        Self(all)
    }

    /// Whether one of them takes the pod.
    pub(super) fn take(&self, view: &View, truth: &Truth, pod: &Arc<Pod>) -> bool {
        let agents: Vec<Resources> = pod
            .node
            .iter()
            .flat_map(|node| truth.pods_on(node))
            .filter(|one| daemon_set(one).is_some())
            .map(|one| requests::of_pod(one))
            .collect();
        let own = requests::of_pod(pod);
        self.0.iter().any(|place| {
            let taken = if place.is_new { &agents } else { &place.taken };
            place.has_room(&own, taken) && suits(&place.node, pod) && reaches(view, &place.node, pod)
        })
    }
}

/// What the plan changes of new nodes.
fn alter(node: &mut Node, plan: &Plan) {
    for (key, value) in &plan.target.labels {
        let others = node.meta.labels.pairs().iter().filter(|(other, _)| other != key).cloned();
        node.meta.labels = others.chain(value.clone().map(|value| (key.clone(), value))).collect();
    }
    for change in &plan.target.taints {
        let (TaintChange::Set(taint) | TaintChange::Remove(taint)) = change;
        node.spec.taints.retain(|one| one.key != taint.key || one.effect != taint.effect);
        match change {
            TaintChange::Set(taint) => node.spec.taints.push(taint.clone()),
            TaintChange::Remove(_) => {}
        }
    }
}

impl Place {
    fn has_room(&self, own: &Resources, taken: &[Resources]) -> bool {
        let offered = &self.node.status.allocatable;
        let of_pods = offered.get("pods").and_then(Quantity::as_i64);
        let is_countable =
            of_pods.is_none_or(|most| i64::try_from(taken.len()).is_ok_and(|count| count < most));
        is_countable
            && own.iter().all(|(name, wanted)| {
                let before: Quantity = taken.iter().filter_map(|one| one.get(name)).sum();
                offered.get(name).is_some_and(|offered| &before + wanted <= *offered)
            })
    }
}

/// Selector, affinity to nodes, taints.
fn suits(node: &Node, pod: &Pod) -> bool {
    let keeps_off = |taint: &&Taint| taint.effect != TaintEffect::PreferNoSchedule;
    let is_borne = |taint: &Taint| pod.spec.tolerations.iter().any(|one| one.tolerates(taint, false));
    let required = pod.spec.affinity.as_ref().and_then(|all| all.node_affinity.as_ref()?.required.as_ref());
    pod.spec.node_selector.iter().all(|(key, value)| node.meta.labels.value(key) == Some(value))
        && required.is_none_or(|selector| selects(selector, node))
        && node.spec.taints.iter().filter(keeps_off).all(is_borne)
}

/// Volumes that are there can be attached.
fn reaches(view: &View, node: &Node, pod: &Pod) -> bool {
    let claims = pod.spec.volumes.iter().filter_map(|volume| volume.source.persistent_volume_claim.as_ref());
    let mut volumes = claims.filter_map(|claim| {
        let key = Key { namespace: pod.meta.namespace.clone(), name: claim.claim_name.clone() };
        let claim = view.find::<PersistentVolumeClaim>(&key)?;
        let key = Key { namespace: "".into(), name: claim.spec.volume_name.clone() };
        view.find::<PersistentVolume>(&key)
    });
    volumes.all(|volume| {
        let required = volume.spec.node_affinity.as_ref().and_then(|affinity| affinity.required.as_ref());
        required.is_none_or(|selector| selects(selector, node))
    })
}

fn selects(selector: &NodeSelector, node: &Node) -> bool {
    selector.node_selector_terms.iter().any(|term| {
        let is_named = |one: &NodeSelectorRequirement| holds(one, Some(node.meta.name.as_str()));
        let is_labelled = |one: &NodeSelectorRequirement| holds(one, node.meta.labels.value(&one.key));
        let is_empty = term.match_expressions.is_empty() && term.match_fields.is_empty();
        !is_empty && term.match_expressions.iter().all(is_labelled) && term.match_fields.iter().all(is_named)
    })
}

fn holds(requirement: &NodeSelectorRequirement, value: Option<&str>) -> bool {
    let is_listed = value.is_some_and(|value| requirement.values.iter().any(|one| **one == *value));
    let number = |text: &str| text.parse::<i64>().ok();
    let wanted = requirement.values.first().and_then(|text| number(text));
    let both = value.and_then(number).zip(wanted);
    match requirement.operator {
        NodeSelectorOperator::In => is_listed,
        NodeSelectorOperator::NotIn => !is_listed,
        NodeSelectorOperator::Exists => value.is_some(),
        NodeSelectorOperator::DoesNotExist => value.is_none(),
        NodeSelectorOperator::Gt => both.is_some_and(|(value, wanted)| value > wanted),
        NodeSelectorOperator::Lt => both.is_some_and(|(value, wanted)| value < wanted),
    }
}
