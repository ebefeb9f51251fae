//! All nodes of the run's groups, kept up to date change by change.
//!
//! A cache over the View: what changed is noted ([`Fleet::observe`]) and looked at anew before the next decision
//! ([`Fleet::refresh`]), so that a decision costs what has changed and not what there is. [`Fleet::rebuild`] makes an equal one
//! from the View alone.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use replank_model::delta::Unread;
use replank_model::object::cloud::{Instance, InstanceState, NodeGroup};
use replank_model::object::meta::Key;
use replank_model::object::node::Node;
use replank_model::object::pod::Pod;
use replank_model::object::{Kind, Object};
use replank_model::text::{GroupName, InstanceId, NodeName, Text, Uid, Zone};
use replank_model::time::Time;
use replank_model::view::{Change, View};
use rustc_hash::{FxHashMap, FxHashSet};

use super::held_pods::HeldPods;
use super::member::{Member, NodeState, Scope, member};
use super::sets::{note, put, put_at, sorted, tally};
use replank_facts::node_pods::NodePods;
use replank_facts::plan::ChosenBy;
use replank_facts::{daemon, target};
use replank_protocol::mark;

pub(super) use super::group_nodes::GroupNodes;

/// See the module's page.
#[derive(Debug, Default)]
pub(super) struct Fleet {
    pub(super) groups: BTreeMap<GroupName, GroupNodes>,
    /// In no order: for look-up, and for work whose order is not seen.
    pub(super) members: FxHashMap<NodeName, Member>,
    loose: BTreeMap<InstanceId, Loose>,
    node_of: FxHashMap<InstanceId, NodeName>,
    /// Instances that have had several nodes at once: one that registers under another name has two for a while.
    shared: FxHashSet<InstanceId>,
    /// Our marks by their expiry.
    pub(super) expiries: BTreeSet<(Time, NodeName)>,
    /// Nodes that an interruption takes away: capacity that is leaving, and not the run's to act on.
    pub(super) interrupted: BTreeSet<NodeName>,
    /// Those of them that are released: old ones belong to the run again.
    released: BTreeSet<NodeName>,
    /// What is waited for on queued nodes before they can be begun.
    pub(super) held_pods: HeldPods,
    /// Pods that could not be read, and the nodes that they are on, where that is known: others may have been held for them.
    unread: FxHashMap<Key, Option<NodeName>>,
    dirty_nodes: FxHashSet<NodeName>,
    /// Nodes of which nothing but the pods on them may be otherwise.
    dirty_pods: FxHashSet<NodeName>,
    dirty_instances: BTreeSet<InstanceId>,
    /// Whether a group's target groups are known.
    has_targets: bool,
    is_stale: bool,
}

#[derive(Clone, Debug, PartialEq)]
struct Loose {
    group: GroupName,
    zone: Zone,
    launched: Option<Time>,
    shelf: LooseShelf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LooseShelf {
    Old,
    New,
    /// In the group that others move into, before they do.
    Settled,
    Leaving,
}

impl Fleet {
    /// Notes what a change touches.
    pub(super) fn observe(&mut self, scope: &Scope, change: &Change) {
        if self.is_stale {
            return;
        }
        match change {
            Change::Object { old, new, .. } => self.observe_object(old.as_ref(), new.as_ref()),
            Change::Instance { old, new } => {
                if old.iter().chain(new).any(|instance| !instance.targets.is_empty()) {
                    self.look_at_new_nodes();
                }
                for instance in old.iter().chain(new) {
                    self.dirty_instances.insert(instance.id.clone());
                    note(&mut self.dirty_nodes, instance.node.as_ref());
                    note(&mut self.dirty_nodes, self.node_of.get(&instance.id));
                    if self.shared.contains(&instance.id) {
                        let all = self.members.values().filter(|member| member.instance == instance.id);
                        self.dirty_nodes.extend(all.map(|member| member.name.clone()));
                    }
                }
            }
            Change::Group { old, new } => {
                // On a way back the tag says which template is the one to go back to.
                let original = |group: &Arc<NodeGroup>| {
                    group.tags.value(mark::ORIGINAL_TEMPLATE).filter(|_| scope.is_way_back()).map(Text::from)
                };
                let made =
                    [old, new].map(|group| group.as_ref().map(|group| (&group.templates, original(group))));
                if made[0] != made[1] {
                    self.is_stale = true;
                }
                let load_balancers = [old, new]
                    .map(|group| group.as_ref().map(|group| (&group.target_groups, &group.ways.suspended)));
                if load_balancers[0] != load_balancers[1] {
                    self.has_targets |= new.as_ref().is_some_and(|group| !group.target_groups.is_empty());
                    self.look_at_new_nodes();
                }
                if let (Some(group), ChosenBy::Groups(names)) = (new, &scope.plan.nodes.by)
                    && scope.has(names, &group.name)
                {
                    self.groups.entry(scope.lane_of(&group.name).clone()).or_default();
                }
            }
            Change::Unread(unread) => self.observe_unread(unread),
            Change::Message { .. } | Change::Stale => {}
        }
    }

