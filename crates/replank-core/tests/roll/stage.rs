//! A small cluster for tests of decisions: it does what it is told, makes pods anew, and shows core everything late.
//!
//! It is not a simulation: controllers act once a second, everything takes a fixed time. What it shares with the real thing is
//! the rules that decisions must respect: preconditions of commands, budgets at the eviction API, groups that launch in the
//! emptiest zone.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use replank_core::scale::Autoscaler;
use replank_core::{Core, Preflight, nodes_to_replace};
use replank_facts::groups::{GroupBy, assumed_target, from_nodes};
use replank_facts::plan::RunOptions;
use replank_facts::plan::{Plan, Retained};
use replank_model::delta::Delta;
use replank_model::object::cloud::{
    GroupSize, HealthStatus, Instance, InstanceState, LaunchTemplate, Lifecycle, Market, NodeGroup,
};
use replank_model::object::cluster::Other;
use replank_model::object::condition::{Condition, ConditionStatus};
use replank_model::object::meta::Key;
use replank_model::object::node::Node;
use replank_model::object::pod::{ContainerStatus, ContainerTerminated, Pod, PodPhase};
use replank_model::object::policy::PodDisruptionBudget;
use replank_model::object::workload::{DaemonSet, ReplicaSet};
use replank_model::object::{Kind, Object};
use replank_model::text::{GroupName, InstanceId, NodeName, Text, Uid, Zone};
use replank_model::time::{Span, Time};
use replank_model::view::View;
use replank_protocol::command::{
    Answer, Command, CommandKey, Effect, GroupEffect, KubernetesEffect, NodeRole, Outcome, QueueEffect,
    Refusal, Replacement,
};
use replank_protocol::decision::{Decision, End};
use replank_protocol::mark;
use replank_protocol::waiting::{Subject, Waiting, WaitingOn};
use replank_schedule::Scheduler;
use serde_json::{Value, json};

/// From launch to registration, and to Ready.
const BOOT: Span = Span::from_secs(40);
const NODE_READY: Span = Span::from_secs(10);
/// From binding to readiness.
const POD_READY: Span = Span::from_secs(5);
/// From the order to end an instance until its node is gone.
const SHUT_DOWN: Span = Span::from_secs(20);

/// No preflight findings: the rules are those of `replank-advice`, and are tried there and in `scenarios`.
pub(crate) fn nothing_blocks(_: &View, _: &Plan, _: &RunOptions) -> Vec<Waiting> {
    Vec::new()
}

pub(crate) fn start() -> Time {
    "2026-01-01T00:00:00Z".parse().expect("a time")
}

pub(crate) fn object(value: Value) -> Object {
    Object::from_json(value).expect("a valid object")
}

pub(crate) fn node(name: &str, group: &str, zone: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "uid": name, "resourceVersion": "1", "creationTimestamp": "2025-06-01T00:00:00Z",
            "labels": {"eks.amazonaws.com/nodegroup": group, "topology.kubernetes.io/zone": zone, "kubernetes.io/hostname": name}},
        "spec": {"providerID": format!("aws:///{zone}/i-{name}")},
        "status": {"allocatable": {"cpu": "4", "memory": "16Gi", "pods": "20"}, "nodeInfo": {"kubeletVersion": "v1.34.2"},
            "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2025-06-01T00:01:00Z"}]}})
}

pub(crate) fn replica_set(name: &str, replicas: i32, cpu: &str) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": name, "namespace": "shop", "uid": name},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": {
            "metadata": {"labels": {"app": name}},
            "spec": {"terminationGracePeriodSeconds": 10, "containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]}}}})
}

/// A running pod of an owner; `extra` is laid over it.
pub(crate) fn pod(
    name: &str,
    node: &str,
    (api_version, kind, owner): (&str, &str, &str),
    extra: Value,
) -> Value {
    let mut pod = json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "shop", "uid": name, "creationTimestamp": "2025-12-01T00:00:00Z",
            "labels": {"app": owner},
            "ownerReferences": [{"apiVersion": api_version, "kind": kind, "name": owner, "uid": owner, "controller": true}]},
        "spec": {"nodeName": node, "terminationGracePeriodSeconds": 10,
            "containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]},
        "status": {"phase": "Running", "startTime": "2025-12-01T00:00:00Z", "conditions": [{"type": "Ready", "status": "True"}]}});
    merge(&mut pod, extra);
    pod
}

pub(crate) fn web(name: &str, node: &str, set: &str) -> Value {
    pod(name, node, ("apps/v1", "ReplicaSet", set), json!({}))
}

pub(crate) fn job_pod(name: &str, node: &str) -> Value {
    pod(name, node, ("batch/v1", "Job", "crunch"), json!({"spec": {"restartPolicy": "Never"}}))
}

pub(crate) fn budget(name: &str, app: &str, min_available: i32) -> Value {
    json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": "shop", "uid": name, "generation": 1},
        "spec": {"minAvailable": min_available, "selector": {"matchLabels": {"app": app}}}})
}

pub(crate) fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                merge(into.entry(key).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from,
    }
}

/// A plan for some groups, `spec` laid over `{groups}`.
pub(crate) fn plan(groups: &[&str], spec: Value) -> Plan {
    // One node at a time, unless a test wants more.
    let mut all = json!({"groups": groups, "budget": {"surge": 1}});
    merge(&mut all, spec);
    let plan = json!({"apiVersion": "replank.dev/v1alpha1", "kind": "NodeRoll", "metadata": {"name": "p"}, "spec": all});
    Plan::read(&plan).expect("a valid plan")
}

/// How late core sees things: seconds by kind, from 0.
pub(crate) type Lag = fn(Kind) -> i64;

