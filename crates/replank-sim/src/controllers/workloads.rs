//! The workload controllers together: who is told of what, and what they remember.

use replank_model::object::pod::Pod;
use replank_model::object::workload::{ControllerRevision, ReplicaSet, ReplicationController};
use replank_model::object::{Kind, Object};
use replank_model::time::Span;
use replank_model::view::{Change, Ix, View};

use super::history::History;
use super::index::{Index, resolve};
use super::owners::Owners;
use super::{
    Controller, Ctx, Done, PodChange, cron_job, daemon_set, deployment, endpoint_slice, job, replica_set,
    stateful_set,
};
use crate::ties::SharedTies;
use replank_apiserver::ApiError;

/// Time from the change of a revision to the look at its DaemonSet.
const REVISION_REACTION: Span = Span::from_millis(1);

/// What the workload controllers remember between two looks.
#[derive(Debug, Default)]
pub(crate) struct Workloads {
    index: Index,
    /// The owners of pods.
    owners: Owners,
    /// The Deployments of ReplicaSets.
    owners_of_sets: Owners,
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
    /// Tells every controller of a change of anything but a pod.
    pub(crate) fn watch(&mut self, ctx: &mut Ctx<'_>, change: &Change) {
        self.index.watch(change);
        self.daemons.watch(ctx, change);
        job::watch(ctx, &mut self.jobs, change);
        cron_job::watch(ctx, &mut self.schedules, change);
        self.endpoints.watch(ctx, change);
        let Change::Object { slot, old, new } = change else { return };
        self.owner_changed(old.as_ref(), new.as_ref());
        match (old, new) {
            (None, None) => {}
            (old, Some(Object::ReplicaSet(new))) => {
                self.tallies.set_changed(&new.meta);
                self.look_at_owner(ctx, Controller::ReplicaSet, *slot);
                let old = match old {
                    Some(Object::ReplicaSet(old)) => Some(&**old),
                    Some(_) | None => None,
                };
                let sets = &mut self.owners_of_sets;
                deployment::replica_set_changed(ctx, &self.index, sets, *slot, old, Some(new));
            }
            (Some(Object::ReplicaSet(old)), None) => {
                ctx.queue.forget(Controller::ReplicaSet, *slot);
                self.tallies.forget(&old.meta.uid);
                self.rollouts.forget(&old.meta.uid);
                let sets = &mut self.owners_of_sets;
                deployment::replica_set_changed(ctx, &self.index, sets, *slot, Some(old), None);
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
            (_, Some(Object::Deployment(new))) => {
                if self.rollouts.is_synced(*slot, new.meta.resource_version) {
                    ctx.queue.add_idle(ctx.agenda, Controller::Deployment, *slot);
                } else {
                    ctx.enqueue(Controller::Deployment, *slot);
                }
            }
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
        if ctx.queue.pause_is_over(ctx.agenda, controller, slot) {
            self.sync(ctx, controller, slot);
        }
    }

    /// Tells every controller of a change of a pod.
    pub(crate) fn pod_changed(&mut self, ctx: &mut Ctx<'_>, change: &Change, pod: &PodChange<'_>) {
        self.index.watch(change);
        if pod.concerns(Kind::DaemonSet.as_str()) {
            self.daemons.pod_changed(ctx, &self.index, pod);
        }
        job::pod_changed(ctx, &self.index, pod);
        self.endpoints.pod_changed(ctx, pod);
        let mut counted = [None; 2];
        if pod.counts_anew() {
            counted = self.tallies.pod_changed(pod.old.map(|old| &**old), pod.new.map(|new| &**new));
        }
        for (kind, controller) in OWNERS {
            if pod.concerns(kind.as_str()) {
                let before = self.owner_of_pod(ctx, kind, controller, pod);
                if let (Kind::ReplicaSet, Some(set), None) = (kind, before, pod.new) {
                    deployment::pod_gone(ctx, &self.index, &mut self.owners_of_sets, Ix::new(set));
                }
            }
        }
        // A pod counts for the set of which it has the uid, whatever name it gives it.
        for slot in counted.into_iter().flatten() {
            ctx.queue.take_up(ctx.agenda, Controller::ReplicaSet, slot);
        }
    }

    /// An owner that comes or goes may be that of objects that are known: they are to be asked anew.
    fn owner_changed(&mut self, old: Option<&Object>, new: Option<&Object>) {
        let Some(object) = new.or(old) else { return };
        if let (Some(old), Some(new)) = (old, new)
            && old.meta().uid == new.meta().uid
        {
            return;
        }
        let kind = object.kind();
        if kind == Kind::Deployment {
            self.owners_of_sets.forget_all();
        } else if OWNERS.iter().any(|(owner, _)| *owner == kind) {
            self.owners.forget_all();
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

    /// Has an owner of pods looked at soon. Most changes of pods are none that a ReplicaSet counts.
    fn look_at_owner(&self, ctx: &mut Ctx<'_>, controller: Controller, slot: u32) {
        if controller == Controller::ReplicaSet && self.tallies.is_settled(slot) {
            ctx.queue.add_idle(ctx.agenda, controller, slot);
        } else {
            ctx.enqueue(controller, slot);
        }
    }

    /// Has the owner of a pod looked at: the present one, the former one where it changed, or all that could adopt it. The owner that it had.
    fn owner_of_pod(
        &mut self,
        ctx: &mut Ctx<'_>,
        kind: Kind,
        controller: Controller,
        pod: &PodChange<'_>,
    ) -> Option<u32> {
        let (owners, at) = (&mut self.owners, pod.slot);
        let before = pod.old.and_then(|old| owners.of(ctx.view(), at, &old.meta, kind));
        let after = if pod.is_same_member {
            before
        } else {
            owners.forget(at);
            pod.new.and_then(|new| owners.of(ctx.view(), at, &new.meta, kind))
        };
        if let Some(slot) = before.filter(|slot| Some(*slot) != after) {
            self.look_at_owner(ctx, controller, slot);
        }
        if let Some(slot) = after {
            self.look_at_owner(ctx, controller, slot);
            if pod.is_ready && !pod.was_ready {
                let after = min_ready(ctx.view(), controller, slot);
                if after > Span::ZERO {
                    ctx.enqueue_after(controller, slot, after);
                }
            }
            return before;
        }
        let is_to_be_seen = pod.owner.is_none() && !pod.is_same_member;
        let Some(pod) = pod.new.filter(|new| is_to_be_seen && !new.is_terminating()) else { return before };
        for slot in self.index.namespaced(kind, &pod.meta.namespace) {
            if selects(ctx.view(), controller, slot, pod) {
                ctx.enqueue(controller, slot);
            }
        }
        before
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
