//! The engine, and what is told of it: each decision is looked at once.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use replank_core::{Core, nodes_to_replace};
use replank_facts::plan::{Plan, RunOptions};
use replank_model::delta::Delta;
use replank_model::object::Kind;
use replank_model::object::cloud::AmiType;
use replank_model::object::meta::Key;
use replank_model::text::{NodeName, RunId, Uid};
use replank_model::time::Time;
use replank_protocol::command::{
    Command, CommandKey, Effect, GroupEffect, KubernetesEffect, Outcome, Replacement, zero,
};
use replank_protocol::decision::{Decision, End};
use replank_protocol::engine::Engine;
use replank_protocol::intent::Intent;
use replank_protocol::mark;
use serde_json::json;

use super::course::Compared;
use super::larger::{Larger, larger};
use super::nodes::{Phase, rows};
use super::screen::Screen;
use crate::live::refused;

/// What a run's engine and those around it share.
#[derive(Clone)]
pub(super) struct Shared {
    pub(super) screen: Rc<RefCell<Screen>>,
    /// Where what happens is compared with what was rehearsed.
    pub(super) compared: Option<Rc<RefCell<Compared>>>,
    /// Why the run is to be paused: once it is beyond what is tolerated.
    pub(super) beyond: Rc<RefCell<Option<String>>>,
    /// Which nodes are left, as it was seen last, and how many there were.
    pub(super) left: Rc<Cell<(usize, usize)>>,
    /// Nodes that bore marks of the run when it was decided last.
    pub(super) marked: Rc<RefCell<Vec<NodeName>>>,
    /// Groups that the run has left larger than they were, once it is done.
    pub(super) larger: Rc<RefCell<Vec<Larger>>>,
}

/// See the module's page.
pub(super) struct Watch {
    core: Core,
    plan: Arc<Plan>,
    run: RunId,
    options: RunOptions,
    shared: Shared,
    /// Nodes that were to be replaced since this process looks on.
    nodes: BTreeMap<NodeName, Uid>,
    phases: BTreeMap<NodeName, Phase>,
    intent: Option<Intent>,
    /// Pods that were asked to go and are still there.
    asked: BTreeMap<Uid, Key>,
    /// What each command does, for when it fails.
    sent: BTreeMap<CommandKey, String>,
    known: BTreeSet<NodeName>,
    has_begun: bool,
}

impl Watch {
    pub(super) fn new(core: Core, plan: Arc<Plan>, run: RunId, options: RunOptions, shared: Shared) -> Self {
        Self {
            core,
            plan,
            run,
            options,
            shared,
            nodes: BTreeMap::new(),
            phases: BTreeMap::new(),
            intent: None,
            asked: BTreeMap::new(),
            sent: BTreeMap::new(),
            known: BTreeSet::new(),
            has_begun: false,
        }
    }

    fn say(&self, at: Time, line: &str, event: serde_json::Value) {
        self.shared.screen.borrow_mut().say(at, line, event);
    }

    fn commands(&mut self, now: Time, commands: &[Command]) {
        for command in commands {
            let words = match &command.effect {
                Effect::Kubernetes(KubernetesEffect::Evict { pod, .. }) => {
                    self.asked.insert(pod.uid.clone(), pod.key.clone());
                    let pod = pod.key.to_string();
                    self.say(now, &format!("evicting pod {pod}"), json!({"event": "evicting", "pod": pod}));
                    format!("evicting pod {pod}")
                }
                Effect::Kubernetes(KubernetesEffect::DeleteNodeClaim { claim, .. }) => {
                    let name = &claim.name;
                    self.say(
                        now,
                        &format!("deleting nodeclaim {name}"),
                        json!({"event": "deleting", "nodeClaim": name}),
                    );
                    format!("deleting nodeclaim {name}")
                }
                Effect::Kubernetes(KubernetesEffect::RestartWorkload { workload, .. }) => {
                    let key = workload.key.to_string();
                    let line = format!("restarting deployment {key}: the successor of its pod starts first");
                    self.say(now, &line, json!({"event": "restarting", "deployment": key}));
                    format!("restarting deployment {key}")
                }
                Effect::Group(effect) => {
                    let line = of_group(effect);
                    self.say(now, &line, json!({"event": "group", "change": line}));
                    line
                }
                Effect::Kubernetes(effect) => of_object(effect),
                Effect::Queue(_) => command.key.0.to_string(),
            };
            self.sent.insert(command.key.clone(), words);
        }
    }

