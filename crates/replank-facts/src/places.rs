//! Whether a pod has a place at all: on a node that stays, or on an empty new one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use replank_model::delta::Delta;
use replank_model::labels::Labels;
use replank_model::object::Object;
use replank_model::object::cloud::{NodeGroup, NodeShape};
use replank_model::object::condition::{Condition, ConditionStatus};
use replank_model::object::pod::{Pod, PodSpec};
use replank_model::object::volume::{CsiNode, CsiNodeSpec};
use replank_model::text::{GroupName, Namespace, NodeName, Text, Zone};
use replank_model::view::View;
use replank_schedule::Nomination;

use crate::plan::Target;
use crate::room::Room;
use crate::target;

/// A view in which some nodes take no pods, and every group that is rolled has one empty new node of each zone and shape.
pub struct Places {
    view: View,
    room: Room,
    /// New nodes among those of the view.
    new: usize,
}

/// Answers by kind of pod: pods of one spec and one set of labels get one answer.
pub type Known = BTreeMap<(usize, Namespace, Labels), Option<Text>>;

impl Places {
    /// Groups as the view has them.
    pub fn with_new_nodes(
        view: &View,
        groups: &BTreeSet<&GroupName>,
        target: &Target,
        closed: BTreeSet<NodeName>,
    ) -> Self {
        let known = groups.iter().filter_map(|name| view.groups().get(*name));
        Self::with_groups(view, known, target, closed)
    }

    /// Groups as they are given.
    pub fn with_groups<'a>(
        view: &View,
        groups: impl Iterator<Item = &'a Arc<NodeGroup>>,
        target: &Target,
        closed: BTreeSet<NodeName>,
    ) -> Self {
        let mut view = view.clone();
        let present = view.nodes.len();
        for delta in new_nodes(groups, target) {
            view.apply(delta);
        }
        let room = Room::load(&view, closed);
        let new = view.nodes.len() - present;
        Self { view, room, new }
    }

    /// As [`Places::with_new_nodes`], where there is a room that knows the view: to copy it takes less than to load another.
    pub fn beside(
        room: &Room,
        view: &View,
        groups: &BTreeSet<&GroupName>,
        target: &Target,
        closed: &BTreeSet<NodeName>,
    ) -> Self {
        let known = groups.iter().filter_map(|name| view.groups().get(*name));
        let mut room = room.clone();
        room.set_all_closed(closed);
        let mut places = Self { view: view.clone(), room, new: 0 };
        for delta in new_nodes(known, target) {
            places.change(delta);
        }
        places.new = places.view.nodes.len() - view.nodes.len();
        places
    }

    /// Every old node has given way to a new one: new nodes of a group in these zones, one for each.
    pub fn with_all_replaced<'a>(
        view: &View,
        groups: impl Iterator<Item = (&'a Arc<NodeGroup>, Vec<Zone>)>,
        target: &Target,
        closed: BTreeSet<NodeName>,
    ) -> Self {
        let mut view = view.clone();
        let present = view.nodes.len();
        for (group, zones) in groups {
            let profile = &target::template(target, group).profile;
            for ((number, zone), shape) in zones.iter().enumerate().zip(profile.shapes.iter().cycle()) {
                let name = NodeName::from(format!("new-{}-{number}", group.name));
                let mut node = profile.node(&name, zone, shape);
                node.status.conditions = vec![ready()].into();
                view.apply(Delta::from(node));
                csi_node(&name, shape).into_iter().for_each(|csi| _ = view.apply(csi));
            }
        }
        let room = Room::load(&view, closed);
        let new = view.nodes.len() - present;
        Self { view, room, new }
    }

    /// Moves a pod, for good. Where there is no place for it: the node on which the scheduler would make room, and the pods that would go for it.
    pub fn move_or_preempt(&mut self, pod: &Arc<Pod>) -> Option<Nomination> {
        let found = self.room.search(&self.view).find(pod);
        match found {
            Ok(node) => {
                let mut moved = Pod::clone(pod);
                moved.node = Some(node);
                self.change(Delta::from(moved));
                None
            }
            Err(_) => {
                let nomination = self.room.preempt(&self.view, pod)?;
                for victim in &nomination.victims {
                    if let Some(victim) = self.view.find::<Pod>(victim).cloned() {
                        self.change(Delta::Gone(Object::from(victim).reference()));
                    }
                }
                let mut moved = Pod::clone(pod);
                moved.node = Some(nomination.node.clone());
                self.change(Delta::from(moved));
                Some(nomination)
            }
        }
    }

    fn change(&mut self, delta: Delta) {
        let change = self.view.apply(delta);
        self.room.observe(&self.view, &change);
    }

    /// Why a pod has no place; `None` if it has one. Asked once for each kind of pod.
    pub fn obstacle_of_kind(&mut self, known: &mut Known, pod: &Arc<Pod>) -> Option<Text> {
        let spec: *const PodSpec = Arc::as_ptr(&pod.spec);
        let kind = (spec as usize, pod.meta.namespace.clone(), pod.meta.labels.clone());
        known.entry(kind).or_insert_with(|| self.obstacle(pod)).clone()
    }

    fn obstacle(&mut self, pod: &Arc<Pod>) -> Option<Text> {
        let message = self.room.search(&self.view).find(pod).err()?;
        // Whoever counts the cluster's nodes finds fewer than the scheduler's words name.
        Some(match self.new {
            0 => message,
            1 => Text::from(format!("{message} (counting 1 empty new node)")),
            new => Text::from(format!(
                "{message} (counting {new} empty new nodes, one for each zone and instance type)"
            )),
        })
    }
}

/// An empty new node of each zone and shape of groups.
fn new_nodes<'a>(groups: impl Iterator<Item = &'a Arc<NodeGroup>>, target: &Target) -> Vec<Delta> {
    let mut all = Vec::new();
    for group in groups {
        let profile = &target::template(target, group).profile;
        for zone in &group.zones {
            for (number, shape) in profile.shapes.iter().enumerate() {
                let name = NodeName::from(format!("new-{}-{zone}-{number}", group.name));
                let mut node = profile.node(&name, zone, shape);
                node.status.conditions = vec![ready()].into();
                all.push(Delta::from(node));
                all.extend(csi_node(&name, shape));
            }
        }
    }
    all
}

fn csi_node(name: &NodeName, shape: &NodeShape) -> Option<Delta> {
    if shape.csi_drivers.is_empty() {
        return None;
    }
    let mut csi = CsiNode { spec: CsiNodeSpec { drivers: shape.csi_drivers.clone() }, ..CsiNode::default() };
    csi.meta.name = name.into();
    Some(Delta::from(csi))
}

fn ready() -> Condition {
    Condition { r#type: "Ready".into(), status: ConditionStatus::True, ..Condition::default() }
}
