//! The engine, and what is told of it: each decision is looked at once.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use replank_core::Core;
use replank_core::interrupt::Options;
use replank_core::interrupt::body::{self, Body};
use replank_core::scale::Autoscaler;
use replank_facts::groups::instance_id_of;
use replank_facts::node_pods::NodePods;
use replank_model::delta::Delta;
use replank_model::object::Kind;
use replank_model::object::cloud::Message;
use replank_model::object::meta::Key;
use replank_model::object::node::Node;
use replank_model::text::{MessageId, NodeName, Uid};
use replank_model::time::{Span, Time};
use replank_protocol::command::{
    Command, CommandKey, Effect, GroupEffect, KubernetesEffect, NodeRole, NodeTarget, Outcome, QueueEffect,
};
use replank_protocol::decision::{Decision, End};
use replank_protocol::engine::Engine;
use replank_protocol::intent::Intent;
use replank_protocol::mark;
use replank_protocol::outcome::Answer;
use serde_json::json;

use super::screen::Screen;
use super::words;
use crate::autoscale::Told;
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
    /// Messages that cannot be read: nothing is waited for because of them.
    unread: BTreeSet<MessageId>,
    /// Pods that were asked to go and are still there.
    asked: BTreeMap<Uid, Key>,
    /// What each command does, for when it fails.
    sent: BTreeMap<CommandKey, (String, Option<MessageId>)>,
    /// Nodes that are interrupted.
    open: BTreeMap<NodeName, Open>,
    /// What is told of the groups that are scaled, where some are.
    scaling: Option<Told>,
}

/// An interrupted node, as it was seen last.
struct Open {
    uid: Uid,
    is_marked: bool,
    is_empty: bool,
}

/// How an interrupted node looks.
struct Look {
    is_marked: bool,
    is_drained: bool,
    /// Whether its instance goes, or the node is gone.
    goes: bool,
}

impl Watch {
    pub(super) fn new(
        options: Options,
        (is_dry_run, idle): (bool, Option<Span>),
        screen: Rc<RefCell<Screen>>,
        figures: Rc<Cell<Figures>>,
        scaling: Option<(Autoscaler, Told)>,
    ) -> Self {
        let core = Core::without_run().with_interruptions(options.clone());
        let (core, scaling) = match scaling {
            Some((autoscaler, told)) => (core.with_autoscaler(autoscaler), Some(told)),
            None => (core, None),
        };
        Self {
            core,
            options,
            screen,
            figures,
            is_dry_run,
            idle: if is_dry_run { Some(LOOKED) } else { idle },
            busy: None,
            new: Vec::new(),
            told: BTreeSet::new(),
            unread: BTreeSet::new(),
            asked: BTreeMap::new(),
            sent: BTreeMap::new(),
            open: BTreeMap::new(),
            scaling,
        }
    }

    fn say(&self, at: Time, line: &str, event: serde_json::Value) {
        self.screen.borrow_mut().say(at, line, event);
    }

