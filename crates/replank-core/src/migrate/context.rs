//! One decision in the making: where the migration stands, which direction it takes, what may be deleted.

use std::sync::Arc;

use replank_model::labels::Labels;
use replank_model::object::cluster::Other;
use replank_model::object::meta::{Key, Meta};
use replank_model::object::workload::{Deployment, ReplicaSet};
use replank_model::object::{Kind, Object};
use replank_model::text::{Name, Text};
use replank_model::time::{Span, Time};
use replank_model::view::View;

use super::judge::{self, Path};
use super::record::{self, Record, TWIN_OF, Written};
use super::serving::{self, Missing};
use super::{EXPIRY, Goal, Migrated, Options, Request, argo, ended, pods, rollout, target};
use crate::builder::DecisionBuilder;
use crate::sent::{COMMAND_LIFE, Sent};
use replank_protocol::command::{CommandKey, Dependents, Effect, KubernetesEffect};
use replank_protocol::decision::{Decision, End};
use replank_protocol::hindrance::Hindrance;
use replank_protocol::hindrance::ScaleDown;
use replank_protocol::intent::Intent;
use replank_protocol::migration::Copy;
use replank_protocol::migration::Wait;
use replank_protocol::waiting::{Subject, Waiting, WaitingOn};

/// How long what was sent may still come to be seen: it is carried out within its life, and watches lag by seconds.
const SETTLE_DELAY: Span = Span::from_millis(COMMAND_LIFE.as_millis() + 10_000);

/// What a migration knows of itself beside what stands in the cluster; all of it may be forgotten.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Memory {
    /// A record of ours has been seen.
    pub(super) has_begun: bool,
    /// The twin did not come to serve, and goes again: it is not made once more.
    pub(super) given_up: Option<Wait>,
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
    options: &'a Options,
    pub(super) intent: Intent,
    sent: &'a mut Sent,
    pub(super) memory: &'a mut Memory,
    builder: DecisionBuilder,
}

/// Whether what serves may be deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Leave {
    /// It may, as far as Services go.
    Given,
    /// A person has paused the migration.
    Paused,
    /// A Service was seen without an endpoint, and that is being written down.
    Stopping(Wait),
    /// A Service was seen without an endpoint.
    Stopped(Wait),
}

/// Where a migration is, and where it goes.
pub(super) struct Position {
    pub(super) record: Record,
    /// The ConfigMap that bears the record.
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

    pub(super) fn decide(mut self) -> Decision {
        self.memory.settle.get_or_insert(self.now + SETTLE_DELAY);
        let end = match self.request.kind {
            Migrated::Deployment => self.with(Self::begin, Self::go_on),
            Migrated::StatefulSet | Migrated::DaemonSet | Migrated::ReplicaSet => {
                self.with(pods::begin, pods::go_on)
            }
        };
        match end {
            Some(end) => ended(end),
            None => self.builder.finish(),
        }
    }

    /// By what is written down: it is begun, or goes on.
    fn with<W: Written>(
        &mut self,
        begin: impl FnOnce(&mut Self) -> Option<End>,
        go_on: impl FnOnce(&mut Self, Record<W>, Arc<Other>) -> Option<End>,
    ) -> Option<End> {
        let found = record::find::<W>(self.view, self.request.kind.kind(), &self.request.key);
        let is_first = self.memory.intent.is_none();
        let is_turned = self.memory.intent.replace(self.intent).is_some_and(|last| last != self.intent);
        if is_turned || is_first && found.is_some() {
            self.memory.hold = Some(self.now + SETTLE_DELAY);
        }
        match found {
            None => begin(self),
            Some((record, _)) if record.run != self.options.run && record.expires > self.now => {
                let on = WaitingOn::OtherRun { run: record.run, until: record.expires };
                Some(End::Refused(vec![Waiting { what: self.subject(), on }]))
            }
            Some((record, holder)) => {
                self.memory.has_begun = true;
                go_on(self, record, holder)
            }
        }
    }

    /// The object, whichever it is.
    pub(super) fn live(&self) -> Option<Object> {
        self.view.object(self.request.kind.kind(), &self.request.key)
    }

