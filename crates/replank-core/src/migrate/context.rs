//! One decision in the making: where the migration stands, which direction it takes, what may be deleted.

use std::sync::Arc;

use replank_model::labels::Labels;
use replank_model::object::cluster::Other;
use replank_model::object::meta::Key;
use replank_model::object::workload::{Deployment, ReplicaSet};
use replank_model::object::{Kind, Object};
use replank_model::text::{Name, Text};
use replank_model::time::{Span, Time};
use replank_model::view::View;
use replank_protocol::command::{CommandKey, Dependents, Effect, KubernetesEffect};
use replank_protocol::decision::End;
use replank_protocol::hindrance::ScaleDown;
use replank_protocol::intent::Intent;
use replank_protocol::waiting::{MigrationEnd, MigrationWait, RunWait, Subject, Waiting, WaitingOn};

use super::judge::Path;
use super::record::{Record, Written};
use super::{EXPIRY, Goal, Options, Request, judge, record, serving, target};
use crate::builder::DecisionBuilder;
use crate::sent::Sent;

/// What a migration knows of itself beside what stands in the cluster; all of it may be forgotten.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Memory {
    /// A record of ours has been seen.
    pub(super) has_begun: bool,
    /// A Rollout serves in the Deployment's place, and the record is to go. Whoever deletes the Rollout from then on has deleted it: begun anew, it would be made again with
    /// the size that the Deployment has by now, which is none.
    pub(super) is_handed_over: bool,
    /// The twin did not come to serve, and goes again: it is not made once more.
    pub(super) given_up: Option<MigrationWait>,
    /// Until when a command that begins may be carried out that nobody has seen the effect of: one of this process, or of the
    /// one before it.
    pub(super) settle: Option<Time>,
    /// Until when a deletion may be carried out that was decided with another intent, or by another process: two that are right by
    /// themselves would leave nobody.
    pub(super) hold: Option<Time>,
    /// The intent that was last decided by.
    pub(super) intent: Option<Intent>,
}

/// See the module's page.
pub(super) struct Context<'a> {
    pub(super) now: Time,
    pub(super) view: &'a View,
    pub(super) request: &'a Request,
    pub(super) options: &'a Options,
    pub(super) intent: Intent,
    pub(super) sent: &'a mut Sent,
    pub(super) memory: &'a mut Memory,
    pub(super) builder: DecisionBuilder,
}

/// Whether what serves may be deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Leave {
    /// It may, as far as Services go.
    Given,
    /// A person has paused the migration.
    Paused,
    /// A Service was seen without an endpoint, and that is being written down.
    Stopping(MigrationEnd),
    /// A Service was seen without an endpoint.
    Stopped(MigrationEnd),
}

/// Where a migration is, and where it goes.
pub(super) struct Position {
    pub(super) record: Record,
    /// The ConfigMap that holds the record.
    pub(super) holder: Arc<Other>,
    /// The Deployment of the name, whichever it is.
    pub(super) live: Option<Arc<Deployment>>,
    /// What there is to be in this direction.
    pub(super) wanted: Deployment,
    /// What is to go in this direction.
    pub(super) other: Deployment,
    /// Whether it goes back.
    pub(super) is_back: bool,
    pub(super) leave: Leave,
}

impl<'a> Context<'a> {
    pub(super) fn new(
        now: Time,
        view: &'a View,
        (request, options): (&'a Request, &'a Options),
        intent: Intent,
        (sent, memory): (&'a mut Sent, &'a mut Memory),
    ) -> Self {
        let builder = DecisionBuilder::new(now, options.run.clone());
        Self { now, view, request, options, intent, sent, memory, builder }
    }

    /// The object, whichever it is.
    pub(super) fn live(&self) -> Option<Object> {
        self.view.object(self.request.kind.kind(), &self.request.key)
    }

    /// The end that refuses to begin.
    pub(super) fn refused(&self, hindrances: Vec<MigrationEnd>) -> End {
        End::Refused(hindrances.into_iter().map(|wait| self.waiting(wait)).collect())
    }

    /// Whether the operator's intent lets it begin; otherwise the resulting decision.
    pub(super) fn may_begin(&mut self) -> Result<(), Option<End>> {
        match self.intent {
            Intent::Run => Ok(()),
            Intent::Cancelled | Intent::Undo => Err(self.called_off()),
            Intent::Paused => {
                self.wait_on(WaitingOn::Run(RunWait::Paused));
                Err(None)
            }
        }
    }

    /// It was called off, and nothing is seen of it: what is on its way must have come, or be too late.
    pub(super) fn called_off(&mut self) -> Option<End> {
        let Some(until) = self.memory.settle.filter(|until| *until > self.now) else {
            return Some(End::Cancelled(Vec::new()));
        };
        self.wake_at(until);
        self.wait_on(WaitingOn::Migration(MigrationWait::Settle { until }));
        None
    }

