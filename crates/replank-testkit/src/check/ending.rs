//! S5, first half: how instances end, and what is left of pods on them.

use std::collections::{BTreeMap, BTreeSet};

use replank_model::object::cloud::{Instance, InstanceState, Registrar};
use replank_model::object::node::Node;
use replank_model::object::pod::Pod;
use replank_model::text::{InstanceId, NodeName, Text, Uid};
use replank_model::time::{Span, Time};
use replank_protocol::command::NodeTarget;

use super::moves::bears_cordons;
use super::truth::{Truth, goes_with_its_node, is_node_ready, manager};
use super::{Found, Promise, Promised, Sights};

/// The moment of an exclusion is told in whole seconds.
const ROUNDING: Span = Span::from_millis(1_200);

/// Instances that were ended by a command of ours.
#[derive(Debug, Default)]
pub(super) struct Ending {
    ended: BTreeSet<InstanceId>,
    /// When pods got their nodes that no cordon keeps off.
    bound: BTreeMap<Uid, Time>,
    /// Since when nodes are no targets of load balancers.
    excluded: BTreeMap<NodeName, Time>,
    /// The machines on which pods began: what the API says of nodes later changes nothing of that.
    machines: BTreeMap<Uid, InstanceId>,
}

/// The end of an instance, as it is commanded.
pub(super) struct End<'a> {
    pub(super) id: &'a InstanceId,
    pub(super) target: Option<&'a NodeTarget>,
    /// Who ends it.
    pub(super) by: By,
}

/// In whose name an instance is ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    /// The run's.
    Run,
    /// Its way back's: then no stuck pod may keep it.
    WayBack,
    /// Others take it away: no load balancer is waited for.
    Interruption,
    /// The autoscaler's, which knows of no load balancer.
    Autoscaler,
}

impl Ending {
    pub(super) fn begin(truth: &Truth) -> Self {
        let mut ending = Self::default();
        for pod in truth.pods.values() {
            ending.machines.extend(machine(truth, pod));
        }
        ending
    }

    /// A pod got its node.
    pub(super) fn bound(&mut self, at: Time, truth: &Truth, pod: &Pod) {
        self.machines.extend(machine(truth, pod));
        if bears_cordons(pod) {
            self.bound.insert(pod.meta.uid.clone(), at);
        }
    }

    /// A command of ours ends an instance.
    pub(super) fn ended(
        &mut self,
        promised: &Promised,
        truth: &Truth,
        end: &End<'_>,
        sights: &mut Sights,
        found: &mut Found<'_>,
    ) {
        let End { id, target, by } = *end;
        self.ended.insert(id.clone());
        let node = truth.node_of(id);
        match (target, node) {
            (None, None) | (Some(_), None) => return,
            (None, Some(node)) => {
                found.broken(
                    Promise::S5,
                    format!("{id} is terminated as an instance without a node, but is {}", node.name()),
                );
            }
            (Some(target), Some(node)) if target.uid == node.meta.uid && target.name == node.name() => {}
            (Some(target), Some(node)) => {
                found.broken(
                    Promise::S5,
                    format!("{id} is terminated as node {}, but is {}", target.name, node.name()),
                );
            }
        }
        let Some(node) = node else { return };
        let name = node.name();
        if !node.spec.unschedulable {
            found.broken(Promise::S5, format!("node {name} is terminated without a cordon"));
        }
        match by {
            By::Run | By::WayBack => self.kept(promised, truth, (id, node), found),
            By::Interruption | By::Autoscaler => {}
        }
        let ends_stuck = promised.ends_stuck || by == By::WayBack || is_dead(promised, truth, node, found.at);
        let mut has_stuck = false;
        for pod in truth.pods_on(&name).filter(|pod| !goes_with_its_node(truth, pod)) {
            let is_stuck =
                pod.meta.deletion_timestamp.is_some_and(|due| found.at >= due + promised.stuck_after);
            if ends_stuck && is_stuck {
                has_stuck = true;
                continue;
            }
            if self.is_unseen(truth, pod, found.at) {
                sights.unknowable += 1;
            } else {
                found.broken(
                    Promise::S5,
                    format!("node {name} is terminated with pod {} on it", pod.meta.key()),
                );
            }
        }
        sights.ended_stuck += usize::from(has_stuck);
    }

    /// Whether a pod that no cordon keeps off came to its node so late that nobody can know of it yet.
    pub(super) fn is_unseen(&self, truth: &Truth, pod: &Pod, at: Time) -> bool {
        self.bound.get(&pod.meta.uid).is_some_and(|bound| *bound + truth.seen_within >= at)
    }

