//! Plants a [`Bug`]: an engine around core that alters what core says or sees.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use replank_core::Core;
use replank_facts::plan::BlockingFindings;
use replank_model::delta::Delta;
use replank_model::object::Object;
use replank_model::object::cloud::{GroupSize, Instance, Lifecycle, Transition};
use replank_model::object::condition;
use replank_model::object::node::Node;
use replank_model::object::pod::Pod;
use replank_model::text::{GroupName, NodeName, RunId};
use replank_model::time::{Span, Time};
use replank_model::view::View;
use replank_protocol::command::Answer;
use replank_protocol::command::Expected;
use replank_protocol::command::{
    Command, CommandKey, Effect, GroupEffect, KubernetesEffect, Mark, NodeRole, NodeTarget, Outcome,
    PodTarget, Refusal, Replacement, WorkloadTarget,
};
use replank_protocol::decision::{Decision, End};
use replank_protocol::engine::Engine;
use replank_protocol::intent::Intent;
use replank_protocol::lifecycle::{Action, Place};
use replank_protocol::mark;
use replank_protocol::owner::Owner;
use replank_protocol::waiting::{InterruptionWait, PodWait, RollEnd, RollWait, Subject, Waiting, WaitingOn};
use replank_sim::TERMINATION_HOOK;

use super::bug::Bug;
use super::{Cores, everything};

/// Core with a bug.
pub struct Buggy {
    core: Core,
    /// Makes cores for the same run.
    cores: Cores,
    bug: Bug,
    /// How often the bug acted.
    fired: Rc<Cell<usize>>,
    /// Evictions by the key of their command.
    evictions: BTreeMap<CommandKey, PodTarget>,
    /// Wrong effects for the next decision.
    wrongs: Vec<Effect>,
    /// Keys of wrong effects already sent: each is sent once.
    done: BTreeSet<CommandKey>,
    /// Groups that were raised.
    raised: BTreeSet<GroupName>,
    /// Nodes that were uncordoned.
    uncordoned: BTreeSet<NodeName>,
    /// Workloads that core has restarted, and when.
    restarted: Vec<(WorkloadTarget, Time)>,
}

impl Buggy {
    /// Plants a bug; `fired` counts how often it acts.
    #[must_use]
    pub fn plant(cores: Cores, core: Core, bug: Bug, fired: Rc<Cell<usize>>) -> Self {
        Self {
            core,
            cores,
            bug,
            fired,
            evictions: BTreeMap::new(),
            wrongs: Vec::new(),
            done: BTreeSet::new(),
            raised: BTreeSet::new(),
            uncordoned: BTreeSet::new(),
            restarted: Vec::new(),
        }
    }

    fn go_wrong(&mut self, now: Time, decision: &mut Decision) {
        match self.bug {
            Bug::PlainDelete => {
                for command in &decision.commands {
                    if let Effect::Kubernetes(KubernetesEffect::Evict { pod, .. }) = &command.effect {
                        self.evictions.insert(command.key.clone(), pod.clone());
                    }
                }
            }
            Bug::EarlyEnd => self.end_early(decision),
            Bug::EarlyBatch | Bug::Thrift => self.evict_batch(decision),
            Bug::EarlyDrain => self.drain_early(decision),
            Bug::EarlyPostpone => self.postpone_early(now),
            Bug::OpenNodes => self.leave_open(decision),
            Bug::EarlyForce => self.force_early(decision),
            Bug::EarlyStuck => {
                self.end_waiting(decision, |on| matches!(on, WaitingOn::Pod(PodWait::Terminating { .. })));
            }
            Bug::EarlyTarget => {
                self.end_waiting(decision, |on| {
                    matches!(on, WaitingOn::Roll(RollWait::Deregistration { .. } | RollWait::Target { .. }))
                });
            }
            Bug::OverSurge
            | Bug::WantsLess
            | Bug::LostSize
            | Bug::WrongInstance
            | Bug::NoExpiry
            | Bug::BehindEks => {
                self.alter(decision);
            }
            Bug::Twice => self.restart_twice(decision),
            Bug::HalfBack => {
                let is_way_back = |command: &Command| command.run.text().ends_with("-back");
                if decision.commands.iter().any(is_way_back) {
                    self.fired.set(self.fired.get() + 1);
                    *decision = Decision { end: Some(End::RolledBack(Vec::new())), ..Decision::default() };
                }
            }
            Bug::KeptTags => self.keep_tags(decision),
            Bug::EarlyRelease => self.release_early(decision),
            Bug::ForeignHook => self.release_foreign(),
            Bug::EarlyRescue => self.rescue_early(decision),
            Bug::EarlyUncordon => self.uncordon_early(decision),
            Bug::Meddler => self.meddle(now, decision),
            Bug::Heedless
            | Bug::Forbearing
            | Bug::Unfeeling
            | Bug::Meddling
            | Bug::Rash
            | Bug::Endless
            | Bug::KeptMarks => {}
        }
        for effect in std::mem::take(&mut self.wrongs) {
            let key = CommandKey(format!("bug/{effect:?}").into());
            if self.done.insert(key.clone()) {
                self.fired.set(self.fired.get() + 1);
                let deadline = now + Span::from_secs(60);
                decision.commands.push(Command { key, run: self.bug.run(), effect, deadline });
            }
        }
    }

