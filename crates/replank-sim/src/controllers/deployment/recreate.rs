//! Recreate: all old pods go before the first new one comes (`recreate.go`).

use super::sets::{active, size};
use super::{Look, Split};
use replank_apiserver::ApiError;

impl Look<'_, '_> {
    /// One step.
    pub(super) fn recreate(&mut self) -> Result<(), ApiError> {
        let mut split = self.split(false)?;
        let running = active(&split.old);
        if !running.is_empty() {
            for set in running {
                let smaller = self.resize(&set, 0)?;
                if let Some(known) = split.old.iter_mut().find(|known| known.meta.uid == set.meta.uid) {
                    *known = smaller;
                }
            }
            return self.write_rollout_status(&split);
        }
        if self.old_pods_are_left(&split) {
            return self.write_rollout_status(&split);
        }
        if split.new.is_none() {
            split = self.split(true)?;
        }
        if let Some(new) = split.new.clone().filter(|new| size(new) != self.replicas()) {
            split.new = Some(self.resize(&new, self.replicas())?);
        }
        if self.is_complete(&self.deployment.status) {
            self.clean_up(&split.old)?;
        }
        self.write_rollout_status(&split)
    }

    /// Pods that have reached their end are no longer in the way, those on their way out are.
    fn old_pods_are_left(&self, split: &Split) -> bool {
        if split.old.iter().map(|set| set.status.replicas).sum::<i32>() > 0 {
            return true;
        }
        let view = self.ctx.view();
        let new = split.new.as_ref().map(|new| &new.meta.uid);
        self.sets.iter().filter(|set| Some(&set.meta.uid) != new).any(|set| {
            view.pods_of(&set.meta.uid)
                .iter()
                .any(|ix| view.pods.get(*ix).is_some_and(|pod| !pod.is_terminal()))
        })
    }
}