    /// An instance is kept for as long as load balancers may send to it.
    ///
    /// Where target groups are known that a controller of the cluster keeps by the label, that is until it is in none of them.
    fn kept(
        &self,
        promised: &Promised,
        truth: &Truth,
        (id, node): (&InstanceId, &Node),
        found: &mut Found<'_>,
    ) {
        let Some(kept) = promised.kept else { return };
        let name = &node.name();
        let instance = truth.instances.get(id);
        let group = instance.and_then(|instance| truth.groups.get(&instance.group));
        let by_label = group.into_iter().flat_map(|group| &group.target_groups);
        let by_label: BTreeSet<&Text> = by_label
            .filter(|target_group| target_group.registrar == Registrar::Controller)
            .map(|target_group| &target_group.arn)
            .collect();
        if !by_label.is_empty() && self.excluded.contains_key(name) {
            let targets = instance.into_iter().flat_map(|instance| &instance.targets);
            for target in targets.filter(|target| by_label.contains(&target.group)) {
                let what = format!(
                    "node {name} is terminated while {} in target group {}",
                    target.health, target.group
                );
                found.broken(Promise::S5, what);
            }
            return;
        }
        let since = self.excluded.get(name);
        if since.is_none_or(|since| found.at + ROUNDING < *since + kept) {
            let what =
                format!("node {name} is terminated, but is out of load balancers only since {since:?}");
            found.broken(Promise::S5, what);
        }
    }

    /// A node has changed: it may be out of load balancers.
    pub(super) fn node(&mut self, at: Time, node: &Node) {
        match node.meta.labels.contains_key("node.kubernetes.io/exclude-from-external-load-balancers") {
            true => {
                self.excluded.entry(node.name()).or_insert(at);
            }
            false => {
                self.excluded.remove(&node.name());
            }
        }
    }

    /// A command of ours takes a pod out of the API by force: the plan says so, it is stuck, and the machine that it began on is off, or
    /// its containers may run on unseen, and a StatefulSet's a second time elsewhere.
    pub(super) fn forced(&self, promised: &Promised, truth: &Truth, pod: &Pod, found: &mut Found<'_>) {
        let key = pod.meta.key();
        if !promised.forces {
            found.broken(Promise::S5, format!("pod {key} is force-deleted; the plan never allows that"));
        }
        let stuck_from = pod.meta.deletion_timestamp.map(|due| due + promised.stuck_after);
        if stuck_from.is_none_or(|from| found.at < from) {
            found.broken(
                Promise::S5,
                format!("pod {key} is force-deleted, but counts as stuck only from {stuck_from:?}"),
            );
        }
        let machine = self.machines.get(&pod.meta.uid).and_then(|id| truth.instances.get(id));
        if let Some(machine) = machine.filter(|known| known.state != InstanceState::Terminated) {
            let owner = manager(pod).map_or("nobody", |(kind, _, _)| kind);
            let (id, state) = (&machine.id, machine.state.as_str());
            let what = format!("pod {key} of {owner} is force-deleted while {id} is {state}");
            found.broken(Promise::S5, what);
        }
    }

    /// An instance has changed: one that goes was ended by a command.
    pub(super) fn instance(
        &self,
        old: Option<&Instance>,
        new: Option<&Instance>,
        promised: &Promised,
        taken: &dyn Fn(&InstanceId) -> bool,
        found: &mut Found<'_>,
    ) {
        let Some(old) = old.filter(|old| old.state.is_alive()) else { return };
        let goes = new.is_none_or(|new| !new.state.is_alive());
        // Somebody else takes machines away then, and not Replank.
        let is_ours = promised.limits_of(&old.group).is_some() && !promised.is_external && !taken(&old.id);
        if goes && is_ours && !self.ended.contains(&old.id) {
            found.broken(Promise::S5, format!("group {} terminates {} by its own choice", old.group, old.id));
        }
    }
}

/// Whether a node has not been Ready for so long that the plan has it replaced, or had not been until just now.
fn is_dead(promised: &Promised, truth: &Truth, node: &Node, at: Time) -> bool {
    let Some(after) = promised.dead_after else { return false };
    let ready = node.status.conditions.iter().find(|condition| &*condition.r#type == "Ready");
    let since = ready.and_then(|ready| ready.last_transition_time).or(node.meta.creation_timestamp);
    since.is_some_and(|since| match is_node_ready(node) {
        false => since + after <= at,
        true => since + ROUNDING + truth.seen_within >= at,
    })
}

/// The machine under a pod's node.
fn machine(truth: &Truth, pod: &Pod) -> Option<(Uid, InstanceId)> {
    let node = truth.nodes.get(pod.node.as_ref()?)?;
    Some((pod.meta.uid.clone(), truth.instance_of(node)?.id.clone()))
}
