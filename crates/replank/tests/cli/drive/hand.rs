//! The smallest engine that drains a node: it cordons it, evicts what is on it, and is done when it is empty.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use replank_live::drive::{Event, Observer};
use replank_model::delta::Delta;
use replank_model::object::Kind;
use replank_model::text::{NodeName, RunId, Text, Uid};
use replank_model::time::{Span, Time};
use replank_model::view::View;
use replank_protocol::command::{
    Answer, Command, CommandKey, Effect, KubernetesEffect, Mark, NodeRole, NodeTarget, Outcome, PodTarget,
};
use replank_protocol::decision::{Decision, End};
use replank_protocol::engine::Engine;
use replank_protocol::intent::Intent;
use replank_protocol::mark;
use replank_protocol::owner::Owner;

pub(super) const RUN: &str = "drain-1";

/// See the module's page.
pub(super) struct Drainer {
    node: NodeName,
    view: View,
    /// Effects that were sent and not answered, by what they are about.
    open: BTreeSet<Uid>,
    /// How often something was sent: commands have a key each.
    sent: u32,
    /// Pods that are not asked for again before.
    later: BTreeMap<Uid, Time>,
    cancelled: bool,
    /// How long after the cordon the first pod is evicted.
    patience: Span,
}

impl Drainer {
    pub(super) fn new(node: &str) -> Self {
        Self::patient(node, Span::ZERO)
    }

    /// One that waits between cordoning and evicting.
    pub(super) fn patient(node: &str, patience: Span) -> Self {
        Self {
            patience,
            node: node.into(),
            view: View::default(),
            open: BTreeSet::new(),
            sent: 0,
            later: BTreeMap::new(),
            cancelled: false,
        }
    }

    fn command(&mut self, about: &Uid, effect: KubernetesEffect, now: Time) -> Command {
        self.sent += 1;
        self.open.insert(about.clone());
        let key = CommandKey(Text::from(format!("{RUN}/{}/{about}", self.sent)));
        Command { key, run: RunId::from(RUN), effect: effect.into(), deadline: now + Span::from_secs(20) }
    }
}

impl Engine for Drainer {
    fn observe(&mut self, delta: Delta) {
        self.view.apply(delta);
    }

    fn outcome(&mut self, outcome: Outcome) {
        let about = outcome.key.0.rsplit('/').next().unwrap_or_default().to_owned();
        let about = Uid::from(about);
        self.open.remove(&about);
        let pause = match outcome.answer {
            Answer::Done => Span::ZERO,
            Answer::Refused(_) => Span::from_secs(1),
            // It may still arrive until its deadline.
            Answer::Unknown { .. } => Span::from_secs(5),
        };
        self.later.insert(about, outcome.at + pause);
    }

    fn decide(&mut self, now: Time) -> Decision {
        let mut decision = Decision { wake_at: Some(now + Span::from_secs(1)), ..Decision::default() };
        let Some(node) = self.view.node(&self.node).cloned() else {
            return Decision { end: Some(End::Done), ..Decision::default() };
        };
        let is_free = |hand: &Self, uid: &Uid| {
            !hand.open.contains(uid) && hand.later.get(uid).is_none_or(|at| *at <= now)
        };
        let target = NodeTarget { name: self.node.clone(), uid: node.meta.uid.clone() };
        let version = node.meta.resource_version;
        if self.cancelled {
            if mark::of(&node).is_none() {
                return Decision { end: Some(End::Cancelled(Vec::new())), ..Decision::default() };
            }
            if is_free(self, &node.meta.uid) {
                let effect = KubernetesEffect::Uncordon { node: target, version };
                decision.commands.push(self.command(&node.meta.uid, effect, now));
            }
            return decision;
        }
        if !node.spec.unschedulable {
            if is_free(self, &node.meta.uid) {
                let mark = Mark {
                    owner: Owner::Run,
                    role: NodeRole::Draining { from: now },
                    since: now,
                    expires: now + Span::from_minutes(60),
                };
                let effect = KubernetesEffect::Cordon { node: target, version, mark };
                decision.commands.push(self.command(&node.meta.uid, effect, now));
            }
            return decision;
        }
        let pods: Vec<_> = self.view.sorted_pods_on(&self.node).into_iter().cloned().collect();
        let is_unread = self.view.unread_on(&self.node).next().is_some();
        if pods.is_empty() && !is_unread {
            decision.end = Some(End::Done);
            return decision;
        }
        let from = mark::of(&node).map(|found| found.mark.since + self.patience);
        if from.is_some_and(|from| now < from) {
            return decision;
        }
        for pod in pods.iter().filter(|pod| !pod.is_terminating()) {
            if is_free(self, &pod.meta.uid) {
                let target = PodTarget { key: pod.meta.key(), uid: pod.meta.uid.clone() };
                let effect = KubernetesEffect::Evict { pod: target, grace_seconds: None };
                let command = self.command(&pod.meta.uid, effect, now);
                decision.commands.push(command);
            }
        }
        decision
    }

