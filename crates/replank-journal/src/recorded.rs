//! An engine that keeps a journal of another.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::mem;

use replank_model::delta::Delta;
use replank_model::object::{Kind, Object};
use replank_model::text::{Text, Uid};
use replank_model::time::Time;
use replank_protocol::command::{Command, Effect, KubernetesEffect, NodeTarget, Outcome, PodTarget};
use replank_protocol::decision::{Decision, End};
use replank_protocol::engine::Engine;
use replank_protocol::intent::Intent;
use replank_protocol::wait_list::WaitList;
use replank_protocol::waiting::{Subject, Waiting};

use crate::entry::{Answered, Beginning, Entry, Place, Seen, Sent, VERSION, Waits, What, incarnation};

/// Where lines go.
pub type Sink<'e> = Box<dyn FnMut(&Entry) + 'e>;

/// An engine around another: what passes through is written down and not changed.
pub struct Recorded<'e> {
    engine: Box<dyn Engine + 'e>,
    sink: Sink<'e>,
    beginning: Option<Beginning>,
    /// The moment of the last decision: observations carry none of their own.
    now: Option<Time>,
    intent: Intent,
    end: Option<End>,
    pods: BTreeMap<Uid, Place>,
    /// Pods that commands were about and that are not gone.
    touched: BTreeMap<Uid, PodTarget>,
    /// Nodes by uid, and whether they count as known: there from the beginning, or told.
    nodes: BTreeMap<Uid, NodeTarget>,
    known: BTreeSet<Uid>,
    waits: BTreeMap<Subject, &'static str>,
    /// What is written with the next decision's moment.
    held: Vec<What>,
}

impl fmt::Debug for Recorded<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Recorded").field("now", &self.now).finish_non_exhaustive()
    }
}

impl<'e> Recorded<'e> {
    /// Keeps a journal of an engine: `verb` on `on`, of `of`.
    #[must_use]
    pub fn new(engine: Box<dyn Engine + 'e>, [verb, on, of]: [&str; 3], sink: Sink<'e>) -> Self {
        let beginning = Beginning {
            version: VERSION,
            writer: Text::from(concat!("replank ", env!("CARGO_PKG_VERSION"))),
            verb: verb.into(),
            on: on.into(),
            of: of.into(),
        };
        Self {
            engine,
            sink,
            beginning: Some(beginning),
            now: None,
            intent: Intent::default(),
            end: None,
            pods: BTreeMap::new(),
            touched: BTreeMap::new(),
            nodes: BTreeMap::new(),
            known: BTreeSet::new(),
            waits: BTreeMap::new(),
            held: Vec::new(),
        }
    }

    fn write(&mut self, at: Time, what: What) {
        (self.sink)(&Entry { at, what });
    }

    fn saw(&mut self, delta: &Delta) {
        match delta {
            Delta::Put(Object::Pod(pod)) => {
                self.pods.insert(pod.meta.uid.clone(), Place::of(pod));
            }
            Delta::Put(Object::Node(node)) => {
                let target = incarnation(node);
                // What is there before the first decision has not come up during the run.
                if (self.now.is_none() || node.is_ready())
                    && self.known.insert(target.uid.clone())
                    && self.now.is_some()
                {
                    self.held.push(What::Seen(Seen::NodeReady(target.clone())));
                }
                self.nodes.insert(target.uid.clone(), target);
            }
            Delta::Gone(object) if object.kind == Kind::Pod => {
                self.pods.remove(&object.uid);
                if let Some(pod) = self.touched.remove(&object.uid) {
                    self.held.push(What::Seen(Seen::PodGone(pod)));
                }
            }
            Delta::Gone(object) if object.kind == Kind::Node => {
                if let Some(node) = self.nodes.remove(&object.uid) {
                    self.held.push(What::Seen(Seen::NodeGone(node)));
                }
            }
            Delta::Put(_)
            | Delta::Gone(_)
            | Delta::Unread(_)
            | Delta::Group(_)
            | Delta::GroupGone(_)
            | Delta::Instance(_)
            | Delta::InstanceGone(_)
            | Delta::Message(_)
            | Delta::MessageGone(_) => {}
        }
    }

