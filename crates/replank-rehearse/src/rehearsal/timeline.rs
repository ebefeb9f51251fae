//! What became of every node, moment by moment.

use replank_model::object::Object;
use replank_model::object::cloud::{Instance, InstanceState};
use replank_model::object::node::Node;
use replank_model::text::{GroupName, InstanceId, NodeName, Zone};
use replank_model::time::Time;
use replank_model::view::Change;
use replank_protocol::mark;
use rustc_hash::FxHashMap;
use serde::Serialize;

use super::shape::NodeShape;

/// Where a node is on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum NodePhase {
    /// In use, untouched.
    Serving,
    /// Cordoned: its turn will come.
    Cordoned,
    /// Its pods are being moved.
    Draining,
    /// Its instance is being ended.
    Terminating,
    /// It no longer exists.
    Gone,
    /// Its instance was launched and has not registered.
    Booting,
    /// It has registered and is not Ready.
    Joining,
    /// It is Ready.
    Ready,
}

/// One node's way through the rehearsal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeTimeline {
    /// The node, once it has a name.
    pub node: Option<NodeName>,
    /// Its instance.
    pub instance: InstanceId,
    /// Its group.
    pub group: GroupName,
    /// Its zone.
    pub zone: Zone,
    /// Whether it was there before the rehearsal.
    pub old: bool,
    /// What it is like; nothing for those that were there before, which the snapshot describes.
    pub shape: Option<NodeShape>,
    /// When each phase began.
    pub phases: Vec<PhaseStart>,
}

/// The beginning of a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PhaseStart {
    /// The phase.
    pub phase: NodePhase,
    /// Its beginning.
    pub at: Time,
}

impl NodeTimeline {
    /// The present phase.
    #[must_use]
    pub fn phase(&self) -> NodePhase {
        self.phases.last().expect("a timeline has a first phase").phase
    }

    fn enter(&mut self, phase: NodePhase, at: Time) {
        if self.phase() != phase {
            self.phases.push(PhaseStart { phase, at });
        }
    }
}

/// All nodes of the groups that are watched.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    nodes: Vec<NodeTimeline>,
    by_instance: FxHashMap<InstanceId, usize>,
    by_name: FxHashMap<NodeName, usize>,
    /// Those that were there before: a new node may get the name of one of them once it is gone.
    old_by_name: FxHashMap<NodeName, usize>,
}

impl Timeline {
    /// Notes an instance that is there at the beginning.
    pub(super) fn begin(&mut self, at: Time, instance: &Instance) {
        self.add(at, instance, true, NodePhase::Serving);
    }

    /// Takes in a change.
    pub(super) fn changed(&mut self, at: Time, change: &Change) {
        match change {
            Change::Instance { new: Some(instance), .. } => self.instance(at, instance),
            Change::Instance { old: Some(instance), new: None } => {
                if let Some(index) = self.by_instance.get(&instance.id) {
                    self.nodes[*index].enter(NodePhase::Gone, at);
                }
            }
            Change::Object { new: Some(Object::Node(node)), .. } => self.node(at, node),
            Change::Object { old: Some(Object::Node(node)), new: None, .. } => {
                if let Some(known) = self.named_mut(&node.name()) {
                    known.enter(NodePhase::Gone, at);
                }
            }
            Change::Object { .. }
            | Change::Group { .. }
            | Change::Instance { old: None, new: None }
            | Change::Message { .. }
            | Change::Unread(_)
            | Change::Stale => {}
        }
    }

    /// All nodes: the old ones first, each part in the order in which they began to change.
    #[must_use]
    pub fn nodes(&self) -> Vec<NodeTimeline> {
        let mut all: Vec<NodeTimeline> = self.nodes.clone();
        let second = |node: &NodeTimeline| node.phases.get(1).map_or(node.phases[0].at, |start| start.at);
        let last = |node: &NodeTimeline| node.phases.last().map(|start| start.at);
        all.sort_by_key(|node| {
            let moved = if node.old { last(node) } else { Some(second(node)) };
            (!node.old, moved, node.node.clone(), node.instance.clone())
        });
        all
    }

    /// Whether the drain of a node that was there before was ever begun.
    pub(super) fn was_begun(&self, name: &NodeName) -> bool {
        let node = self.old(name);
        node.is_some_and(|node| node.phases.iter().any(|phase| phase.phase == NodePhase::Draining))
    }

    /// The group of a node that came since the beginning; `None` for any other.
    pub(super) fn group_of_new(&self, name: &NodeName) -> Option<&GroupName> {
        self.named(name).filter(|node| !node.old).map(|node| &node.group)
    }