    fn intend(&mut self, intent: Intent) {
        self.cancelled = intent == Intent::Cancelled;
    }

    fn start_anew(&mut self) {
        self.view = View::default();
    }

    fn watches(&self, kind: Kind) -> bool {
        matches!(kind, Kind::Node | Kind::Pod | Kind::PodDisruptionBudget)
    }
}

/// What the next effect is to be, of what is seen; nothing once all are sent.
type Next = Box<dyn FnMut(&View, usize, Time) -> Option<Effect>>;
/// Whether what is seen is ready for the next effect.
type Ready = fn(&View, usize) -> bool;

/// What others write is there in a second. A test that waits as long as this has failed.
const READY_WITHIN: Span = Span::from_minutes(2);

/// An engine that sends one effect after another, and is done when the last one is answered.
pub(super) struct Script {
    view: View,
    next: Next,
    is_ready: Ready,
    waits_since: Option<Time>,
    sent: usize,
    is_open: bool,
    kinds: &'static [Kind],
}

impl Script {
    pub(super) fn new(
        kinds: &'static [Kind],
        next: impl FnMut(&View, usize, Time) -> Option<Effect> + 'static,
    ) -> Self {
        let (next, is_ready): (Next, Ready) = (Box::new(next), |_, _| true);
        Self { view: View::default(), next, is_ready, waits_since: None, sent: 0, is_open: false, kinds }
    }

    /// One that sends an effect only once what others write before it is seen: it would be a conflict otherwise.
    pub(super) fn once(self, is_ready: Ready) -> Self {
        Self { is_ready, ..self }
    }
}

impl Engine for Script {
    fn observe(&mut self, delta: Delta) {
        self.view.apply(delta);
    }

    fn outcome(&mut self, _outcome: Outcome) {
        self.is_open = false;
    }

    fn decide(&mut self, now: Time) -> Decision {
        if self.is_open {
            return Decision::default();
        }
        if !(self.is_ready)(&self.view, self.sent) {
            let since = *self.waits_since.get_or_insert(now);
            assert!(now < since + READY_WITHIN, "what effect {} waits for does not come", self.sent);
            return Decision { wake_at: Some(now + Span::from_secs(1)), ..Decision::default() };
        }
        self.waits_since = None;
        let Some(effect) = (self.next)(&self.view, self.sent, now) else {
            return Decision { end: Some(End::Done), ..Decision::default() };
        };
        let key = CommandKey(Text::from(format!("{RUN}/{}", self.sent)));
        (self.sent, self.is_open) = (self.sent + 1, true);
        let command = Command { key, run: RunId::from(RUN), effect, deadline: now + Span::from_secs(20) };
        Decision { commands: vec![command], ..Decision::default() }
    }

    fn intend(&mut self, _intent: Intent) {}

    fn start_anew(&mut self) {}

    fn watches(&self, kind: Kind) -> bool {
        self.kinds.contains(&kind)
    }
}

/// What a run was like, noted as it went.
#[derive(Clone, Default)]
pub(super) struct Notes(Arc<Mutex<Noted>>);

/// See [`Notes`].
#[derive(Default)]
pub(super) struct Noted {
    pub(super) answers: Vec<(Command, Answer)>,
    pub(super) events: Vec<Event>,
    pub(super) decisions: Vec<Time>,
    pub(super) intents: Vec<Intent>,
}

impl Notes {
    pub(super) fn of<T>(&self, read: impl FnOnce(&mut Noted) -> T) -> T {
        read(&mut self.0.lock().expect("nobody panics while writing"))
    }
}

impl Observer for Notes {
    fn decided(&mut self, now: Time, _view: &View, _decision: &Decision) {
        self.of(|noted| noted.decisions.push(now));
    }

    fn answered(&mut self, command: &Command, answer: &Answer, _at: Time) {
        self.of(|noted| noted.answers.push((command.clone(), answer.clone())));
    }

    fn story(&mut self, at: Time, event: &Event) {
        eprintln!("{at} {event}");
        self.of(|noted| noted.events.push(event.clone()));
    }

    fn intent(&mut self) -> Option<Intent> {
        self.of(|noted| noted.intents.pop())
    }
}
