//! S5, second half: pods are moved off old nodes, once.
//!
//! A node whose drain has come to a standstill may be uncordoned, so that another has its turn: what comes to it then is moved once more if it is taken up again. So
//! that is held to its reason: the drain has had its time, and something is left on the node.

use std::collections::BTreeMap;

use replank_model::object::affinity::{TaintEffect, TolerationOperator};
use replank_model::object::pod::Pod;
use replank_model::text::{NodeName, Uid};
use replank_model::time::{Span, Time};
use replank_protocol::command::NodeRole;

use super::truth::{Truth, goes_with_its_node, manager};
use super::{Found, Promise, Promised, Sights};

/// How long a mark may be on its way.
const ON_ITS_WAY: Span = Span::from_secs(90);

/// Owners of pods that were moved, and since when.
#[derive(Debug, Default)]
pub(super) struct Moves {
    moved: BTreeMap<Uid, Time>,
    /// When the drains of nodes were begun.
    begun: BTreeMap<NodeName, Time>,
}

impl Moves {
    /// What was moved before is where it is to be again.
    pub(super) fn turn_back(&mut self) {
        self.moved.clear();
    }

    /// A node of ours gets a mark.
    pub(super) fn marked(
        &mut self,
        promised: &Promised,
        truth: &Truth,
        name: &NodeName,
        role: NodeRole,
        found: &mut Found<'_>,
    ) {
        match role {
            NodeRole::Draining { .. } => {
                self.begun.entry(name.clone()).or_insert(found.at);
            }
            NodeRole::Postponed { .. } => {
                let begun = self.begun.remove(name);
                let has_had_time = begun.is_none_or(|begun| {
                    found.at + ON_ITS_WAY + promised.held_within >= begun + promised.stalls_after
                });
                let is_empty = truth.pods_on(name).all(|pod| goes_with_its_node(truth, pod));
                if !has_had_time || is_empty {
                    let what =
                        format!("node {name}, drained since {begun:?}, is given up with nothing in the way");
                    found.broken(Promise::S5, what);
                }
            }
            NodeRole::Queued
            | NodeRole::Skipped
            | NodeRole::Surplus
            | NodeRole::Retained
            | NodeRole::Drained
            | NodeRole::Listed
            | NodeRole::Interrupted { .. } => {}
        }
    }

    /// An eviction of ours moves a pod.
    pub(super) fn moved(&mut self, promised: &Promised, truth: &Truth, pod: &Pod, found: &mut Found<'_>) {
        if let Some((_, _, owner)) = manager(pod) {
            self.moved.entry(owner.clone()).or_insert(found.at);
        }
        let Some(name) = &pod.node else { return };
        let is_cordoned = truth.nodes.get(name).is_none_or(|node| node.spec.unschedulable);
        let instance = truth.nodes.get(name).and_then(|node| truth.instance_of(node));
        if !promised.old.contains(name) && !instance.is_some_and(|one| promised.is_of_others(one)) {
            found
                .broken(Promise::S5, format!("pod {} is moved off node {name}, which stays", pod.meta.key()));
        } else if !is_cordoned {
            found.broken(
                Promise::S5,
                format!("pod {} is moved off node {name}, which is not cordoned", pod.meta.key()),
            );
        }
    }

    /// A pod got its node: one made in place of a pod that was moved must not be on a node that is to go.
    pub(super) fn bound(
        &self,
        promised: &Promised,
        truth: &Truth,
        pod: &Pod,
        sights: &mut Sights,
        found: &mut Found<'_>,
    ) {
        let (Some(name), Some((_, _, owner))) = (&pod.node, manager(pod)) else { return };
        let is_successor = self.moved.get(owner).is_some_and(|since| {
            pod.meta.creation_timestamp.is_some_and(|created| created >= since.floor_seconds())
        });
        let Some(node) = truth.nodes.get(name).filter(|_| is_successor && promised.old.contains(name)) else {
            return;
        };
        let role = node.meta.annotations.value("replank.dev/role");
        // One that is listed takes pods that have no room elsewhere.
        let is_left_out =
            promised.skips && role == Some("skipped") || matches!(role, Some("postponed" | "listed"));
        let instance = truth.instance_of(node);
        // That a run has halted is written where the new nodes come up.
        let landing = promised.family.as_ref().map(|family| &family.landing);
        let group = landing.or(instance.map(|instance| &instance.group));
        let group = group.and_then(|name| truth.groups.get(name));
        // The way there has halted before the way back begins.
        let halted = group.and_then(|group| group.tags.value("replank.dev/halted"));
        let is_halted = halted.is_some_and(|halted| !promised.is_way_back || halted.contains("-back "));
        // While it rests, a run lets nodes take pods that it has not begun.
        // So does one that has halted; where somebody else replaces nodes, no group says so.
        let is_released = (promised.rests || promised.is_external) && role.is_none();
        if bears_cordons(pod) || is_released {
            sights.unknowable += 1;
        } else if !is_left_out && !is_halted {
            found.broken(
                Promise::S5,
                format!("pod {} moves to node {name}, which will be replaced", pod.meta.key()),
            );
        }
    }
}

/// Whether a cordon does not keep a pod off (toleration of `node.kubernetes.io/unschedulable`).
pub(super) fn bears_cordons(pod: &Pod) -> bool {
    pod.spec.tolerations.iter().any(|one| {
        one.operator == Some(TolerationOperator::Exists)
            && (one.key.is_empty() || &*one.key == "node.kubernetes.io/unschedulable")
            && one.effect.is_none_or(|effect| effect == TaintEffect::NoSchedule)
    })
}
