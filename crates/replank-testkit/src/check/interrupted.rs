//! What is done for instances that others take away: only for those, in the time that is really left.
//!
//! Every interruption is recorded here ([`Checkers::struck`](super::Checkers::struck)), with or without a message. Of budgets, batch pods and
//! the ends of instances holds what holds for a run, with one exception: just before an instance is gone, whatever is done, what is left on it
//! is told to end in time. That moment is worked out here from what was announced, the pod's grace and the group's hooks.

use std::collections::{BTreeMap, BTreeSet};

use replank_model::object::cloud::{Instance, Lifecycle, LifecycleHook, Transition};
use replank_model::object::pod::Pod;
use replank_model::text::InstanceId;
use replank_model::time::{Span, Time};
use replank_protocol::command::{Effect, GroupEffect, KubernetesEffect, NodeRole};
use replank_protocol::lifecycle::Action;
use replank_sim::Sent;

use super::ending::Ending;
use super::sights::{Met, Sights};
use super::truth::{Truth, goes_with_its_node};
use super::{Found, Promise};
use crate::clusters::How;

/// In whose name interruptions are handled.
pub(super) const RUN: &str = "interruptions";
/// The termination hook of a managed node group: EKS's to complete.
const EKS_HOOK: &str = "Terminate-LC-Hook";
/// From the warning to the end of a spot instance.
const SPOT_NOTICE: Span = Span::from_secs(120);
/// The most that is kept of a pod's grace at the end of its instance, and what is kept beside it.
const GRACE_MAX: Span = Span::from_secs(60);
const MARGIN: Span = Span::from_secs(5);
/// How long a hook is kept waiting for pods that are no batch pods, and how long an instance is looked after that may be taken away, or ought to be gone.
const PATIENCE: Span = Span::from_minutes(60);
/// No hook holds for longer.
const HOOKS_MAX: Span = Span::from_minutes(48 * 60);
/// Whole seconds at both ends.
const ROUNDING: Span = Span::from_millis(2_200);

/// Instances that others take away.
#[derive(Debug, Default)]
pub(super) struct Interrupted {
    taken: BTreeMap<InstanceId, Taken>,
    /// Since when groups have held instances on their way out.
    held: BTreeMap<InstanceId, Time>,
    /// Instances of which another was asked for.
    relieved: BTreeSet<InstanceId>,
    /// What befell last, and what was known of the instance before.
    last: Option<(InstanceId, Option<Taken>)>,
}

#[derive(Clone, Copy, Debug)]
struct Taken {
    /// Since when that is known.
    since: Time,
    /// When it is gone, whatever is done.
    until: Option<Time>,
    /// Whether it was released and keeps running.
    is_let_go: bool,
}

impl Interrupted {
    /// Something befalls an instance.
    pub(super) fn struck(&mut self, at: Time, id: &InstanceId, how: &How) {
        let until = match how {
            How::Spot => Some(at.floor_seconds() + SPOT_NOTICE),
            How::Retirement(notice) => Some(at.floor_seconds() + *notice),
            How::Rebalance | How::End | How::Message(_) => None,
        };
        let before = self.taken.get(id).copied();
        let until = before.and_then(|before| before.until).into_iter().chain(until).min();
        let since = before.filter(|before| !before.is_let_go).map_or(at, |before| before.since);
        self.taken.insert(id.clone(), Taken { since, until, is_let_go: false });
        self.last = Some((id.clone(), before));
    }

    /// The last of it did not come true.
    pub(super) fn spared(&mut self) {
        if let Some((id, before)) = self.last.take() {
            match before {
                Some(before) => self.taken.insert(id, before),
                None => self.taken.remove(&id),
            };
        }
    }

    /// An instance has changed.
    pub(super) fn instance(&mut self, at: Time, new: Option<&Instance>) {
        if let Some(new) = new.filter(|new| new.lifecycle == Lifecycle::TerminatingWait) {
            self.held.entry(new.id.clone()).or_insert(at);
        }
    }

    /// Whether others have taken an instance away, or its group ends it because we asked for another.
    pub(super) fn is_taken(&self, id: &InstanceId) -> bool {
        self.taken.contains_key(id) || self.relieved.contains(id)
    }

