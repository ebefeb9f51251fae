//! What is told of an autoscaler's decisions: each is looked at once.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use replank_core::scale::RUN;
use replank_facts::groups::instance_id_of;
use replank_model::object::cloud::{GroupId, GroupSize};
use replank_model::object::meta::Key;
use replank_model::object::node::Node;
use replank_model::object::pod::Pod;
use replank_model::text::{NodeName, Uid};
use replank_model::time::Time;
use replank_model::view::View;
use replank_protocol::command::{
    Command, CommandKey, Effect, GroupEffect, KubernetesEffect, NodeTarget, Outcome, Replacement,
};
use replank_protocol::decision::Decision;
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
pub(crate) struct Figures {
    /// Nodes that were asked for.
    pub(crate) added: usize,
    /// Nodes that are gone.
    pub(crate) removed: usize,
    /// Pods that were evicted.
    pub(crate) evicted: usize,
}

/// How many pods that stay pending are named at the end.
const NAMED: usize = 5;

/// A pod of each kind for which no group fits, and how many are like it.
pub(crate) type Unplaced = Vec<(Key, u32)>;

/// What whoever ends tells.
#[derive(Clone, Default)]
pub(crate) struct Shown {
    /// What was done.
    pub(crate) figures: Rc<Cell<Figures>>,
    /// Names of the nodes that are being removed, as they were seen last.
    pub(crate) open: Rc<RefCell<Vec<NodeName>>>,
    /// Pods for which no group fits, each with the number of those like it.
    pub(crate) unplaced: Rc<RefCell<Unplaced>>,
}

impl Shown {
    /// What was done, in words.
    pub(crate) fn done(&self) -> String {
        let Figures { added, removed, evicted } = self.figures.get();
        format!("{} added, {removed} removed, {} evicted", count(added, "node"), count(evicted, "pod"))
    }

    /// Pods that stay pending, in words, if some do.
    pub(crate) fn pending(&self) -> Option<String> {
        let unplaced = self.unplaced.borrow();
        (!unplaced.is_empty()).then(|| pending(&unplaced))
    }

    /// What becomes of nodes that are being removed, in words.
    pub(crate) fn stays(&self) -> String {
        let open = self.open.borrow();
        if open.is_empty() {
            return "no node is being removed".to_owned();
        }
        let names: Vec<&str> = open.iter().map(NodeName::as_str).collect();
        format!(
            "these nodes stay cordoned and marked, and the next process goes on with them: {}",
            names.join(" ")
        )
    }
}

/// Pods that stay pending, in words: a few by their names.
fn pending(unplaced: &[(Key, u32)]) -> String {
    let all: u32 = unplaced.iter().map(|(_, pods)| pods).sum();
    let names: Vec<String> = unplaced.iter().take(NAMED).map(|(pod, _)| pod.to_string()).collect();
    let more = usize::try_from(all).unwrap_or_default().saturating_sub(names.len());
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    let all = count(usize::try_from(all).unwrap_or_default(), "pod");
    format!("no group has nodes for {all} pending: {}{more}", names.join(", "))
}

/// See the module's page.
pub(crate) struct Told {
    screen: Rc<RefCell<Screen>>,
    shown: Shown,
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

impl Told {
    pub(crate) fn new(screen: Rc<RefCell<Screen>>, shown: Shown) -> Self {
        Self {
            screen,
            shown,
            asked: BTreeMap::new(),
            sent: BTreeMap::new(),
            open: BTreeMap::new(),
            ready: BTreeSet::new(),
            has_begun: false,
        }
    }

    /// Whether a command is the autoscaler's.
    pub(crate) fn is_about(command: &Command) -> bool {
        command.run.as_str() == RUN
    }

    /// Tells of a decision, made on that view.
    pub(crate) fn decided(&mut self, view: &View, now: Time, decision: &Decision) {
        self.seen(view, now);
        self.commands(view, now, &decision.commands);
        self.has_begun = true;
        *self.shown.unplaced.borrow_mut() = decision.waiting.iter().filter_map(unplaced).collect();
    }