    pub(super) fn record(&self, live: &Deployment, after: Deployment, path: Path) -> Record {
        let labels = &live.spec.template.meta.labels;
        Record {
            set: match path {
                Path::Keep => judge::present_set(self.view, live).map(|set| set.meta.name.clone()),
                Path::Twin | Path::Rollout => None,
            },
            scale_down: match &self.request.goal {
                Goal::Rollout(scale_down) => *scale_down,
                Goal::Selector(_) | Goal::Manifest(_) => ScaleDown::Never,
            },
            ..self.record_of((target::bare(live), after), path, labels)
        }
    }

    /// What is to be written down, of pods with these labels.
    pub(super) fn record_of<W: Written>(
        &self,
        (before, after): (W, W),
        path: Path,
        labels: &Labels,
    ) -> Record<W> {
        let namespace = &self.request.key.namespace;
        let services = serving::services_of(self.view, namespace, labels).into_iter();
        let served = services.map(|service| service.meta.key());
        let served = served.filter(|service| serving::ready_endpoints(self.view, service) > 0);
        Record {
            run: self.options.run.clone(),
            since: self.now,
            expires: self.now + EXPIRY,
            path,
            scale_down: ScaleDown::Never,
            before,
            after,
            set: None,
            served: served.map(|service| service.name).collect(),
            stopped: None,
        }
    }

    /// Takes the record away: it is over. It is deleted first, so that it is gone with its finalizer.
    pub(super) fn lift(&mut self, holder: &Arc<Other>) {
        let meta = &holder.meta;
        if meta.is_terminating() {
            self.replace("end", record::released(holder));
            return;
        }
        let key = self.key("over", Kind::Other, &meta.name, meta.uid.as_str());
        let object = Object::Other(holder.clone()).reference();
        let effect = Effect::Kubernetes(KubernetesEffect::Delete {
            object,
            version: meta.resource_version,
            dependents: Dependents::Collected,
        });
        self.send("deletion of the migration record", key, effect);
    }

    pub(super) fn is_out_of_patience(&mut self, until: Time, wait: Option<&MigrationWait>) -> bool {
        if self.memory.given_up.is_none() && self.now >= until {
            self.memory.given_up = wait.cloned();
        }
        if self.now < until && wait.is_some() {
            self.wake_at(until);
        }
        self.memory.given_up.is_some()
    }

    /// Whether anything that serves may be deleted.
    pub(super) fn leave<W: Written>(&mut self, record: &Record<W>, holder: &Arc<Other>) -> Leave {
        let namespace = &record.before.key().namespace;
        let is_dead = |name: &&Name| {
            let key = Key { namespace: namespace.clone(), name: (*name).clone() };
            self.view.services.by_key(&key).is_some() && serving::ready_endpoints(self.view, &key) == 0
        };
        let dead = record.served.iter().find(is_dead).cloned();
        let wait = |service: &Name, since: Time| MigrationEnd::NoEndpoints {
            service: Key { namespace: namespace.clone(), name: service.clone() },
            since,
        };
        let is_called_back = matches!(self.intent, Intent::Cancelled | Intent::Undo);
        match (&record.stopped, dead) {
            (Some(_), None) if is_called_back => Leave::Given,
            (Some((since, service)), _) => Leave::Stopped(wait(service, *since)),
            (None, Some(service)) => {
                let stopped = Record { stopped: Some((self.now, service.clone())), ..record.clone() };
                self.replace("stop", stopped.rewritten(holder));
                Leave::Stopping(wait(&service, self.now))
            }
            (None, None) if self.intent == Intent::Paused => Leave::Paused,
            (None, None) => Leave::Given,
        }
    }

    /// Asks for leave to delete; where it is not given, says why. `Err` is the end.
    pub(super) fn may_delete(&mut self, leave: &Leave) -> Result<bool, End> {
        match leave {
            Leave::Given => Ok(self.is_quiet()),
            Leave::Paused => {
                self.wait_on(WaitingOn::Run(RunWait::Paused));
                Ok(false)
            }
            Leave::Stopping(wait) => {
                self.wait(wait.clone());
                Ok(false)
            }
            Leave::Stopped(wait) => Err(End::Blocked(vec![self.waiting(wait.clone())])),
        }
    }

    /// The end, where a Service was seen without an endpoint: a person decides, and until then nothing is begun.
    pub(super) fn stands(&self, leave: &Leave) -> Option<End> {
        match leave {
            Leave::Stopped(wait) => Some(End::Blocked(vec![self.waiting(wait.clone())])),
            Leave::Given | Leave::Paused | Leave::Stopping(_) => None,
        }
    }

    /// Whether no deletion can be on its way that was decided with another intent, or by another process; else it is said.
    pub(super) fn is_quiet(&mut self) -> bool {
        self.is_past(self.memory.hold)
    }

    /// Whether nothing that begins can be on its way; else it is said.
    pub(super) fn is_still(&mut self) -> bool {
        self.is_past(self.memory.settle)
    }

