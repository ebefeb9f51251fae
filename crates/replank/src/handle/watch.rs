//! The engine, and what is told of it: each decision is looked at once.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use replank_core::Core;
use replank_core::interrupt::Options;
use replank_core::interrupt::body::{self, Body};
use replank_facts::groups::instance_id_of;
use replank_facts::node_pods::NodePods;
use replank_model::delta::Delta;
use replank_model::object::Kind;
use replank_model::object::cloud::Message;
use replank_model::object::meta::Key;
use replank_model::text::{InstanceId, MessageId, NodeName, Uid};
use replank_model::time::{Span, Time};
use replank_protocol::command::{
    Command, CommandKey, Effect, GroupEffect, KubernetesEffect, NodeRole, NodeTarget, Outcome, QueueEffect,
};
use replank_protocol::decision::{Decision, End};
use replank_protocol::engine::Engine;
use replank_protocol::intent::Intent;
use replank_protocol::outcome::Answer;
use serde_json::json;

use super::screen::Screen;
use super::words;
use crate::live::refused;
use crate::report::words::count;
use crate::roll::of_group;

/// After how long without a new message a dry run has seen what is in the queue.
const LOOKED: Span = Span::from_secs(3);
/// How many messages are remembered to have been told.
const TOLD_MAX: usize = 20_000;

/// What was done, counted.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Figures {
    /// Messages that were received, each once.
    pub(super) messages: usize,
    /// Messages that were received once more.
    pub(super) again: usize,
    /// Messages that were deleted.
    pub(super) deleted: usize,
    /// Messages that cannot be read.
    pub(super) unread: usize,
    /// Nodes that were cordoned for an interruption.
    pub(super) nodes: usize,
    /// Those of them that were empty before their instance went.
    pub(super) drained: usize,
    /// Those of them that were not.
    pub(super) late: usize,
}

/// See the module's page.
pub(super) struct Watch {
    core: Core,
    options: Options,
    screen: Rc<RefCell<Screen>>,
    figures: Rc<Cell<Figures>>,
    is_dry_run: bool,
    idle: Option<Span>,
    /// When there was something to do for the last time.
    busy: Option<Time>,
    new: Vec<Arc<Message>>,
    told: BTreeSet<MessageId>,
    /// Pods that were asked to go and are still there.
    asked: BTreeMap<Uid, Key>,
    /// What each command does, for when it fails.
    sent: BTreeMap<CommandKey, (String, Option<MessageId>)>,
    /// Nodes that are interrupted, and whether they have been seen empty.
    open: BTreeMap<NodeName, (Uid, bool)>,
}

impl Watch {
    pub(super) fn new(
        options: Options,
        (is_dry_run, idle): (bool, Option<Span>),
        screen: Rc<RefCell<Screen>>,
        figures: Rc<Cell<Figures>>,
    ) -> Self {
        Self {
            core: Core::without_run().with_interruptions(options.clone()),
            options,
            screen,
            figures,
            is_dry_run,
            idle: if is_dry_run { Some(LOOKED) } else { idle },
            busy: None,
            new: Vec::new(),
            told: BTreeSet::new(),
            asked: BTreeMap::new(),
            sent: BTreeMap::new(),
            open: BTreeMap::new(),
        }
    }

    fn say(&self, at: Time, line: &str, event: serde_json::Value) {
        self.screen.borrow_mut().say(at, line, event);
    }

    fn count(&self, add: impl FnOnce(&mut Figures)) {
        let mut figures = self.figures.get();
        add(&mut figures);
        self.figures.set(figures);
    }

    /// Messages that were received.
    fn messages(&mut self, now: Time) {
        for message in std::mem::take(&mut self.new) {
            if !self.told.insert(message.id.clone()) {
                self.count(|figures| figures.again += 1);
                continue;
            }
            if self.told.len() > TOLD_MAX {
                self.told.pop_first();
            }
            let body = body::read_at(&message.body, self.options.home.as_ref());
            let is_unread = matches!(body, Body::Poison(_));
            self.count(|figures| {
                figures.messages += 1;
                figures.unread += usize::from(is_unread);
            });
            let words = words::of(&body);
            if is_unread {
                let line = format!("message {} is left to the dead-letter queue: {words}", message.id);
                self.screen.borrow_mut().warn(now, "unreadable", &line);
            } else {
                let line = format!("message {}: {words}", message.id);
                let event = json!({"event": "message", "id": message.id, "message": words, "sent": message.sent.to_string()});
                self.say(now, &line, event);
            }
        }
    }

