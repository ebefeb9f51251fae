//! Deployments whose rollout is over.
//!
//! Most looks at a Deployment are for the status of a ReplicaSet, of which a pod came, went or became ready. Where no rollout goes on, all that such a look can
//! do is to write the Deployment's own status. What a look was at that wrote nothing at all is noted, and holds until something else changes than statuses.

use replank_model::labels::{Annotations, Labels};
use replank_model::list::List;
use replank_model::object::Kind;
use replank_model::object::meta::{Meta, OwnerReference};
use replank_model::object::workload::{Deployment, DeploymentSpec, ReplicaSet, ReplicaSetSpec};
use replank_model::shared::Shared;
use replank_model::text::Uid;
use replank_model::view::{Ix, View};

use super::Split;
use super::sets::size;
use super::status::has_nothing_to_say_of_progress;
use crate::controllers::index::Index;

/// A Deployment whose rollout is over, with its ReplicaSets.
#[derive(Debug)]
pub(super) struct Settled {
    deployment: Still<DeploymentSpec>,
    /// The slots of the ReplicaSets, sorted.
    slots: Vec<u32>,
    /// The ReplicaSets and their slots, oldest first, the new one last.
    sets: Vec<(u32, Still<ReplicaSetSpec>)>,
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
    pub(super) fn of(view: &View, index: &Index, deployment: &Deployment, split: &Split) -> Option<Self> {
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
        Some(Self { deployment: Still::of(&deployment.meta, &deployment.spec)?, slots, sets })
            .filter(|_| is_all)
    }

    /// The ReplicaSets as they are now, if nothing but statuses has changed.
    pub(super) fn split(&self, view: &View, index: &Index, deployment: &Deployment) -> Option<Split> {
        let meta = &deployment.meta;
        let is_still = self.deployment.is(meta, &deployment.spec)
            && has_nothing_to_say_of_progress(deployment)
            && index.owns(Kind::ReplicaSet, &meta.uid, &self.slots)
            && !index.has_orphans(Kind::ReplicaSet, &meta.namespace);
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