    /// Whether there is a reason to empty an instance.
    fn is_going(&self, truth: &Truth, id: &InstanceId) -> bool {
        self.is_taken(id) || self.held.contains_key(id) || is_down(truth, id)
    }

    /// Since when its group has held the instance of a pod.
    pub(super) fn held_since(&self, truth: &Truth, pod: &Pod) -> Option<Time> {
        let node = truth.nodes.get(pod.node.as_ref()?)?;
        self.held.get(&truth.instance_of(node)?.id).copied()
    }

    /// Whether what is left on an instance may be told to end now, whatever budgets say. `patience` is how long its group's hooks are kept
    /// waiting at the least.
    fn is_last_moment_of(&self, truth: &Truth, id: &InstanceId, pod: &Pod, patience: Span, at: Time) -> bool {
        let grace = pod.spec.termination_grace_period_seconds.unwrap_or(30);
        let kept = Span::from_secs(grace).min(GRACE_MAX) + MARGIN + ROUNDING;
        is_down(truth, id) || self.until(truth, id, patience).is_some_and(|until| at + kept >= until)
    }

    /// When the time of an instance is over: when it is gone for certain, or its hooks let go; they are kept waiting for so long, and no
    /// longer than they can be.
    fn until(&self, truth: &Truth, id: &InstanceId, patience: Span) -> Option<Time> {
        let certain = self.taken.get(id).and_then(|taken| taken.until);
        let hook = || {
            let group = truth.groups.get(&truth.instances.get(id)?.group)?;
            let hooks = group.hooks.iter().filter(|hook| hook.at == Transition::Terminating);
            let first: &LifecycleHook = hooks.min_by_key(|hook| hook.timeout)?;
            Some(*self.held.get(id)? + patience.max(first.timeout).min(first.ceiling()))
        };
        certain.into_iter().chain(hook()).min()
    }

    /// Something was done in the name of interruptions. Evictions, batch pods and ends are looked at besides, as those of a run are.
    pub(super) fn executed(
        &mut self,
        (truth, ending): (&Truth, &Ending),
        sent: &Sent,
        sights: &mut Sights,
        found: &mut Found<'_>,
    ) {
        if let Effect::Group(
            GroupEffect::CompleteAction { action: Action { hook, instance, .. }, .. }
            | GroupEffect::Heartbeat { action: Action { hook, instance, .. } }
            | GroupEffect::Relieve { hook, instance, .. },
        ) = &sent.command.effect
            && **hook == *EKS_HOOK
        {
            found.broken(
                Promise::S5,
                format!("EKS's hook {hook} of {instance} is completed; it is not Replank's"),
            );
        }
        match &sent.command.effect {
            Effect::Kubernetes(KubernetesEffect::Evict { pod, .. }) => {
                sights.met.insert(Met::Rescued);
                self.off(truth, truth.pod(&pod.key, &pod.uid).map(|pod| &**pod), found);
            }
            Effect::Kubernetes(KubernetesEffect::DeletePod { pod, .. }) => {
                sights.met.insert(Met::LastMoment);
                let Some(pod) = truth.pod(&pod.key, &pod.uid) else { return };
                let id = self.off(truth, Some(pod), found);
                let is_time = |id: &InstanceId| self.is_last_moment_of(truth, id, pod, PATIENCE, found.at);
                // One whose node is gone has nothing to run on.
                let is_lost = pod.node.as_ref().is_some_and(|name| !truth.nodes.contains_key(name));
                if !is_lost && !id.as_ref().is_some_and(is_time) {
                    let what =
                        format!("pod {} is deleted although there is time to evict it", pod.meta.key());
                    found.broken(Promise::S1, what);
                }
            }
            Effect::Kubernetes(KubernetesEffect::Cordon { node, mark, .. })
                if matches!(mark.role, NodeRole::Interrupted { .. }) =>
            {
                let instance = truth.nodes.get(&node.name).and_then(|node| truth.instance_of(node));
                if instance.is_some_and(|instance| !self.is_going(truth, &instance.id)) {
                    found.broken(
                        Promise::S3,
                        format!("node {} is cordoned without an interruption", node.name),
                    );
                }
            }
            Effect::Kubernetes(KubernetesEffect::Uncordon { node, .. }) => {
                let instance = truth.nodes.get(&node.name).and_then(|node| truth.instance_of(node));
                let taken = instance.and_then(|instance| self.taken.get_mut(&instance.id));
                let Some(taken) = taken else { return };
                taken.is_let_go = true;
                if found.at + ROUNDING < taken.until.unwrap_or(taken.since) + PATIENCE {
                    let what = format!("node {} is released, but its interruption may still come", node.name);
                    found.broken(Promise::S5, what);
                }
            }
            Effect::Group(GroupEffect::Relieve { instance, .. }) => {
                sights.met.insert(Met::Relieved);
                if !self.taken.contains_key(instance) {
                    found.broken(
                        Promise::S5,
                        format!("a replacement is requested for {instance}, which is not interrupted"),
                    );
                }
                self.relieved.insert(instance.clone());
            }
            Effect::Group(GroupEffect::Terminate { instance, .. }) if !self.is_going(truth, instance) => {
                found.broken(Promise::S5, format!("{instance} is terminated without an interruption"));
            }
            Effect::Group(GroupEffect::CompleteAction { action, .. }) => {
                sights.met.insert(Met::Completed);
                self.release((truth, ending), &action.instance, sights, found);
            }
            Effect::Group(GroupEffect::Heartbeat { .. }) => _ = sights.met.insert(Met::Heartbeat),
            Effect::Kubernetes(_) | Effect::Group(_) | Effect::Queue(_) => {}
        }
    }

