//! Planted bugs in the handling of interruptions, each one that real tools had: an engine around core that alters what core sees or says. The
//! account must catch each.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;

use replank_core::Core;
use replank_model::delta::Delta;
use replank_model::object::Object;
use replank_model::object::cloud::Message;
use replank_model::text::{InstanceId, MessageId, NodeName, RunId, Text};
use replank_model::time::{Span, Time};
use replank_protocol::command::{
    Command, CommandKey, Effect, GroupEffect, KubernetesEffect, Outcome, QueueEffect,
};
use replank_protocol::decision::Decision;
use replank_protocol::engine::Engine;
use replank_protocol::intent::Intent;
use serde_json::Value;

use super::account::Fault;
use super::stage::{Counts, Stage};

/// What is done wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// Of an AWS Health event only the first instance is looked at.
    FirstEntity,
    /// A message is deleted when it is read, not when its action was completed.
    EarlyDelete,
    /// In place of the completion of an action another heartbeat is sent.
    BeatsOn,
    /// Interruptions and the run each keep an account of disruption budgets of their own.
    TwoPurses,
    /// An instance is looked for by the name of the node that it once was.
    OldName,
}

impl Bug {
    /// What the account finds.
    #[must_use]
    pub fn is_found_as(self) -> Fault {
        match self {
            Self::FirstEntity => Fault::Lost,
            Self::EarlyDelete => Fault::DeletedEarly,
            Self::BeatsOn => Fault::BeatsOn,
            Self::TwoPurses => Fault::Overspent,
            Self::OldName => Fault::Untold,
        }
    }

    /// A cluster in which it has its chance.
    #[must_use]
    pub fn stage(self, seed: u64) -> Stage {
        let nodes = [8, 8, 12];
        match self {
            Self::FirstEntity => Stage::of(nodes, Counts { health: 5, ..Counts::default() }, seed),
            Self::EarlyDelete => {
                Stage::of(nodes, Counts { spot: 2, hook: 2, health: 5, ..Counts::default() }, seed)
            }
            Self::BeatsOn => Stage::of(nodes, Counts { hook: 3, ..Counts::default() }, seed),
            Self::TwoPurses => Stage::rolled(4, seed),
            Self::OldName => {
                Stage::of(nodes, Counts { spot: 1, ..Counts::default() }, seed).with_a_name_again()
            }
        }
    }
}

/// Core with a bug.
pub struct Buggy {
    /// What handles interruptions.
    core: Core,
    /// What rolls, where that is another.
    other: Option<Core>,
    bug: Bug,
    fired: Rc<Cell<usize>>,
    /// Messages that were read.
    read: Vec<(MessageId, Text)>,
    /// What each instance was called once.
    names: BTreeMap<InstanceId, NodeName>,
    /// And whose each name is.
    instances: BTreeMap<NodeName, InstanceId>,
}

impl Buggy {
    /// Plants a bug; `fired` counts how often it acts. `core` decides on everything.
    #[must_use]
    pub fn plant(stage: &Stage, core: Core, bug: Bug, fired: Rc<Cell<usize>>) -> Self {
        let (core, other) = match bug {
            Bug::TwoPurses => {
                let (one, other) = stage.apart();
                (one, Some(other))
            }
            Bug::FirstEntity | Bug::EarlyDelete | Bug::BeatsOn | Bug::OldName => (core, None),
        };
        let (read, names, instances) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
        Self { core, other, bug, fired, read, names, instances }
    }

    fn acts(&self) {
        self.fired.set(self.fired.get() + 1);
    }

