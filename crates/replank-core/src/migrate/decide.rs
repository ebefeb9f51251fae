//! What a decision comes to: whether the migration begins or goes on, in which direction, and by which way.

use std::sync::Arc;

use replank_model::labels::Labels;
use replank_model::object::cluster::Other;
use replank_model::object::meta::Meta;
use replank_model::object::workload::Deployment;
use replank_model::object::{Kind, Object};
use replank_model::time::{Span, Time};

use super::context::{Context, Position, is_the_original, unsettled};
use super::judge::{self, Path};
use super::record::{self, Record, TWIN_OF, Written};
use super::serving::{self, Missing};
use super::{Goal, Migrated, argo, ended, pods, rollout, target};
use crate::sent::COMMAND_LIFE;
use replank_protocol::command::{Effect, KubernetesEffect};
use replank_protocol::decision::{Decision, End};
use replank_protocol::hindrance::Hindrance;
use replank_protocol::intent::Intent;
use replank_protocol::waiting::migration::Copy;
use replank_protocol::waiting::{MigrationEnd, MigrationWait};
use replank_protocol::waiting::{RunEnd, Waiting, WaitingOn};

/// How long what was sent may still come to be seen: it is carried out within its life, and watches lag by seconds.
const SETTLE_DELAY: Span = Span::from_millis(COMMAND_LIFE.as_millis() + 10_000);

impl<'a> Context<'a> {
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
        if let Some(version) = record::newer(self.view, self.request.kind.kind(), &self.request.key) {
            let on = WaitingOn::RunEnd(RunEnd::NewerVersion { version });
            return Some(End::Refused(vec![Waiting { what: self.subject(), on }]));
        }
        let found = record::find::<W>(self.view, self.request.kind.kind(), &self.request.key);
        let is_first = self.memory.intent.is_none();
        let is_turned = self.memory.intent.replace(self.intent).is_some_and(|last| last != self.intent);
        if is_turned || is_first && found.is_some() {
            self.memory.hold = Some(self.now + SETTLE_DELAY);
        }
        match found {
            None => begin(self),
            Some((record, _)) if record.run != self.options.run && record.expires > self.now => {
                let on = WaitingOn::RunEnd(RunEnd::OtherRun { run: record.run, until: record.expires });
                Some(End::Refused(vec![Waiting { what: self.subject(), on }]))
            }
            Some((record, holder)) => {
                self.memory.has_begun = true;
                go_on(self, record, holder)
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
            return Some(self.refused(vec![MigrationEnd::Gone]));
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
            self.wait(MigrationWait::Leaving { copy: Copy::Old, sets: 0, pods: 0 });
            return None;
        }
        let path = match judge::judge(self.view, &live, &self.request.goal).path(self.request.choice) {
            Ok(path) => path,
            Err(found) => return Some(self.refused(found.into_iter().map(MigrationEnd::Hindered).collect())),
        };
        if let Some(wait) = unsettled(self.view, &live) {
            self.wait(wait);
            return None;
        }
        let record = self.record(&live, after, path);
        if record.bytes() > record::BYTES_MAX {
            let size = Hindrance::Size { bytes: record.bytes(), limit: record::BYTES_MAX };
            return Some(self.refused(vec![MigrationEnd::Hindered(size)]));
        }
        self.lay(&record, &live.meta);
        None
    }

    /// Whether there is nothing left to do, though no record says so.
    fn is_done(&self, live: &Deployment, after: &Deployment) -> bool {
        match &self.request.goal {
            Goal::Rollout(_) => self.memory.is_handed_over || argo::is_handed_over(self.view, live),
            Goal::Selector(_) | Goal::Manifest(_) => {
                live.spec.selector == after.spec.selector
                    && (self.memory.has_begun || target::makes_the_same(after, &live.spec.template))
            }
        }
    }

    /// Writes down what is begun.
    pub(super) fn lay<W: Written>(&mut self, record: &Record<W>, live: &Meta) {
        self.memory.settle = Some(self.now + SETTLE_DELAY);
        let key = self.key("begin", self.request.kind.kind(), &live.name, live.uid.as_str());
        self.send(
            "migration record",
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
            "creation of the twin",
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
            "creation of the Rollout",
            key,
            Effect::Kubernetes(KubernetesEffect::Create { object: rollout }),
        );
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

    /// Whether the twin is unusable: it does not become available, or the original has changed since.
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

    /// Whether the Rollout is unusable: it does not become available.
    fn gives_up_rollout(&mut self, record: &Record, live: &Deployment) -> bool {
        let found = argo::find(self.view, &self.request.key);
        let missing = rollout::missing(self, found.as_ref(), live, &record.served);
        let until = record.since + self.options.patience;
        let wait = missing.map(|missing| as_wait(Copy::Rollout, missing));
        self.is_out_of_patience(until, wait.as_ref())
    }

    /// What is left of a twin that is gone itself.
    pub(super) fn twins_remains(&self) -> Option<MigrationWait> {
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
        (sets + pods > 0).then(|| MigrationWait::Leaving {
            copy: Copy::Twin,
            sets: count(sets),
            pods: count(pods),
        })
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
}

fn wants_pods(live: &Deployment) -> bool {
    live.spec.replicas.unwrap_or(1) > 0
}

fn as_wait(copy: Copy, missing: Missing) -> MigrationWait {
    match missing {
        Missing::Pods { available, wanted } => MigrationWait::Available { copy, available, wanted },
        Missing::Endpoints { service, ready, wanted } => {
            MigrationWait::Endpoints { copy, service, ready, wanted }
        }
    }
}