    fn observe_object(&mut self, old: Option<&Object>, new: Option<&Object>) {
        match (old, new) {
            (Some(Object::Pod(old)), new) => {
                let new = if let Some(Object::Pod(new)) = new { Some(&**new) } else { None };
                self.observe_pod(Some(old), new);
            }
            (None, Some(Object::Pod(new))) => self.observe_pod(None, Some(new)),
            (Some(Object::Node(old)), Some(Object::Node(new))) if is_alike(old, new) => {
                if let Some(member) = self.members.get_mut(&new.name()) {
                    member.version = new.meta.resource_version;
                }
            }
            (Some(Object::Node(node)), _) | (_, Some(Object::Node(node))) => {
                self.dirty_nodes.insert(node.name());
                let is_ready = |object: Option<&Object>| {
                    if let Some(Object::Node(node)) = object { node.is_ready() } else { false }
                };
                if is_ready(old) != is_ready(new) {
                    self.look_at_new_nodes();
                }
            }
            (Some(Object::DaemonSet(old)), Some(Object::DaemonSet(new))) => {
                if old.spec != new.spec
                    || old.meta.uid != new.meta.uid
                    || daemon::is_broken(old) != daemon::is_broken(new)
                {
                    self.is_stale = true;
                }
            }
            (Some(Object::DaemonSet(_)), None) | (None, Some(Object::DaemonSet(_))) => self.is_stale = true,
            (Some(Object::PodDisruptionBudget(old)), Some(Object::PodDisruptionBudget(new))) => {
                if old.spec.selector != new.spec.selector {
                    self.is_stale = true;
                }
            }
            (Some(Object::PodDisruptionBudget(_)), None) | (None, Some(Object::PodDisruptionBudget(_))) => {
                self.is_stale = true;
            }
            (Some(_) | None, Some(_) | None) => {}
        }
    }

    /// Notes which nodes are held, or no longer, for what cannot be read.
    fn observe_unread(&mut self, unread: &Unread) {
        if unread.object.kind == Kind::Pod
            && let Some(before) = self.unread.insert(unread.object.key.clone(), unread.node.clone())
        {
            self.look_at_place(before);
        }
        self.look_at_place(unread.node.clone());
    }

    /// Notes that an unread pod is on a node, or was there. Where its node is not known, it may be on any.
    fn look_at_place(&mut self, node: Option<NodeName>) {
        match node {
            Some(node) => {
                self.dirty_nodes.insert(node);
            }
            None => self.is_stale = true,
        }
    }

    /// Notes what a pod may have changed about its node.
    fn observe_pod(&mut self, old: Option<&Pod>, new: Option<&Pod>) {
        if !self.unread.is_empty()
            && let Some(pod) = new.or(old)
            && let Some(node) = self.unread.remove(&pod.meta.key())
        {
            self.look_at_place(node);
        }
        let is_elsewhere = node_of(old) != node_of(new);
        let both = [old.filter(|_| is_elsewhere), new.or(old)];
        for pod in both.into_iter().flatten() {
            let Some(name) = &pod.node else { continue };
            // What happens on a node happens to several pods: nothing more is to be noted of it.
            if self.dirty_pods.contains(name) || self.dirty_nodes.contains(name) {
                continue;
            }
            // What is on other nodes than the run's, or to come, says nothing of them.
            let Some(member) = self.members.get(name) else { continue };
            let has_moved = || is_elsewhere && counts_for_daemon_sets(Some(pod)).is_some();
            if member.has_pods() {
                self.dirty_pods.insert(name.clone());
            } else if counts_for_daemon_sets(old) != counts_for_daemon_sets(new) || has_moved() {
                self.dirty_nodes.insert(name.clone());
            }
        }
    }

