//! What becomes of every instance that something was told about, as the cluster shows it.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use replank_model::object::Object;
use replank_model::object::cloud::{Instance, InstanceState, Lifecycle, Message};
use replank_model::object::meta::Key;
use replank_model::object::node::Node;
use replank_model::object::pod::{Pod, PodPhase};
use replank_model::text::{InstanceId, MessageId, NodeName, Uid};
use replank_model::time::Time;
use replank_model::view::{Change, View};
use replank_protocol::command::{Command, CommandKey, Effect, GroupEffect, KubernetesEffect, QueueEffect};
use replank_protocol::decision::Decision;
use replank_sim::{Observer, Sent};

use super::stage::Kind;

/// What should not be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// An interrupted instance was not looked after.
    Lost,
    /// One thing was done twice.
    Twice,
    /// A message was deleted while something was still to be done about it.
    DeletedEarly,
    /// A hook was kept waiting though nothing was left to wait for.
    BeatsOn,
    /// A node was closed, or its pods moved, though nothing was told about its instance.
    Untold,
    /// An eviction was asked for that a budget did not allow, while nobody else was about.
    Overspent,
    /// What has more time was done before what has less.
    Order,
}

/// One case of it.
pub type Finding = crate::finding::Finding<Fault>;

/// What is known of an instance that something was told about.
#[derive(Clone, Debug)]
pub struct Fate {
    /// What was told.
    pub kind: Kind,
    /// When.
    pub told: Time,
    /// When its node was closed first, and how often it was.
    pub cordoned: Option<Time>,
    cordons: usize,
    /// When the last pod that is to move had left its node, while it was up.
    pub drained: Option<Time>,
    /// When it went down.
    pub down: Option<Time>,
    /// Pods that were on it then.
    pub cut_off: usize,
    /// Lifecycle actions that were completed.
    pub completed: usize,
}

/// A message as it was delivered.
#[derive(Clone, Debug)]
pub struct Letter {
    /// Its body.
    pub body: String,
    /// How often it came.
    pub deliveries: usize,
    /// When it was sent.
    pub sent: Time,
    /// Where it came among those that came first.
    place: usize,
    /// When it was deleted.
    pub deleted: Option<Time>,
    /// Whether it was named as one that cannot be read.
    pub is_named: bool,
}

/// See the module's page.
#[derive(Clone, Debug, Default)]
pub struct Account {
    /// By instance.
    pub fates: BTreeMap<InstanceId, Fate>,
    /// By message.
    pub letters: BTreeMap<MessageId, Letter>,
    /// Everything that should not be.
    pub findings: Vec<Finding>,
    /// Commands that took effect, by key, with the process that sent them first.
    done: BTreeMap<CommandKey, usize>,
    /// Commands that were sent again by another process and took effect, or were found done.
    pub repeated: usize,
    /// Evictions that a budget refused.
    pub refused: usize,
    /// Pods that were deleted since their budgets did not let them go in time.
    pub deleted: usize,
    process: usize,
    /// Commands known so far: those of an older process are below.
    nodes: BTreeMap<NodeName, (InstanceId, bool)>,
    instances: BTreeMap<InstanceId, Arc<Instance>>,
    pods: BTreeMap<Uid, NodeName>,
    on: BTreeMap<NodeName, BTreeSet<Uid>>,
    sent_by: BTreeMap<CommandKey, usize>,
    /// When a pod of a Deployment went last that no budget had let go.
    gone_anyway: BTreeMap<String, Time>,
}

/// The account as the world sees it.
pub struct Watching(pub Rc<RefCell<Account>>);

impl Observer for Watching {
    fn changed(&mut self, at: Time, change: &Change, _view: &View) {
        self.0.borrow_mut().changed(at, change);
    }

    fn decided(&mut self, at: Time, decision: &Decision) {
        self.0.borrow_mut().decided(at, decision);
    }

    fn executed(&mut self, at: Time, sent: &Sent, _view: &View) {
        self.0.borrow_mut().executed(at, sent);
    }
}

impl Account {
    /// An account of a cluster as it is.
    #[must_use]
    pub fn begin(view: &View) -> Self {
        let mut account = Self::default();
        for change in view.as_changes() {
            account.changed(Time::from_millis(0), &change);
        }
        account
    }

    /// Something is told about instances.
    pub(super) fn told(&mut self, at: Time, kind: Option<Kind>, instances: &[InstanceId]) {
        let Some(kind) = kind else { return };
        for instance in instances {
            let fate = Fate {
                kind,
                told: at,
                cordoned: None,
                cordons: 0,
                drained: None,
                down: None,
                cut_off: 0,
                completed: 0,
            };
            self.fates.insert(instance.clone(), fate);
        }
    }