    fn sent(&mut self, command: &Command) -> What {
        let pod = pod_of(command);
        let place = pod.and_then(|pod| self.pods.get(&pod.uid)).cloned();
        if let Some(pod) = pod {
            self.touched.insert(pod.uid.clone(), pod.clone());
        }
        What::Sent(Sent { command: command.clone(), pod: place })
    }

    /// How the reasons changed since the last decision.
    fn waits(&mut self, waiting: &WaitList) -> Option<What> {
        let now: BTreeMap<Subject, &'static str> =
            waiting.iter().map(|one| (one.what.clone(), one.on.kind())).collect();
        let before = mem::replace(&mut self.waits, now);
        let is_new = |one: &&Waiting| before.get(&one.what) != Some(&one.on.kind());
        let since: Vec<Waiting> = waiting.iter().filter(is_new).cloned().collect();
        let over: Vec<Subject> =
            before.into_keys().filter(|subject| !self.waits.contains_key(subject)).collect();
        (!since.is_empty() || !over.is_empty()).then_some(What::Waits(Waits { since, over }))
    }
}

impl Engine for Recorded<'_> {
    fn observe(&mut self, delta: Delta) {
        self.saw(&delta);
        self.engine.observe(delta);
    }

    fn outcome(&mut self, outcome: Outcome) {
        let at = self.now.map_or(outcome.at, |now| now.max(outcome.at));
        let (key, answer) = (outcome.key.clone(), outcome.answer.clone());
        self.write(at, What::Answered(Answered { key, answer }));
        self.engine.outcome(outcome);
    }

    fn decide(&mut self, now: Time) -> Decision {
        self.now = Some(now);
        if let Some(beginning) = self.beginning.take() {
            self.write(now, What::Began(beginning));
        }
        for what in mem::take(&mut self.held) {
            self.write(now, what);
        }
        let decision = self.engine.decide(now);
        for noticed in &decision.noticed {
            self.write(now, What::Noticed(noticed.clone()));
        }
        if let Some(waits) = self.waits(&decision.waiting) {
            self.write(now, waits);
        }
        for command in &decision.commands {
            let sent = self.sent(command);
            self.write(now, sent);
        }
        if decision.end != self.end {
            self.end.clone_from(&decision.end);
            if let Some(end) = decision.end.clone() {
                self.write(now, What::Ended(end));
            }
        }
        decision
    }

    fn intend(&mut self, intent: Intent) {
        if intent != self.intent {
            self.intent = intent;
            self.held.push(What::Intended(intent));
        }
        self.engine.intend(intent);
    }

    fn start_anew(&mut self) {
        self.held.push(What::StartedAnew);
        self.waits.clear();
        self.engine.start_anew();
    }

    fn stands_by(&self) -> bool {
        self.engine.stands_by()
    }

    fn watches(&self, kind: Kind) -> bool {
        self.engine.watches(kind)
    }
}

/// The pod that a command ends.
pub(crate) fn pod_of(command: &Command) -> Option<&PodTarget> {
    match &command.effect {
        Effect::Kubernetes(
            KubernetesEffect::Evict { pod, .. }
            | KubernetesEffect::DeletePod { pod, .. }
            | KubernetesEffect::ForceDelete { pod, .. },
        ) => Some(pod),
        Effect::Kubernetes(
            KubernetesEffect::Cordon { .. }
            | KubernetesEffect::Uncordon { .. }
            | KubernetesEffect::CordonByHand { .. }
            | KubernetesEffect::UncordonByHand { .. }
            | KubernetesEffect::Exclude { .. }
            | KubernetesEffect::RestartWorkload { .. }
            | KubernetesEffect::Create { .. }
            | KubernetesEffect::Replace { .. }
            | KubernetesEffect::Delete { .. }
            | KubernetesEffect::DeleteNodeClaim { .. },
        )
        | Effect::Group(_)
        | Effect::Queue(_) => None,
    }
}