    /// The end that refuses to begin.
    pub(super) fn refused(&self, hindrances: Vec<Wait>) -> End {
        End::Refused(hindrances.into_iter().map(|wait| self.waiting(wait)).collect())
    }

    /// Whether whoever is in charge lets it begin; else what comes of the decision.
    pub(super) fn may_begin(&mut self) -> Result<(), Option<End>> {
        match self.intent {
            Intent::Run => Ok(()),
            Intent::Cancelled | Intent::Undo => Err(self.called_off()),
            Intent::Paused => {
                self.wait_on(WaitingOn::Paused);
                Err(None)
            }
        }
    }

    /// Nothing is written down: it is not begun, or over.
    fn begin(&mut self) -> Option<End> {
        if let Some(wait) = self.twins_remains() {
            self.wait(wait);
            return None;
        }
        let Some(live) = self.view.deployments.by_key(&self.request.key).cloned() else {
            return Some(self.refused(vec![Wait::Gone]));
        };
        let after = target::after(&live, &self.request.goal);
        if self.is_done(&live, &after) {
            return Some(End::Done);
        }
        if let Err(end) = self.may_begin() {
            return end;
        }
        if let Some(wait) = &self.memory.given_up {
            return Some(End::RolledBack(vec![self.waiting(wait.clone())]));
        }
        if live.meta.is_terminating() {
            self.wait(Wait::Leaving { copy: Copy::Old, sets: 0, pods: 0 });
            return None;
        }
        let path = match judge::judge(self.view, &live, &self.request.goal).path(self.request.choice) {
            Ok(path) => path,
            Err(found) => return Some(self.refused(found.into_iter().map(Wait::Hindered).collect())),
        };
        if let Some(wait) = unsettled(self.view, &live) {
            self.wait(wait);
            return None;
        }
        let record = self.record(&live, after, path);
        if record.bytes() > record::BYTES_MAX {
            let size = Hindrance::Size { bytes: record.bytes(), limit: record::BYTES_MAX };
            return Some(self.refused(vec![Wait::Hindered(size)]));
        }
        self.lay(&record, &live.meta);
        None
    }

    /// Whether there is nothing left to do, though no record says so.
    fn is_done(&self, live: &Deployment, after: &Deployment) -> bool {
        match &self.request.goal {
            Goal::Rollout(_) => rollout::is_handed_over(self.view, live),
            Goal::Selector(_) | Goal::Manifest(_) => {
                live.spec.selector == after.spec.selector
                    && (self.memory.has_begun || target::makes_the_same(after, &live.spec.template))
            }
        }
    }

    /// It was called off, and nothing is seen of it: what is on its way must have come, or be too late.
    fn called_off(&mut self) -> Option<End> {
        let Some(until) = self.memory.settle.filter(|until| *until > self.now) else {
            return Some(End::Cancelled(Vec::new()));
        };
        self.wake_at(until);
        self.wait_on(WaitingOn::Idle { until });
        None
    }