    /// A message as the bug has it.
    fn misread(&mut self, message: &Message) -> Option<Message> {
        match self.bug {
            Bug::FirstEntity => {
                let mut body: Value = serde_json::from_str(&message.body).ok()?;
                let entities = body.pointer_mut("/detail/affectedEntities")?.as_array_mut()?;
                if entities.len() < 2 {
                    return None;
                }
                entities.truncate(1);
                self.acts();
                Some(Message { body: body.to_string().into(), ..message.clone() })
            }
            Bug::OldName => {
                let body: Value = serde_json::from_str(&message.body).ok()?;
                let id = InstanceId::from(body.pointer("/detail/instance-id")?.as_str()?);
                let now = self.instances.get(self.names.get(&id)?).filter(|now| **now != id)?;
                let renamed = message.body.replace(id.as_str(), now.as_str());
                self.acts();
                Some(Message { body: renamed.into(), ..message.clone() })
            }
            Bug::EarlyDelete => {
                self.read.push((message.id.clone(), message.receipt.clone()));
                None
            }
            Bug::BeatsOn | Bug::TwoPurses => None,
        }
    }

    fn go_wrong(&mut self, now: Time, decision: &mut Decision) {
        match self.bug {
            Bug::EarlyDelete => {
                for (message, receipt) in std::mem::take(&mut self.read) {
                    self.acts();
                    let key = CommandKey(format!("bug/delete/{receipt}").into());
                    let effect = Effect::Queue(QueueEffect::DeleteMessage { message, receipt });
                    let deadline = now + Span::from_secs(60);
                    let run = RunId::from("bug");
                    decision.commands.push(Command { key, run, effect, deadline });
                }
            }
            Bug::BeatsOn => {
                for command in &mut decision.commands {
                    if let Effect::Group(GroupEffect::CompleteAction { action, .. }) = &command.effect {
                        command.effect = Effect::Group(GroupEffect::Heartbeat { action: action.clone() });
                        let number = self.fired.get();
                        command.key = CommandKey(format!("bug/heartbeat/{number}").into());
                        self.fired.set(number + 1);
                    }
                }
            }
            Bug::FirstEntity | Bug::TwoPurses | Bug::OldName => {}
        }
    }

    /// Two decisions that know nothing of each other.
    fn join(&self, one: &mut Decision, other: Decision) {
        let evicts = |decision: &Decision| {
            decision
                .commands
                .iter()
                .any(|command| matches!(command.effect, Effect::Kubernetes(KubernetesEffect::Evict { .. })))
        };
        if evicts(one) && evicts(&other) {
            self.acts();
        }
        one.commands.extend(other.commands);
        one.waiting = std::mem::take(&mut one.waiting).joined(other.waiting);
        one.wake_at = one.wake_at.into_iter().chain(other.wake_at).min();
    }
}

impl Engine for Buggy {
    fn observe(&mut self, delta: Delta) {
        if let Delta::Put(Object::Node(node)) = &delta {
            let id = node.spec.provider_id.rsplit('/').next().unwrap_or_default();
            self.names.insert(InstanceId::from(id), node.name());
            self.instances.insert(node.name(), InstanceId::from(id));
        }
        let delta = match delta {
            Delta::Message(message) => match self.misread(&message) {
                Some(other) => Delta::Message(other.into()),
                None => Delta::Message(message),
            },
            as_it_is @ (Delta::Put(_)
            | Delta::Gone(_)
            | Delta::Unread(_)
            | Delta::Group(_)
            | Delta::GroupGone(_)
            | Delta::Instance(_)
            | Delta::InstanceGone(_)
            | Delta::MessageGone(_)) => as_it_is,
        };
        if let Some(other) = &mut self.other {
            other.observe(delta.clone());
        }
        self.core.observe(delta);
    }

    fn outcome(&mut self, outcome: Outcome) {
        if let Some(other) = &mut self.other {
            other.outcome(&outcome);
        }
        self.core.outcome(&outcome);
    }

    fn decide(&mut self, now: Time) -> Decision {
        let mut decision = self.core.decide(now);
        if let Some(other) = self.other.as_mut().map(|other| other.decide(now)) {
            self.join(&mut decision, other);
        }
        self.go_wrong(now, &mut decision);
        decision
    }

    fn intend(&mut self, intent: Intent) {
        self.core.intend(intent);
    }

    fn start_anew(&mut self) {
        self.core.start_anew();
        if let Some(other) = &mut self.other {
            other.start_anew();
        }
    }
}
