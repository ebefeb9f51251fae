//! Sums and orders over ReplicaSets, and the numbers of a rollout (`deployment_util.go`).

use std::cmp::Ordering;
use std::sync::Arc;

use replank_model::int_or_string::{IntOrString, Rounding};
use replank_model::object::workload::ReplicaSet;

use super::Look;
use replank_model::object::workload::DeploymentStrategyType;

/// Older first, then by name (`ReplicaSetsByCreationTimestamp`).
pub(super) fn by_creation(a: &ReplicaSet, b: &ReplicaSet) -> Ordering {
    let key = |set: &ReplicaSet| set.meta.creation_timestamp;
    key(a).cmp(&key(b)).then_with(|| a.meta.name.cmp(&b.meta.name))
}

/// `spec.replicas` of a ReplicaSet.
pub(super) fn size(set: &ReplicaSet) -> i32 {
    set.spec.replicas.unwrap_or(1)
}

/// Sum of `spec.replicas`.
pub(super) fn total_size<'a>(sets: impl IntoIterator<Item = &'a Arc<ReplicaSet>>) -> i32 {
    sets.into_iter().map(|set| size(set)).fold(0, i32::saturating_add)
}

/// Sum of available pods.
pub(super) fn total_available<'a>(sets: impl IntoIterator<Item = &'a Arc<ReplicaSet>>) -> i32 {
    sets.into_iter().map(|set| set.status.available_replicas).fold(0, i32::saturating_add)
}

/// ReplicaSets that want pods.
pub(super) fn active(sets: &[Arc<ReplicaSet>]) -> Vec<Arc<ReplicaSet>> {
    sets.iter().filter(|set| size(set) > 0).cloned().collect()
}

impl Look<'_, '_> {
    /// maxSurge and maxUnavailable as numbers of pods; both 0 would stand still (`ResolveFenceposts`).
    fn fenceposts(&self) -> (i32, i32) {
        let rolling = self.deployment.spec.strategy.rolling_update.as_ref();
        let scaled = |value: Option<&IntOrString>, rounding| {
            let scaled = value.map_or(Ok(0), |value| value.scaled(i64::from(self.replicas()), rounding));
            scaled.ok().and_then(|number| i32::try_from(number).ok()).unwrap_or(0)
        };
        let surge = scaled(rolling.and_then(|rolling| rolling.max_surge.as_ref()), Rounding::Up);
        let unavailable =
            scaled(rolling.and_then(|rolling| rolling.max_unavailable.as_ref()), Rounding::Down);
        if surge == 0 && unavailable == 0 { (0, 1) } else { (surge, unavailable) }
    }

    /// Pods above the wanted number.
    pub(super) fn max_surge(&self) -> i32 {
        match self.strategy() {
            DeploymentStrategyType::RollingUpdate => self.fenceposts().0,
            DeploymentStrategyType::Recreate => 0,
        }
    }

    /// Pods that may be missing.
    pub(super) fn max_unavailable(&self) -> i32 {
        match self.strategy() {
            DeploymentStrategyType::RollingUpdate if self.replicas() > 0 => {
                self.fenceposts().1.min(self.replicas())
            }
            DeploymentStrategyType::RollingUpdate | DeploymentStrategyType::Recreate => 0,
        }
    }

    /// Size of the new ReplicaSet in the next step, beside sets that want `total` pods together (`NewRSNewReplicas`).
    pub(super) fn next_size(&self, total: i32, new_size: i32) -> i32 {
        match self.strategy() {
            DeploymentStrategyType::Recreate => self.replicas(),
            DeploymentStrategyType::RollingUpdate => {
                let room = self.replicas().saturating_add(self.max_surge()).saturating_sub(total);
                if room <= 0 {
                    new_size
                } else {
                    new_size.saturating_add(room.min(self.replicas().saturating_sub(new_size)))
                }
            }
        }
    }
}