    /// What a run that was refused does instead.
    fn begin_all_the_same(&mut self, now: Time, refused: Decision) -> Decision {
        if self.bug == Bug::Rash {
            self.fired.set(self.fired.get() + 1);
            let mut rash = self.cores.with(|plan| plan.care.blocking_findings = BlockingFindings::Proceed);
            everything(self.core.view()).into_iter().for_each(|delta| rash.observe(delta));
            self.core = rash;
            self.core.decide(now)
        } else if self.bug == Bug::Meddling && self.fired.get() == 0 {
            let group = self.core.view().groups().values().next().expect("a group").id();
            let (key, value) = (mark::ORIGINAL_SIZE.into(), "1/1/1".into());
            self.wrongs.push(Effect::Group(GroupEffect::Tag { group, key, from: None, value }));
            let wake_at = Some(now + Span::from_secs(1));
            Decision { end: None, wake_at, ..refused }
        } else {
            refused
        }
    }

    /// Alters core's commands.
    fn alter(&mut self, decision: &mut Decision) {
        let view = self.core.view();
        for command in &mut decision.commands {
            let has_acted = match (self.bug, &mut command.effect) {
                (Bug::OverSurge, Effect::Group(GroupEffect::Resize { from, to, .. }))
                    if to.desired > from.desired =>
                {
                    to.desired += 2;
                    to.max = to.max.max(to.desired);
                    true
                }
                (Bug::LostSize, Effect::Group(GroupEffect::Resize { group, from, to }))
                    if to.desired > from.desired =>
                {
                    let key = mark::ORIGINAL_SIZE.into();
                    self.wrongs.push(Effect::Group(GroupEffect::Untag { group: group.clone(), key }));
                    false
                }
                (
                    Bug::BehindEks,
                    Effect::Group(GroupEffect::UpdateNodegroupVersion { group, from, to, .. }),
                ) => {
                    let (group, from, to) = (group.clone(), from.clone(), to.clone());
                    let follow = None;
                    command.effect = Effect::Group(GroupEffect::SetTemplate { group, from, to, follow });
                    true
                }
                (Bug::WantsLess, Effect::Group(GroupEffect::Terminate { group, .. })) => {
                    if let Some(size) = view.groups().get(group).map(|group| group.size) {
                        let to = GroupSize { desired: size.desired.saturating_sub(1), ..size };
                        command.effect = Effect::Group(GroupEffect::Resize {
                            group: view.group_id(group),
                            from: size,
                            to,
                        });
                    }
                    true
                }
                (
                    Bug::WrongInstance,
                    Effect::Group(GroupEffect::Terminate {
                        instance,
                        group,
                        expected: Expected::Drained { node, marked_by, remaining },
                        ..
                    }),
                ) => {
                    let of_group = view.instances().values().filter(|one| one.group == *group);
                    let mut others = of_group.filter(|one| one.id != *instance && one.state.is_alive());
                    // One that is marked and cordoned, too: else the driver sees that it is not what is expected.
                    let is_marked = |one: &&Arc<Instance>| {
                        let node = one.node.as_ref().and_then(|name| view.node(name));
                        node.is_some_and(|node| node.spec.unschedulable && mark::of(node).is_some())
                    };
                    if let Some(other) = others.find(is_marked) {
                        let name = other.node.as_ref().and_then(|name| view.node(name));
                        if let Some(other_node) = name {
                            *instance = other.id.clone();
                            *node = NodeTarget { name: other_node.name(), uid: other_node.meta.uid.clone() };
                            *remaining = pods_on(view, &node.name);
                            if let Some(found) = mark::of(other_node) {
                                *marked_by = found.run;
                            }
                        }
                    }
                    true
                }
                (Bug::NoExpiry, Effect::Kubernetes(KubernetesEffect::Cordon { mark, .. })) => {
                    mark.expires = mark.since - Span::from_secs(1);
                    true
                }
                (_, _) => false,
            };
            self.fired.set(self.fired.get() + usize::from(has_acted));
        }
    }

