//! Planted bugs that the eviction API cannot stop, as a pilot around core that alters what core says or sees.
//!
//! Each does what a careless tool does. The checkers must catch each; nothing of this is in the product.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use replank_core::Core;
use replank_facts::plan::{BlockingFindings, Health, OnFailure, Singletons};
use replank_model::delta::Delta;
use replank_model::object::Object;
use replank_model::object::cloud::{GroupSize, Instance, Lifecycle, LifecycleHook, Transition};
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
use replank_protocol::policy::StuckAction;
use replank_protocol::waiting::{InterruptionWait, PodWait, RollEnd, RollWait, Subject, Waiting, WaitingOn};
use replank_sim::{ImageFault, ImageName, TERMINATION_HOOK};
use serde_json::json;

use super::{Cores, everything};
use crate::check::Promise;
use crate::clusters::{Cluster, How};

/// What is done wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Bug {
    /// A pod whose eviction was refused is deleted.
    PlainDelete,
    /// An instance is ended when its drain begins.
    EarlyEnd,
    /// A batch pod that is waited for is evicted.
    EarlyBatch,
    /// A node is drained while the instance that is to replace it still boots.
    EarlyDrain,
    /// Old nodes are not cordoned, so that pods move to nodes that will go, too.
    OpenNodes,
    /// A pod on its way out is deleted by force while its machine runs.
    EarlyForce,
    /// An instance is ended with pods that take long to stop, as if they were stuck.
    EarlyStuck,
    /// An instance is ended while load balancers may still send to it.
    EarlyTarget,
    /// A group is raised by more than the plan's surge.
    OverSurge,
    /// The size before the run is struck out once the group is raised.
    LostSize,
    /// A group is made smaller by wanting less.
    WantsLess,
    /// Another instance is ended than the one that was emptied.
    WrongInstance,
    /// Cordons are laid that have expired before they begin.
    NoExpiry,
    /// A workload is restarted once more.
    Twice,
    /// Pods in a crash loop are taken for well.
    Heedless,
    /// The way back ends as soon as it has begun.
    HalfBack,
    /// A run that is refused writes something down.
    Meddling,
    /// A plan that refuses to begin with what blocks begins with it.
    Rash,
    /// The run never says that it is over.
    Endless,
    /// It says that a group's bounds cannot be given back, and leaves its tags, though nothing is in the way.
    KeptTags,
    /// A hook lets an instance go that others take away, with pods on it.
    EarlyRelease,
    /// The action of EKS's own hook is completed.
    ForeignHook,
    /// A pod is deleted for the sake of an interruption, while there is time to move it.
    EarlyRescue,
    /// A node that may be taken away is let go of while its pods can still be moved.
    EarlyLetGo,
    /// A node that is let go of keeps its mark.
    KeptMarks,
    /// The autoscaler cordons nodes of a group that a run has in hand.
    Meddler,
    /// It evicts a batch pod for the sake of fewer nodes.
    Thrift,
    /// A managed node group is given a launch template version in its Auto Scaling group, instead of being updated by EKS.
    BehindEks,
}

impl Bug {
    /// All of them.
    pub const ALL: [Self; 28] = [
        Self::PlainDelete,
        Self::EarlyEnd,
        Self::EarlyBatch,
        Self::EarlyDrain,
        Self::OpenNodes,
        Self::EarlyForce,
        Self::EarlyStuck,
        Self::EarlyTarget,
        Self::OverSurge,
        Self::LostSize,
        Self::WantsLess,
        Self::WrongInstance,
        Self::NoExpiry,
        Self::Twice,
        Self::Heedless,
        Self::HalfBack,
        Self::Meddling,
        Self::Rash,
        Self::Endless,
        Self::KeptTags,
        Self::EarlyRelease,
        Self::ForeignHook,
        Self::EarlyRescue,
        Self::EarlyLetGo,
        Self::KeptMarks,
        Self::Meddler,
        Self::Thrift,
        Self::BehindEks,
    ];

