//! S4, first half: nodes that serve, per group and zone.
//!
//! A new node serves when it is Ready, takes pods, and its DaemonSets' pods are Ready. An old one serves while it is Ready,
//! until a pod is moved from it; one that was left out and takes pods again serves again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use replank_model::object::Object;
use replank_model::object::affinity::{TaintEffect, TolerationOperator};
use replank_model::object::node::Node;
use replank_model::object::pod::Pod;
use replank_model::object::workload::DaemonSet;
use replank_model::text::{GroupName, InstanceId, NodeName};
use replank_model::time::Time;
use replank_protocol::command::NodeRole;

use super::truth::{Truth, daemon_set, is_healthy, is_node_ready};
use super::{Found, Promise, Promised, Sights};

/// What is remembered of nodes.
#[derive(Debug, Default)]
pub(super) struct Capacity {
    /// Whether a node is able to serve, and when that changed.
    able: BTreeMap<NodeName, Able>,
    /// Nodes that were given up by us: old ones from which a pod was moved, new ones that are to go again.
    given_up: BTreeSet<NodeName>,
    /// Those of them that others are to take away, and from which nothing was moved yet.
    taken: BTreeSet<NodeName>,
    /// Nodes whose drain was begun, and whose loss was looked at then.
    begun: BTreeSet<NodeName>,
}

/// Whether a node is able to serve.
#[derive(Clone, Copy, Debug, Default)]
struct Able {
    is: bool,
    /// When it last became so, if it was not from the beginning.
    since: Option<Time>,
    /// When it last stopped being so.
    lost: Option<Time>,
}

impl Capacity {
    pub(super) fn begin(promised: &Promised, truth: &Truth) -> Self {
        let able = truth.nodes.values().map(|node| {
            let is = is_able(promised, truth, node);
            (node.name(), Able { is, ..Able::default() })
        });
        Self { able: able.collect(), ..Self::default() }
    }

    /// Something changed: what depends on it is looked at again.
    pub(super) fn changed(
        &mut self,
        at: Time,
        promised: &Promised,
        truth: &Truth,
        old: Option<&Object>,
        new: Option<&Object>,
    ) {
        match (old, new) {
            (_, Some(Object::Node(node))) => {
                self.look(at, promised, truth, node);
                // It was left out, or released: it takes pods again.
                if !node.spec.unschedulable {
                    self.given_up.remove(&node.name());
                    self.begun.remove(&node.name());
                }
            }
            (Some(Object::Node(node)), None) => {
                self.able.remove(&node.name());
            }
            (Some(Object::Pod(_)), _) | (_, Some(Object::Pod(_))) if is_agents_news(old, new) => {
                // A DaemonSet that is Ready nowhere is waited for nowhere: so every new node is looked at.
                for node in truth.nodes.values().filter(|node| !promised.old.contains(&node.name())) {
                    self.look(at, promised, truth, node);
                }
            }
            (Some(_) | None, Some(_) | None) => {}
        }
    }

    /// What is old and what is new has changed.
    pub(super) fn turn_back(&mut self, at: Time, promised: &Promised, truth: &Truth) {
        for node in truth.nodes.values() {
            self.look(at, promised, truth, node);
        }
    }

    fn look(&mut self, at: Time, promised: &Promised, truth: &Truth, node: &Node) {
        let is = is_able(promised, truth, node);
        let able = self.able.entry(node.name()).or_default();
        match (able.is, is) {
            (true, false) => able.lost = Some(at),
            (false, true) => able.since = Some(at),
            (true, true) | (false, false) => {}
        }
        able.is = is;
    }

    /// An eviction of ours moves a pod.
    pub(super) fn moved(
        &mut self,
        promised: &Promised,
        truth: &Truth,
        pod: &Pod,
        sights: &mut Sights,
        found: &mut Found<'_>,
    ) {
        let Some(node) = pod.node.as_ref().and_then(|name| truth.nodes.get(name)) else { return };
        // From a node that does not serve anything may be moved; should it serve again, it counts again.
        if self.serves(truth, node) {
            self.lose(promised, truth, &node.name(), "the drain of", sights, found);
            self.given_up.insert(node.name());
        }
    }