    /// Restarts a workload again once its restart is observed.
    fn restart_twice(&mut self, decision: &Decision) {
        for command in &decision.commands {
            if let Effect::Kubernetes(KubernetesEffect::RestartWorkload { workload, at, .. }) =
                &command.effect
            {
                self.restarted.push((workload.clone(), *at));
            }
        }
        let view = self.core.view();
        let restarted = std::mem::take(&mut self.restarted);
        for (workload, at) in restarted {
            let deployment = view.deployments.by_key(&workload.key);
            let seen =
                deployment.filter(|one| one.spec.template.meta.annotations.contains_key(mark::RESTARTED_BY));
            match seen {
                Some(one) => {
                    let (version, at) = (one.meta.resource_version, at + Span::from_secs(1));
                    self.wrongs.push(Effect::Kubernetes(KubernetesEffect::RestartWorkload {
                        workload,
                        version,
                        at,
                    }));
                }
                None => self.restarted.push((workload, at)),
            }
        }
    }

    /// Terminates the instance of a node whose drain has just begun and that still has pods.
    fn end_early(&mut self, decision: &Decision) {
        for command in &decision.commands {
            let Effect::Kubernetes(KubernetesEffect::Cordon {
                node,
                mark: Mark { role: NodeRole::Draining { .. }, .. },
                ..
            }) = &command.effect
            else {
                continue;
            };
            let has_pods = !self.movers(node).is_empty();
            if let Some(instance) = self.instance_of(node).filter(|_| has_pods) {
                self.wrongs.push(Effect::Group(GroupEffect::Terminate {
                    instance: instance.id.clone(),
                    group: instance.group.clone(),
                    expected: whatever_is_there(self.core.view(), node.clone()),
                    replacement: Replacement::Launch,
                }));
            }
        }
    }

    /// Force-deletes terminating pods, as if their instances were off.
    fn force_early(&mut self, decision: &Decision) {
        for waiting in &decision.waiting {
            let (Subject::Node(name), WaitingOn::Pod(PodWait::Terminating { .. })) =
                (&waiting.what, &waiting.on)
            else {
                continue;
            };
            let pods = self.core.view().sorted_pods_on(name).into_iter();
            for pod in pods.filter(|pod| pod.meta.deletion_timestamp.is_some()) {
                let pod = PodTarget { key: pod.meta.key(), uid: pod.meta.uid.clone() };
                self.wrongs.push(Effect::Kubernetes(KubernetesEffect::ForceDelete {
                    pod,
                    instance: "i-that-is-off".into(),
                }));
            }
        }
    }

    /// Terminates instances whose nodes wait.
    fn end_waiting(&mut self, decision: &Decision, what: impl Fn(&WaitingOn) -> bool) {
        for waiting in decision.waiting.iter().filter(|waiting| what(&waiting.on)) {
            let Subject::Node(name) = &waiting.what else { continue };
            let Some(node) = self.core.view().node(name) else { continue };
            let node = NodeTarget { name: name.clone(), uid: node.meta.uid.clone() };
            if let Some(instance) = self.instance_of(&node) {
                self.wrongs.push(Effect::Group(GroupEffect::Terminate {
                    instance: instance.id.clone(),
                    group: instance.group.clone(),
                    expected: whatever_is_there(self.core.view(), node.clone()),
                    replacement: Replacement::Launch,
                }));
            }
        }
    }

    fn evict_batch(&mut self, decision: &Decision) {
        for waiting in &decision.waiting {
            if let (Subject::Pod(key), WaitingOn::Pod(PodWait::Batch { .. })) = (&waiting.what, &waiting.on)
                && let Some(pod) = self.core.view().pods.by_key(key)
            {
                self.wrongs.push(evict(pod));
            }
        }
    }