    /// How many nodes that were there before are in a phase: of all of them, or of those with a name.
    #[must_use]
    pub(super) fn count_of(&self, name: Option<&NodeName>, phase: NodePhase) -> usize {
        let is_there = |node: &&NodeTimeline| node.old && node.phase() == phase;
        match name {
            Some(name) => usize::from(self.old(name).as_ref().is_some_and(is_there)),
            None => self.nodes.iter().filter(is_there).count(),
        }
    }

    fn named(&self, name: &NodeName) -> Option<&NodeTimeline> {
        self.by_name.get(name).map(|index| &self.nodes[*index])
    }

    fn old(&self, name: &NodeName) -> Option<&NodeTimeline> {
        self.old_by_name.get(name).map(|index| &self.nodes[*index])
    }

    fn named_mut(&mut self, name: &NodeName) -> Option<&mut NodeTimeline> {
        self.by_name.get(name).map(|index| &mut self.nodes[*index])
    }

    fn add(&mut self, at: Time, instance: &Instance, old: bool, phase: NodePhase) {
        let index = self.nodes.len();
        self.by_instance.insert(instance.id.clone(), index);
        if let Some(name) = &instance.node {
            self.by_name.insert(name.clone(), index);
            if old {
                self.old_by_name.insert(name.clone(), index);
            }
        }
        let timeline = NodeTimeline {
            node: instance.node.clone(),
            instance: instance.id.clone(),
            group: instance.group.clone(),
            zone: instance.zone.clone(),
            old,
            shape: None,
            phases: vec![PhaseStart { phase, at }],
        };
        self.nodes.push(timeline);
    }

    fn instance(&mut self, at: Time, instance: &Instance) {
        let Some(index) = self.by_instance.get(&instance.id).copied() else {
            self.add(at, instance, false, NodePhase::Booting);
            return;
        };
        let known = &mut self.nodes[index];
        known.node.clone_from(&instance.node);
        match instance.state {
            InstanceState::Pending => {}
            InstanceState::Running if known.phase() == NodePhase::Booting => {
                known.enter(NodePhase::Joining, at);
            }
            InstanceState::Running => {}
            InstanceState::ShuttingDown => known.enter(NodePhase::Terminating, at),
            InstanceState::Terminated => {}
        }
        if let Some(name) = &instance.node {
            self.by_name.insert(name.clone(), index);
        }
    }

    fn node(&mut self, at: Time, node: &Node) {
        let Some(known) = self.named_mut(&node.name()) else { return };
        if !known.old && known.shape.is_none() {
            known.shape = Some(NodeShape::of(node));
        }
        let role = node.meta.annotations.value(mark::ROLE);
        match (known.phase(), role) {
            (NodePhase::Serving | NodePhase::Ready, Some("queued")) => known.enter(NodePhase::Cordoned, at),
            (NodePhase::Serving | NodePhase::Ready | NodePhase::Cordoned, Some("draining")) => {
                known.enter(NodePhase::Draining, at);
            }
            (NodePhase::Cordoned | NodePhase::Draining, None) => known.enter(NodePhase::Serving, at),
            (NodePhase::Joining, None) if node.is_ready() => known.enter(NodePhase::Ready, at),
            (_, _) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use replank_model::object::cloud::{HealthStatus, LaunchTemplateRef, Lifecycle, Market};

    use super::*;
    use crate::testing::start;

    fn instance(id: &str, state: InstanceState) -> Instance {
        Instance {
            id: InstanceId::from(id),
            group: GroupName::from("web"),
            zone: "a".into(),
            state,
            template: LaunchTemplateRef { id: "lt-1".into(), version: 1 },
            launched: None,
            node: Some(NodeName::from("ip-10-0-1-17")),
            lifecycle: Lifecycle::InService,
            market: Market::OnDemand,
            is_protected: false,
            health: HealthStatus::Healthy,
            targets: Vec::new(),
        }
    }

    #[test]
    fn a_node_counts_as_gone_though_a_new_one_has_its_name() {
        let (name, at) = (NodeName::from("ip-10-0-1-17"), start());
        let mut timeline = Timeline::default();
        let (old, new) = (instance("i-1", InstanceState::Running), instance("i-2", InstanceState::Running));
        timeline.begin(at, &old);
        timeline.changed(at, &Change::Instance { old: Some(old.into()), new: None });
        let gone = |timeline: &Timeline| timeline.count_of(Some(&name), NodePhase::Gone);
        assert_eq!(gone(&timeline), 1);
        timeline.changed(at, &Change::Instance { old: None, new: Some(new.into()) });
        assert_eq!(gone(&timeline), 1);
        assert_eq!(timeline.group_of_new(&name), Some(&GroupName::from("web")));
    }
}
