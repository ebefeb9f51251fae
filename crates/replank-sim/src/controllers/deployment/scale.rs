//! Sizes: when a Deployment is scaled in the middle of a rollout, all its ReplicaSets share the change (`sync.go`,
//! `scale`).

use std::sync::Arc;

use replank_model::object::Object;
use replank_model::object::workload::{DeploymentStrategyType, ReplicaSet};

use super::revision::{DESIRED, MAX};
use super::sets::{active, by_creation, size, total_size};
use super::{Look, Split};
use replank_apiserver::ApiError;

impl Look<'_, '_> {
    /// Whether the Deployment's replicas have changed since its ReplicaSets were sized.
    pub(super) fn is_scaling(&mut self) -> Result<bool, ApiError> {
        let before = self.ctx.api.version();
        let split = self.split(false)?;
        let wanted = self.replicas();
        let is_other = |set: &ReplicaSet| number(set, DESIRED).is_some_and(|desired| desired != wanted);
        let is_scaling = split.each().any(|set| size(set) > 0 && is_other(set));
        // Where nothing was written, asking again would find the same.
        if self.ctx.api.version() == before && split.new.is_some() {
            self.kept = Some(split);
        }
        Ok(is_scaling)
    }

    /// Sizes the ReplicaSets for the Deployment's replicas, without a step of the rollout.
    pub(super) fn scale(&mut self, split: &Split) -> Result<(), ApiError> {
        let wanted = self.replicas();
        if let Some(only) = active_or_latest(split) {
            if size(&only) != wanted {
                self.resize(&only, wanted)?;
            }
            return Ok(());
        }
        if split.new.as_ref().is_some_and(|new| self.is_saturated(new)) {
            for old in active(&split.old) {
                self.resize(&old, 0)?;
            }
            return Ok(());
        }
        match self.strategy() {
            DeploymentStrategyType::Recreate => Ok(()),
            DeploymentStrategyType::RollingUpdate => self.scale_in_proportion(split),
        }
    }

    fn scale_in_proportion(&mut self, split: &Split) -> Result<(), ApiError> {
        let wanted = self.replicas();
        let mut sets = active(&split.all());
        let room = if wanted > 0 { wanted + self.max_surge() } else { 0 };
        let to_add = room - total_size(&sets);
        // Larger ones first; of equal ones the newer grow first, the older shrink first.
        sets.sort_by(|a, b| {
            let newer = by_creation(b, a);
            size(b).cmp(&size(a)).then(if to_add > 0 { newer } else { newer.reverse() })
        });
        let mut added = 0;
        let mut sizes: Vec<i32> = Vec::with_capacity(sets.len());
        for set in &sets {
            let share = self.share(set, to_add, added);
            sizes.push(size(set) + share);
            added += share;
        }
        if let Some(largest) = sizes.first_mut().filter(|_| to_add != 0) {
            *largest = (*largest + to_add - added).max(0);
        }
        for (set, next) in sets.iter().zip(sizes) {
            self.resize(set, next)?;
        }
        Ok(())
    }

    /// What a ReplicaSet gets of a change, in proportion to its size (`GetReplicaSetProportion`).
    fn share(&self, set: &ReplicaSet, to_add: i32, added: i32) -> i32 {
        if size(set) == 0 || to_add == added {
            return 0;
        }
        let (fraction, rest) = (self.fraction(set), to_add - added);
        if to_add > 0 { fraction.min(rest) } else { fraction.max(rest) }
    }

    fn fraction(&self, set: &ReplicaSet) -> i32 {
        if self.replicas() == 0 {
            return -size(set);
        }
        let before = number(set, MAX).filter(|max| *max != 0).unwrap_or(self.deployment.status.replicas);
        if before == 0 {
            return 0;
        }
        let after = self.replicas().saturating_add(self.max_surge());
        let scaled = f64::from(size(set)) * f64::from(after) / f64::from(before);
        // Away from zero at one half, as Go's math.Round.
        #[expect(clippy::cast_possible_truncation, reason = "a share of an i32 by a ratio of two i32")]
        let rounded = scaled.round() as i32;
        rounded - size(set)
    }

    /// Writes a ReplicaSet's size, and the Deployment's beside it.
    pub(super) fn resize(&mut self, set: &Arc<ReplicaSet>, next: i32) -> Result<Arc<ReplicaSet>, ApiError> {
        let desired = self.replicas().to_string();
        let max = (self.replicas().saturating_add(self.max_surge())).to_string();
        let annotations = &set.meta.annotations;
        let is_noted = annotations.value(DESIRED) == Some(&desired) && annotations.value(MAX) == Some(&max);
        if is_noted && size(set) == next {
            return Ok(set.clone());
        }
        let mut changed = ReplicaSet::clone(set);
        changed.spec.replicas = Some(next);
        changed.meta.annotations = annotations.with(DESIRED, desired).with(MAX, max);
        let updated = self.ctx.api.update(changed)?;
        if size(set) != next {
            self.tell_of_scaling(set.meta.name.as_str(), size(set), next);
        }
        Ok(updated)
    }

    /// Tells of a ReplicaSet that wants another number of pods.
    pub(super) fn tell_of_scaling(&mut self, set: &str, from: i32, to: i32) {
        if !self.ctx.api.serving().traces {
            return;
        }
        let direction = if to < from { "down" } else { "up" };
        let message = format!("Scaled {direction} replica set {set} from {from} to {to}");
        let about = Object::Deployment(self.deployment.clone());
        self.ctx.api.tell("deployment-controller", &about, "ScalingReplicaSet", &message);
    }

    /// Whether a ReplicaSet has all pods that the Deployment wants, and they are available.
    fn is_saturated(&self, set: &ReplicaSet) -> bool {
        let wanted = self.replicas();
        size(set) == wanted && number(set, DESIRED) == Some(wanted) && set.status.available_replicas == wanted
    }
}

/// The only ReplicaSet that wants pods; if none does, the new one, or the youngest.
fn active_or_latest(split: &Split) -> Option<Arc<ReplicaSet>> {
    let active = active(&split.all());
    match active.as_slice() {
        [] => split.new.clone().or_else(|| split.old.iter().max_by(|a, b| by_creation(a, b)).cloned()),
        [only] => Some(only.clone()),
        _ => None,
    }
}

fn number(set: &ReplicaSet, annotation: &str) -> Option<i32> {
    set.meta.annotations.value(annotation)?.parse().ok().filter(|number| *number >= 0)
}