    /// An instance is ended by us.
    pub(super) fn ended(
        &mut self,
        promised: &Promised,
        truth: &Truth,
        instance: &InstanceId,
        sights: &mut Sights,
        found: &mut Found<'_>,
    ) {
        let Some(name) = truth.node_of(instance).map(|node| node.name()) else { return };
        // One that was empty when its drain began, or whose pods went by themselves, takes none: its termination is not a loss.
        if self.begun.contains(&name) {
            return;
        }
        self.lose(promised, truth, &name, "the end of", sights, found);
    }

    /// A node is cordoned by us: a loss where it is a new one, which is to go again.
    pub(super) fn cordoned(
        &mut self,
        promised: &Promised,
        truth: &Truth,
        node: &NodeName,
        role: NodeRole,
        sights: &mut Sights,
        found: &mut Found<'_>,
    ) {
        match role {
            NodeRole::Surplus => {
                self.lose(promised, truth, node, "the cordon of", sights, found);
                self.given_up.insert(node.clone());
            }
            // What takes such a node away is nobody's here: no node that the run loses.
            NodeRole::Interrupted { .. } => {}
            NodeRole::Listed => {}
            NodeRole::Queued => {
                // Others do not take it away after all. The run has it as it has all old nodes before their turn comes: closed, Ready, with what is on it.
                if self.taken.remove(node) {
                    self.given_up.remove(node);
                }
            }
            NodeRole::Draining { .. } => {
                if self.begun.insert(node.clone()) {
                    self.lose(promised, truth, node, "the beginning of the drain of", sights, found);
                }
            }
            NodeRole::Postponed { .. } | NodeRole::Skipped | NodeRole::Retained | NodeRole::Drained => {}
        }
    }

    /// A pod was moved off an interrupted node: if the interruption does not come, the node is empty and no longer counts.
    pub(super) fn emptied(&mut self, node: &NodeName) {
        self.taken.remove(node);
    }

    /// Others take a node away: it is counted no more.
    pub(super) fn given_up(&mut self, node: &NodeName) {
        self.taken.insert(node.clone());
        self.given_up.insert(node.clone());
    }

    /// A node serves no more: enough others must.
    fn lose(
        &self,
        promised: &Promised,
        truth: &Truth,
        name: &NodeName,
        action: &str,
        sights: &mut Sights,
        found: &mut Found<'_>,
    ) {
        let Some(node) = truth.nodes.get(name).filter(|node| self.serves(truth, node)) else {
            return;
        };
        // Until a moment ago it did not serve: an engine that has not seen the change counts it as free.
        if self
            .able
            .get(name)
            .and_then(|able| able.since)
            .is_some_and(|since| since + truth.seen_within >= found.at)
        {
            sights.unknowable += 1;
            return;
        }
        let Some(instance) = truth.instance_of(node) else { return };
        if promised.family.as_ref().is_some_and(|family| family.settled.contains(&instance.id)) {
            found.broken(
                Promise::S5,
                format!("{action} node {name}, which was in the target group before the run"),
            );
        }
        let Some(limits) = promised.limits_of(&instance.group) else { return };
        let of_group = self.others(promised, truth, &instance.group, name, found.at);
        let in_zone =
            |node: &&(Arc<Node>, bool)| node.0.zone().map(|zone| &**zone) == Some(instance.zone.as_str());
        // What was in the target group before is none of what is kept in all, and is there in its zone.
        let counts = |(node, _): &&(Arc<Node>, bool)| {
            truth.instance_of(node).is_none_or(|one| promised.may_replace(one, &instance.group))
        };
        let zone: Vec<bool> = of_group.iter().filter(in_zone).map(|(_, sure)| *sure).collect();
        let all: Vec<bool> = of_group.iter().filter(counts).map(|(_, sure)| *sure).collect();
        for (nodes, needed, of) in [
            (all, limits.needed, "in all".to_owned()),
            (zone, limits.needed_in_zone, format!("in zone {}", instance.zone)),
        ] {
            let sure = nodes.iter().filter(|sure| **sure).count();
            if nodes.len() < needed as usize {
                let group = &instance.group;
                let what = format!(
                    "{action} node {name} leaves {sure} serving nodes in group {group} {of}; {needed} must stay; {}",
                    self.others_not(promised, truth, group, name)
                );
                found.broken(Promise::S4, what);
            } else if sure < needed as usize {
                sights.unknowable += 1;
            }
        }
    }