    /// Another process takes over.
    pub(super) fn restarted(&mut self) {
        self.process += 1;
    }

    pub(super) fn delivered(&mut self, message: &Message) {
        let place = self.letters.len();
        let letter = self.letters.entry(message.id.clone()).or_insert_with(|| Letter {
            body: message.body.to_string(),
            deliveries: 0,
            sent: message.sent,
            place,
            deleted: None,
            is_named: false,
        });
        letter.deliveries = letter.deliveries.max(message.received_count as usize);
    }

    pub(super) fn named_poison(&mut self, id: &MessageId) {
        if let Some(letter) = self.letters.get_mut(id) {
            letter.is_named = true;
        }
    }

    /// Whether an instance that something was told about is still in service, or held.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.fates.keys().any(|id| self.is_in_service(id))
    }

    /// How many messages came after one that was sent later.
    #[must_use]
    pub fn overtaken(&self) -> usize {
        let mut by_place: Vec<(&MessageId, &Letter)> = self.letters.iter().collect();
        by_place.sort_by_key(|(_, letter)| letter.place);
        let mut last = None;
        let mut overtaken = 0;
        for (id, _) in by_place {
            // Ids are given in the order of sending.
            overtaken += usize::from(last.is_some_and(|last| id < last));
            last = last.max(Some(id));
        }
        overtaken
    }

    /// What must be so in the end. Every message is deleted, or among the dead letters and named.
    pub fn finish(&mut self, at: Time, dead: &[replank_model::text::Text]) {
        let mut lost = Vec::new();
        for (id, fate) in &self.fates {
            let kind = fate.kind.as_str();
            if fate.cordoned.is_none() && fate.kind != Kind::State {
                lost.push(format!("{id} ({kind}): its node was never cordoned"));
            }
            if fate.drained.is_none() && fate.kind != Kind::State {
                lost.push(format!("{id} ({kind}): {} pods were on it when it shut down", fate.cut_off));
            }
            if fate.kind == Kind::Hook && fate.completed != 1 {
                lost.push(format!("{id} ({kind}): its action was completed {} times", fate.completed));
            }
            if self.is_in_service(id) {
                lost.push(format!("{id} ({kind}): still in service"));
            }
        }
        for (id, letter) in &self.letters {
            let is_dead = dead.iter().any(|body| **body == *letter.body);
            if letter.deleted.is_none() && !(is_dead && letter.is_named) {
                lost.push(format!("message {id} is left: {}", letter.body));
            }
        }
        self.findings.extend(lost.into_iter().map(|what| Finding { at, fault: Fault::Lost, what }));
        let twice = self.fates.iter().filter(|(_, fate)| fate.cordons > 1);
        let twice = twice.map(|(id, fate)| format!("{id}: its node was cordoned {} times", fate.cordons));
        self.findings.extend(twice.map(|what| Finding { at, fault: Fault::Twice, what }).collect::<Vec<_>>());
    }

    fn is_in_service(&self, id: &InstanceId) -> bool {
        self.instances.get(id).is_some_and(|instance| is_serving(instance) || is_held(instance))
    }

    fn find(&mut self, at: Time, fault: Fault, what: String) {
        self.findings.push(Finding { at, fault, what });
    }

    fn changed(&mut self, at: Time, change: &Change) {
        match change {
            Change::Object { old, new, .. } => match new.as_ref().or(old.as_ref()) {
                Some(Object::Node(node)) => self.node(at, node, new.is_some()),
                Some(Object::Pod(pod)) => self.pod(at, pod, new.is_some()),
                _ => {}
            },
            Change::Instance { old, new } => self.instance(at, old.as_ref(), new.as_ref()),
            Change::Group { .. } | Change::Message { .. } | Change::Unread(_) | Change::Stale => {}
        }
    }

    fn node(&mut self, at: Time, node: &Node, is_there: bool) {
        let id = InstanceId::from(node.spec.provider_id.rsplit('/').next().unwrap_or_default());
        if !is_there {
            self.nodes.remove(&node.name());
            return;
        }
        let is_closed = node.spec.unschedulable;
        let before = self.nodes.insert(node.name(), (id.clone(), is_closed));
        let was_closed = before.is_some_and(|(known, closed)| known == id && closed);
        if is_closed && !was_closed {
            if let Some(fate) = self.fates.get_mut(&id) {
                fate.cordoned = fate.cordoned.or(Some(at));
                fate.cordons += 1;
            }
            self.look(at, &node.name());
        }
    }

    fn pod(&mut self, at: Time, pod: &Pod, is_there: bool) {
        let is_over = matches!(pod.status.phase, PodPhase::Succeeded | PodPhase::Failed);
        let moves = is_there && !is_over && !is_of_daemon_set(pod);
        let now = pod.node.clone().filter(|_| moves);
        let before = match &now {
            Some(node) => self.pods.insert(pod.meta.uid.clone(), node.clone()),
            None => self.pods.remove(&pod.meta.uid),
        };
        if before == now {
            return;
        }
        if let Some(node) = now {
            self.on.entry(node).or_default().insert(pod.meta.uid.clone());
        }
        if let Some(node) = before {
            if let Some(pods) = self.on.get_mut(&node) {
                pods.remove(&pod.meta.uid);
            }
            self.look(at, &node);
        }
    }

    /// Whether a closed node is empty.
    fn look(&mut self, at: Time, name: &NodeName) {
        let Some((id, true)) = self.nodes.get(name) else { return };
        let is_up = self.instances.get(id).is_some_and(|instance| instance.state.is_alive());
        let is_empty = self.on.get(name).is_none_or(BTreeSet::is_empty);
        if let Some(fate) = self.fates.get_mut(id).filter(|_| is_up && is_empty) {
            fate.drained = fate.drained.or(Some(at));
        }
    }

    fn instance(&mut self, at: Time, old: Option<&Arc<Instance>>, new: Option<&Arc<Instance>>) {
        let Some(instance) = new.or(old) else { return };
        let is_up = |one: Option<&Arc<Instance>>| one.is_some_and(|one| one.state.is_alive());
        if is_up(old) && !is_up(new) {
            let on = instance.node.as_ref().and_then(|node| self.on.get(node)).map_or(0, BTreeSet::len);
            if let Some(fate) = self.fates.get_mut(&instance.id) {
                fate.down = fate.down.or(Some(at));
                fate.cut_off = on;
            }
        }
        match new {
            Some(new) => self.instances.insert(new.id.clone(), new.clone()),
            None => self.instances.remove(&instance.id),
        };
    }

    /// Of two cases handled in one decision, the one with less time comes first.
    fn decided(&mut self, at: Time, decision: &Decision) {
        for command in &decision.commands {
            self.sent_by.entry(command.key.clone()).or_insert(self.process);
        }
        let (mut cordons, mut evictions) = (None, None);
        for command in decision.commands.iter().filter(|command| is_of_interruptions(command)) {
            let (last, node) = match &command.effect {
                Effect::Kubernetes(KubernetesEffect::Cordon { node, .. }) => (&mut cordons, Some(&node.name)),
                Effect::Kubernetes(KubernetesEffect::Evict { pod, .. }) => {
                    (&mut evictions, self.pods.get(&pod.uid))
                }
                Effect::Kubernetes(_) | Effect::Group(_) | Effect::Queue(_) => continue,
            };
            let instance = node.and_then(|node| self.nodes.get(node)).map(|(id, _)| id);
            let Some(urgency) = instance.and_then(|id| self.urgency(id)) else { continue };
            if last.is_some_and(|last| last > urgency) {
                let what = format!("{} is handled after cases with more time", command.key);
                self.findings.push(Finding { at, fault: Fault::Order, what });
                return;
            }
            *last = Some(urgency);
        }
    }

    /// The less time, the smaller. A rebalance recommendation names no time, but its group's hook does once it holds the
    /// instance: it has no place of its own.
    fn urgency(&self, id: &InstanceId) -> Option<usize> {
        match self.fates.get(id)?.kind {
            Kind::State => Some(0),
            Kind::Spot => Some(1),
            Kind::Hook => Some(2),
            Kind::Health => Some(3),
            Kind::Rebalance => None,
        }
    }

    fn executed(&mut self, at: Time, sent: &Sent) {
        let key = &sent.command.key;
        let is_done = matches!(sent.result, Some((_, Ok(()))));
        if !is_done {
            let is_eviction =
                matches!(sent.command.effect, Effect::Kubernetes(KubernetesEffect::Evict { .. }));
            let is_budget =
                matches!(&sent.result, Some((_, Err(replank_protocol::command::Refusal::Budget { .. }))));
            if is_eviction && is_budget {
                self.refused += 1;
                if let Effect::Kubernetes(KubernetesEffect::Evict { pod, .. }) = &sent.command.effect {
                    self.overspent(at, &pod.key);
                }
            }
            return;
        }
        if let Some(first) = self.done.insert(key.clone(), self.process) {
            if first == self.process {
                self.find(at, Fault::Twice, format!("{key} was done twice by one process"));
            } else {
                self.repeated += 1;
            }
        }
        let is_ours = is_of_interruptions(&sent.command);
        match &sent.command.effect {
            Effect::Kubernetes(KubernetesEffect::Cordon { node, .. }) if is_ours => {
                self.about(at, &node.name, &format!("{key}"));
            }
            Effect::Kubernetes(KubernetesEffect::Evict { pod, .. }) if is_ours => {
                let node = self.pods.get(&pod.uid).cloned();
                if let Some(node) = node {
                    self.about(at, &node, &format!("{key}"));
                }
            }
            Effect::Kubernetes(KubernetesEffect::DeletePod { pod, .. }) => {
                self.deleted += 1;
                self.gone_anyway.insert(owner_part(&pod.key).to_owned(), at);
            }
            Effect::Group(GroupEffect::CompleteAction { action, .. }) => {
                if let Some(fate) = self.fates.get_mut(&action.instance) {
                    fate.completed += 1;
                }
            }
            Effect::Group(GroupEffect::Heartbeat { action }) => self.beat(at, &action.instance),
            Effect::Queue(QueueEffect::DeleteMessage { message, .. }) => self.message_deleted(at, message),
            Effect::Kubernetes(_) | Effect::Group(_) | Effect::Queue(_) => {}
        }
    }

    /// Of the pods of a Deployment one was asked for too much, unless one of them has just gone without its budget's leave.
    fn overspent(&mut self, at: Time, pod: &Key) {
        let gone = self.gone_anyway.get(owner_part(pod)).copied();
        if gone.is_none_or(|gone| at - gone > SEEN_WITHIN) {
            self.find(
                at,
                Fault::Overspent,
                format!("the eviction of {pod} was refused by a budget; {gone:?}"),
            );
        }
    }

    /// A node is dealt with: something must have been told about its instance.
    fn about(&mut self, at: Time, node: &NodeName, what: &str) {
        let Some((id, _)) = self.nodes.get(node) else { return };
        if !self.fates.contains_key(id) {
            let what = format!("{what}: there was no notice for {id}, node {node}");
            self.find(at, Fault::Untold, what);
        }
    }

    fn beat(&mut self, at: Time, id: &InstanceId) {
        let node = self.instances.get(id).and_then(|instance| instance.node.as_ref());
        let left = node.and_then(|node| self.on.get(node)).map_or(0, BTreeSet::len);
        let drained = self.fates.get(id).and_then(|fate| fate.drained);
        // The pod that was last may have been seen until a moment ago.
        let is_long_ago = drained.is_some_and(|drained| at - drained > SEEN_WITHIN);
        if left == 0 && is_long_ago {
            self.find(at, Fault::BeatsOn, format!("{id} is still held, although nothing is left on it"));
        }
    }

    fn message_deleted(&mut self, at: Time, id: &MessageId) {
        let Some(letter) = self.letters.get_mut(id) else { return };
        if letter.deleted.replace(at).is_some() {
            self.find(at, Fault::Twice, format!("message {id} was deleted twice"));
            return;
        }
        let spoken_of: Vec<InstanceId> =
            self.fates.keys().filter(|instance| speaks_of(&letter.body, instance)).cloned().collect();
        for instance in spoken_of {
            if self.is_in_service(&instance) {
                let what = format!("message {id} is deleted before {instance} is done");
                self.find(at, Fault::DeletedEarly, what);
            }
        }
    }
}

