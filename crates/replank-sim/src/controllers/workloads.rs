//! The workload controllers together: who is told of what, and what they remember.

use replank_model::object::pod::Pod;
use replank_model::object::workload::{ControllerRevision, ReplicaSet, ReplicationController};
use replank_model::object::{Kind, Object};
use replank_model::time::Span;
use replank_model::view::{Change, View};

use super::history::History;
use super::index::{Index, resolve};
use super::{
    Controller, Ctx, Done, cron_job, daemon_set, deployment, endpoint_slice, job, replica_set, stateful_set,
};
use crate::ties::SharedTies;
use replank_apiserver::ApiError;

/// Time from the change of a revision to the look at its DaemonSet.
const REVISION_REACTION: Span = Span::from_millis(1);

/// What the workload controllers remember between two looks.
#[derive(Debug, Default)]
pub(crate) struct Workloads {
    index: Index,
    history: History,
    bursts: replica_set::Bursts,
    tallies: replica_set::Tallies,
    rollouts: deployment::Memory,
    daemons: daemon_set::Daemons,
    jobs: job::Jobs,
    schedules: cron_job::Schedules,
    endpoints: endpoint_slice::Endpoints,
    ties: Option<SharedTies>,
}

/// Kinds that own pods, and adopt those that fit.
const OWNERS: [(Kind, Controller); 4] = [
    (Kind::ReplicaSet, Controller::ReplicaSet),
    (Kind::ReplicationController, Controller::ReplicationController),
    (Kind::StatefulSet, Controller::StatefulSet),
    (Kind::DaemonSet, Controller::DaemonSet),
];

impl Workloads {
    /// Tells every controller of a change.
    pub(crate) fn watch(&mut self, ctx: &mut Ctx<'_>, change: &Change) {
        self.index.watch(change);
        self.daemons.watch(ctx, &self.index, change);
        job::watch(ctx, &self.index, &mut self.jobs, change);
        cron_job::watch(ctx, &mut self.schedules, change);
        self.endpoints.watch(ctx, change);
        let Change::Object { slot, old, new } = change else { return };
        match (old, new) {
            (None, None) => {}
            (_, Some(Object::Pod(_))) | (Some(Object::Pod(_)), None) => {
                self.pod_changed(ctx, pod_in(old.as_ref()), pod_in(new.as_ref()));
            }
            (old, Some(Object::ReplicaSet(new))) => {
                ctx.enqueue(Controller::ReplicaSet, *slot);
                let old = match old {
                    Some(Object::ReplicaSet(old)) => Some(&**old),
                    Some(_) | None => None,
                };
                deployment::replica_set_changed(ctx, &self.index, old, Some(new));
            }
            (Some(Object::ReplicaSet(old)), None) => {
                ctx.queue.forget(Controller::ReplicaSet, *slot);
                self.tallies.forget(&old.meta.uid);
                self.rollouts.forget(&old.meta.uid);
                deployment::replica_set_changed(ctx, &self.index, Some(old), None);
            }
            (_, Some(Object::ReplicationController(_))) => {
                ctx.enqueue(Controller::ReplicationController, *slot);
            }
            (Some(Object::ReplicationController(_)), None) => {
                ctx.queue.forget(Controller::ReplicationController, *slot);
            }
            (_, Some(Object::StatefulSet(_))) => ctx.enqueue(Controller::StatefulSet, *slot),
            (Some(Object::StatefulSet(_)), None) => ctx.queue.forget(Controller::StatefulSet, *slot),
            (_, Some(Object::DaemonSet(_))) => ctx.enqueue(Controller::DaemonSet, *slot),
            (Some(Object::DaemonSet(_)), None) => ctx.queue.forget(Controller::DaemonSet, *slot),
            (Some(Object::ControllerRevision(_)), Some(Object::ControllerRevision(new))) => {
                self.revision_changed(ctx, new);
            }
            (Some(Object::ControllerRevision(gone)), None) => {
                self.history.forget(&gone.meta.uid);
                self.revision_changed(ctx, gone);
            }
            (_, Some(Object::Deployment(_))) => ctx.enqueue(Controller::Deployment, *slot),
            (Some(Object::Deployment(_)), None) => ctx.queue.forget(Controller::Deployment, *slot),
            (Some(_) | None, Some(_)) | (Some(_), None) => {}
        }
    }

    /// Looks at one object.
    pub(crate) fn sync(&mut self, ctx: &mut Ctx<'_>, controller: Controller, slot: u32) {
        ctx.queue.take(controller, slot);
        self.look(ctx, controller, slot);
    }