pub(crate) struct Stage {
    pub(crate) truth: View,
    pub(crate) core: Core,
    pub(crate) now: Time,
    pub(crate) last: Decision,
    /// Every command that was carried out, and its outcome.
    pub(crate) done: Vec<(Time, Command, Result<(), Refusal>)>,
    /// Everything that ever waited, by kind of reason.
    pub(crate) seen: BTreeMap<&'static str, (Subject, WaitingOn)>,
    pub(crate) plan: Arc<Plan>,
    pub(crate) options: RunOptions,
    /// Evictions of these pods are refused by something other than a budget.
    pub(crate) stubborn: BTreeSet<Key>,
    /// Groups that launch nothing.
    pub(crate) barren: BTreeSet<GroupName>,
    /// Nodes that do not become Ready, and on which no pod ends.
    pub(crate) broken_nodes: BTreeSet<NodeName>,
    /// DaemonSet pods on new nodes do not become ready.
    pub(crate) broken_daemons: bool,
    /// How long a new node keeps the taint of one that is not Ready when it is Ready.
    pub(crate) taint_lag: Span,
    /// Which of several emptiest zones is taken: the last in order of name, else the first.
    pub(crate) prefers_last_zone: bool,
    /// Commands are lost of which the key begins so, and nobody knows it.
    pub(crate) loses: Option<&'static str>,
    /// Nobody may protect an instance from scale-in.
    pub(crate) refuses_protection: bool,
    /// Nobody may change a ConfigMap.
    pub(crate) refuses_replace: bool,
    /// Pods of Jobs and when they end.
    pub(crate) jobs: Vec<(String, Time)>,
    /// Size of the group `web` before the run.
    pub(crate) original: GroupSize,
    /// Nodes that all groups of the plan wanted together before the run, the one that nodes move into among them.
    wanted_before: u32,
    /// Somebody replaces nodes that are marked as drained, so long after that.
    pub(crate) replaces_after: Option<Span>,
    /// What they bring instead of a node of the group's template, if something else.
    pub(crate) brings: Option<&'static str>,
    /// Sizes of all groups before the run.
    pub(crate) sizes: BTreeMap<GroupName, GroupSize>,
    /// Nodes of each zone before the run.
    zones: BTreeMap<Zone, usize>,
    /// Drops core's caches before decisions for which this says so.
    pub(crate) drops: Box<dyn FnMut(Time) -> bool>,
    lag: Lag,
    queues: BTreeMap<Option<Kind>, VecDeque<(Time, Delta)>>,
    answers: Vec<(Time, Outcome)>,
    version: u64,
    names: u64,
    keeps_record: bool,
    preflight: Preflight,
}

impl Stage {
    pub(crate) fn new(plan: Plan, objects: Vec<Value>) -> Self {
        let mut truth: View = objects.into_iter().map(|value| Delta::Put(object(value))).collect();
        let mut learnt = from_nodes(&truth, &GroupBy::default());
        let options = RunOptions { started: start(), group_by: GroupBy::default() };
        let moving = nodes_to_replace(&truth, &plan, &options).len();
        learnt.extend(assumed_target(&learnt, &plan, moving, &options.group_by));
        for learnt in learnt {
            truth.apply(Delta::Group(learnt.group.into()));
            for instance in learnt.instances {
                truth.apply(Delta::Instance(instance.into()));
            }
        }
        let original = truth.groups().get("web").map(|group| group.size).unwrap_or_default();
        let mut zones = BTreeMap::new();
        for (_, node) in truth.nodes.sorted() {
            *zones.entry(replank_facts::groups::zone_of(node)).or_default() += 1;
        }
        let sizes: BTreeMap<GroupName, GroupSize> =
            truth.groups().iter().map(|(name, group)| (name.clone(), group.size)).collect();
        let landing = plan.target.group.clone();
        let is_counted = |name: &GroupName| name.as_str() == "web" || landing.is_some();
        let wanted_before =
            sizes.iter().filter(|(name, _)| is_counted(name)).map(|(_, size)| size.desired).sum();
        let plan = Arc::new(plan);
        let core = Core::new(plan.clone(), "run".into(), options.clone(), nothing_blocks);
        let mut stage = Self {
            truth,
            core,
            now: start(),
            last: Decision::default(),
            done: Vec::new(),
            seen: BTreeMap::new(),
            plan,
            options,
            stubborn: BTreeSet::new(),
            barren: BTreeSet::new(),
            broken_nodes: BTreeSet::new(),
            broken_daemons: false,
            taint_lag: Span::ZERO,
            prefers_last_zone: false,
            loses: None,
            refuses_protection: false,
            refuses_replace: false,
            jobs: Vec::new(),
            original,
            replaces_after: None,
            brings: None,
            wanted_before,
            sizes,
            zones,
            drops: Box::new(|_| false),
            lag: |_| 0,
            queues: BTreeMap::new(),
            answers: Vec::new(),
            version: 1000,
            names: 0,
            keeps_record: false,
            preflight: nothing_blocks,
        };
        stage.count_budgets();
        stage.queues.clear();
        stage.show_all();
        stage
    }

    pub(crate) fn with_lag(mut self, lag: Lag) -> Self {
        self.lag = lag;
        self
    }

    /// Whether core is told of something: of nodes that somebody else replaces no cloud tells it.
    fn is_shown(&self, delta: &Delta) -> bool {
        let is_of_cloud = matches!(delta, Delta::Group(_) | Delta::Instance(_) | Delta::InstanceGone(_));
        self.plan.external().is_none() || !is_of_cloud
    }

    fn show_all(&mut self) {
        for delta in
            everything(&self.truth).into_iter().filter(|delta| self.is_shown(delta)).collect::<Vec<_>>()
        {
            self.core.observe(delta);
        }
    }

