//! Deployments whose rollout is over.
//!
//! Most looks at a Deployment are for the status of a ReplicaSet, of which a pod came, went or became ready. Where no rollout goes on, all that such a look can
//! do is to write the Deployment's own status. What a look was at that wrote nothing at all is noted, and holds until something else changes than statuses.

use replank_model::labels::{Annotations, Labels};
use replank_model::list::List;
use replank_model::object::Kind;
use replank_model::object::condition::Condition;
use replank_model::object::meta::{Meta, OwnerReference};
use replank_model::object::workload::{
    Deployment, DeploymentSpec, DeploymentStatus, ReplicaSet, ReplicaSetSpec, ReplicaSetStatus,
};
use replank_model::shared::Shared;
use replank_model::text::Uid;
use replank_model::time::Time;
use replank_model::view::{Ix, View};

use super::Split;
use super::conditions::has_nothing_to_say_of_progress;
use super::sets::{size, total_size};
use super::words::Words;
use crate::controllers::index::Index;

/// A Deployment whose rollout is over, with its ReplicaSets.
#[derive(Debug)]
pub(super) struct Settled {
    deployment: Still<DeploymentSpec>,
    /// The slots of the ReplicaSets, sorted.
    slots: Vec<u32>,
    /// The ReplicaSets and their slots, oldest first, the new one last.
    sets: Vec<(u32, Still<ReplicaSetSpec>)>,
    /// These are known to be all as long as the index has this number.
    sets_changed: Option<u64>,
    /// Pods that the ReplicaSets want together.
    size: i32,
    /// Available pods with which the Deployment is available.
    least: i32,
    said: Option<Said>,
}

/// What a Deployment says: that it is available or not, as this version says it, that its rollout is done, or nothing of that, and of no failure.
#[derive(Debug)]
struct Said {
    /// The conditions that say so.
    conditions: List<Condition>,
    is_available: bool,
}

/// What of an object stays the same while nothing but its status changes.
#[derive(Debug)]
struct Still<S> {
    uid: Uid,
    spec: Shared<S>,
    labels: Labels,
    annotations: Annotations,
    owners: List<OwnerReference>,
}

impl<S: PartialEq> Still<S> {
    /// Nothing of an object that is on its way out.
    fn of(meta: &Meta, spec: &Shared<S>) -> Option<Self> {
        (!meta.is_terminating()).then(|| Self {
            uid: meta.uid.clone(),
            spec: spec.clone(),
            labels: meta.labels.clone(),
            annotations: meta.annotations.clone(),
            owners: meta.owner_references.clone(),
        })
    }

    /// A generation would not do: clients may write an empty member where there was none, which is not counted.
    fn is(&self, meta: &Meta, spec: &Shared<S>) -> bool {
        meta.uid == self.uid
            && *spec == self.spec
            && meta.labels.same(&self.labels)
            && meta.annotations.same(&self.annotations)
            && meta.owner_references == self.owners
            && !meta.is_terminating()
    }
}

impl Settled {
    /// What a step of a rollout was at that found nothing to do; `None` if another step may find something although nothing but statuses has changed.
    /// `least` pods make the Deployment available.
    pub(super) fn of(
        view: &View,
        index: &Index,
        deployment: &Deployment,
        split: &Split,
        least: i32,
    ) -> Option<Self> {
        let spec = &deployment.spec;
        let new = split.new.as_ref()?;
        let has_its_size =
            size(new) == spec.replicas.unwrap_or(1) && split.old.iter().all(|set| size(set) == 0);
        let limit = spec.revision_history_limit.unwrap_or(10);
        let is_tidy = usize::try_from(limit).is_ok_and(|limit| split.old.len() <= limit);
        if !has_its_size || !is_tidy || spec.paused {
            return None;
        }
        let noted = |set: &ReplicaSet| {
            let (slot, _) = view.slot_of(Kind::ReplicaSet, &set.meta.key())?;
            Some((slot, Still::of(&set.meta, &set.spec)?))
        };
        let sets: Vec<_> = split.each().map(|set| noted(set)).collect::<Option<_>>()?;
        let mut slots: Vec<u32> = sets.iter().map(|(slot, _)| *slot).collect();
        slots.sort_unstable();
        let is_all = index.owns(Kind::ReplicaSet, &deployment.meta.uid, &slots);
        let still = Still::of(&deployment.meta, &deployment.spec)?;
        let size = total_size(split.each());
        let settled = Self { deployment: still, slots, sets, sets_changed: None, size, least, said: None };
        is_all.then_some(settled)
    }