    /// Pods that have gone, nodes that have come.
    fn seen(&mut self, now: Time) {
        let view = self.core.view();
        let is_there = |uid: &Uid, key: &Key| view.pods.by_key(key).is_some_and(|pod| pod.meta.uid == *uid);
        let gone: Vec<Uid> =
            self.asked.iter().filter(|(uid, key)| !is_there(uid, key)).map(|(uid, _)| uid.clone()).collect();
        let ready = view.nodes.unordered().filter(|(_, node)| node.is_ready()).map(|(_, node)| node.name());
        let new: Vec<NodeName> = ready.filter(|name| !self.known.contains(name)).collect();
        for uid in gone {
            if let Some(pod) = self.asked.remove(&uid) {
                self.say(
                    now,
                    &format!("pod/{} evicted", pod.name),
                    json!({"event": "evicted", "pod": pod.to_string()}),
                );
            }
        }
        for name in new {
            if self.has_begun {
                self.say(now, &format!("node/{name} is Ready"), json!({"event": "ready", "node": name}));
            }
            self.known.insert(name);
        }
    }

    fn look(&mut self, now: Time, decision: &Decision) -> Option<Time> {
        let view = self.core.view();
        let marked = view.nodes.unordered().map(|(_, node)| node);
        let marked = marked.filter(|node| mark::of(node).is_some_and(|found| found.is_of_run(&self.run)));
        let mut marked: Vec<NodeName> = marked.map(|node| node.name()).collect();
        marked.sort();
        *self.shared.marked.borrow_mut() = marked;
        let left = nodes_to_replace(view, &self.plan, &self.options);
        for name in &left {
            if let Some(node) = view.node(name) {
                self.nodes.entry(name.clone()).or_insert_with(|| node.meta.uid.clone());
            }
        }
        let rows = rows(view, (&self.plan, &self.run), &self.nodes, &left);
        let replaced = rows.iter().filter(|row| row.phase.is_done()).count();
        self.shared.left.set((rows.len() - replaced, rows.len()));
        for row in &rows {
            let before = self.phases.insert(row.node.clone(), row.phase).unwrap_or(Phase::Open);
            if before != row.phase {
                let word = match row.phase {
                    Phase::Open => "uncordoned",
                    other @ (Phase::Cordoned
                    | Phase::Draining
                    | Phase::Drained
                    | Phase::Skipped
                    | Phase::Replaced) => other.as_str(),
                };
                let line = format!("node/{} {word}", row.node);
                self.say(now, &line, json!({"event": word, "node": row.node, "pods": row.pods}));
            }
        }
        let intent = self.core.intent();
        if self.intent.replace(intent).is_some_and(|before| before != intent)
            || !self.has_begun && intent != Intent::Run
        {
            let line = format!("run {}: what is wanted of it is: {intent}", self.run);
            self.say(now, &line, json!({"event": "intent", "intent": intent}));
        }
        let compared = self.shared.compared.clone();
        let mut next = None;
        if let Some(compared) = compared.filter(|_| intent == Intent::Run) {
            let (told, beyond) = compared.borrow_mut().look(now);
            for one in told {
                self.shared.screen.borrow_mut().warn(now, "deviation", &format!("deviation: {one}"));
            }
            if beyond.is_some() {
                *self.shared.beyond.borrow_mut() = beyond;
            }
            next = compared.borrow().next();
        }
        let shown = self.shared.screen.borrow_mut().show(now, &rows, &decision.waiting);
        next.into_iter().chain(shown).min()
    }
}

impl Engine for Watch {
    fn observe(&mut self, delta: Delta) {
        self.core.observe(delta);
    }

    fn outcome(&mut self, outcome: Outcome) {
        let message = refused(&outcome.answer);
        if let (Some(message), Some(what)) = (message, self.sent.get(&outcome.key)) {
            let line = format!("error when {what}: {message}");
            self.shared.screen.borrow_mut().warn(outcome.at, "refused", &line);
        }
        self.core.outcome(&outcome);
    }

