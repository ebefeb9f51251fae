//! Argo Rollouts that take their template from a Deployment (argo-rollouts `rollout/controller.go`, `templateref.go`,
//! `replicaset.go`, `sync.go`, docs/migrating): as much of the controller as a hand-over can see.
//!
//! - The template is the Deployment's, and so is the selector where the Rollout has none. There is one ReplicaSet per template, labelled
//!   `rollouts-pod-template-hash`.
//! - A canary without steps is rolled by `maxSurge` and `maxUnavailable`; the first template is stable at once.
//! - `status` tells pods, the selector for autoscalers, what was observed, and `phase`: Progressing or Healthy.
//! - `scaleDown` takes the Deployment to nothing when the Rollout is Healthy (`onsuccess`), or as pods get ready (`progressively`); only
//!   for the first template, and as `phase` was written by the look before, as upstream does.
//!
//! Rollouts with a template of their own, with steps, traffic routing, analyses or a blue-green strategy are left as they are: their
//! ReplicaSets are kept by the ReplicaSet controller alone. Nothing happens unless [`Rollouts::assume`] is called.

mod kind;
mod sync;

pub(super) use kind::{GROUP, KIND};

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use replank_model::object::Object;
use replank_model::object::cluster::Other;
use replank_model::object::meta::{Key, Meta};
use replank_model::object::workload::Deployment;
use replank_model::view::Change;

use super::Ctx;
use crate::durations::Assumption;
use crate::event::{ControlDue, Event, RolloutDue as Due};
use crate::timing::Range;
use replank_apiserver::draw::Purpose;
/// From a change to the look that it causes: the controller's queue is limited to some looks a second, and each makes several
/// requests.
const REACTION: Range = Range {
    low: replank_model::time::Span::from_millis(50),
    high: replank_model::time::Span::from_millis(1_500),
};

/// The controller.
#[derive(Debug, Default)]
pub(crate) struct Rollouts {
    is_assumed: bool,
    /// What is to be looked at, by number.
    looks: BTreeMap<u64, Key>,
    waiting: BTreeSet<Key>,
    next: u64,
    /// Whether it has done anything.
    has_acted: bool,
}

impl Rollouts {
    /// Looks after Rollouts from now on.
    pub(crate) fn assume(&mut self) {
        self.is_assumed = true;
    }

    /// What had to be assumed.
    pub(crate) fn assumptions(&self) -> impl Iterator<Item = Assumption> + '_ {
        let said = "its controller runs, and looks at a Rollout within 1.5s of a change";
        self.has_acted.then(|| Assumption::default_of("Argo Rollouts", said)).into_iter()
    }

    pub(crate) fn watch(&mut self, ctx: &mut Ctx<'_>, change: &Change) {
        let Change::Object { old, new, .. } = change else { return };
        match new.as_ref().or(old.as_ref()) {
            Some(Object::Other(other)) if is_rollout(other) => {
                if new.is_some() {
                    self.look_soon(ctx, other.meta.key());
                }
            }
            Some(Object::ReplicaSet(set)) => {
                let owner = set.meta.controller().filter(|owner| &*owner.kind == KIND);
                if let Some(owner) = owner {
                    let key = Key { namespace: set.meta.namespace.clone(), name: owner.name.clone() };
                    self.look_soon(ctx, key);
                }
            }
            Some(Object::Deployment(deployment)) => {
                let is_same = matches!((old, new), (Some(Object::Deployment(old)), Some(Object::Deployment(new)))
                    if asks_the_same(old, new));
                if !is_same {
                    self.deployment_changed(ctx, &deployment.meta.clone());
                }
            }
            Some(_) | None => {}
        }
    }

    fn deployment_changed(&mut self, ctx: &mut Ctx<'_>, of: &Meta) {
        let refers = |other: &Other| {
            other.meta.namespace == of.namespace
                && is_rollout(other)
                && sync::referred(other).is_some_and(|name| name == of.name)
        };
        let keys: Vec<Key> =
            ctx.view().others().filter(|other| refers(other)).map(|other| other.meta.key()).collect();
        keys.into_iter().for_each(|key| self.look_soon(ctx, key));
    }

    pub(crate) fn handle(&mut self, ctx: &mut Ctx<'_>, Due(number): Due) {
        let Some(key) = self.looks.remove(&number) else { return };
        self.waiting.remove(&key);
        if self.is_assumed && sync::look(ctx, &key) == sync::Looked::Acted {
            self.has_acted = true;
        }
    }

    fn look_soon(&mut self, ctx: &mut Ctx<'_>, key: Key) {
        if !self.waiting.insert(key.clone()) {
            return;
        }
        let number = self.next;
        self.next += 1;
        let draw = ctx.draws.draw(&format!("rollout {key}"), Purpose::Operator, number);
        self.looks.insert(number, key);
        ctx.agenda.after(REACTION.draw(draw), Event::Control(ControlDue::Rollout(Due(number))));
    }
}

/// Whether two states of a Deployment ask for the same: as long as its count of that has not moved, they do.
fn asks_the_same(old: &Deployment, new: &Deployment) -> bool {
    let is_one_count = new.meta.generation > 0 && old.meta.generation == new.meta.generation;
    is_one_count && old.meta.uid == new.meta.uid || old.spec == new.spec
}

fn is_rollout(other: &Other) -> bool {
    &*other.kind == KIND && other.group() == GROUP
}