    /// The Deployment's status as it is to be, if nothing but statuses has changed, and those say nothing but how many pods there are.
    pub(super) fn status(
        &mut self,
        view: &View,
        index: &Index,
        deployment: &Deployment,
        words: &Words,
        now: Time,
    ) -> Option<DeploymentStatus> {
        if !self.deployment.is(&deployment.meta, &deployment.spec) || !self.has_all(index, deployment) {
            return None;
        }
        let known = &deployment.status;
        if !self.said.as_ref().is_some_and(|said| said.conditions.is_same(&known.conditions)) {
            self.said = words
                .available_of(deployment)
                .map(|is_available| Said { conditions: known.conditions.clone(), is_available });
        }
        let said = self.said.as_mut()?;
        let mut status = DeploymentStatus {
            observed_generation: deployment.meta.generation,
            terminating_replicas: Some(0),
            collision_count: known.collision_count,
            ..DeploymentStatus::default()
        };
        for (slot, still) in &self.sets {
            let set = view.replica_sets.get(Ix::<ReplicaSet>::new(*slot))?;
            if !still.is(&set.meta, &set.spec) || !set.status.conditions.is_empty() {
                return None;
            }
            add(&mut status, &set.status);
        }
        // What was said of progress holds as long as all pods are the new ones.
        if status.replicas != status.updated_replicas {
            return None;
        }
        status.unavailable_replicas = self.size.saturating_sub(status.available_replicas).max(0);
        let is_available = status.available_replicas >= self.least;
        if is_available != said.is_available {
            words.say_available(&mut said.conditions, is_available, now);
            said.is_available = is_available;
        }
        status.conditions = said.conditions.clone();
        Some(status)
    }

    /// Whether the ReplicaSets are still all that there are.
    fn has_all(&mut self, index: &Index, deployment: &Deployment) -> bool {
        let (meta, now) = (&deployment.meta, Some(index.sets_changed()));
        if self.sets_changed == now {
            return true;
        }
        let is_all = index.owns(Kind::ReplicaSet, &meta.uid, &self.slots)
            && !index.has_orphans(Kind::ReplicaSet, &meta.namespace);
        self.sets_changed = now.filter(|_| is_all);
        is_all
    }

    /// The ReplicaSets as they are now, if nothing but statuses has changed.
    pub(super) fn split(&mut self, view: &View, index: &Index, deployment: &Deployment) -> Option<Split> {
        let is_still = self.deployment.is(&deployment.meta, &deployment.spec)
            && has_nothing_to_say_of_progress(deployment)
            && self.has_all(index, deployment);
        if !is_still {
            return None;
        }
        let present = |(slot, still): &(u32, Still<ReplicaSetSpec>)| {
            let set = view.replica_sets.get(Ix::new(*slot))?;
            still.is(&set.meta, &set.spec).then(|| set.clone())
        };
        let mut old: Vec<_> = self.sets.iter().map(present).collect::<Option<_>>()?;
        Some(Split { new: old.pop(), old })
    }
}

/// Counts what a ReplicaSet has. The new one comes last: its pods are those that are up to date.
fn add(status: &mut DeploymentStatus, of: &ReplicaSetStatus) {
    status.replicas = status.replicas.saturating_add(of.replicas);
    status.updated_replicas = of.replicas;
    status.ready_replicas = status.ready_replicas.saturating_add(of.ready_replicas);
    status.available_replicas = status.available_replicas.saturating_add(of.available_replicas);
    status.terminating_replicas = match (status.terminating_replicas, of.terminating_replicas) {
        (Some(sum), Some(count)) => Some(sum + count),
        (sum, None) if of.observed_generation == 0 => sum,
        (Some(_) | None, Some(_) | None) => None,
    };
}