    fn commands(&mut self, now: Time, commands: &[Command]) {
        for command in commands {
            let (words, message) = self.command(now, &command.effect);
            let words = words.unwrap_or_else(|| command.key.0.to_string());
            self.sent.insert(command.key.clone(), (words, message));
        }
    }

    /// Tells of a command; in words, and the message that it deletes.
    fn command(&mut self, now: Time, effect: &Effect) -> (Option<String>, Option<MessageId>) {
        let words = match effect {
            Effect::Kubernetes(KubernetesEffect::Cordon { node, mark, .. }) => self.cordon(now, node, &mark.role),
            Effect::Kubernetes(KubernetesEffect::Uncordon { node, .. }) => {
                let line = format!("node/{} is given back", node.name);
                self.say(now, &line, json!({"event": "uncordoning", "node": node.name}));
                Some(format!("uncordoning node {}", node.name))
            }
            Effect::Kubernetes(KubernetesEffect::Evict { pod, .. }) => {
                self.asked.insert(pod.uid.clone(), pod.key.clone());
                let line = format!("evicting pod {}", pod.key);
                self.say(now, &line, json!({"event": "evicting", "pod": pod.key.to_string()}));
                Some(line)
            }
            Effect::Kubernetes(KubernetesEffect::DeletePod { pod, .. }) => {
                self.asked.insert(pod.uid.clone(), pod.key.clone());
                let line = format!("deleting pod {}: no time is left, and its budget refuses", pod.key);
                self.say(now, &line, json!({"event": "deleting", "pod": pod.key.to_string()}));
                Some(format!("deleting pod {}", pod.key))
            }
            Effect::Kubernetes(_) => None,
            Effect::Group(effect) => {
                let line = of_group(effect);
                let event = match effect {
                    GroupEffect::Heartbeat { .. } => "heartbeat",
                    GroupEffect::CompleteAction { .. } => "completing",
                    GroupEffect::Terminate { .. } => "terminating",
                    GroupEffect::Relieve { .. } => "relieving",
                    GroupEffect::Tag { .. }
                    | GroupEffect::Untag { .. }
                    | GroupEffect::SetTemplate { .. }
                    | GroupEffect::Resize { .. }
                    | GroupEffect::SetProcess { .. }
                    | GroupEffect::UpdateNodegroupVersion { .. }
                    | GroupEffect::UpdateNodegroupConfig { .. }
                    | GroupEffect::ScaleNodegroupToZero { .. } => "group",
                };
                self.say(now, &line, json!({"event": event, "change": line}));
                Some(line)
            }
            Effect::Queue(QueueEffect::DeleteMessage { message, .. }) => {
                return (Some(format!("deleting message {message}")), Some(message.clone()));
            }
            Effect::Queue(QueueEffect::HoldMessage { message, .. }) => {
                Some(format!("hiding message {message} for longer"))
            }
        };
        (words, None)
    }

    fn cordon(&mut self, now: Time, node: &NodeTarget, role: &NodeRole) -> Option<String> {
        let NodeRole::Interrupted { by, until, .. } = role else { return None };
        let name = &node.name;
        if !self.open.contains_key(name) {
            self.open.insert(name.clone(), (node.uid.clone(), false));
            self.count(|figures| figures.nodes += 1);
            let pods = self.left(name);
            let at = until.map(|until| format!(", its instance goes at {until}")).unwrap_or_default();
            let line = format!("cordoning node {name}: {by}{at}; {} to move", count(pods, "pod"));
            let until = until.map(|until| until.to_string());
            let event = json!({"event": "cordoning", "node": name, "by": by, "until": until, "pods": pods});
            self.say(now, &line, event);
        }
        Some(format!("cordoning node {name}"))
    }

    /// Pods that are to leave a node.
    fn left(&self, node: &NodeName) -> usize {
        let pods = NodePods::of(self.core.view(), &self.options.plan, node);
        pods.movers.len() + pods.batch.len() + pods.unrecorded.len() + pods.leaving.len()
    }