/// How late core may see things: the longest lag of a watch, a second for whole seconds, and a command's way.
const SEEN_WITHIN: replank_model::time::Span = replank_model::time::Span::from_millis(3_200);

fn is_of_interruptions(command: &Command) -> bool {
    **command.run.text() == *"interruptions"
}

/// Whether an id stands in a body, and no longer one that begins with it.
fn speaks_of(body: &str, id: &InstanceId) -> bool {
    let is_end = |rest: &str| rest.chars().next().is_none_or(|next| !next.is_ascii_alphanumeric());
    body.match_indices(id.as_str()).any(|(at, found)| is_end(&body[at + found.len()..]))
}

/// What the pods of one Deployment have in common in their names: all but the suffixes of the pod and of its ReplicaSet.
fn owner_part(pod: &Key) -> &str {
    pod.name.as_str().rsplitn(3, '-').last().unwrap_or_default()
}

fn is_of_daemon_set(pod: &Pod) -> bool {
    pod.meta.owner_references.iter().any(|owner| &*owner.kind == "DaemonSet")
}

fn is_serving(instance: &Instance) -> bool {
    let is_up = matches!(instance.state, InstanceState::Pending | InstanceState::Running);
    is_up && matches!(instance.lifecycle, Lifecycle::InService)
}

fn is_held(instance: &Instance) -> bool {
    let is_up = matches!(instance.state, InstanceState::Pending | InstanceState::Running);
    is_up && instance.lifecycle == Lifecycle::TerminatingWait
}