    fn does(&self, at: Time, line: &str, event: serde_json::Value) {
        self.screen.borrow_mut().does(at, line, event);
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
            if self.unread.len() > TOLD_MAX {
                self.unread.pop_first();
            }
            let body = body::read_at(&message.body, self.options.home.as_ref());
            let is_unread = matches!(body, Body::Poison(_));
            self.count(|figures| {
                figures.messages += 1;
                figures.unread += usize::from(is_unread);
            });
            let words = words::of(&body);
            if is_unread {
                self.unread.insert(message.id.clone());
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
        for command in commands.iter().filter(|command| !Told::is_about(command)) {
            let (words, message) = self.command(now, &command.effect);
            let words = words.unwrap_or_else(|| command.key.0.to_string());
            self.sent.insert(command.key.clone(), (words, message));
        }
    }

    /// Tells of a command; in words, and the message that it deletes.
    fn command(&mut self, now: Time, effect: &Effect) -> (Option<String>, Option<MessageId>) {
        let words = match effect {
            Effect::Kubernetes(KubernetesEffect::Cordon { node, mark, .. }) => {
                self.cordon(now, node, &mark.role)
            }
            Effect::Kubernetes(KubernetesEffect::Uncordon { node, .. }) => {
                let line = format!("node/{} released", node.name);
                self.does(now, &line, json!({"event": "uncordoning", "node": node.name}));
                Some(format!("uncordoning node {}", node.name))
            }
            Effect::Kubernetes(KubernetesEffect::Evict { pod, .. }) => {
                self.asked.insert(pod.uid.clone(), pod.key.clone());
                let line = format!("evicting pod {}", pod.key);
                self.does(now, &line, json!({"event": "evicting", "pod": pod.key.to_string()}));
                Some(line)
            }
            Effect::Kubernetes(KubernetesEffect::DeletePod { pod, .. }) => {
                self.asked.insert(pod.uid.clone(), pod.key.clone());
                let line = format!("deleting pod {}: no time is left, and its budget refuses", pod.key);
                self.does(now, &line, json!({"event": "deleting", "pod": pod.key.to_string()}));
                Some(format!("deleting pod {}", pod.key))
            }
            Effect::Kubernetes(_) => None,
            Effect::Group(effect) => {
                let line = of_group(effect);
                let event = match effect {
                    GroupEffect::Heartbeat { .. } => "heartbeat",
                    GroupEffect::CompleteAction { .. } => "completing",
                    GroupEffect::Terminate { .. } => "terminating",
                    GroupEffect::Relieve { .. } => "replacing",
                    GroupEffect::Tag { .. }
                    | GroupEffect::Untag { .. }
                    | GroupEffect::SetTemplate { .. }
                    | GroupEffect::Resize { .. }
                    | GroupEffect::SetProcess { .. }
                    | GroupEffect::ProtectInstance { .. }
                    | GroupEffect::UpdateNodegroupVersion { .. }
                    | GroupEffect::UpdateNodegroupConfig { .. }
                    | GroupEffect::ScaleNodegroupToZero { .. } => "group",
                };
                self.does(now, &line, json!({"event": event, "change": line}));
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
            let open = Open { uid: node.uid.clone(), is_marked: false, is_empty: false };
            self.open.insert(name.clone(), open);
            self.count(|figures| figures.nodes += 1);
            let pods = self.left(name);
            let at = until.map(|until| format!(", its instance goes at {until}")).unwrap_or_default();
            let line = format!("cordoning node {name}: {by}{at}; {} to move", count(pods, "pod"));
            let until = until.map(|until| until.to_string());
            let event = json!({"event": "cordoning", "node": name, "by": by, "until": until, "pods": pods});
            self.does(now, &line, event);
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
        self.take_over(now);
        let looks: Vec<(NodeName, Look)> =
            self.open.iter().map(|(name, open)| (name.clone(), self.look(name, open))).collect();
        for (name, look) in looks {
            let Some(open) = self.open.get_mut(&name) else { continue };
            let is_known_empty = open.is_empty;
            open.is_empty |= look.is_drained;
            let is_given_back = std::mem::replace(&mut open.is_marked, look.is_marked) && !look.is_marked;
            if look.is_drained && !is_known_empty {
                self.count(|figures| figures.drained += 1);
                self.say(now, &format!("node/{name} drained"), json!({"event": "drained", "node": name}));
            } else if look.goes && !is_known_empty {
                self.count(|figures| figures.late += 1);
                let line = format!("node/{name} was lost with pods on it");
                self.screen.borrow_mut().warn(now, "lost", &line);
            }
            if look.goes || is_given_back {
                self.open.remove(&name);
            }
        }
    }

    /// Nodes that another process has marked for an interruption: this one goes on with them.
    fn take_over(&mut self, now: Time) {
        let view = self.core.view();
        let is_marked = |node: &Node| {
            mark::of(node).is_some_and(|found| matches!(found.mark.role, NodeRole::Interrupted { .. }))
                && view.instances().get(&instance_id_of(node)).is_none_or(|one| one.state.is_alive())
        };
        let nodes = view.nodes.unordered().map(|(_, node)| node);
        let new = nodes.filter(|node| !self.open.contains_key(&node.name()) && is_marked(node));
        let new: Vec<(NodeName, Uid)> = new.map(|node| (node.name(), node.meta.uid.clone())).collect();
        for (name, uid) in new {
            self.count(|figures| figures.nodes += 1);
            let line = format!("going on with node {name}: {} to move", count(self.left(&name), "pod"));
            self.say(now, &line, json!({"event": "resuming", "node": name}));
            self.open.insert(name, Open { uid, is_marked: true, is_empty: false });
        }
    }

    fn look(&self, name: &NodeName, open: &Open) -> Look {
        let view = self.core.view();
        let Some(node) = view.node(name).filter(|node| node.meta.uid == open.uid) else {
            return Look { is_marked: open.is_marked, is_drained: false, goes: true };
        };
        let is_marked =
            mark::of(node).is_some_and(|found| matches!(found.mark.role, NodeRole::Interrupted { .. }));
        let goes = view.instances().get(&instance_id_of(node)).is_some_and(|one| !one.state.is_alive());
        let is_drained = node.spec.unschedulable && self.left(name) == 0;
        Look { is_marked, is_drained, goes }
    }

    /// Whether there has been nothing to do for as long as is waited for.
    fn is_idle(&mut self, now: Time, decision: &Decision) -> bool {
        let is_busy = !decision.commands.is_empty()
            || self.scaling.as_ref().is_some_and(|scaling| scaling.is_busy(decision))
            || !self.is_dry_run
                && (!self.open.is_empty()
                    || self.core.view().messages().keys().any(|id| !self.unread.contains(id)));
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
        if let Some(scaling) = &mut self.scaling {
            scaling.answered(&outcome);
        }
        self.core.outcome(&outcome);
    }

    fn decide(&mut self, now: Time) -> Decision {
        let mut decision = self.core.decide(now);
        let has_new = !self.new.is_empty();
        self.messages(now);
        self.seen(now);
        self.commands(now, &decision.commands);
        if let Some(scaling) = &mut self.scaling {
            scaling.decided(self.core.view(), now, &decision);
        }
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