    pub(super) fn is_past(&mut self, moment: Option<Time>) -> bool {
        let Some(until) = moment.filter(|until| *until > self.now) else { return true };
        self.wake_at(until);
        self.wait_on(WaitingOn::Migration(MigrationWait::Settle { until }));
        false
    }

    /// How long anything may take to serve.
    pub(super) fn patience(&self) -> Span {
        self.options.patience
    }

    /// Somebody else has made what is there.
    pub(super) fn foreign(&self) -> End {
        End::Blocked(vec![self.waiting(MigrationEnd::Foreign)])
    }

    pub(super) fn subject(&self) -> Subject {
        Subject::Object(Text::from(format!("{} {}", self.request.kind.kind(), self.request.key)))
    }

    pub(super) fn waiting(&self, on: impl Into<WaitingOn>) -> Waiting {
        Waiting { what: self.subject(), on: on.into() }
    }

    /// Says why it does not go on.
    pub(super) fn wait(&mut self, on: impl Into<WaitingOn>) {
        self.wait_on(on.into());
    }

    /// The first reason that is found stands.
    pub(super) fn wait_on(&mut self, on: WaitingOn) {
        self.builder.wait(self.subject(), on);
    }

    pub(super) fn wake_at(&mut self, at: Time) {
        self.builder.wake_at(at);
    }

    pub(super) fn key(&self, effect: &str, kind: Kind, name: &Name, incarnation: &str) -> CommandKey {
        let run = &self.options.run;
        let namespace = &self.request.key.namespace;
        CommandKey(Text::from(format!("{run}/migrate-{effect}/{kind}/{namespace}/{name}/{incarnation}")))
    }

    /// Makes the Deployment that is wanted, in the place of one that is gone.
    pub(super) fn create(&mut self, position: &Position, replicas: Option<i32>) {
        let mut object = position.wanted.clone();
        object.spec.replicas = replicas;
        let direction = if position.is_back { "back" } else { "make" };
        self.make(direction, object.into(), &position.holder);
    }

    /// Makes an object.
    pub(super) fn make(&mut self, direction: &str, object: Object, holder: &Other) {
        let key = self.key(direction, object.kind(), &object.meta().name, holder.meta.uid.as_str());
        let words = format!("re-creation of {} {}", object.kind_name(), object.meta().name);
        self.send(&words, key, Effect::Kubernetes(KubernetesEffect::Create { object }));
    }

    /// Replaces an object with another state of it.
    pub(super) fn replace(&mut self, what: &str, object: Object) {
        let meta = object.meta();
        let key = self.key(what, object.kind(), &meta.name, meta.uid.as_str());
        let words = format!("update of {} {}", object.kind_name(), meta.name);
        self.send(&words, key, Effect::Kubernetes(KubernetesEffect::Replace { object }));
    }

    /// Deletes a Deployment.
    pub(super) fn delete(&mut self, deployment: &Deployment, dependents: Dependents) {
        self.delete_object(&deployment.clone().into(), dependents);
    }

    /// Deletes an object.
    pub(super) fn delete_object(&mut self, object: &Object, dependents: Dependents) {
        let meta = object.meta();
        let key = self.key("delete", object.kind(), &meta.name, meta.uid.as_str());
        let words = format!("deletion of {} {}", object.kind_name(), meta.name);
        let effect = Effect::Kubernetes(KubernetesEffect::Delete {
            object: object.reference(),
            version: meta.resource_version,
            dependents,
        });
        self.send(&words, key, effect);
    }

    pub(super) fn send(&mut self, what: &str, key: CommandKey, effect: Effect) {
        let subject = self.subject();
        let _wish = self.builder.send(self.sent, (subject, Text::from(what)), key, effect);
    }
}

/// Whether a Deployment is the one that there was when it began, and not one that was made since.
pub(super) fn is_the_original(live: &Deployment, record: &Record) -> bool {
    live.spec.selector == record.before.spec.selector
        && !live.meta.is_terminating()
        && live.meta.creation_timestamp.is_some_and(|made| made < record.since)
}

/// A Deployment in the middle of something: not all pods are of the present template, or its ReplicaSet is not of its size yet.
pub(super) fn unsettled(view: &View, live: &Deployment) -> Option<MigrationWait> {
    let wanted = live.spec.replicas.unwrap_or(1);
    let status = &live.status;
    let size = |set: &ReplicaSet| set.spec.replicas.unwrap_or(1);
    let sets = serving::sets_of(view, &live.meta.uid);
    let present = judge::present_set(view, live);
    let is_sized = present.is_some_and(|set| size(set) == wanted);
    let is_alone = sets.iter().all(|set| {
        present.is_some_and(|present| present.meta.uid == set.meta.uid)
            || size(set) == 0 && set.status.replicas == 0
    });
    let is_settled = status.observed_generation >= live.meta.generation
        && status.updated_replicas == wanted
        && status.replicas == wanted
        && is_sized
        && is_alone;
    (!is_settled).then_some(MigrationWait::Rollout { updated: status.updated_replicas, wanted })
}