    fn decide(&mut self, now: Time) -> Decision {
        let mut decision = self.core.decide(now);
        self.seen(now);
        self.commands(now, &decision.commands);
        let next = self.look(now, &decision);
        self.has_begun = true;
        if decision.end == Some(End::Done) {
            *self.shared.larger.borrow_mut() = larger(self.core.view(), &decision.waiting);
        }
        if decision.end.is_none() {
            // What is shown grows old by itself.
            decision.wake_at = decision.wake_at.into_iter().chain(next).min();
        }
        decision
    }

    fn intend(&mut self, intent: Intent) {
        self.core.intend(intent);
    }

    fn start_anew(&mut self) {
        self.core.start_anew();
    }

    fn watches(&self, kind: Kind) -> bool {
        self.core.watches(kind)
    }
}

/// What is done to an object, in words: for when it is refused.
fn of_object(effect: &KubernetesEffect) -> String {
    match effect {
        KubernetesEffect::Cordon { node, .. } | KubernetesEffect::CordonByHand { node, .. } => {
            format!("cordoning or marking node {}", node.name)
        }
        KubernetesEffect::Uncordon { node, .. } | KubernetesEffect::UncordonByHand { node, .. } => {
            format!("uncordoning node {}", node.name)
        }
        KubernetesEffect::Exclude { node, .. } => {
            format!("excluding node {} from load balancers", node.name)
        }
        KubernetesEffect::Evict { pod, .. } => format!("evicting pod {}", pod.key),
        KubernetesEffect::DeletePod { pod, .. } | KubernetesEffect::ForceDelete { pod, .. } => {
            format!("deleting pod {}", pod.key)
        }
        KubernetesEffect::RestartWorkload { workload, .. } => {
            format!("restarting deployment {}", workload.key)
        }
        KubernetesEffect::Create { object } => {
            format!("creating {} {}", object.kind_name(), object.meta().key())
        }
        KubernetesEffect::Replace { object } => {
            format!("updating {} {}", object.kind_name(), object.meta().key())
        }
        // A run deletes nothing but its record.
        KubernetesEffect::Delete { object, .. } => format!("deleting the record {}", object.key),
        KubernetesEffect::DeleteNodeClaim { claim, .. } => format!("deleting nodeclaim {}", claim.name),
    }
}

/// What is done to a node group, in words.
pub(crate) fn of_group(effect: &GroupEffect) -> String {
    match effect {
        GroupEffect::Tag { group, key, value, .. } => format!("tagging group {group}: {key}={value}"),
        GroupEffect::Untag { group, key } => format!("removing the tag {key} of group {group}"),
        GroupEffect::SetTemplate { group, to, .. } => {
            format!("changing the launch template of group {group}: image {}", to.image)
        }
        GroupEffect::Resize { group, from, to } | GroupEffect::UpdateNodegroupConfig { group, from, to } => {
            format!("changing the size of group {group} from {from} to {to}")
        }
        GroupEffect::SetProcess { group, process, is_active } => {
            let verb = if *is_active { "resuming" } else { "suspending" };
            format!("{verb} {process} of group {group}")
        }
        GroupEffect::ProtectInstance { instance, group, is_protected } => {
            let verb = if *is_protected { "protecting" } else { "no longer protecting" };
            format!("{verb} instance {instance} of group {group} from scale-in")
        }
        GroupEffect::Relieve { instance, group, .. } => {
            format!("replacing instance {instance} of group {group}")
        }
        GroupEffect::CompleteAction { action, .. } => {
            format!("completing the action of hook {} for instance {}", action.hook, action.instance)
        }
        GroupEffect::Heartbeat { action } => {
            format!("heartbeat of hook {} for instance {}", action.hook, action.instance)
        }
        GroupEffect::Terminate { instance, group, replacement, .. } => {
            let then = match replacement {
                Replacement::Launch => "another takes its place",
                Replacement::Decrement { .. } => "the group wants one less",
            };
            format!("terminating instance {instance} of group {group}: {then}")
        }
        GroupEffect::UpdateNodegroupVersion { group, to, .. } => {
            let release = AmiType::release_of(&to.image).map(|release| format!("release {release}"));
            let to = release.unwrap_or_else(|| to.profile.kubelet_version.to_string());
            format!("asking EKS to update node group {group} to {to}")
        }
        GroupEffect::ScaleNodegroupToZero { group, from, .. } => {
            format!("changing the size of group {group} from {from} to {}", zero(*from))
        }
    }
}