    /// Whether enough nodes would surely serve without one. Those whose drain was begun stay closed when a run ends.
    pub(super) fn can_spare(&self, promised: &Promised, truth: &Truth, name: &NodeName) -> bool {
        let Some(instance) = truth.nodes.get(name).and_then(|node| truth.instance_of(node)) else {
            return false;
        };
        let Some(limits) = promised.limits_of(&instance.group) else { return false };
        let group = truth.instances.values().filter(|one| promised.is_kin(&one.group, &instance.group));
        let others =
            group.filter(|one| one.id != instance.id).filter_map(|one| truth.nodes.get(one.node.as_ref()?));
        let serving: Vec<&Arc<Node>> =
            others.filter(|node| self.serves(truth, node) && !self.begun.contains(&node.name())).collect();
        let in_zone =
            serving.iter().filter(|node| node.zone().map(|zone| &**zone) == Some(instance.zone.as_str()));
        serving.len() >= limits.needed as usize && in_zone.count() >= limits.needed_in_zone as usize
    }

    /// The other nodes of a group that serve, and whether they still do or did until just now.
    fn others(
        &self,
        promised: &Promised,
        truth: &Truth,
        group: &GroupName,
        name: &NodeName,
        at: Time,
    ) -> Vec<(Arc<Node>, bool)> {
        let kin = truth.instances.values().filter(|one| promised.is_kin(&one.group, group));
        let alive = kin.filter(|one| one.state.is_alive() || truth.fell_lately(&one.id, at));
        let nodes = alive.filter_map(|one| truth.nodes.get(one.node.as_ref()?));
        let others = nodes.filter(|node| node.name() != *name);
        others
            .filter_map(|node| {
                let able = self.able.get(&node.name()).copied().unwrap_or_default();
                let sure = self.serves(truth, node);
                let was_able = able.is || able.lost.is_some_and(|lost| lost + truth.seen_within >= at);
                let lately = was_able && self.is_open(node);
                (sure || lately).then(|| (node.clone(), sure))
            })
            .collect()
    }

    /// The other nodes of a group that do not serve, and why.
    fn others_not(&self, promised: &Promised, truth: &Truth, group: &GroupName, name: &NodeName) -> String {
        let alive =
            truth.instances.values().filter(|one| promised.is_kin(&one.group, group) && one.state.is_alive());
        let nodes = alive.filter_map(|one| truth.nodes.get(one.node.as_ref()?));
        let not = nodes.filter(|node| node.name() != *name && !self.serves(truth, node)).map(|node| {
            let able = self.able.get(&node.name());
            format!(
                "{} (ready {}, able {able:?}, open {})",
                node.name(),
                is_node_ready(node),
                self.is_open(node)
            )
        });
        not.collect::<Vec<_>>().join(", ")
    }

    fn serves(&self, truth: &Truth, node: &Node) -> bool {
        let is_alive = truth.instance_of(node).is_some_and(|instance| instance.state.is_alive());
        let is_able = self.able.get(&node.name()).is_some_and(|able| able.is);
        is_alive && is_able && self.is_open(node)
    }

    fn is_open(&self, node: &Node) -> bool {
        !self.given_up.contains(&node.name())
    }
}

/// Ready; a new node takes pods, and its DaemonSets' pods are Ready, too.
fn is_able(promised: &Promised, truth: &Truth, node: &Node) -> bool {
    let name = node.name();
    let has_agents =
        || truth.daemon_sets.values().all(|set| !belongs(set, node) || truth.has_agent(set, &name));
    let is_usable = || !node.spec.unschedulable && has_agents();
    is_node_ready(node) && (promised.old.contains(&node.name()) || is_usable())
}

/// Whether a DaemonSet's pod became healthy or stopped being so.
fn is_agents_news(old: Option<&Object>, new: Option<&Object>) -> bool {
    let healthy = |object: Option<&Object>| match object {
        Some(Object::Pod(pod)) => daemon_set(pod).is_some() && is_healthy(pod),
        Some(_) | None => false,
    };
    healthy(old) != healthy(new)
}

/// The DaemonSets of these clusters have no selector of nodes; so taints alone keep them off.
fn belongs(set: &DaemonSet, node: &Node) -> bool {
    let tolerations = &set.spec.template.spec.tolerations;
    let own = node.spec.taints.iter().filter(|taint| !taint.key.starts_with("node.kubernetes.io/"));
    own.filter(|taint| taint.effect != TaintEffect::PreferNoSchedule).all(|taint| {
        tolerations.iter().any(|one| {
            one.operator == Some(TolerationOperator::Exists) && (one.key.is_empty() || one.key == taint.key)
        })
    })
}
