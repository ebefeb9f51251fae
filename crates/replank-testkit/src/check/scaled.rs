//! What the autoscaler does: it removes nothing from a rolling group, batch pods keep their nodes, groups grow within their
//! bounds and shrink instance by instance.
//!
//! Budgets and terminations follow the same rules as for a run. What it adds to a group of the run is not surge: the run must leave the
//! group so much larger, and what it takes away before, so much smaller ([`Promised::resized`]).

use std::collections::BTreeMap;

use replank_model::object::cloud::NodeGroup;
use replank_model::text::GroupName;
use replank_model::time::Time;
use replank_protocol::command::{Effect, GroupEffect, KubernetesEffect, NodeTarget, Replacement};
use replank_sim::Sent;

use super::sights::{Met, Sights};
use super::truth::Truth;
use super::{Found, Promise, Promised};

/// In whose name nodes are added and taken away.
pub(super) const RUN: &str = "autoscaler";
const ORIGINAL: &str = "replank.dev/original-size";

/// Since when groups are in a run's hands.
#[derive(Debug, Default)]
pub(super) struct Scaled {
    held: BTreeMap<GroupName, Time>,
}

impl Scaled {
    /// A group has changed.
    pub(super) fn group(&mut self, at: Time, group: &NodeGroup) {
        if group.tags.contains_key(ORIGINAL) {
            self.held.entry(group.name.clone()).or_insert(at);
        } else {
            self.held.remove(&group.name);
        }
    }

    /// Something was done. Budgets, batch pods, marks and the ends of instances are looked at besides.
    pub(super) fn executed(
        &self,
        promised: &mut Promised,
        truth: &Truth,
        sent: &Sent,
        sights: &mut Sights,
        found: &mut Found<'_>,
    ) {
        match &sent.command.effect {
            Effect::Group(GroupEffect::Resize { group, from, to }) => {
                if to.desired < from.desired {
                    found.broken(Promise::S5, format!("group {group} is shrunk from {from} to {to}"));
                // Beside a run's surge it needs a maximum that holds both: how far that may go is looked at with the group.
                } else if to.min != from.min
                    || to.max != from.max && !self.held.contains_key(&group.node_group)
                {
                    let what = format!("the autoscaler changes bounds of {group}: {from} to {to}");
                    found.broken(Promise::S4, what);
                }
                sights.met.insert(Met::NodesAdded);
                promised.resized(
                    found.at,
                    &group.node_group,
                    i64::from(to.desired) - i64::from(from.desired),
                );
            }
            Effect::Group(GroupEffect::Terminate { instance, group, expected, replacement }) => {
                sights.met.insert(Met::NodesTaken);
                // One that is on its way out already takes no place with it.
                let was_counted = truth.instances.get(instance).is_some_and(|one| one.is_counted());
                if matches!(replacement, Replacement::Decrement { .. }) && was_counted {
                    promised.resized(found.at, group, -1);
                }
                if let Some(node) = expected.node() {
                    self.touched(truth, node, sent, "ends", found);
                }
            }
            Effect::Kubernetes(KubernetesEffect::Cordon { node, .. }) => {
                self.touched(truth, node, sent, "cordons", found);
            }
            Effect::Kubernetes(KubernetesEffect::DeletePod { pod, .. }) => {
                found.broken(Promise::S1, format!("plain deletion of pod {} by the autoscaler", pod.key));
            }
            Effect::Kubernetes(_) | Effect::Group(_) | Effect::Queue(_) => {}
        }
    }

    /// No node of a rolling group is removed. A decision made before that could be known does not count.
    fn touched(&self, truth: &Truth, node: &NodeTarget, sent: &Sent, does: &str, found: &mut Found<'_>) {
        let instance = truth.nodes.get(&node.name).and_then(|node| truth.instance_of(node));
        let Some(group) = instance.map(|instance| &instance.group) else { return };
        if self.held.get(group).is_some_and(|since| *since + truth.seen_within < sent.at) {
            let name = &node.name;
            found.broken(
                Promise::S4,
                format!("the autoscaler {does} node {name} of {group}, which a run is rolling"),
            );
        }
    }
}