    /// Evicts the pods of a node as soon as its group has grown.
    fn drain_early(&mut self, decision: &Decision) {
        for command in &decision.commands {
            let Effect::Group(GroupEffect::Resize { group, from, to }) = &command.effect else { continue };
            if to.desired > from.desired && self.raised.insert(group.node_group.clone()) {
                let instances = self.core.view().instances().values();
                let nodes = instances.filter(|one| one.group == group.node_group).filter_map(|one| {
                    let node = self.core.view().node(one.node.as_ref()?)?;
                    Some(NodeTarget { name: node.name(), uid: node.meta.uid.clone() })
                });
                let busy = nodes.map(|node| self.movers(&node)).find(|pods| !pods.is_empty());
                self.wrongs.extend(busy.into_iter().flatten().map(|pod| evict(&pod)));
            }
        }
    }

    /// Ends the run when the first tag would be removed.
    fn keep_tags(&self, decision: &mut Decision) {
        let is_last = |command: &Command| matches!(&command.effect, Effect::Group(GroupEffect::Untag { key, .. }) if **key == *mark::ORIGINAL_SIZE);
        if !decision.commands.iter().any(is_last) {
            return;
        }
        self.fired.set(self.fired.get() + 1);
        decision.commands.clear();
        let bounds = self.core.view().groups().iter().map(|(name, group)| {
            let on = WaitingOn::RollEnd(RollEnd::Bounds { size: group.size, original: group.size });
            Waiting { what: Subject::Bounds(name.clone()), on }
        });
        decision.waiting = std::mem::take(&mut decision.waiting).joined(bounds.collect());
        decision.end = Some(End::Done);
    }

    /// Completes hooks of instances with pods.
    fn release_early(&mut self, decision: &Decision) {
        let view = self.core.view();
        for waiting in &decision.waiting {
            let (Subject::Node(name), WaitingOn::Interruption(InterruptionWait::Interrupted { .. })) =
                (&waiting.what, &waiting.on)
            else {
                continue;
            };
            let held = view.instances().values().find(|one| one.node.as_ref() == Some(name));
            let held = held.filter(|one| one.lifecycle == Lifecycle::TerminatingWait);
            let Some((one, group)) = held.and_then(|one| Some((one, view.groups().get(&one.group)?))) else {
                continue;
            };
            for hook in group.hooks.iter().filter(|hook| hook.at == Transition::Terminating) {
                let (group, instance) = (one.group.clone(), one.id.clone());
                let action = Action { group, hook: hook.name.clone(), instance, token: None, to: Place::Ec2 };
                self.wrongs.push(Effect::Group(GroupEffect::CompleteAction { action, expected: None }));
            }
        }
    }

    /// Completes EKS's own hook.
    fn release_foreign(&mut self) {
        let held = self.core.view().instances().values();
        for one in held.filter(|one| one.lifecycle == Lifecycle::TerminatingWait) {
            let (group, instance) = (one.group.clone(), one.id.clone());
            let action =
                Action { group, hook: TERMINATION_HOOK.into(), instance, token: None, to: Place::Ec2 };
            self.wrongs.push(Effect::Group(GroupEffect::CompleteAction { action, expected: None }));
        }
    }

    /// Cordons nodes whose drain the run begins, as if they were not needed.
    fn meddle(&mut self, now: Time, decision: &Decision) {
        let is_start = |command: &&Command| matches!(&command.effect, Effect::Kubernetes(KubernetesEffect::Cordon { mark, .. }) if matches!(mark.role, NodeRole::Draining { .. }));
        for command in decision.commands.iter().filter(is_start) {
            let Effect::Kubernetes(KubernetesEffect::Cordon { node, version, .. }) = &command.effect else {
                continue;
            };
            let expires = now + Span::from_minutes(60);
            let mark =
                Mark { owner: Owner::Run, role: NodeRole::Draining { from: now }, since: now, expires };
            let (node, version) = (node.clone(), *version);
            self.wrongs.push(Effect::Kubernetes(KubernetesEffect::Cordon { node, version, mark }));
        }
    }

