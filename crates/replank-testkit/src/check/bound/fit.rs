//! Whether a pod fits a node that will be there: an empty new one, or one that stays.
//!
//! Other pods count only as what they take of a node that stays: that they are in the way on new nodes, or must be near or far, depends
//! on the order.

use std::sync::Arc;

use replank_facts::plan::{DeadAction, Plan, TaintChange};
use replank_model::object::affinity::{
    NodeSelector, NodeSelectorOperator, NodeSelectorRequirement, Taint, TaintEffect,
};
use replank_model::object::cloud::{Instance, NodeGroup};
use replank_model::object::meta::Key;
use replank_model::object::node::{LABEL_ZONE, Node};
use replank_model::object::pod::Pod;
use replank_model::object::requests;
use replank_model::object::resources::Resources;
use replank_model::object::volume::{PersistentVolume, PersistentVolumeClaim};
use replank_model::quantity::Quantity;
use replank_model::text::{GroupName, NodeName, Zone};
use replank_model::view::View;

use super::super::Promised;
use super::super::truth::{Truth, daemon_set, goes_with_its_node, is_node_ready, is_over};
use super::pods::{ends, is_foreign, is_spread};

/// What there is for a pod.
pub(super) enum Room {
    /// A node that nobody else waits for.
    Free,
    /// Only nodes in zones that may get none.
    Unsure,
    /// Only nodes that pods without a node wait for.
    Contested,
    /// Nothing.
    None,
}

/// Nodes that will be there, and what is taken of each already.
pub(super) struct Places(Vec<Place>);

struct Place {
    node: Node,
    taken: Vec<Resources>,
    /// DaemonSet pods come to it with the node.
    is_new: bool,
    /// Pods that have no node fit it, too.
    is_contested: bool,
    /// One surely comes up before an old node goes.
    is_sure: bool,
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
                all.push(Place {
                    node: Node::clone(node),
                    taken,
                    is_new: false,
                    is_contested: false,
                    is_sure: true,
                });
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
                let is_sure = surely_launches(view, promised, group, zone);
                let mut node = profile.node(&NodeName::from("new"), zone, shape);
                alter(&mut node, plan);
                all.push(Place { node, taken: Vec::new(), is_new: true, is_contested: false, is_sure });
            }
        }
        // What ran on a dead node that nobody replaces wants room like them.
        let leaves = plan.care.dead_nodes.action == DeadAction::Leave;
        let is_left_dead = |pod: &Arc<Pod>| {
            let node = pod.node.as_ref().and_then(|name| truth.nodes.get(name));
            let is_dead = node
                .is_some_and(|node| !is_node_ready(node) && (leaves || !promised.old.contains(&node.name())));
            is_dead && !goes_with_its_node(truth, pod) && !is_foreign(pod) && !ends(pod)
        };
        let waiting: Vec<_> = truth.pods.values().filter(|pod| waits(pod) || is_left_dead(pod)).collect();
        for place in &mut all {
            place.is_contested = place.is_new && waiting.iter().any(|pod| place.takes(view, pod, &[]));
        }
        Self(all)
    }

    /// Whether one of them takes the pod.
    pub(super) fn room(&self, view: &View, truth: &Truth, pod: &Arc<Pod>) -> Room {
        let on_node = pod.node.iter().flat_map(|node| truth.pods_on(node));
        let agents = on_node.filter(|one| daemon_set(one).is_some());
        let agents: Vec<Resources> = agents.map(|one| requests::of_pod(one)).collect();
        // One zone for another depends on where the rest of its like is by then.
        let own = pod.node.as_ref().and_then(|node| truth.nodes.get(node)?.zone());
        let keeps_zone = is_spread(pod, LABEL_ZONE);
        let in_zone = |place: &&Place| !keeps_zone || place.node.zone() == own;
        let fitting = self.0.iter().filter(in_zone).filter(|place| place.takes(view, pod, &agents));
        let mut fitting = fitting.peekable();
        if fitting.peek().is_none() {
            return Room::None;
        }
        let mut sure = fitting.filter(|place| place.is_sure).peekable();
        if sure.peek().is_none() {
            return Room::Unsure;
        }
        if sure.all(|place| place.is_contested) { Room::Contested } else { Room::Free }
    }
}

/// Whether a pod has no node and wants one for good.
fn waits(pod: &Pod) -> bool {
    pod.node.is_none()
        && pod.meta.deletion_timestamp.is_none()
        && !is_over(pod)
        && !is_foreign(pod)
        && !ends(pod)
}

/// Whether the surge brings a node to a zone, however Auto Scaling decides between zones that have as few instances.
fn surely_launches(view: &View, promised: &Promised, group: &NodeGroup, zone: &Zone) -> bool {
    let Some(limits) = promised.limits_of(&group.name) else { return true };
    let count = |zone: &Zone| {
        let of_group =
            |one: &&Arc<Instance>| one.group == group.name && one.zone == *zone && one.is_counted();
        view.instances().values().filter(of_group).count()
    };
    // All others are brought up to as many first, and get one more each where they are level.
    let own = count(zone);
    let before: usize = group
        .zones
        .iter()
        .filter(|other| *other != zone)
        .map(|other| (own + 1).saturating_sub(count(other)))
        .sum();
    usize::try_from(limits.surge).expect("few") > before
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
    fn takes(&self, view: &View, pod: &Pod, agents: &[Resources]) -> bool {
        let taken = if self.is_new { agents } else { &self.taken };
        self.has_room(&requests::of_pod(pod), taken)
            && suits(&self.node, pod)
            && reaches(view, &self.node, pod)
    }

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
