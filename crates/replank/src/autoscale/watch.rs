//! The engine, and what is told of it: each decision is looked at once.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use replank_core::Core;
use replank_facts::groups::instance_id_of;
use replank_model::delta::Delta;
use replank_model::object::Kind;
use replank_model::object::cloud::{GroupId, GroupSize};
use replank_model::object::meta::Key;
use replank_model::object::node::Node;
use replank_model::object::pod::Pod;
use replank_model::text::{NodeName, Uid};
use replank_model::time::{Span, Time};
use replank_protocol::command::{
    Command, CommandKey, Effect, GroupEffect, KubernetesEffect, NodeTarget, Outcome, Replacement,
};
use replank_protocol::decision::{Decision, End};
use replank_protocol::engine::Engine;
use replank_protocol::intent::Intent;
use replank_protocol::mark;
use replank_protocol::owner::Owner;
use replank_protocol::scaling::Hold;
use replank_protocol::waiting::{ScalingWait, Subject, Waiting, WaitingOn};
use serde_json::json;

use crate::handle::Screen;
use crate::live::refused;
use crate::report::words::count;
use crate::roll::of_group;

/// What was done, counted.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Figures {
    /// Nodes that were asked for.
    pub(super) added: usize,
    /// Nodes that are gone.
    pub(super) removed: usize,
    /// Pods that were evicted.
    pub(super) evicted: usize,
}

/// A pod of each kind for which no group fits, and how many are like it.
pub(super) type Unplaced = Vec<(Key, u32)>;

/// See the module's page.
pub(super) struct Watch {
    core: Core,
    screen: Rc<RefCell<Screen>>,
    figures: Rc<Cell<Figures>>,
    /// Names of the nodes that are being removed, for whoever ends.
    shown: Rc<RefCell<Vec<NodeName>>>,
    /// Pods for which no group fits, for whoever ends.
    unplaced: Rc<RefCell<Unplaced>>,
    idle: Option<Span>,
    /// When there was something to do for the last time.
    busy: Option<Time>,
    /// Pods that were asked to go and are still there.
    asked: BTreeMap<Uid, Key>,
    /// What each command does, for when it fails.
    sent: BTreeMap<CommandKey, String>,
    /// Nodes that are being removed.
    open: BTreeMap<NodeName, Open>,
    /// Nodes that were Ready once.
    ready: BTreeSet<NodeName>,
    has_begun: bool,
}

/// A node that is being removed, as it was seen last.
struct Open {
    uid: Uid,
    is_marked: bool,
}

/// How a node that is being removed looks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Look {
    /// It is still there, and carries our mark.
    Marked,
    /// The mark is not there yet, or not any more.
    Unmarked,
    /// Its instance goes, or the node is gone.
    Goes,
}

