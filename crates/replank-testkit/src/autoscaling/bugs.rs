//! Planted bugs of autoscalers, each one that real tools had: an engine around core that alters what it sees or says.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;

use replank_core::Core;
use replank_model::delta::Delta;
use replank_model::object::Object;
use replank_model::object::cloud::{GroupId, GroupSize};
use replank_model::object::render;
use replank_model::text::GroupName;
use replank_model::time::Time;
use replank_protocol::command::{Command, CommandKey, Effect, GroupEffect, Outcome, Replacement};
use replank_protocol::decision::Decision;
use replank_protocol::engine::Engine;
use replank_protocol::intent::Intent;
use serde_json::{Value, json};

use super::account::Fault;

/// What is done wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// Instead of terminating the drained instance, it lowers the group's desired size: the group chooses which instance to terminate.
    WantsLess,
    /// A Job's pod is read as a ReplicaSet's: its node is drained.
    BatchMoves,
    /// A pod's requests are cut to a node's capacity: a node is added on which it does not fit.
    NoHost,
}

impl Bug {
    /// What the account finds.
    #[must_use]
    pub fn is_found_as(self) -> Fault {
        match self {
            Self::WantsLess => Fault::WantsLess,
            Self::BatchMoves => Fault::BatchEnded,
            Self::NoHost => Fault::ForNobody,
        }
    }
}

/// Core with a bug.
pub struct Buggy {
    core: Core,
    bug: Bug,
    fired: Rc<Cell<usize>>,
    sizes: BTreeMap<GroupName, GroupSize>,
}

impl Buggy {
    /// Plants a bug; `fired` counts how often it acts.
    #[must_use]
    pub fn plant(core: Core, bug: Bug, fired: Rc<Cell<usize>>) -> Self {
        Self { core, bug, fired, sizes: BTreeMap::new() }
    }

    fn acts(&self) {
        self.fired.set(self.fired.get() + 1);
    }

    /// An object as the bug has it.
    fn misread(&self, object: Object) -> Object {
        let Object::Pod(_) = &object else { return object };
        let mut value = render(&object);
        let is_altered = match self.bug {
            Bug::WantsLess => false,
            Bug::BatchMoves => as_replica_set(&mut value),
            Bug::NoHost => with_less(&mut value),
        };
        if !is_altered {
            return object;
        }
        self.acts();
        Object::from_json(value).expect("still a pod")
    }

    fn shrink(&self, command: &mut Command) {
        let Effect::Group(GroupEffect::Terminate {
            group, replacement: Replacement::Decrement { .. }, ..
        }) = &command.effect
        else {
            return;
        };
        let Some(from) = self.sizes.get(group).copied() else { return };
        let to = GroupSize { desired: from.desired.saturating_sub(1), ..from };
        command.effect = Effect::Group(GroupEffect::Resize { group: GroupId::self_managed(group), from, to });
        command.key = CommandKey(format!("bug/lower/{}", self.fired.get()).into());
        self.acts();
    }
}

fn as_replica_set(pod: &mut Value) -> bool {
    let Some(owner) = pod.pointer_mut("/metadata/ownerReferences/0") else { return false };
    if owner["kind"] != "Job" {
        return false;
    }
    owner["kind"] = "ReplicaSet".into();
    owner["apiVersion"] = "apps/v1".into();
    pod["spec"]["restartPolicy"] = "Always".into();
    true
}

fn with_less(pod: &mut Value) -> bool {
    if pod["metadata"]["name"] != "giant" {
        return false;
    }
    pod["spec"]["containers"][0]["resources"]["requests"] = json!({"cpu": "7", "memory": "1Gi"});
    true
}

impl Engine for Buggy {
    fn observe(&mut self, delta: Delta) {
        if let Delta::Group(group) = &delta {
            self.sizes.insert(group.name.clone(), group.size);
        }
        let delta = match delta {
            Delta::Put(object) => Delta::Put(self.misread(object)),
            as_it_is @ (Delta::Gone(_)
            | Delta::Unread(_)
            | Delta::Group(_)
            | Delta::GroupGone(_)
            | Delta::Instance(_)
            | Delta::InstanceGone(_)
            | Delta::Message(_)
            | Delta::MessageGone(_)) => as_it_is,
        };
        self.core.observe(delta);
    }

    fn outcome(&mut self, outcome: Outcome) {
        self.core.outcome(&outcome);
    }

    fn decide(&mut self, now: Time) -> Decision {
        let mut decision = self.core.decide(now);
        if self.bug == Bug::WantsLess {
            decision.commands.iter_mut().for_each(|command| self.shrink(command));
        }
        decision
    }

    fn intend(&mut self, intent: Intent) {
        self.core.intend(intent);
    }

    fn start_anew(&mut self) {
        self.core.start_anew();
    }

    fn stands_by(&self) -> bool {
        true
    }
}