    /// Replaces core by one that knows nothing but what there is.
    pub(crate) fn restart(&mut self) {
        self.core = self.core("run");
        self.queues.clear();
        self.answers.clear();
        self.show_all();
    }

    /// With a run that keeps a record.
    pub(crate) fn with_record(mut self) -> Self {
        self.keeps_record = true;
        self.restart();
        self
    }

    /// With a preflight that may find something.
    pub(crate) fn with_preflight(mut self, preflight: Preflight) -> Self {
        self.preflight = preflight;
        self.restart();
        self
    }

    fn core(&self, run: &str) -> Core {
        let core = Core::new(self.plan.clone(), run.into(), self.options.clone(), self.preflight);
        if self.keeps_record { core.with_record() } else { core }
    }

    /// With an autoscaler beside the run.
    pub(crate) fn with_autoscaler(mut self) -> Self {
        self.core = self.core("run").with_autoscaler(Autoscaler::default());
        self.show_all();
        self
    }

    /// Replaces core by one that is made of objects alone; whether there was a record to make it of.
    pub(crate) fn resume(&mut self) -> bool {
        let resumed = Core::resume(&self.truth, None, self.preflight).expect("it can be read");
        let Some(core) = resumed else { return false };
        self.core = core;
        self.queues.clear();
        self.answers.clear();
        self.show_all();
        true
    }

    /// Begins the plan anew under another name, as things are.
    pub(crate) fn run_again(&mut self, run: &str) {
        self.options.started = self.now;
        self.core = self.core(run);
        self.sizes = self.truth.groups().iter().map(|(name, group)| (name.clone(), group.size)).collect();
        self.queues.clear();
        self.answers.clear();
        self.show_all();
    }

    /// Changes the truth, and lets core know in due time.
    pub(crate) fn put(&mut self, object: impl Into<Object>) {
        self.version += 1;
        let version = replank_model::object::meta::ResourceVersion(self.version);
        let object = object.into().map_meta(|meta| meta.resource_version = version);
        self.change(Delta::Put(object));
    }

    pub(crate) fn remove(&mut self, object: impl Into<Object>) {
        self.change(Delta::Gone(object.into().reference()));
    }

    pub(crate) fn change(&mut self, delta: Delta) {
        self.truth.apply(delta.clone());
        let kind = match &delta {
            Delta::Put(object) => Some(object.kind()),
            Delta::Gone(gone) => Some(gone.kind),
            Delta::Unread(unread) => Some(unread.object.kind),
            Delta::Group(_)
            | Delta::GroupGone(_)
            | Delta::Instance(_)
            | Delta::InstanceGone(_)
            | Delta::Message(_)
            | Delta::MessageGone(_) => None,
        };
        let lag = Span::from_secs((self.lag)(kind.unwrap_or(Kind::Other)));
        if self.is_shown(&delta) {
            self.queues.entry(kind).or_default().push_back((self.now + lag, delta));
        }
    }

    /// One second: controllers act, core sees what is due and decides, its commands are carried out.
    pub(crate) fn tick(&mut self) -> Option<End> {
        self.live();
        self.deliver();
        if (self.drops)(self.now) {
            self.core.drop_caches();
        }
        self.last = self.core.decide(self.now);
        self.note_waits();
        for command in self.last.commands.clone() {
            if self.loses.is_some_and(|lost| command.key.0.starts_with(lost)) {
                let answer = Answer::Unknown { message: "no answer came".into() };
                let at = self.now + Span::from_secs(15);
                self.answers.push((at, Outcome { key: command.key.clone(), at, answer }));
                self.done.push((self.now, command, Err(failed("lost"))));
                continue;
            }
            let result =
                if self.now > command.deadline { Err(failed("too late")) } else { self.execute(&command) };
            let answer = Outcome {
                key: command.key.clone(),
                at: self.now + Span::from_secs(1),
                answer: result.clone().into(),
            };
            self.answers.push((self.now + Span::from_secs(1), answer));
            self.done.push((self.now, command, result));
        }
        self.check();
        self.now += Span::from_secs(1);
        self.last.end.clone()
    }

    fn note_waits(&mut self) {
        let mut subjects = BTreeSet::new();
        for waiting in &self.last.waiting {
            assert!(
                subjects.insert(waiting.what.clone()),
                "one entry for each thing that waits: {waiting:?}"
            );
            assert!(!waiting.on.to_string().is_empty());
            self.seen.insert(waiting.on.kind(), (waiting.what.clone(), waiting.on.clone()));
        }
        assert!(self.last.waiting.iter().is_sorted_by(|a, b| a.what < b.what), "sorted");
    }

    /// Runs until the end, at most for `limit`.
    pub(crate) fn run(&mut self, limit: Span) -> End {
        let until = self.now + limit;
        while self.now < until {
            if let Some(end) = self.tick() {
                return end;
            }
        }
        panic!("no end after {limit}: {:#?}\n{}", self.last, self.story());
    }

    pub(crate) fn run_until(&mut self, what: &str, limit: Span, holds: impl Fn(&Self) -> bool) {
        let until = self.now + limit;
        while self.now < until {
            if holds(self) {
                return;
            }
            assert_eq!(self.tick(), None, "ended before {what}\n{}", self.story());
        }
        panic!("not {what} after {limit}: {:#?}\n{}", self.last, self.story());
    }

    /// What was done, a line each.
    pub(crate) fn story(&self) -> String {
        let line = |(at, command, result): &(Time, Command, Result<(), Refusal>)| {
            let result = result.as_ref().map_or_else(ToString::to_string, |()| String::new());
            format!("{} {} {result}\n", (*at - start()), command.key)
        };
        self.done.iter().map(line).collect()
    }