    /// Whether new nodes have to be healthy in a target group is read off the others that are in it.
    fn look_at_new_nodes(&mut self) {
        if !self.has_targets {
            return;
        }
        let new = self.groups.values().flat_map(|group| group.usable.iter().chain(&group.arriving));
        self.dirty_nodes.extend(new.cloned());
    }

    /// Makes everything be looked at anew.
    pub(super) fn forget(&mut self) {
        let (interrupted, released) =
            (std::mem::take(&mut self.interrupted), std::mem::take(&mut self.released));
        *self = Self { is_stale: true, interrupted, released, ..Self::default() };
    }

    /// Records which nodes are interrupted, and which of them are released.
    pub(super) fn set_interrupted(&mut self, nodes: &BTreeSet<NodeName>, released: &BTreeSet<NodeName>) {
        for (known, said) in [(&mut self.interrupted, nodes), (&mut self.released, released)] {
            if known != said {
                self.dirty_nodes.extend(known.symmetric_difference(said).cloned());
                known.clone_from(said);
            }
        }
    }

    /// Looks at what has changed. Returns the nodes whose standing as a place for pods has to be told to others.
    pub(super) fn refresh(&mut self, view: &View, scope: &Scope) -> Refreshed {
        if self.is_stale {
            self.rebuild(view, scope);
            return Refreshed::All;
        }
        let nodes = sorted(std::mem::take(&mut self.dirty_nodes));
        for name in &nodes {
            self.look_at_node(view, scope, name);
        }
        let pods = sorted(std::mem::take(&mut self.dirty_pods));
        for name in pods.iter().filter(|name| nodes.binary_search(name).is_err()) {
            self.look_at_pods(view, scope, name);
        }
        // The nodes of these are known by now.
        for id in std::mem::take(&mut self.dirty_instances) {
            self.look_at_instance(view, scope, &id);
        }
        Refreshed::Some(nodes)
    }

    fn rebuild(&mut self, view: &View, scope: &Scope) {
        self.forget();
        self.is_stale = false;
        self.has_targets = view.groups().values().any(|group| !group.target_groups.is_empty());
        if let ChosenBy::Groups(names) = &scope.plan.nodes.by {
            let groups = names.iter().map(|name| scope.lane_of(name).clone());
            self.groups = groups.map(|name| (name, GroupNodes::default())).collect();
        }
        let unread = view.unread().filter(|unread| unread.object.kind == Kind::Pod);
        self.unread = unread.map(|unread| (unread.object.key.clone(), unread.node.clone())).collect();
        let names: Vec<NodeName> = view.nodes.unordered().map(|(_, node)| node.name()).collect();
        for name in &names {
            self.look_at_node(view, scope, name);
        }
        let ids: Vec<InstanceId> = view.instances().keys().cloned().collect();
        for id in &ids {
            self.look_at_instance(view, scope, id);
        }
        self.dirty_instances.clear();
    }