    /// A pod is moved off an instance.
    fn off(&self, truth: &Truth, pod: Option<&Pod>, found: &mut Found<'_>) -> Option<InstanceId> {
        let pod = pod?;
        let node = truth.nodes.get(pod.node.as_ref()?)?;
        let id = truth.instance_of(node)?.id.clone();
        if !self.is_going(truth, &id) {
            let what =
                format!("pod {} is moved off {}, which is not interrupted", pod.meta.key(), node.name());
            found.broken(Promise::S5, what);
        }
        Some(id)
    }

    /// A hook's action is completed: the instance is cordoned and empty, or its time is over. A pod that no cordon keeps off may come at any moment,
    /// and so in the one before: of that nobody can know, as with instances that a run ends.
    fn release(
        &self,
        (truth, ending): (&Truth, &Ending),
        id: &InstanceId,
        sights: &mut Sights,
        found: &mut Found<'_>,
    ) {
        let Some(node) = truth.node_of(id) else { return };
        let until = self.until(truth, id, PATIENCE);
        if until.is_some_and(|until| found.at + ROUNDING >= until) {
            return;
        }
        let name = node.name();
        let left = truth.pods_on(&name).filter(|pod| !goes_with_its_node(truth, pod));
        let (unseen, left): (Vec<_>, Vec<_>) = left.partition(|pod| ending.is_unseen(truth, pod, found.at));
        sights.unknowable += unseen.len();
        let is_new = node.meta.creation_timestamp.is_some_and(|made| made + truth.seen_within >= found.at);
        if !node.spec.unschedulable && is_new {
            // It was released as an instance without a node, and became a node just then.
            sights.unknowable += 1;
        } else if !node.spec.unschedulable {
            found.broken(Promise::S5, format!("the hook of node {name} is completed without a cordon"));
        } else if let Some(pod) = left.first() {
            found.broken(
                Promise::S5,
                format!("the hook of node {name} is completed with pod {} on it", pod.meta.key()),
            );
        }
    }

    /// Whether a batch pod may be ended now for the sake of what is left of the time.
    pub(super) fn is_last_moment(&self, truth: &Truth, pod: &Pod, at: Time) -> bool {
        let node = pod.node.as_ref().and_then(|name| truth.nodes.get(name));
        // One whose node is gone has nothing to run on.
        let Some(instance) = node.and_then(|node| truth.instance_of(node)) else {
            return pod.node.is_some() && node.is_none();
        };
        // Hooks are kept waiting for batch pods as long as they can be.
        self.is_last_moment_of(truth, &instance.id, pod, HOOKS_MAX, at)
    }
}

/// Whether an instance is gone, or on its way down.
fn is_down(truth: &Truth, id: &InstanceId) -> bool {
    truth.instances.get(id).is_none_or(|instance| !instance.state.is_alive())
}