    /// Deletes pods that should be evicted from interrupted instances.
    fn rescue_early(&mut self, decision: &Decision) {
        for command in decision.commands.iter().filter(|command| command.run == self.bug.run()) {
            if let Effect::Kubernetes(KubernetesEffect::Evict { pod, .. }) = &command.effect {
                self.wrongs.push(Effect::Kubernetes(KubernetesEffect::DeletePod {
                    pod: pod.clone(),
                    grace_seconds: None,
                }));
            }
        }
    }

    /// Uncordons nodes that wait for an interruption without a time, each once.
    fn uncordon_early(&mut self, decision: &Decision) {
        let waits = |waiting: &Waiting| match (&waiting.what, &waiting.on) {
            (
                Subject::Node(name),
                WaitingOn::Interruption(InterruptionWait::Interrupted { until: None, .. }),
            ) => Some(name.clone()),
            (_, _) => None,
        };
        for name in decision.waiting.iter().filter_map(waits) {
            let Some(node) = self.core.view().node(&name).cloned() else { continue };
            let is_ours = mark::of(&node).is_some_and(|found| found.run == self.bug.run());
            if is_ours && self.uncordoned.insert(name.clone()) {
                let target = NodeTarget { name, uid: node.meta.uid.clone() };
                self.wrongs.push(Effect::Kubernetes(KubernetesEffect::Uncordon {
                    node: target,
                    version: node.meta.resource_version,
                }));
            }
        }
    }

    /// Gives a node up that has just been begun and has pods to be moved.
    fn postpone_early(&mut self, now: Time) {
        let nodes = self.core.view().nodes.sorted().into_iter().map(|(_, node)| node.clone());
        for node in nodes.collect::<Vec<_>>() {
            let Some(found) = mark::of(&node).filter(|found| found.run == self.bug.run()) else { continue };
            let is_begun = matches!(found.mark.role, NodeRole::Draining { .. });
            let target = NodeTarget { name: node.name(), uid: node.meta.uid.clone() };
            if is_begun && !self.movers(&target).is_empty() && self.uncordoned.insert(node.name()) {
                let mark = Mark { role: NodeRole::Postponed { times: 1 }, since: now, ..found.mark };
                let version = node.meta.resource_version;
                self.wrongs.push(Effect::Kubernetes(KubernetesEffect::Cordon {
                    node: target,
                    version,
                    mark,
                }));
            }
        }
    }

    /// Drops the commands that uncordon nodes.
    fn keep_marks(&self, decision: &mut Decision) {
        let all = decision.commands.len();
        let lifts = |command: &Command| {
            command.run == self.bug.run()
                && matches!(command.effect, Effect::Kubernetes(KubernetesEffect::Uncordon { .. }))
        };
        decision.commands.retain(|command| !lifts(command));
        self.fired.set(self.fired.get() + all - decision.commands.len());
    }

    /// Marks old nodes without cordoning them; core is shown what it asked for ([`shown`]).
    fn leave_open(&mut self, decision: &mut Decision) {
        for command in &mut decision.commands {
            if let Effect::Kubernetes(KubernetesEffect::Cordon { mark, .. }) = &mut command.effect
                && mark.role == NodeRole::Queued
            {
                mark.role = NodeRole::Skipped;
                self.fired.set(self.fired.get() + 1);
            }
        }
    }

    /// Pods of a node that a drain would evict at once.
    fn movers(&self, node: &NodeTarget) -> Vec<Arc<Pod>> {
        let view = self.core.view();
        let moves = |pod: &&Arc<Pod>| {
            let kind = pod.meta.controller().map(|owner| &*owner.kind);
            pod.is_active() && matches!(kind, Some("ReplicaSet" | "StatefulSet"))
        };
        view.sorted_pods_on(&node.name).into_iter().filter(moves).cloned().collect()
    }

    fn instance_of(&self, node: &NodeTarget) -> Option<&Arc<Instance>> {
        self.core.view().instances().values().find(|one| one.node.as_ref() == Some(&node.name))
    }
}