    /// When a command of which the key contains `part` was first carried out.
    pub(crate) fn when(&self, part: &str) -> Option<Time> {
        let found =
            self.done.iter().find(|(_, command, result)| command.key.0.contains(part) && result.is_ok());
        found.map(|(at, _, _)| *at)
    }

    pub(crate) fn keys_done(&self) -> Vec<CommandKey> {
        let done = self.done.iter().filter(|(_, _, result)| result.is_ok());
        done.map(|(_, command, _)| command.key.clone()).collect()
    }

    fn deliver(&mut self) {
        let now = self.now;
        let mut due = Vec::new();
        for queue in self.queues.values_mut() {
            while queue.front().is_some_and(|(at, _)| *at <= now) {
                due.extend(queue.pop_front().map(|(_, delta)| delta));
            }
        }
        for delta in due {
            self.core.observe(delta);
        }
        let (due, later): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.answers).into_iter().partition(|(at, _)| *at <= now);
        self.answers = later;
        for (_, outcome) in due {
            self.core.outcome(&outcome);
        }
    }

    // The cluster.

    fn live(&mut self) {
        self.end_jobs();
        self.end_pods();
        self.person();
        self.instances();
        self.launch();
        self.daemons();
        self.replicas();
        self.schedule();
        self.ready_pods();
        self.count_budgets();
    }

    /// What a group launches from now on is what somebody else brings.
    pub(crate) fn renew(&mut self, group: &GroupName) {
        let kubelet = self.brings.unwrap_or("v1.36.0");
        self.group(group, |group| {
            let current = group.current.clone();
            if let Some(template) = group.templates.get_mut(&current) {
                template.profile.kubelet_version = kubelet.into();
            }
        });
    }

    /// Replaces what is drained: the machine goes, and the group launches another.
    fn person(&mut self) {
        let Some(after) = self.replaces_after else { return };
        for node in self.nodes() {
            let is_due = mark::of(&node).is_some_and(|found| {
                found.mark.role == NodeRole::Drained && found.mark.since + after <= self.now
            });
            let instance =
                self.truth.instances().values().find(|one| one.node.as_ref() == Some(&node.name()));
            if let Some(instance) = instance.filter(|one| is_due && one.state.is_alive()).cloned() {
                self.renew(&instance.group);
                let stopping = Instance {
                    state: InstanceState::ShuttingDown,
                    launched: Some(self.now),
                    ..Instance::clone(&instance)
                };
                self.change(Delta::Instance(stopping.into()));
            }
        }
    }

    /// Nodes that are kept beside those that took their places, or were until now.
    fn retained(&self) -> u32 {
        if self.plan.care.retain.capacity != Retained::Cordoned {
            return 0;
        }
        self.original.desired
    }

    fn pods(&self) -> Vec<Arc<Pod>> {
        self.truth.pods.sorted().into_iter().map(|(_, pod)| pod.clone()).collect()
    }

    fn end_jobs(&mut self) {
        for (name, at) in self.jobs.clone() {
            let job = self.truth.find::<Pod>(&Key::new("shop", name.as_str())).cloned();
            if let Some(job) = job.filter(|job| at <= self.now && job.is_active()) {
                let mut job = Pod::clone(&job);
                job.status.phase = PodPhase::Succeeded;
                let mut status = ContainerStatus::default();
                status.state.terminated =
                    Some(ContainerTerminated { finished_at: Some(self.now), ..Default::default() });
                job.status.container_statuses = vec![status].into();
                self.put(job);
            }
        }
    }

    /// What must hold after every second (promise S4): the group within its bounds, these within what the plan allows, and as
    /// many Ready nodes as the plan keeps.
    fn check(&self) {
        let Some(group) = self.truth.groups().get("web") else { return };
        let landing = self.plan.target.group.as_ref();
        let into = landing.and_then(|name| self.sizes.get(name)).map_or(0, |size| size.desired);
        let wanted = if landing.is_some() { self.wanted_before - into } else { self.original.desired };
        let allowance = self.plan.budget.allowance(wanted, group.zones.len());
        assert!(group.size.desired <= group.size.max, "{}", self.story());
        let surge = if landing.is_some() { 0 } else { allowance.surge };
        let kept = self.retained();
        assert!(group.size.max <= self.original.max + surge + kept, "{}", self.story());
        if let Some(name) = landing {
            self.check_landing(name, allowance.surge);
        }
        let nodes = self.nodes();
        let ending = |node: &Node| {
            let instance = self.truth.instances().values().find(|i| i.node.as_ref() == Some(&node.name()));
            instance.map_or(self.plan.external().is_none(), |instance| !instance.state.is_alive())
        };
        let ready: Vec<&Arc<Node>> = nodes.iter().filter(|node| node.is_ready() && !ending(node)).collect();
        let broken = u32::try_from(self.broken_nodes.len()).expect("few");
        let needed = self.wanted_before.saturating_sub(allowance.max_unavailable + broken);
        assert!(ready.len() >= needed as usize, "{} Ready nodes of {needed}\n{}", ready.len(), self.story());
        for (zone, before) in &self.zones {
            let left = ready.iter().filter(|node| node.zone() == Some(zone.text())).count();
            let needed = (*before).min(self.plan.budget.min_ready_per_zone as usize);
            assert!(left >= needed, "{left} Ready nodes in zone {zone}\n{}", self.story());
        }
    }

    /// No group is raised before its size is written down, and those of the groups that it takes the nodes of.
    fn check_written(&self, raised: &GroupName) {
        let is_concerned = |name: &GroupName| name == raised || self.plan.target.group.is_some();
        for group in self.truth.groups().values().filter(|group| is_concerned(&group.name)) {
            assert!(group.tags.contains_key(mark::ORIGINAL_SIZE), "{}\n{}", group.name, self.story());
        }
    }

    /// The group that others move into: raised by no more than has moved and the surge; what all want together stays within
    /// the surge.
    fn check_landing(&self, name: &GroupName, surge: u32) {
        let Some(group) = self.truth.groups().get(name) else { return };
        let before = self.sizes[name];
        let all = self.truth.groups().values();
        let wanted: u32 = all.clone().map(|group| group.size.desired).sum();
        let left: u32 = all.filter(|group| group.name != *name).map(|group| group.size.desired).sum();
        let moved = (self.wanted_before - before.desired).saturating_sub(left);
        assert!(wanted <= self.wanted_before + surge, "{wanted} wanted\n{}", self.story());
        assert!(group.size.desired <= group.size.max, "{}", self.story());
        let max = before.max.max(before.desired + moved + surge);
        assert!(group.size.max <= max, "{} with {moved} moved\n{}", group.size, self.story());
    }

    fn end_pods(&mut self) {
        for pod in self.pods() {
            let is_due = pod.meta.deletion_timestamp.is_some_and(|due| due <= self.now);
            // A kubelet that says nothing ends nothing.
            let is_ended = !pod.node.as_ref().is_some_and(|node| self.broken_nodes.contains(node));
            if is_due && is_ended && pod.meta.finalizers.is_empty() {
                self.remove(pod);
            }
        }
    }

    fn replicas(&mut self) {
        let sets: Vec<Arc<ReplicaSet>> =
            self.truth.replica_sets.sorted().into_iter().map(|(_, set)| set.clone()).collect();
        for set in sets {
            let active = self
                .truth
                .pods_of(&set.meta.uid)
                .iter()
                .filter(|ix| self.truth.pods[**ix].is_active())
                .count();
            for _ in active..usize::try_from(set.spec.replicas.unwrap_or(1)).expect("not negative") {
                self.names += 1;
                let name = format!("{}-{}", set.meta.name, self.names);
                let value = json!({"apiVersion": "v1", "kind": "Pod",
                    "metadata": {"name": name, "namespace": "shop", "uid": name, "creationTimestamp": self.now.to_string(),
                        "labels": {"app": set.meta.name.as_str()},
                        "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": set.meta.name.as_str(),
                            "uid": set.meta.uid.as_str(), "controller": true}]},
                    "spec": serde_json::to_value(&*set.spec.template.spec).expect("a spec"),
                    "status": {"phase": "Pending"}});
                self.put(object(value));
            }
        }
    }

    fn daemons(&mut self) {
        let sets: Vec<Arc<DaemonSet>> =
            self.truth.daemon_sets.sorted().into_iter().map(|(_, set)| set.clone()).collect();
        for set in sets {
            for node in self.nodes() {
                let name = format!("{}-{}", set.meta.name, node.meta.name);
                if self.truth.pods.find(&Key::new("shop", name.as_str())).is_some() {
                    continue;
                }
                let owner = ("apps/v1", "DaemonSet", set.meta.name.as_str());
                let extra = json!({"metadata": {"creationTimestamp": self.now.to_string()},
                    "spec": {"containers": [{"name": "c"}], "tolerations": [{"operator": "Exists"}]},
                    "status": {"phase": "Pending", "conditions": null}});
                self.put(object(pod(&name, node.meta.name.as_str(), owner, extra)));
            }
        }
    }

    fn nodes(&self) -> Vec<Arc<Node>> {
        self.truth.nodes.sorted().into_iter().map(|(_, node)| node.clone()).collect()
    }

    fn schedule(&mut self) {
        for pod in self.pods() {
            if pod.node.is_some() || !pod.is_active() {
                continue;
            }
            let mut scheduler = Scheduler::load(&self.truth);
            let mut pod = Pod::clone(&pod);
            match scheduler.place(&self.truth, &Arc::new(pod.clone()), 0) {
                Ok(placed) => {
                    pod.node = Some(placed.node);
                    pod.status.conditions = vec![condition("PodScheduled", true, self.now)].into();
                    self.put(pod);
                }
                Err(_) if pod.status.conditions.is_empty() => {
                    pod.status.conditions = vec![condition("PodScheduled", false, self.now)].into();
                    self.put(pod);
                }
                Err(_) => {}
            }
        }
    }

    fn ready_pods(&mut self) {
        for pod in self.pods() {
            let since = pod.meta.creation_timestamp.unwrap_or(self.now);
            let is_daemon = pod.meta.controller().is_some_and(|owner| &*owner.kind == "DaemonSet");
            let is_late = since > start() && is_daemon && self.broken_daemons;
            if pod.node.is_some()
                && pod.status.phase == PodPhase::Pending
                && since + POD_READY <= self.now
                && !is_late
            {
                let mut pod = Pod::clone(&pod);
                pod.status.phase = PodPhase::Running;
                pod.status.start_time = Some(self.now);
                pod.status.conditions = vec![condition("Ready", true, self.now)].into();
                self.put(pod);
            }
        }
    }

    fn count_budgets(&mut self) {
        let budgets: Vec<_> = self
            .truth
            .pod_disruption_budgets
            .sorted()
            .into_iter()
            .map(|(ix, budget)| (ix, budget.clone()))
            .collect();
        for (ix, budget) in budgets {
            let mut budget = PodDisruptionBudget::clone(&budget);
            let before = budget.status.clone();
            let pods: Vec<&Arc<Pod>> = self.truth.pods_of_budget(ix).map(|ix| &self.truth.pods[ix]).collect();
            let names: BTreeSet<&str> =
                pods.iter().filter(|pod| !pod.is_terminating()).map(|pod| pod.meta.name.as_str()).collect();
            budget.status.disrupted_pods.retain(|name, _| names.contains(&**name));
            let healthy = pods.iter().filter(|pod| {
                pod.is_ready()
                    && !pod.is_terminating()
                    && !budget.status.disrupted_pods.contains_key(pod.meta.name.as_str())
            });
            let healthy = i32::try_from(healthy.count()).expect("few");
            let desired = match &budget.spec.min_available {
                Some(replank_model::int_or_string::IntOrString::Int(desired)) => *desired,
                other => panic!("budgets here have a number: {other:?}"),
            };
            budget.status.current_healthy = healthy;
            budget.status.desired_healthy = desired;
            budget.status.expected_pods = i32::try_from(pods.len()).expect("few");
            budget.status.disruptions_allowed = (healthy - desired).max(0);
            budget.status.observed_generation = budget.meta.generation;
            if budget.status != before {
                self.put(budget);
            }
        }
    }

    fn of_group(&self, group: &GroupName) -> Vec<Arc<Instance>> {
        let all = self.truth.instances().values();
        all.filter(|instance| instance.group == *group && instance.state.is_alive()).cloned().collect()
    }

    fn launch(&mut self) {
        let groups: Vec<Arc<NodeGroup>> = self.truth.groups().values().cloned().collect();
        for group in groups {
            let alive = self.of_group(&group.name);
            assert!(
                alive.len() <= group.size.desired as usize,
                "a group shrinks by the termination of an instance only"
            );
            if self.barren.contains(&group.name) {
                continue;
            }
            let mut zones: BTreeMap<Zone, usize> = group.zones.iter().map(|zone| (zone.clone(), 0)).collect();
            for instance in &alive {
                *zones.entry(instance.zone.clone()).or_default() += 1;
            }
            for _ in alive.len()..group.size.desired as usize {
                let fewest = zones.values().copied().min().unwrap_or(0);
                let mut emptiest = zones.iter_mut().filter(|(_, count)| **count == fewest);
                let found = if self.prefers_last_zone { emptiest.next_back() } else { emptiest.next() };
                let (zone, count) = found.expect("a group has a zone");
                *count += 1;
                let zone = zone.clone();
                self.names += 1;
                let instance = Instance {
                    id: InstanceId::from(format!("i-new-{:03}", self.names)),
                    group: group.name.clone(),
                    zone,
                    state: InstanceState::Pending,
                    template: group.current.clone(),
                    launched: Some(self.now),
                    node: None,
                    lifecycle: Lifecycle::InService,
                    market: Market::OnDemand,
                    is_protected: false,
                    health: HealthStatus::Healthy,
                    targets: Vec::new(),
                };
                self.change(Delta::Instance(instance.into()));
            }
        }
    }

    fn instances(&mut self) {
        let all: Vec<Arc<Instance>> = self.truth.instances().values().cloned().collect();
        for instance in all {
            let age = self.now - instance.launched.unwrap_or(start());
            match instance.state {
                InstanceState::Pending if age >= BOOT => self.register(&instance),
                InstanceState::Running => self.ready_node(&instance),
                InstanceState::ShuttingDown if age >= SHUT_DOWN => self.shut_down(&instance),
                InstanceState::Pending | InstanceState::ShuttingDown | InstanceState::Terminated => {}
            }
        }
    }

    fn register(&mut self, instance: &Instance) {
        let group = self.truth.groups()[&instance.group].clone();
        let profile = &group.templates[&instance.template].profile;
        let name =
            NodeName::from(format!("{}-{}", instance.group, instance.id.as_str().trim_start_matches("i-")));
        let mut node = profile.node(&name, &instance.zone, &profile.shapes[0]);
        node.meta.uid = Uid::new(name.text().clone());
        node.meta.creation_timestamp = Some(self.now);
        node.spec.provider_id = Text::from(format!("aws:///{}/{}", instance.zone, instance.id));
        node.status.conditions = vec![condition("Ready", false, self.now)].into();
        node.spec.unschedulable = false;
        node.spec.taints.push(replank_model::object::affinity::Taint::new(
            "node.kubernetes.io/not-ready",
            replank_model::object::affinity::TaintEffect::NoSchedule,
        ));
        self.put(node);
        let running = Instance { state: InstanceState::Running, node: Some(name), ..instance.clone() };
        self.change(Delta::Instance(running.into()));
    }

    fn ready_node(&mut self, instance: &Instance) {
        let node = instance.node.as_ref().and_then(|name| self.truth.node(name)).cloned();
        let lags = self.taint_lag > Span::ZERO;
        let is_waiting = |node: &Arc<Node>| {
            let is_done = node.is_ready() && (!lags || node.spec.taints.is_empty());
            !is_done && !self.broken_nodes.contains(&node.name())
        };
        let Some(node) = node.filter(is_waiting) else { return };
        let Some(ready) = node.meta.creation_timestamp.map(|created| created + NODE_READY) else { return };
        let mut changed = Node::clone(&node);
        if ready <= self.now && !node.is_ready() {
            changed.status.conditions = vec![condition("Ready", true, self.now)].into();
        }
        if ready + self.taint_lag <= self.now {
            changed.spec.taints.clear();
        }
        if changed != *node {
            self.put(changed);
        }
    }

    fn shut_down(&mut self, instance: &Instance) {
        if let Some(node) = instance.node.as_ref().and_then(|name| self.truth.node(name)).cloned() {
            for pod in self.pods() {
                if pod.node.as_ref() == Some(&node.name()) {
                    self.remove(pod);
                }
            }
            self.remove(node);
        }
        self.change(Delta::InstanceGone(instance.id.clone()));
    }

    // The driver.

    fn execute(&mut self, command: &Command) -> Result<(), Refusal> {
        match &command.effect {
            Effect::Kubernetes(KubernetesEffect::Cordon { node, version, mark }) => {
                let known = self.node_at(&node.name, &node.uid, version.0)?;
                self.put(mark::laid(&known, &command.run, mark));
                Ok(())
            }
            Effect::Kubernetes(KubernetesEffect::Uncordon { node, version }) => {
                let known = self.node_at(&node.name, &node.uid, version.0)?;
                self.put(mark::lifted(&known));
                Ok(())
            }
            Effect::Kubernetes(KubernetesEffect::Evict { pod, grace_seconds: None }) => {
                self.evict(&pod.key, &pod.uid)
            }
            Effect::Group(GroupEffect::Tag { group, key, from, value }) => {
                self.group(&group.node_group, |group| {
                    if group.tags.get(key) == from.as_ref() {
                        group.tags = group.tags.with(key.clone(), value.clone());
                    }
                });
                Ok(())
            }
            Effect::Group(GroupEffect::SetProcess { group, process, is_active }) => {
                self.group(&group.node_group, |group| {
                    group.ways.suspended.retain(|one| one != process);
                    if !is_active {
                        group.ways.suspended.insert(*process);
                    }
                });
                Ok(())
            }
            Effect::Group(GroupEffect::ProtectInstance { instance, group, is_protected }) => {
                self.protect(instance, &group.node_group, *is_protected)
            }
            Effect::Group(GroupEffect::Untag { group, key }) => {
                self.group(&group.node_group, |group| group.tags = group.tags.without(key));
                Ok(())
            }
            Effect::Group(GroupEffect::SetTemplate { group, from, to, follow: _ }) => {
                let known = &self.truth.groups()[&group.node_group];
                if known.current != *from {
                    return Err(conflict("template"));
                }
                self.group(&group.node_group, |group| {
                    let known = group.templates.iter().find(|(_, template)| *template == &**to);
                    let version = known.map(|(version, _)| version.clone());
                    // Numbers do not come back, and others make versions, too.
                    let version = version.unwrap_or_else(|| from.at(from.version + 2));
                    group.templates.entry(version.clone()).or_insert_with(|| LaunchTemplate::clone(to));
                    group.current = version;
                });
                Ok(())
            }
            Effect::Group(
                GroupEffect::UpdateNodegroupVersion { .. }
                | GroupEffect::UpdateNodegroupConfig { .. }
                | GroupEffect::ScaleNodegroupToZero { .. },
            ) => panic!("no group here is managed by EKS"),
            Effect::Group(GroupEffect::Resize { group, from, to }) => {
                assert!(to.desired >= from.desired, "a desired number is never lowered");
                if self.truth.groups()[&group.node_group].size != *from {
                    return Err(conflict("size"));
                }
                assert!(to.min <= to.desired && to.desired <= to.max, "{to}");
                if to.desired > from.desired || to.max > from.max {
                    self.check_written(&group.node_group);
                }
                self.group(&group.node_group, |group| group.size = *to);
                Ok(())
            }
            Effect::Group(GroupEffect::Terminate { instance, group, expected, replacement }) => self
                .terminate(
                    instance,
                    group,
                    expected.node().map(|node| (&node.name, &node.uid)),
                    *replacement,
                ),
            Effect::Kubernetes(KubernetesEffect::Create { object }) => {
                let key = object.meta().key();
                if self.truth.others().any(|other| other.meta.key() == key) {
                    return Err(conflict("it exists"));
                }
                let uid = format!("uid-{}", self.version);
                self.put(object.clone().map_meta(|meta| meta.uid = uid.as_str().into()));
                Ok(())
            }
            Effect::Kubernetes(KubernetesEffect::Replace { object }) => {
                if self.refuses_replace {
                    return Err(failed("not authorized"));
                }
                self.other_at(&object.meta().uid, object.meta().resource_version.0)?;
                self.put(object.clone());
                Ok(())
            }
            Effect::Kubernetes(KubernetesEffect::Delete { object, version, .. }) => {
                let other = self.other_at(&object.uid, version.0)?;
                self.remove(Object::Other(other));
                Ok(())
            }
            Effect::Kubernetes(KubernetesEffect::DeleteNodeClaim { .. })
            | Effect::Kubernetes(KubernetesEffect::Evict { .. })
            | Effect::Kubernetes(KubernetesEffect::DeletePod { .. })
            | Effect::Kubernetes(KubernetesEffect::ForceDelete { .. })
            | Effect::Kubernetes(KubernetesEffect::CordonByHand { .. })
            | Effect::Kubernetes(KubernetesEffect::UncordonByHand { .. })
            | Effect::Kubernetes(KubernetesEffect::Exclude { .. })
            | Effect::Group(GroupEffect::Relieve { .. })
            | Effect::Group(GroupEffect::CompleteAction { .. })
            | Effect::Group(GroupEffect::Heartbeat { .. })
            | Effect::Queue(QueueEffect::HoldMessage { .. })
            | Effect::Queue(QueueEffect::DeleteMessage { .. })
            | Effect::Kubernetes(KubernetesEffect::RestartWorkload { .. }) => {
                panic!("core asks for none of these here: {command:?}")
            }
        }
    }

    fn other_at(&self, uid: &Uid, version: u64) -> Result<Arc<Other>, Refusal> {
        let found = self.truth.others().find(|other| other.meta.uid == *uid);
        let found = found.filter(|other| other.meta.resource_version.0 == version);
        found.cloned().ok_or_else(|| conflict("ConfigMap"))
    }

    fn node_at(&self, name: &NodeName, uid: &Uid, version: u64) -> Result<Arc<Node>, Refusal> {
        let Some(node) = self.truth.node(name) else {
            return Err(Refusal::Gone { message: "no such node".into() });
        };
        let is_same = node.meta.uid == *uid && node.meta.resource_version.0 == version;
        if is_same { Ok(node.clone()) } else { Err(conflict("node")) }
    }

    pub(crate) fn group(&mut self, name: &GroupName, change: impl FnOnce(&mut NodeGroup)) {
        let mut group = NodeGroup::clone(&self.truth.groups()[name]);
        change(&mut group);
        self.change(Delta::Group(group.into()));
    }

    fn evict(&mut self, key: &Key, uid: &Uid) -> Result<(), Refusal> {
        let Some(ix) = self.truth.pods.find(key) else {
            return Err(Refusal::Gone { message: "no such pod".into() });
        };
        let pod = self.truth.pods[ix].clone();
        if pod.meta.uid != *uid {
            return Err(conflict("pod"));
        }
        if self.stubborn.contains(key) {
            return Err(failed("admission webhook says no"));
        }
        if pod.is_terminating() {
            return Ok(());
        }
        let budgets = self.truth.budgets_of(ix).to_vec();
        assert!(budgets.len() < 2, "never asked for");
        if let Some(budget) = budgets.first().filter(|_| pod.is_ready()) {
            let mut budget = PodDisruptionBudget::clone(&self.truth.pod_disruption_budgets[*budget]);
            if budget.status.disruptions_allowed <= 0 {
                return Err(Refusal::Budget {
                    message: Text::from(format!("{} allows none", budget.meta.name)),
                    retry_after_seconds: None,
                });
            }
            budget.status.disruptions_allowed -= 1;
            budget.status.disrupted_pods.insert(pod.meta.name.text().clone(), self.now);
            self.put(budget);
        }
        let mut pod = Pod::clone(&pod);
        pod.meta.deletion_timestamp = Some(self.now + Span::from_secs(pod.grace_seconds()));
        pod.meta.deletion_grace_period_seconds = Some(pod.grace_seconds());
        self.put(pod);
        Ok(())
    }

    /// Everything about the protection of instances is written down first.
    fn protect(&mut self, id: &InstanceId, group: &GroupName, is_protected: bool) -> Result<(), Refusal> {
        assert!(self.is_written(group, id), "{id} of {group}: {is_protected}");
        if self.refuses_protection {
            return Err(failed("not authorized"));
        }
        let Some(instance) = self.truth.instances().get(id).cloned() else {
            return Err(Refusal::Gone { message: "no such instance".into() });
        };
        assert_eq!(instance.group, *group);
        self.change(Delta::Instance(Instance { is_protected, ..Instance::clone(&instance) }.into()));
        Ok(())
    }

    /// Whether a tag says that an instance is protected for a run's sake.
    pub(crate) fn is_written(&self, group: &GroupName, id: &InstanceId) -> bool {
        self.truth.groups()[group].tags.contains_key(&mark::protected_key(id))
    }

    fn terminate(
        &mut self,
        id: &InstanceId,
        group: &GroupName,
        node: Option<(&NodeName, &Uid)>,
        replacement: Replacement,
    ) -> Result<(), Refusal> {
        let Some(instance) = self.truth.instances().get(id).cloned() else {
            return Err(Refusal::Gone { message: "no such instance".into() });
        };
        let known = instance.node.as_ref().and_then(|name| self.truth.node(name)).cloned();
        if known.as_ref().map(|node| (node.name(), node.meta.uid.clone()))
            != node.map(|(name, uid)| (name.clone(), uid.clone()))
        {
            return Err(conflict("node"));
        }
        if !instance.state.is_alive() {
            return Ok(());
        }
        let is_ours = instance.is_protected && self.is_written(group, id);
        assert!(!is_ours || self.refuses_protection, "the protection of {id} ends before it does");
        if let Some(node) = &known {
            assert!(node.spec.unschedulable, "an instance is ended cordoned");
            for pod in self.truth.sorted_pods_on(&node.name()) {
                let is_daemon = pod.meta.controller().is_some_and(|owner| &*owner.kind == "DaemonSet");
                let is_stuck = pod.is_terminating() && self.broken_nodes.contains(&node.name());
                assert!(
                    is_daemon || is_stuck || pod.is_terminal(),
                    "an instance is ended empty: {}",
                    pod.meta.name
                );
            }
        }
        if let Replacement::Decrement { keep } = replacement {
            let size = self.truth.groups()[group].size;
            assert!(size.desired > size.min);
            assert!(size.desired > keep, "the size that this was decided on is out of date");
            self.group(group, |group| group.size.desired -= 1);
        }
        let stopping = Instance {
            state: InstanceState::ShuttingDown,
            launched: Some(self.now),
            ..Instance::clone(&instance)
        };
        self.change(Delta::Instance(stopping.into()));
        Ok(())
    }
}

/// Everything in a view, as core is first shown it.
pub(crate) fn everything(view: &View) -> Vec<Delta> {
    let objects = view.objects().into_iter().map(Delta::Put);
    let groups = view.groups().values().cloned().map(Delta::Group);
    objects.chain(groups).chain(view.instances().values().cloned().map(Delta::Instance)).collect()
}

fn condition(kind: &str, holds: bool, at: Time) -> Condition {
    let status = if holds { ConditionStatus::True } else { ConditionStatus::False };
    Condition { r#type: kind.into(), status, last_transition_time: Some(at), ..Condition::default() }
}

fn conflict(what: &str) -> Refusal {
    Refusal::Conflict { message: Text::from(format!("{what} has changed")) }
}

fn failed(why: &str) -> Refusal {
    Refusal::Failed { code: 500, message: why.into() }
}

impl Stage {
    /// Every instance that there is.
    pub(crate) fn names_of_instances(&self) -> BTreeSet<InstanceId> {
        self.truth.instances().keys().cloned().collect()
    }
}