    /// Pods that have gone, nodes that are empty, and nodes whose instances have gone.
    fn seen(&mut self, now: Time) {
        let view = self.core.view();
        let is_there = |uid: &Uid, key: &Key| view.pods.by_key(key).is_some_and(|pod| pod.meta.uid == *uid);
        let gone: Vec<Uid> =
            self.asked.iter().filter(|(uid, key)| !is_there(uid, key)).map(|(uid, _)| uid.clone()).collect();
        for uid in gone {
            if let Some(pod) = self.asked.remove(&uid) {
                let line = format!("pod/{} evicted", pod.name);
                self.say(now, &line, json!({"event": "evicted", "pod": pod.to_string()}));
            }
        }
        let mut over = Vec::new();
        for (name, (uid, is_empty)) in &self.open {
            let view = self.core.view();
            let node = view.node(name).filter(|node| node.meta.uid == *uid);
            let instance = node.map(|node| instance_id_of(node));
            let is_up = |id: &InstanceId| view.instances().get(id).is_none_or(|one| one.state.is_alive());
            let goes = instance.as_ref().is_none_or(|id| !is_up(id));
            let is_marked = node.is_some_and(|node| replank_protocol::mark::of(node).is_some());
            let left = if node.is_some() && !is_empty { self.left(name) } else { 0 };
            over.push((name.clone(), left == 0, goes, node.is_some() && !is_marked && !goes));
        }
        for (name, is_empty, goes, _is_given_back) in over {
            let Some((_, known)) = self.open.get_mut(&name) else { continue };
            let is_new = is_empty && !std::mem::replace(known, is_empty);
            if is_new && self.core.view().node(&name).is_some_and(|node| node.spec.unschedulable) {
                self.count(|figures| figures.drained += 1);
                self.say(now, &format!("node/{name} drained"), json!({"event": "drained", "node": name}));
            } else if goes && !is_empty {
                self.count(|figures| figures.late += 1);
                let line = format!("node/{name} was lost with pods on it");
                self.screen.borrow_mut().warn(now, "lost", &line);
            }
            if goes {
                self.open.remove(&name);
            }
        }
    }

    /// Whether there has been nothing to do for as long as is waited for.
    fn is_idle(&mut self, now: Time, decision: &Decision) -> bool {
        let is_busy = !decision.commands.is_empty()
            || !self.is_dry_run && (!self.core.view().messages().is_empty() || !self.open.is_empty());
        if is_busy || self.busy.is_none() {
            self.busy = Some(now);
        }
        let over = self.busy.zip(self.idle).map(|(busy, idle)| busy + idle);
        over.is_some_and(|over| over <= now)
    }
}

impl Engine for Watch {
    fn observe(&mut self, delta: Delta) {
        if let Delta::Message(message) = &delta {
            // One that was hidden for longer is no new delivery.
            let known = self.core.view().messages().get(&message.id);
            if known.is_none_or(|known| known.receipt != message.receipt) {
                self.new.push(message.clone());
            }
        }
        self.core.observe(delta);
    }

    fn outcome(&mut self, outcome: Outcome) {
        if let Some((what, deleted)) = self.sent.remove(&outcome.key) {
            if let Some(message) = refused(&outcome.answer) {
                let line = format!("error when {what}: {message}");
                self.screen.borrow_mut().warn(outcome.at, "refused", &line);
            }
            if let Some(id) = deleted.filter(|_| outcome.answer == Answer::Done) {
                self.count(|figures| figures.deleted += 1);
                self.say(outcome.at, &format!("message {id} deleted"), json!({"event": "deleted", "id": id}));
            }
        }
        self.core.outcome(&outcome);
    }

    fn decide(&mut self, now: Time) -> Decision {
        let mut decision = self.core.decide(now);
        let has_new = !self.new.is_empty();
        self.messages(now);
        self.seen(now);
        self.commands(now, &decision.commands);
        let next = self.screen.borrow_mut().waits(now, &decision.waiting);
        if self.is_dry_run {
            // What is not sent is decided once more: that is no news.
            decision.commands.clear();
            self.sent.clear();
            if has_new {
                self.busy = Some(now);
            }
        }
        if self.is_idle(now, &decision) {
            decision.end = Some(End::Done);
        } else {
            let over = self.busy.zip(self.idle).map(|(busy, idle)| busy + idle);
            decision.wake_at = decision.wake_at.into_iter().chain(next).chain(over).min();
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