    /// The cluster of a seed in which it has its chance.
    #[must_use]
    pub fn cluster(self, seed: u64) -> Cluster {
        let mut cluster = match self {
            Self::EarlyRelease
            | Self::ForeignHook
            | Self::EarlyRescue
            | Self::EarlyLetGo
            | Self::KeptMarks
            | Self::Meddler
            | Self::Thrift => Cluster::elastic(seed),
            Self::PlainDelete
            | Self::EarlyEnd
            | Self::EarlyBatch
            | Self::EarlyDrain
            | Self::OpenNodes
            | Self::EarlyForce
            | Self::EarlyStuck
            | Self::EarlyTarget
            | Self::OverSurge
            | Self::LostSize
            | Self::WantsLess
            | Self::WrongInstance
            | Self::NoExpiry
            | Self::Twice
            | Self::Heedless
            | Self::HalfBack
            | Self::Meddling
            | Self::Rash
            | Self::Endless
            | Self::KeptTags => Cluster::of(seed),
            Self::BehindEks => Cluster::managed(seed),
        };
        self.make_room(&mut cluster);
        cluster
    }

    /// In whose name it is done.
    fn run(self) -> RunId {
        match self {
            Self::EarlyRelease
            | Self::ForeignHook
            | Self::EarlyRescue
            | Self::EarlyLetGo
            | Self::KeptMarks => RunId::from("interruptions"),
            Self::Meddler | Self::Thrift => RunId::from("autoscaler"),
            Self::PlainDelete
            | Self::EarlyEnd
            | Self::EarlyBatch
            | Self::EarlyDrain
            | Self::OpenNodes
            | Self::EarlyForce
            | Self::EarlyStuck
            | Self::EarlyTarget
            | Self::OverSurge
            | Self::LostSize
            | Self::WantsLess
            | Self::WrongInstance
            | Self::NoExpiry
            | Self::Twice
            | Self::Heedless
            | Self::HalfBack
            | Self::Meddling
            | Self::Rash
            | Self::Endless
            | Self::KeptTags
            | Self::BehindEks => RunId::from("trial"),
        }
    }

    /// What has to be in a cluster and its plan for the bug to have its chance.
    fn make_room(self, cluster: &mut Cluster) {
        let plan = &mut cluster.plan;
        match self {
            Self::EarlyTarget => plan.care.load_balancer.exclude = true,
            Self::EarlyStuck | Self::EarlyForce => plan.care.stuck.action = StuckAction::ForceDelete,
            Self::Twice => plan.care.singletons = Singletons::Surge,
            Self::Heedless | Self::HalfBack => {
                plan.target.image = Some("ami-bad".into());
                plan.care.health = Some(Health { not_ready_max: 100, ..Health::default() });
                plan.on_failure = OnFailure::Rollback;
                cluster.troubles = vec![(ImageName::New, ImageFault::Crashes)];
            }
            Self::Meddling | Self::Rash => {
                plan.care.blocking_findings = BlockingFindings::Refuse;
                cluster.manifests.push(json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
                    "metadata": {"name": "never", "namespace": "shop"}, "spec": {"selector": {}, "maxUnavailable": 0}}));
            }
            Self::ForeignHook => {
                for group in &mut cluster.groups {
                    let timeout = Span::from_minutes(30);
                    let name = TERMINATION_HOOK.into();
                    group.hooks = vec![LifecycleHook { name, at: Transition::Terminating, timeout }];
                }
            }
            Self::EarlyLetGo | Self::KeptMarks => {
                // No group holds what is only likely to be taken away.
                cluster.groups.iter_mut().for_each(|group| group.hooks.clear());
                let strikes = cluster.elastic.iter_mut().flat_map(|elastic| &mut elastic.strikes);
                strikes.for_each(|strike| strike.how = How::Rebalance);
            }
            Self::PlainDelete
            | Self::EarlyEnd
            | Self::EarlyBatch
            | Self::EarlyDrain
            | Self::OpenNodes
            | Self::OverSurge
            | Self::LostSize
            | Self::WantsLess
            | Self::WrongInstance
            | Self::NoExpiry
            | Self::KeptTags
            | Self::EarlyRelease
            | Self::EarlyRescue
            | Self::Meddler
            | Self::Thrift
            | Self::BehindEks
            | Self::Endless => {}
        }
    }

    /// The promise that it breaks.
    #[must_use]
    pub fn breaks(self) -> Promise {
        match self {
            Self::PlainDelete | Self::EarlyRescue => Promise::S1,
            Self::EarlyBatch | Self::Thrift => Promise::S2,
            Self::NoExpiry => Promise::S3,
            Self::EarlyDrain | Self::OverSurge | Self::LostSize | Self::KeptTags | Self::Meddler => {
                Promise::S4
            }
            Self::EarlyEnd
            | Self::OpenNodes
            | Self::EarlyForce
            | Self::EarlyStuck
            | Self::EarlyTarget
            | Self::WantsLess
            | Self::EarlyRelease
            | Self::ForeignHook
            | Self::EarlyLetGo
            | Self::WrongInstance => Promise::S5,
            Self::Twice => Promise::S6,
            Self::Meddling => Promise::S7,
            Self::Rash => Promise::S9,
            Self::BehindEks => Promise::S10,
            Self::Heedless => Promise::H1,
            Self::HalfBack => Promise::H2,
            Self::Endless => Promise::L1,
            Self::KeptMarks => Promise::L4,
        }
    }
}