    /// Goes on with looking at one object.
    pub(crate) fn resume(&mut self, ctx: &mut Ctx<'_>, controller: Controller, slot: u32) {
        self.look(ctx, controller, slot);
    }

    fn look(&mut self, ctx: &mut Ctx<'_>, controller: Controller, slot: u32) {
        let before = ctx.api.version();
        let done = match controller {
            Controller::Deployment => {
                deployment::sync(ctx, &self.index, &mut self.rollouts, slot).map(|()| Done::Yes)
            }
            Controller::ReplicaSet => replica_set::sync::<ReplicaSet>(ctx, &mut self.parts(), slot),
            Controller::ReplicationController => {
                replica_set::sync::<ReplicationController>(ctx, &mut self.parts(), slot)
            }
            Controller::StatefulSet => {
                stateful_set::sync(ctx, &self.index, &mut self.history, slot).map(|()| Done::Yes)
            }
            Controller::DaemonSet => {
                daemon_set::sync(ctx, &self.index, &mut self.history, &mut self.daemons, slot)
            }
            Controller::Job => {
                job::sync(ctx, &self.index, &mut self.jobs, self.ties.as_ref(), slot).map(|()| Done::Yes)
            }
            Controller::JobOrphan => job::sync_orphan(ctx, slot).map(|()| Done::Yes),
            Controller::JobTtl => job::sync_ttl(ctx, slot).map(|()| Done::Yes),
            Controller::CronJob => {
                cron_job::sync(ctx, &self.index, &mut self.schedules, slot).map(|()| Done::Yes)
            }
            Controller::EndpointSlice => {
                endpoint_slice::sync(ctx, &self.index, &mut self.endpoints, slot).map(|()| Done::Yes)
            }
        };
        match done {
            Ok(Done::GoesOn(span)) => return ctx.queue.go_on(ctx.agenda, controller, slot, span),
            Ok(Done::Yes) => ctx.queue.forget(controller, slot),
            Err(error) => Self::failed(ctx, controller, slot, &error),
        }
        ctx.queue.wrote(ctx.agenda, controller, slot, ctx.api.version() - before);
        ctx.queue.done(ctx.agenda, controller, slot);
    }