    fn look_at_node(&mut self, view: &View, scope: &Scope, name: &NodeName) {
        let mut old = self.members.remove(name);
        if let Some(old) = &old {
            self.shelve(scope, old, false);
        }
        // Most of its pods are as they were.
        let known_pods = old.as_mut().map(|old| old.replace_pods(NodePods::default())).unwrap_or_default();
        let new = view.node(name).and_then(|node| {
            let is_released = self.released.contains(name);
            let mut member = member(view, scope, node, is_released, known_pods)?;
            if self.interrupted.contains(name) && !(is_released && member.is_old()) {
                member.state = NodeState::Leaving;
            }
            Some(member)
        });
        // Whether an instance has a node is all that it is looked at anew for.
        if let Some(new) = new.as_ref().filter(|new| self.node_of.get(&new.instance) != Some(name)) {
            let other = self.node_of.get(&new.instance);
            if other.is_some() {
                self.shared.insert(new.instance.clone());
            }
            // Of several nodes the first by name, whichever was looked at last.
            let is_of_it = |other: &NodeName| {
                self.members.get(other).is_some_and(|member| member.instance == new.instance)
            };
            if !other.is_some_and(|other| other < name && is_of_it(other)) {
                self.node_of.insert(new.instance.clone(), name.clone());
                self.dirty_instances.insert(new.instance.clone());
            }
        }
        if let Some(old) = old.filter(|old| new.as_ref().is_none_or(|new| new.instance != old.instance)) {
            self.node_of.remove(&old.instance);
            if self.shared.contains(&old.instance) {
                let others = self.members.values().filter(|member| member.instance == old.instance);
                let other = others.map(|member| member.name.clone()).min();
                self.node_of.extend(other.map(|other| (old.instance.clone(), other)));
            }
            self.dirty_instances.insert(old.instance);
        }
        if let Some(new) = new {
            self.shelve(scope, &new, true);
            self.members.insert(name.clone(), new);
        }
    }

    /// Looks anew at the pods of a node. It hardly ever stands elsewhere among the nodes of its group for that.
    fn look_at_pods(&mut self, view: &View, scope: &Scope, name: &NodeName) {
        let Some(member) = self.members.get_mut(name) else { return };
        if let NodeState::Surplus { is_empty, .. } = &mut member.state {
            *is_empty = NodePods::of(view, &scope.plan, name).is_empty();
            return;
        }
        let order = scope.plan.order;
        let rank = member.rank(order);
        let Some(node_pods) = member.pods_mut() else { return };
        let held = node_pods.holding();
        node_pods.refresh(view, &scope.plan, name);
        if node_pods.is_held_as(&held) && (!held.is_free() || member.rank(order) == rank) {
            return;
        }
        let nodes = self.groups.entry(scope.lane_of(&member.group).clone()).or_default();
        if let NodeState::Queued { since, node_pods } = &member.state
            && !held.is_free()
            && !node_pods.is_free()
        {
            let (gone, more) = (held.holding_but(node_pods), node_pods.holding_but(&held));
            self.held_pods.shelve(scope, member, (*since, &gone), false);
            self.held_pods.shelve(scope, member, (*since, &more), true);
            if member.is_protectable {
                let one = (member.instance.clone(), name.clone());
                put(&mut nodes.unprotected, one, member.is_unprotected());
            }
            return;
        }
        let pods = member.replace_pods(held);
        nodes.shelve_by_pods(&mut self.held_pods, scope, (member, rank), false);
        member.replace_pods(pods);
        nodes.shelve_by_pods(&mut self.held_pods, scope, (member, member.rank(order)), true);
    }

    /// Puts a node on the shelves where it belongs, or takes it off.
    fn shelve(&mut self, scope: &Scope, member: &Member, is_there: bool) {
        if let Some(expires) = member.expires {
            put(&mut self.expiries, (expires, member.name.clone()), is_there);
        }
        let nodes = self.groups.entry(scope.lane_of(&member.group).clone()).or_default();
        nodes.shelve(&mut self.held_pods, scope, member, is_there);
    }

    fn look_at_instance(&mut self, view: &View, scope: &Scope, id: &InstanceId) {
        let new = view.instances().get(id).and_then(|instance| self.loose(view, scope, instance));
        if let Some(old) = self.loose.remove(id) {
            self.shelve_loose(scope, id, &old, false);
        }
        if let Some(new) = new {
            self.shelve_loose(scope, id, &new, true);
            self.loose.insert(id.clone(), new);
        }
    }

