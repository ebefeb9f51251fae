//! The rolling update: the new ReplicaSet grows as far as the surge allows, the old ones shrink as far as enough pods stay
//! available (`rolling.go`).

use std::sync::Arc;

use replank_model::object::workload::ReplicaSet;

use super::sets::{active, by_creation, size, total_available, total_size};
use super::{Look, Split};
use replank_apiserver::ApiError;

impl Look<'_, '_> {
    /// One step of a rolling update.
    pub(super) fn roll(&mut self) -> Result<(), ApiError> {
        let mut split = self.split(true)?;
        if self.grow_new(&mut split)? || self.shrink_old(&mut split)? {
            return self.write_rollout_status(&split);
        }
        if self.is_complete(&self.deployment.status) {
            self.clean_up(&split.old)?;
        }
        self.write_rollout_status(&split)
    }

    fn grow_new(&mut self, split: &mut Split) -> Result<bool, ApiError> {
        let Some(new) = split.new.clone() else { return Ok(false) };
        let (wanted, has) = (self.replicas(), size(&new));
        if has == wanted {
            return Ok(false);
        }
        let next = if has > wanted { wanted } else { self.next_size(total_size(split.each()), has) };
        if next == has {
            return Ok(false);
        }
        split.new = Some(self.resize(&new, next)?);
        Ok(true)
    }

    fn shrink_old(&mut self, split: &mut Split) -> Result<bool, ApiError> {
        let mut old = active(&split.old);
        let Some(new) = split.new.clone().filter(|_| !old.is_empty()) else { return Ok(false) };
        let min_available = self.replicas().saturating_sub(self.max_unavailable());
        let new_unavailable = size(&new) - new.status.available_replicas;
        let all = total_size(split.each());
        let allowed = all - min_available - new_unavailable;
        if allowed <= 0 {
            return Ok(false);
        }
        old.sort_by(|a, b| by_creation(a, b));
        let Some(unhealthy) = self.shrink_unhealthy(&mut old, allowed)? else { return Ok(false) };
        let available = total_available(old.iter().chain([&new]));
        let healthy = self.shrink_healthy(&mut old, available - min_available)?;
        for shrunk in old {
            if let Some(known) = split.old.iter_mut().find(|known| known.meta.uid == shrunk.meta.uid) {
                *known = shrunk;
            }
        }
        Ok(unhealthy + healthy > 0)
    }

    /// Pods that are not available go first, for they block the rollout and nobody misses them. Nothing if a ReplicaSet still reports more available pods than
    /// it is to have: what it counts is of before it was made smaller, and no old one is made smaller by such counts.
    fn shrink_unhealthy(
        &mut self,
        old: &mut [Arc<ReplicaSet>],
        allowed: i32,
    ) -> Result<Option<i32>, ApiError> {
        let mut done = 0;
        for set in old {
            if done >= allowed {
                break;
            }
            let unhealthy = size(set) - set.status.available_replicas;
            if size(set) == 0 || unhealthy == 0 {
                continue;
            }
            let fewer = unhealthy.min(allowed - done);
            if fewer < 0 {
                return Ok(None);
            }
            *set = self.resize(set, size(set) - fewer)?;
            done += fewer;
        }
        Ok(Some(done))
    }

    fn shrink_healthy(&mut self, old: &mut [Arc<ReplicaSet>], allowed: i32) -> Result<i32, ApiError> {
        let mut done = 0;
        for set in old {
            if done >= allowed {
                break;
            }
            let fewer = size(set).min(allowed - done);
            if fewer == 0 {
                continue;
            }
            *set = self.resize(set, size(set) - fewer)?;
            done += fewer;
        }
        Ok(done)
    }
}