    fn parts(&mut self) -> replica_set::Parts<'_> {
        replica_set::Parts {
            index: &self.index,
            bursts: &mut self.bursts,
            tallies: &mut self.tallies,
            ties: &mut self.ties,
        }
    }

    /// Lets somebody else draw the lots.
    pub(crate) fn leave_ties_to(&mut self, ties: SharedTies) {
        self.ties = Some(ties);
    }

    fn failed(ctx: &mut Ctx<'_>, controller: Controller, slot: u32, error: &ApiError) {
        match controller {
            // pkg/controller/deployment `handleErr`: after so many tries it waits for a change.
            Controller::Deployment
                if super::pods::is_namespace_terminating(error)
                    || ctx.queue.failures(controller, slot) >= deployment::RETRIES_MAX =>
            {
                ctx.queue.forget(controller, slot);
            }
            Controller::EndpointSlice
                if ctx.queue.failures(controller, slot) >= endpoint_slice::RETRIES_MAX =>
            {
                ctx.queue.forget(controller, slot);
            }
            Controller::Deployment
            | Controller::ReplicaSet
            | Controller::ReplicationController
            | Controller::StatefulSet
            | Controller::DaemonSet
            | Controller::Job
            | Controller::JobOrphan
            | Controller::JobTtl
            | Controller::CronJob
            | Controller::EndpointSlice => ctx.retry(controller, slot),
        }
    }

    /// A pause is over.
    pub(crate) fn pause_is_over(&mut self, ctx: &mut Ctx<'_>, controller: Controller, slot: u32) {
        if ctx.queue.pause_is_over(controller, slot, ctx.agenda.now()) {
            self.sync(ctx, controller, slot);
        }
    }

    fn pod_changed(&mut self, ctx: &mut Ctx<'_>, old: Option<&Pod>, new: Option<&Pod>) {
        self.tallies.pod_changed(old, new);
        let (before, after) = (owner_kind(old), owner_kind(new));
        let may_be_adopted = new.is_some() && after.is_none();
        for (kind, controller) in OWNERS {
            let name = Some(kind.as_str());
            if may_be_adopted || before == name || after == name {
                self.owner_of_pod(ctx, kind, controller, old, new);
            }
        }
        if let (Some(gone), None) = (old, new) {
            deployment::pod_gone(ctx, &self.index, gone);
        }
    }

    /// Has the DaemonSet of a revision looked at, before the next request of whoever changed it: on a real control plane a write takes longer than the controller
    /// takes to react, and a client that goes on to make an equal revision finds both.
    fn revision_changed(&self, ctx: &mut Ctx<'_>, revision: &ControllerRevision) {
        let meta = &revision.meta;
        if let Some(slot) = resolve(ctx.view(), Kind::DaemonSet, &meta.namespace, meta.controller()) {
            ctx.queue.add_within(ctx.agenda, (Controller::DaemonSet, slot), REVISION_REACTION);
        }
    }

    /// Has the owner of a pod looked at: the present one, the former one where it changed, or all that could adopt it.
    fn owner_of_pod(
        &self,
        ctx: &mut Ctx<'_>,
        kind: Kind,
        controller: Controller,
        old: Option<&Pod>,
        new: Option<&Pod>,
    ) {
        let owner = |pod: Option<&Pod>| {
            let pod = pod?;
            resolve(ctx.view(), kind, &pod.meta.namespace, pod.meta.controller())
        };
        let after = owner(new);
        let before = if has_same_owner(old, new) { after } else { owner(old) };
        if let Some(slot) = before.filter(|slot| Some(*slot) != after) {
            ctx.enqueue(controller, slot);
        }
        if let Some(slot) = after {
            ctx.enqueue(controller, slot);
            let became_ready = |pod: &Pod| pod.is_ready() && !old.is_some_and(Pod::is_ready);
            let after = min_ready(ctx.view(), controller, slot);
            if after > Span::ZERO && new.is_some_and(became_ready) {
                ctx.enqueue_after(controller, slot, after);
            }
            return;
        }
        let Some(pod) = new.filter(|pod| pod.meta.controller().is_none() && !pod.is_terminating()) else {
            return;
        };
        let is_seen = old.is_some_and(|old| {
            old.meta.labels == pod.meta.labels && old.meta.owner_references == pod.meta.owner_references
        });
        if is_seen {
            return;
        }
        for slot in self.index.namespaced(kind, &pod.meta.namespace) {
            if selects(ctx.view(), controller, slot, pod) {
                ctx.enqueue(controller, slot);
            }
        }
    }
}

fn pod_in(object: Option<&Object>) -> Option<&Pod> {
    match object {
        Some(Object::Pod(pod)) => Some(pod),
        Some(_) | None => None,
    }
}

/// The kind of a pod's managing owner.
fn owner_kind(pod: Option<&Pod>) -> Option<&str> {
    Some(&*pod?.meta.controller()?.kind)
}

/// Whether two states of a pod name one and the same managing owner, or none.
fn has_same_owner(old: Option<&Pod>, new: Option<&Pod>) -> bool {
    let (Some(old), Some(new)) = (old, new) else { return false };
    match (old.meta.controller(), new.meta.controller()) {
        (Some(old), Some(new)) => old.uid == new.uid && old.name == new.name && old.kind == new.kind,
        (None, None) => true,
        (Some(_), None) | (None, Some(_)) => false,
    }
}

/// How long a pod must be ready to be available for an owner.
fn min_ready(view: &View, controller: Controller, slot: u32) -> Span {
    match controller {
        Controller::ReplicaSet => replica_set::min_ready::<ReplicaSet>(view, slot),
        Controller::ReplicationController => replica_set::min_ready::<ReplicationController>(view, slot),
        Controller::StatefulSet => stateful_set::min_ready(view, slot),
        Controller::DaemonSet => daemon_set::min_ready(view, slot),
        Controller::Deployment
        | Controller::Job
        | Controller::JobOrphan
        | Controller::JobTtl
        | Controller::CronJob
        | Controller::EndpointSlice => Span::ZERO,
    }
}

/// Whether an owner would adopt a pod with these labels.
fn selects(view: &View, controller: Controller, slot: u32, pod: &Pod) -> bool {
    match controller {
        Controller::ReplicaSet => replica_set::selects::<ReplicaSet>(view, slot, pod),
        Controller::ReplicationController => replica_set::selects::<ReplicationController>(view, slot, pod),
        Controller::StatefulSet => stateful_set::selects(view, slot, pod),
        Controller::DaemonSet => daemon_set::selects(view, slot, pod),
        Controller::Deployment
        | Controller::Job
        | Controller::JobOrphan
        | Controller::JobTtl
        | Controller::CronJob
        | Controller::EndpointSlice => false,
    }
}