    fn record(&self, live: &Deployment, after: Deployment, path: Path) -> Record {
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

    /// Writes down what is begun.
    pub(super) fn lay<W: Written>(&mut self, record: &Record<W>, live: &Meta) {
        self.memory.settle = Some(self.now + SETTLE_DELAY);
        let key = self.key("begin", self.request.kind.kind(), &live.name, live.uid.as_str());
        self.send(
            "what there is to be written down",
            key,
            Effect::Kubernetes(KubernetesEffect::Create { object: record.object() }),
        );
    }

    /// Makes the twin.
    pub(super) fn make_twin(&mut self, position: &Position, twin: Deployment) {
        let before = position.holder.meta.uid.as_str();
        let key = self.key("twin", Kind::Deployment, &twin.meta.name, before);
        self.memory.settle = Some(self.now + SETTLE_DELAY);
        self.send(
            "the twin to be made",
            key,
            Effect::Kubernetes(KubernetesEffect::Create { object: twin.into() }),
        );
    }

    /// Makes the Rollout.
    pub(super) fn make_rollout(&mut self, position: &Position, rollout: Object) {
        let before = position.holder.meta.uid.as_str();
        let key = self.key("rollout", Kind::Other, &rollout.meta().name, before);
        self.memory.settle = Some(self.now + SETTLE_DELAY);
        self.send(
            "the Rollout to be made",
            key,
            Effect::Kubernetes(KubernetesEffect::Create { object: rollout }),
        );
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
        self.send("the record to be taken away", key, effect);
    }

    fn go_on(&mut self, record: Record, holder: Arc<Other>) -> Option<End> {
        let live = self.view.deployments.by_key(&self.request.key).cloned();
        let is_back = self.is_back(&record, live.as_deref());
        let (wanted, other) = if is_back {
            (record.before.clone(), record.after.clone())
        } else {
            (record.after.clone(), record.before.clone())
        };
        let leave = self.leave(&record, &holder);
        let position = Position { record, holder, live, wanted, other, is_back, leave };
        match position.record.path {
            Path::Keep => super::keep::step(self, &position),
            Path::Twin => super::twin::step(self, &position),
            Path::Rollout => rollout::step(self, &position),
        }
    }

    /// Whether it goes back. A migration that was called off goes back as long as the new Deployment does not stand; then it is
    /// less to finish it.
    fn is_back(&mut self, record: &Record, live: Option<&Deployment>) -> bool {
        let is_new = |live: &Deployment| {
            !live.meta.is_terminating() && live.spec.selector == record.after.spec.selector
        };
        match self.intent {
            Intent::Undo => true,
            Intent::Cancelled => match record.path {
                Path::Keep | Path::Twin => !live.is_some_and(is_new),
                Path::Rollout => live.is_some_and(wants_pods),
            },
            Intent::Run | Intent::Paused => match (record.path, live) {
                (Path::Twin, Some(live)) if is_the_original(live, record) => self.gives_up(record, live),
                (Path::Rollout, Some(live)) if wants_pods(live) => self.gives_up_rollout(record, live),
                (Path::Twin | Path::Keep | Path::Rollout, Some(_) | None) => false,
            },
        }
    }

    /// Whether the twin is no good: it does not come to serve, or it is a copy of what is no longer so.
    fn gives_up(&mut self, record: &Record, live: &Deployment) -> bool {
        if !target::makes_the_same(&record.before, &live.spec.template) {
            return true;
        }
        let until = record.since + self.options.patience;
        let wanted = live.spec.replicas.unwrap_or(1);
        let missing = match self.view.deployments.by_key(&target::twin_key(&self.request.key)) {
            Some(twin) => serving::missing(self.view, twin, &record.served),
            None => Some(Missing::Pods { available: 0, wanted }),
        };
        let wait = missing.map(|missing| as_wait(Copy::Twin, missing));
        self.is_out_of_patience(until, wait.as_ref())
    }

    /// Whether the Rollout is no good: it does not come to serve.
    fn gives_up_rollout(&mut self, record: &Record, live: &Deployment) -> bool {
        let found = argo::find(self.view, &self.request.key);
        let missing = rollout::missing(self, found.as_ref(), live, &record.served);
        let until = record.since + self.options.patience;
        let wait = missing.map(|missing| as_wait(Copy::Rollout, missing));
        self.is_out_of_patience(until, wait.as_ref())
    }

    fn is_out_of_patience(&mut self, until: Time, wait: Option<&Wait>) -> bool {
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
        let wait = |service: &Name, since: Time| Wait::NoEndpoints {
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

    /// What is left of a twin that is gone itself.
    pub(super) fn twins_remains(&self) -> Option<Wait> {
        let of = &self.request.key;
        let is_its = |labels: &Labels| labels.value(TWIN_OF) == Some(of.name.as_str());
        let sets = self
            .view
            .replica_sets
            .unordered()
            .filter(|(_, set)| set.meta.namespace == of.namespace && is_its(&set.meta.labels));
        let pods = self.view.pods.unordered().filter(|(_, pod)| {
            pod.meta.namespace == of.namespace && is_its(&pod.meta.labels) && !pod.is_terminal()
        });
        let (sets, pods) = (sets.count(), pods.count());
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        (sets + pods > 0).then(|| Wait::Leaving { copy: Copy::Twin, sets: count(sets), pods: count(pods) })
    }

    /// Asks for leave to delete; where it is not given, says why. `Err` is the end.
    pub(super) fn may_delete(&mut self, leave: &Leave) -> Result<bool, End> {
        match leave {
            Leave::Given => Ok(self.is_quiet()),
            Leave::Paused => {
                self.wait_on(WaitingOn::Paused);
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

    fn is_past(&mut self, moment: Option<Time>) -> bool {
        let Some(until) = moment.filter(|until| *until > self.now) else { return true };
        self.wake_at(until);
        self.wait_on(WaitingOn::Idle { until });
        false
    }

    /// Says what is missing until a Deployment serves; after the patience that is the end. The old one serves on, or the twin does.
    pub(super) fn wait_for(&mut self, copy: Copy, since: Option<Time>, missing: Missing) -> Option<End> {
        let wait = as_wait(copy, missing);
        let until = since.unwrap_or(self.now) + self.options.patience;
        // What stands in goes again when the patience is over; beside what is to stay a person decides.
        let is_to_stay = match copy {
            Copy::Old | Copy::New => true,
            Copy::Rollout => {
                self.view.deployments.by_key(&self.request.key).is_none_or(|live| !wants_pods(live))
            }
            Copy::Twin => false,
        };
        if is_to_stay && self.now >= until {
            return Some(End::Blocked(vec![self.waiting(wait)]));
        }
        self.wake_at(until);
        self.wait(wait);
        None
    }

    /// Says what is missing until a Deployment serves, for as long as it takes.
    pub(super) fn wait_on_missing(&mut self, copy: Copy, missing: Missing) {
        self.wait(as_wait(copy, missing));
    }

    /// How long anything may take to serve.
    pub(super) fn patience(&self) -> Span {
        self.options.patience
    }

    /// Somebody else has made what is there.
    pub(super) fn foreign(&self) -> End {
        End::Blocked(vec![self.waiting(Wait::Foreign)])
    }

    fn subject(&self) -> Subject {
        Subject::Object(Text::from(format!("{} {}", self.request.kind.kind(), self.request.key)))
    }

    fn waiting(&self, wait: Wait) -> Waiting {
        Waiting { what: self.subject(), on: WaitingOn::Migration(wait) }
    }

    /// Says why it does not go on.
    pub(super) fn wait(&mut self, wait: Wait) {
        self.wait_on(WaitingOn::Migration(wait));
    }

    /// The first reason that is found stands.
    fn wait_on(&mut self, on: WaitingOn) {
        self.builder.wait(self.subject(), on);
    }

    pub(super) fn wake_at(&mut self, at: Time) {
        self.builder.wake_at(at);
    }

    fn key(&self, effect: &str, kind: Kind, name: &Name, incarnation: &str) -> CommandKey {
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
        let words = format!("{} {} to be made again", object.kind_name(), object.meta().name);
        self.send(&words, key, Effect::Kubernetes(KubernetesEffect::Create { object }));
    }

    /// Replaces an object with another state of it.
    pub(super) fn replace(&mut self, what: &str, object: Object) {
        let meta = object.meta();
        let key = self.key(what, object.kind(), &meta.name, meta.uid.as_str());
        let words = format!("{} {} to be changed", object.kind_name(), meta.name);
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
        let words = format!("{} {} to be deleted", object.kind_name(), meta.name);
        let effect = Effect::Kubernetes(KubernetesEffect::Delete {
            object: object.reference(),
            version: meta.resource_version,
            dependents,
        });
        self.send(&words, key, effect);
    }

    fn send(&mut self, what: &str, key: CommandKey, effect: Effect) {
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

fn wants_pods(live: &Deployment) -> bool {
    live.spec.replicas.unwrap_or(1) > 0
}

fn as_wait(copy: Copy, missing: Missing) -> Wait {
    match missing {
        Missing::Pods { available, wanted } => Wait::Available { copy, available, wanted },
        Missing::Endpoints { service, ready, wanted } => Wait::Endpoints { copy, service, ready, wanted },
    }
}

/// A Deployment in the middle of something: not all pods are of the present template, or its ReplicaSet is not of its size yet.
pub(super) fn unsettled(view: &View, live: &Deployment) -> Option<Wait> {
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
    (!is_settled).then_some(Wait::Rollout { updated: status.updated_replicas, wanted })
}