/// Core with a bug.
pub struct Buggy {
    core: Core,
    /// Makes cores for the same run.
    cores: Cores,
    bug: Bug,
    /// How often the bug had its chance.
    fired: Rc<Cell<usize>>,
    /// Evictions by the key of their command.
    evictions: BTreeMap<CommandKey, PodTarget>,
    /// What is to be done wrong at the next decision.
    wrongs: Vec<Effect>,
    /// Everything wrong is done once.
    done: BTreeSet<CommandKey>,
    /// Groups that were raised.
    raised: BTreeSet<GroupName>,
    /// Nodes that were let go of.
    release: BTreeSet<NodeName>,
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
            release: BTreeSet::new(),
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
            Bug::OpenNodes => self.leave_open(decision),
            Bug::EarlyForce => self.force_early(decision),
            Bug::EarlyStuck => {
                self.end_waiting(decision, |on| matches!(on, WaitingOn::Pod(PodWait::Terminating { .. })));
            }
            Bug::EarlyTarget => {
                self.end_waiting(decision, |on| {
                    matches!(on, WaitingOn::Roll(RollWait::Deregistration { .. }))
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
            Bug::EarlyLetGo => self.released_early(decision),
            Bug::Meddler => self.meddle(now, decision),
            Bug::Heedless | Bug::Meddling | Bug::Rash | Bug::Endless | Bug::KeptMarks => {}
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

    /// What is made of a run that is not to begin.
    fn begin_all_the_same(&mut self, now: Time, refused: Decision) -> Decision {
        if self.bug == Bug::Rash {
            self.fired.set(self.fired.get() + 1);
            let mut rash = self.cores.with(|plan| plan.care.blocking_findings = BlockingFindings::Proceed);
            everything(self.core.view()).into_iter().for_each(|delta| rash.observe(delta));
            self.core = rash;
            self.core.decide(now)
        } else if self.bug == Bug::Meddling && self.fired.get() == 0 {
            let group = self.core.view().groups().keys().next().expect("a group").clone();
            let (key, value) = (mark::ORIGINAL_SIZE.into(), "1/1/1".into());
            self.wrongs.push(Effect::Group(GroupEffect::Tag { group, key, from: None, value }));
            let wake_at = Some(now + Span::from_secs(1));
            Decision { end: None, wake_at, ..refused }
        } else {
            refused
        }
    }

    /// What core wants, done wrongly.
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
                    command.effect = Effect::Group(GroupEffect::SetTemplate { group, from, to });
                    true
                }
                (Bug::WantsLess, Effect::Group(GroupEffect::Terminate { group, .. })) => {
                    if let Some(size) = view.groups().get(group).map(|group| group.size) {
                        let to = GroupSize { desired: size.desired.saturating_sub(1), ..size };
                        command.effect =
                            Effect::Group(GroupEffect::Resize { group: group.clone(), from: size, to });
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

    /// Workloads that were restarted, once more when that is seen.
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

    /// The instance of a node whose drain has just begun, and on which there are pods.
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

    /// Pods on their way out, as if their machines were off.
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

    /// Instances of nodes that wait for something.
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

    /// Once a group was raised, nothing is waited for any more.
    fn drain_early(&mut self, decision: &Decision) {
        for command in &decision.commands {
            let Effect::Group(GroupEffect::Resize { group, from, to }) = &command.effect else { continue };
            if to.desired > from.desired && self.raised.insert(group.clone()) {
                let instances = self.core.view().instances().values();
                let nodes = instances.filter(|one| one.group == *group).filter_map(|one| {
                    let node = self.core.view().node(one.node.as_ref()?)?;
                    Some(NodeTarget { name: node.name(), uid: node.meta.uid.clone() })
                });
                let busy = nodes.map(|node| self.movers(&node)).find(|pods| !pods.is_empty());
                self.wrongs.extend(busy.into_iter().flatten().map(|pod| evict(&pod)));
            }
        }
    }

    /// The end in place of the first tag that is taken off.
    fn keep_tags(&self, decision: &mut Decision) {
        let is_last = |command: &Command| matches!(&command.effect, Effect::Group(GroupEffect::Untag { key, .. }) if **key == *mark::ORIGINAL_SIZE);
        if !decision.commands.iter().any(is_last) {
            return;
        }
        self.fired.set(self.fired.get() + 1);
        decision.commands.clear();
        for (name, group) in self.core.view().groups() {
            let on = WaitingOn::RollEnd(RollEnd::Bounds { size: group.size, original: group.size });
            decision.waiting.push(Waiting { what: Subject::Bounds(name.clone()), on });
        }
        decision.end = Some(End::Done);
    }

    /// Instances that hooks hold, and on which there are pods.
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

    /// Instances that EKS's hook holds.
    fn release_foreign(&mut self) {
        let held = self.core.view().instances().values();
        for one in held.filter(|one| one.lifecycle == Lifecycle::TerminatingWait) {
            let (group, instance) = (one.group.clone(), one.id.clone());
            let action =
                Action { group, hook: TERMINATION_HOOK.into(), instance, token: None, to: Place::Ec2 };
            self.wrongs.push(Effect::Group(GroupEffect::CompleteAction { action, expected: None }));
        }
    }

    /// Nodes whose drain the run begins, as if nobody needed them.
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

    /// Pods that are to be moved off instances that others take away.
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

    /// Nodes that may be taken away, each once.
    fn released_early(&mut self, decision: &Decision) {
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
            if is_ours && self.release.insert(name.clone()) {
                let target = NodeTarget { name, uid: node.meta.uid.clone() };
                self.wrongs.push(Effect::Kubernetes(KubernetesEffect::Uncordon {
                    node: target,
                    version: node.meta.resource_version,
                }));
            }
        }
    }

    /// Leaves out what lets nodes go.
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

    /// Pods of a node that a drain would move at once.
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

/// What a decision expects that has not looked: the mark that is there, and whatever pods there are.
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

/// A pod whose containers run, as far as can be seen.
fn well(pod: &Pod) -> Pod {
    let mut pod = pod.clone();
    for status in &mut pod.status.container_statuses {
        status.state.waiting = None;
    }
    pod
}

/// A node that was marked and left open, as if it had been cordoned.
fn shown(node: &Node) -> Node {
    let mut node = node.clone();
    if node.meta.annotations.value("replank.dev/role") == Some("skipped") {
        node.meta.annotations = node.meta.annotations.with("replank.dev/role", "queued");
        node.spec.unschedulable = true;
    }
    node
}