impl Engine for Buggy {
    fn observe(&mut self, delta: Delta) {
        let delta = match (self.bug, delta) {
            (Bug::OpenNodes, Delta::Put(Object::Node(node))) => Delta::from(shown(&node)),
            (Bug::Heedless, Delta::Put(Object::Pod(pod))) if is_crash_looping(&pod) => {
                self.fired.set(self.fired.get() + 1);
                Delta::from(well(&pod))
            }
            (Bug::Forbearing, Delta::Put(Object::Pod(pod))) if has_restarted_twice(&pod) => {
                self.fired.set(self.fired.get() + 1);
                Delta::from(as_if_first(&pod))
            }
            (Bug::Unfeeling, Delta::Put(Object::Node(node))) if is_without_network(&node) => {
                self.fired.set(self.fired.get() + 1);
                Delta::from(with_network(&node))
            }
            (_, delta) => delta,
        };
        self.core.observe(delta);
    }

    fn stands_by(&self) -> bool {
        self.core.stands_by()
    }

    fn outcome(&mut self, outcome: Outcome) {
        let is_refused = matches!(outcome.answer, Answer::Refused(Refusal::Budget { .. }));
        if let Some(pod) = self.evictions.get(&outcome.key).filter(|_| is_refused) {
            self.wrongs.push(Effect::Kubernetes(KubernetesEffect::DeletePod {
                pod: pod.clone(),
                grace_seconds: None,
            }));
        }
        self.core.outcome(&outcome);
    }

    fn decide(&mut self, now: Time) -> Decision {
        let mut decision = self.core.decide(now);
        if matches!(decision.end, Some(End::Refused(_))) {
            decision = self.begin_all_the_same(now, decision);
        }
        if self.bug == Bug::Endless && decision.end.take().is_some() {
            self.fired.set(self.fired.get() + 1);
        }
        if self.bug == Bug::KeptMarks {
            self.keep_marks(&mut decision);
        }
        if decision.end.is_none() {
            self.go_wrong(now, &mut decision);
        }
        decision
    }

    fn intend(&mut self, intent: Intent) {
        self.core.intend(intent);
    }

    fn start_anew(&mut self) {
        self.core.start_anew();
    }
}

/// An expectation that always holds: the mark that is there, and the pods that are there.
fn whatever_is_there(view: &View, node: NodeTarget) -> Expected {
    let found = view.node(&node.name).and_then(|known| mark::of(known));
    let marked_by = found.map_or_else(|| RunId::from("nobody"), |found| found.run);
    let remaining = pods_on(view, &node.name);
    Expected::Drained { node, marked_by, remaining }
}

fn pods_on(view: &View, node: &NodeName) -> Vec<PodTarget> {
    let pods = view.sorted_pods_on(node).into_iter();
    pods.map(|pod| PodTarget { key: pod.meta.key(), uid: pod.meta.uid.clone() }).collect()
}

fn evict(pod: &Pod) -> Effect {
    let pod = PodTarget { key: pod.meta.key(), uid: pod.meta.uid.clone() };
    Effect::Kubernetes(KubernetesEffect::Evict { pod, grace_seconds: None })
}

fn is_crash_looping(pod: &Pod) -> bool {
    let mut waiting = pod.status.container_statuses.iter().filter_map(|one| one.state.waiting.as_ref());
    waiting.any(|waiting| &*waiting.reason == "CrashLoopBackOff")
}

/// The pod without its containers' waiting states.
fn well(pod: &Pod) -> Pod {
    let mut pod = pod.clone();
    for status in &mut pod.status.container_statuses {
        status.state.waiting = None;
    }
    pod
}

fn has_restarted_twice(pod: &Pod) -> bool {
    pod.status.container_statuses.iter().any(|one| one.restart_count > 1)
}

/// The pod, none of whose containers was ever started again.
fn as_if_first(pod: &Pod) -> Pod {
    let mut pod = pod.clone();
    pod.status.container_statuses.iter_mut().for_each(|one| one.restart_count = 0);
    pod
}

fn is_without_network(node: &Node) -> bool {
    condition::is_true(&node.status.conditions, "NetworkUnavailable")
}

/// The node, as if its network had been there all the time.
fn with_network(node: &Node) -> Node {
    let mut node = node.clone();
    node.status.conditions.retain(|one| &*one.r#type != "NetworkUnavailable");
    node
}

/// A node that was marked but not cordoned, shown as cordoned.
fn shown(node: &Node) -> Node {
    let mut node = node.clone();
    if node.meta.annotations.value("replank.dev/role") == Some("skipped") {
        node.meta.annotations = node.meta.annotations.with("replank.dev/role", "queued");
        node.spec.unschedulable = true;
    }
    node
}