    /// Tells of an answer that is none to the liking.
    pub(crate) fn answered(&mut self, outcome: &Outcome) {
        if let Some(what) = self.sent.remove(&outcome.key)
            && let Some(message) = refused(&outcome.answer)
        {
            let line = format!("error when {what}: {message}");
            self.screen.borrow_mut().warn(outcome.at, "refused", &line);
        }
    }

    /// Whether there is something to do, or something comes by itself.
    pub(crate) fn is_busy(&self, decision: &Decision) -> bool {
        let waits = decision.waiting.iter().any(|one| will_change(&one.on));
        waits || decision.commands.iter().any(Self::is_about) || !self.open.is_empty()
    }

    fn say(&self, at: Time, line: &str, event: serde_json::Value) {
        self.screen.borrow_mut().say(at, line, event);
    }

    fn count(&self, add: impl FnOnce(&mut Figures)) {
        let mut figures = self.shown.figures.get();
        add(&mut figures);
        self.shown.figures.set(figures);
    }

    fn commands(&mut self, view: &View, now: Time, commands: &[Command]) {
        for command in commands.iter().filter(|command| Self::is_about(command)) {
            let words = self.command(view, now, &command.effect);
            self.sent.insert(command.key.clone(), words.unwrap_or_else(|| command.key.0.to_string()));
        }
    }

    /// Tells of a command; in words.
    fn command(&mut self, view: &View, now: Time, effect: &Effect) -> Option<String> {
        match effect {
            Effect::Kubernetes(KubernetesEffect::Cordon { node, .. }) => Some(self.cordon(view, now, node)),
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

    fn cordon(&mut self, view: &View, now: Time, node: &NodeTarget) -> String {
        let name = &node.name;
        if !self.open.contains_key(name) {
            self.open.insert(name.clone(), Open { uid: node.uid.clone(), is_marked: false });
            let pods = left(view, name);
            let line = format!("removing node {name}, which is not needed: {} to move", count(pods, "pod"));
            self.say(now, &line, json!({"event": "removing", "node": name, "pods": pods}));
        }
        format!("cordoning node {name}")
    }

    /// Pods that have gone, nodes that have come, and nodes that are removed.
    fn seen(&mut self, view: &View, now: Time) {
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
        self.take_over(view, now);
        let looks: Vec<(NodeName, Look)> =
            self.open.iter().map(|(name, open)| (name.clone(), look(view, name, open))).collect();
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
        *self.shown.open.borrow_mut() = self.open.keys().cloned().collect();
    }

    /// Nodes that another process has marked: this one goes on with them.
    fn take_over(&mut self, view: &View, now: Time) {
        let is_going = |node: &Node| {
            view.instances().get(&instance_id_of(node)).is_some_and(|instance| !instance.is_counted())
        };
        let nodes = view.nodes.unordered().map(|(_, node)| node);
        let new =
            nodes.filter(|node| !self.open.contains_key(&node.name()) && is_marked(node) && !is_going(node));
        let new: Vec<(NodeName, Uid)> = new.map(|node| (node.name(), node.meta.uid.clone())).collect();
        for (name, uid) in new {
            let line = format!("going on with node {name}: {} to move", count(left(view, &name), "pod"));
            self.say(now, &line, json!({"event": "resuming", "node": name}));
            self.open.insert(name, Open { uid, is_marked: true });
        }
    }
}

/// Pods that are to leave a node.
fn left(view: &View, node: &NodeName) -> usize {
    let pods = view.pods_on(node).iter().filter_map(|ix| view.pods.get(*ix));
    let stays = |pod: &Pod| {
        let is_daemon = pod.meta.controller().is_some_and(|owner| &*owner.kind == "DaemonSet");
        pod.is_mirror() || pod.is_terminal() || is_daemon
    };
    pods.filter(|pod| !stays(pod)).count()
}

fn look(view: &View, name: &NodeName, open: &Open) -> Look {
    let Some(node) = view.node(name).filter(|node| node.meta.uid == open.uid) else { return Look::Goes };
    match view.instances().get(&instance_id_of(node)) {
        Some(instance) if !instance.is_counted() => Look::Goes,
        Some(_) | None if is_marked(node) => Look::Marked,
        Some(_) | None => Look::Unmarked,
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