impl Watch {
    pub(super) fn new(
        core: Core,
        idle: Option<Span>,
        screen: Rc<RefCell<Screen>>,
        figures: Rc<Cell<Figures>>,
        (shown, unplaced): (Rc<RefCell<Vec<NodeName>>>, Rc<RefCell<Unplaced>>),
    ) -> Self {
        Self {
            core,
            screen,
            figures,
            shown,
            unplaced,
            idle,
            busy: None,
            asked: BTreeMap::new(),
            sent: BTreeMap::new(),
            open: BTreeMap::new(),
            ready: BTreeSet::new(),
            has_begun: false,
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

    fn commands(&mut self, now: Time, commands: &[Command]) {
        for command in commands {
            let words = self.command(now, &command.effect);
            self.sent.insert(command.key.clone(), words.unwrap_or_else(|| command.key.0.to_string()));
        }
    }

    /// Tells of a command; in words.
    fn command(&mut self, now: Time, effect: &Effect) -> Option<String> {
        match effect {
            Effect::Kubernetes(KubernetesEffect::Cordon { node, .. }) => Some(self.cordon(now, node)),
            Effect::Kubernetes(KubernetesEffect::Uncordon { node, .. }) => {
                Some(format!("uncordoning node {}", node.name))
            }
            Effect::Kubernetes(KubernetesEffect::Evict { pod, .. }) => {
                self.asked.insert(pod.uid.clone(), pod.key.clone());
                let line = format!("evicting pod {}", pod.key);
                self.say(now, &line, json!({"event": "evicting", "pod": pod.key.to_string()}));
                Some(line)
            }
            Effect::Group(
                GroupEffect::Resize { group, from, to }
                | GroupEffect::UpdateNodegroupConfig { group, from, to },
            ) => Some(self.raise(now, group, (*from, *to))),
            Effect::Group(effect @ GroupEffect::Terminate { instance, group, replacement, .. }) => {
                let line = of_group(effect);
                let decrements = matches!(replacement, Replacement::Decrement { .. });
                let event = json!({"event": "terminating", "instance": instance, "group": group, "decrement": decrements});
                self.say(now, &line, event);
                Some(line)
            }
            Effect::Group(effect) => Some(of_group(effect)),
            Effect::Kubernetes(_) | Effect::Queue(_) => None,
        }
    }

    fn raise(&self, now: Time, group: &GroupId, (from, to): (GroupSize, GroupSize)) -> String {
        let more = to.desired.saturating_sub(from.desired);
        self.count(|figures| figures.added += usize::try_from(more).unwrap_or_default());
        let line = format!(
            "adding {} to group {}: {} wanted, {} so far",
            count(usize::try_from(more).unwrap_or_default(), "node"),
            group.node_group,
            to.desired,
            from.desired
        );
        let event = json!({"event": "adding", "group": group.node_group, "nodes": more, "from": from.desired, "to": to.desired});
        self.say(now, &line, event);
        line
    }

    fn cordon(&mut self, now: Time, node: &NodeTarget) -> String {
        let name = &node.name;
        if !self.open.contains_key(name) {
            self.open.insert(name.clone(), Open { uid: node.uid.clone(), is_marked: false });
            let pods = self.left(name);
            let line = format!("removing node {name}, which is not needed: {} to move", count(pods, "pod"));
            self.say(now, &line, json!({"event": "removing", "node": name, "pods": pods}));
        }
        format!("cordoning node {name}")
    }

    /// Pods that are to leave a node.
    fn left(&self, node: &NodeName) -> usize {
        let view = self.core.view();
        let pods = view.pods_on(node).iter().filter_map(|ix| view.pods.get(*ix));
        let stays = |pod: &Pod| {
            let is_daemon = pod.meta.controller().is_some_and(|owner| &*owner.kind == "DaemonSet");
            pod.is_mirror() || pod.is_terminal() || is_daemon
        };
        pods.filter(|pod| !stays(pod)).count()
    }

    /// Pods that have gone, nodes that have come, and nodes that are removed.
    fn seen(&mut self, now: Time) {
        let view = self.core.view();
        let is_there = |uid: &Uid, key: &Key| view.pods.by_key(key).is_some_and(|pod| pod.meta.uid == *uid);
        let gone: Vec<Uid> =
            self.asked.iter().filter(|(uid, key)| !is_there(uid, key)).map(|(uid, _)| uid.clone()).collect();
        let ready = view.nodes.unordered().filter(|(_, node)| node.is_ready()).map(|(_, node)| node.name());
        let new: Vec<NodeName> = ready.filter(|name| !self.ready.contains(name)).collect();
        for uid in gone {
            if let Some(pod) = self.asked.remove(&uid) {
                self.count(|figures| figures.evicted += 1);
                let line = format!("pod/{} evicted", pod.name);
                self.say(now, &line, json!({"event": "evicted", "pod": pod.to_string()}));
            }
        }
        for name in new {
            if self.has_begun {
                self.say(now, &format!("node/{name} is Ready"), json!({"event": "ready", "node": name}));
            }
            self.ready.insert(name);
        }
        self.take_over(now);
        let looks: Vec<(NodeName, Look)> =
            self.open.iter().map(|(name, open)| (name.clone(), self.look(name, open))).collect();
        for (name, look) in looks {
            let Some(open) = self.open.get_mut(&name) else { continue };
            let was_marked = std::mem::replace(&mut open.is_marked, look == Look::Marked);
            match look {
                Look::Marked => {}
                Look::Unmarked if !was_marked => {}
                Look::Unmarked => {
                    self.open.remove(&name);
                    self.say(
                        now,
                        &format!("node/{name} released"),
                        json!({"event": "released", "node": name}),
                    );
                }
                Look::Goes => {
                    self.open.remove(&name);
                    self.ready.remove(&name);
                    self.count(|figures| figures.removed += 1);
                    self.say(now, &format!("node/{name} removed"), json!({"event": "removed", "node": name}));
                }
            }
        }
        self.shown.borrow_mut().clone_from(&self.open.keys().cloned().collect());
    }

    /// Nodes that another process has marked: this one goes on with them.
    fn take_over(&mut self, now: Time) {
        let view = self.core.view();
        let is_going = |node: &Node| {
            view.instances().get(&instance_id_of(node)).is_some_and(|instance| !instance.is_counted())
        };
        let nodes = view.nodes.unordered().map(|(_, node)| node);
        let new =
            nodes.filter(|node| !self.open.contains_key(&node.name()) && is_marked(node) && !is_going(node));
        let new: Vec<(NodeName, Uid)> = new.map(|node| (node.name(), node.meta.uid.clone())).collect();
        for (name, uid) in new {
            let line = format!("going on with node {name}: {} to move", count(self.left(&name), "pod"));
            self.say(now, &line, json!({"event": "resuming", "node": name}));
            self.open.insert(name, Open { uid, is_marked: true });
        }
    }

    fn look(&self, name: &NodeName, open: &Open) -> Look {
        let view = self.core.view();
        let Some(node) = view.node(name).filter(|node| node.meta.uid == open.uid) else { return Look::Goes };
        match view.instances().get(&instance_id_of(node)) {
            Some(instance) if !instance.is_counted() => Look::Goes,
            Some(_) | None if is_marked(node) => Look::Marked,
            Some(_) | None => Look::Unmarked,
        }
    }

    /// Whether there has been nothing to do for as long as is waited for.
    fn is_idle(&mut self, now: Time, decision: &Decision) -> bool {
        let waits = decision.waiting.iter().any(|one| will_change(&one.on));
        if waits || !decision.commands.is_empty() || !self.open.is_empty() || self.busy.is_none() {
            self.busy = Some(now);
        }
        let over = self.busy.zip(self.idle).map(|(busy, idle)| busy + idle);
        over.is_some_and(|over| over <= now)
    }
}

/// Whether something is waited for that comes by itself.
fn will_change(on: &WaitingOn) -> bool {
    let WaitingOn::Scaling(wait) = on else { return false };
    match wait {
        ScalingWait::NewNodes { .. } => true,
        ScalingWait::NoGroup { .. } => false,
        ScalingWait::NotNeeded { hold } => match hold {
            Hold::Until(_)
            | Hold::After(..)
            | Hold::ScaleUp
            | Hold::Enough { .. }
            | Hold::EnoughDrains { .. } => true,
            Hold::Window { .. } | Hold::Unready { .. } | Hold::Disabled => false,
        },
    }
}

/// A pod for which no group fits, and how many are like it.
fn unplaced(waiting: &Waiting) -> Option<(Key, u32)> {
    let WaitingOn::Scaling(ScalingWait::NoGroup { pods, .. }) = &waiting.on else { return None };
    let Subject::Pod(pod) = &waiting.what else { return None };
    Some((pod.clone(), *pods))
}

/// Whether the autoscaler is removing a node.
fn is_marked(node: &Node) -> bool {
    mark::of(node).is_some_and(|found| found.mark.owner == Owner::Autoscaler)
}

impl Engine for Watch {
    fn observe(&mut self, delta: Delta) {
        self.core.observe(delta);
    }

    fn outcome(&mut self, outcome: Outcome) {
        if let Some(what) = self.sent.remove(&outcome.key)
            && let Some(message) = refused(&outcome.answer)
        {
            let line = format!("error when {what}: {message}");
            self.screen.borrow_mut().warn(outcome.at, "refused", &line);
        }
        self.core.outcome(&outcome);
    }

    fn decide(&mut self, now: Time) -> Decision {
        let mut decision = self.core.decide(now);
        self.seen(now);
        self.commands(now, &decision.commands);
        self.has_begun = true;
        *self.unplaced.borrow_mut() = decision.waiting.iter().filter_map(unplaced).collect();
        let next = self.screen.borrow_mut().waits(now, &decision.waiting);
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