    /// What an instance without a node is to the run.
    fn loose(&self, view: &View, scope: &Scope, instance: &Instance) -> Option<Loose> {
        let has_node = self.node_of.contains_key(&instance.id);
        let is_ours = match &scope.plan.nodes.by {
            ChosenBy::Groups(names) => scope.has(names, &instance.group),
            ChosenBy::Selector(_) => self.groups.contains_key(&instance.group),
        };
        if has_node || !is_ours || scope.is_external() {
            return None;
        }
        let shelf = match instance.state {
            InstanceState::ShuttingDown => LooseShelf::Leaving,
            InstanceState::Terminated => return None,
            // Its group holds it on its way out.
            InstanceState::Pending | InstanceState::Running if !instance.is_counted() => LooseShelf::Leaving,
            InstanceState::Pending | InstanceState::Running => {
                let group = view.groups().get(&instance.group);
                let meets = group.is_some_and(|group| {
                    let template = group.made_from(instance);
                    template.is_some_and(|made| target::meets_template(&scope.plan.target, group, made))
                });
                let target = &scope.plan.target;
                let started = scope.options.started;
                let is_late = instance.launched.is_some_and(|launched| launched > started);
                let lands = target::is_landing_node(target, started, &instance.group, instance.launched);
                if lands && meets && (is_late || !target.is_empty()) {
                    LooseShelf::New
                } else if target.lands_in(&instance.group) || !scope.plan.nodes.may_be_of(instance.launched) {
                    LooseShelf::Settled
                } else {
                    LooseShelf::Old
                }
            }
        };
        let (group, zone) = (instance.group.clone(), instance.zone.clone());
        Some(Loose { group, zone, launched: instance.launched, shelf })
    }

    fn shelve_loose(&mut self, scope: &Scope, id: &InstanceId, loose: &Loose, is_there: bool) {
        let nodes = self.groups.entry(scope.lane_of(&loose.group).clone()).or_default();
        match loose.shelf {
            LooseShelf::Old => {
                put_at(&mut nodes.loose_old, id, loose.launched, is_there);
                tally(&mut nodes.alive, &loose.group, is_there);
            }
            LooseShelf::New => {
                put_at(&mut nodes.loose_new, id, loose.launched, is_there);
                tally(&mut nodes.booting_in, &loose.zone, is_there);
                tally(&mut nodes.alive, &loose.group, is_there);
            }
            LooseShelf::Settled => {
                if is_there {
                    nodes.broken += 1;
                } else {
                    nodes.broken -= 1;
                }
                tally(&mut nodes.alive, &loose.group, is_there);
            }
            LooseShelf::Leaving => put(&mut nodes.loose_leaving, id.clone(), is_there),
        }
    }

    /// The node of an instance.
    pub(super) fn member_of(&self, instance: &str) -> Option<&Member> {
        self.members.get(self.node_of.get(instance)?)
    }

    /// Nodes on which no pod may be placed.
    pub(super) fn closed(&self) -> BTreeSet<NodeName> {
        self.members.values().filter(|member| member.is_closed()).map(|member| member.name.clone()).collect()
    }
}

fn node_of(pod: Option<&Pod>) -> Option<&NodeName> {
    pod?.node.as_ref()
}

/// Of which DaemonSet a node has what it ought to have by a pod ([`daemon::missing`]).
fn counts_for_daemon_sets(pod: Option<&Pod>) -> Option<&Uid> {
    let pod = pod.filter(|pod| pod.is_ready() && !pod.is_terminating())?;
    pod.meta.controller().filter(|owner| &*owner.kind == "DaemonSet").map(|owner| &owner.uid)
}

/// Whether a node is the same to a run as it was, but for its version: kubelets tell of images and volumes all the time.
fn is_alike(old: &Node, new: &Node) -> bool {
    let of = |node: &Node| (node.meta.deletion_timestamp, node.meta.creation_timestamp);
    old.meta.uid == new.meta.uid
        && of(old) == of(new)
        && old.meta.labels == new.meta.labels
        && old.meta.annotations == new.meta.annotations
        && old.meta.owner_references == new.meta.owner_references
        && old.spec == new.spec
        && old.status.conditions == new.status.conditions
        && old.status.node_info == new.status.node_info
}

/// What was looked at anew.
pub(super) enum Refreshed {
    /// Everything.
    All,
    /// These nodes.
    Some(Vec<NodeName>),
}

#[cfg(test)]
mod tests;
