//! What a Deployment says of itself: counts, and the conditions Available, Progressing and ReplicaFailure (`sync.go`,
//! `progress.go`).

use std::sync::Arc;

use replank_model::list::List;
use replank_model::object::condition::{self, Condition, ConditionStatus};
use replank_model::object::workload::{Deployment, DeploymentStatus, ReplicaSet};
use replank_model::text::Text;
use replank_model::time::Span;
use replank_model::view::Ix;

use super::conditions::{DONE, FAILURE, PROGRESSING, deadline, progress, set};
use super::sets::{total_available, total_size};
use super::{Look, Split};
use crate::controllers::Controller;
use replank_apiserver::ApiError;

const TIMED_OUT: &str = "ProgressDeadlineExceeded";
const PAUSED: &str = "DeploymentPaused";
/// How long after its deadline a rollout is found late: the first pause of a work queue.
const RETRY: Span = Span::from_millis(5);

impl Look<'_, '_> {
    pub(super) fn has_deadline(&self) -> bool {
        self.deadline().is_some()
    }

    /// Seconds that a rollout may stand still; the largest number means for ever.
    fn deadline(&self) -> Option<i32> {
        deadline(&self.deployment)
    }

    pub(super) fn progress(&self) -> Option<&Condition> {
        progress(&self.deployment)
    }

    pub(super) fn set_progress(&mut self, status: ConditionStatus, reason: &str, message: &str) {
        let condition = self.condition(PROGRESSING, status, reason, message);
        set(&mut Arc::make_mut(&mut self.deployment).status.conditions, condition);
    }

    fn condition(&self, r#type: &str, status: ConditionStatus, reason: &str, message: &str) -> Condition {
        let now = self.ctx.api.timestamp();
        Condition {
            r#type: Text::from(r#type),
            status,
            reason: Text::from(reason),
            message: Text::from(message),
            last_transition_time: Some(now),
            last_update_time: Some(now),
            ..Condition::default()
        }
    }

    /// Says that the Deployment is paused or resumed, so that the pause does not count as a lack of progress.
    pub(super) fn note_pause(&mut self) -> Result<(), ApiError> {
        let reason = self.progress().map(|progress| progress.reason.clone());
        if !self.has_deadline() || reason.as_deref() == Some(TIMED_OUT) {
            return Ok(());
        }
        let was_paused = reason.as_deref() == Some(PAUSED);
        match (self.deployment.spec.paused, was_paused) {
            (true, false) => self.set_progress(ConditionStatus::Unknown, PAUSED, "Deployment is paused"),
            (false, true) => {
                self.set_progress(ConditionStatus::Unknown, "DeploymentResumed", "Deployment is resumed");
            }
            (true, true) | (false, false) => return Ok(()),
        }
        self.store_deployment()
    }

    /// Writes the status outside a rollout.
    pub(super) fn write_status(&mut self, split: &Split) -> Result<(), ApiError> {
        let status = self.calculate(split);
        if status == self.deployment.status {
            return Ok(());
        }
        self.store_with(status)
    }

    /// Writes this look's copy with another status: the last thing that a look does.
    fn store_with(&mut self, status: DeploymentStatus) -> Result<(), ApiError> {
        let ix = Ix::new(self.slot);
        let known = self.ctx.view().deployments.get(ix);
        // Where nobody has written it since it was found, not even this look, it need not be looked for.
        if known.is_some_and(|known| Arc::ptr_eq(known, &self.deployment)) {
            self.ctx.api.modify_status_at::<Deployment>(ix, |deployment| deployment.status = status);
            return Ok(());
        }
        let mut deployment = Deployment::clone(&self.deployment);
        deployment.status = status;
        self.ctx.api.write_status(deployment)
    }

    /// Writes the status of a rollout, and has it looked at again when its time is up.
    pub(super) fn write_rollout_status(&mut self, split: &Split) -> Result<(), ApiError> {
        let mut status = self.calculate(split);
        if !self.has_deadline() {
            leave_out(&mut status.conditions, PROGRESSING);
        }
        let was_done = self.progress().is_some_and(|current| &*current.reason == DONE);
        if self.has_deadline() && !(was_done && status.replicas == status.updated_replicas) {
            self.judge_progress(split, &mut status);
        }
        match failure(split) {
            Some(failure) => set(&mut status.conditions, failure),
            None => leave_out(&mut status.conditions, FAILURE),
        }
        if status == self.deployment.status {
            self.look_again_at_deadline(&status);
            return Ok(());
        }
        self.store_with(status)
    }

    fn judge_progress(&self, split: &Split, status: &mut DeploymentStatus) {
        let subject = || match &split.new {
            Some(new) => format!("ReplicaSet \"{}\"", new.meta.name),
            None => format!("Deployment \"{}\"", self.deployment.meta.name),
        };
        if self.is_complete(status) {
            let message = || format!("{} has successfully progressed.", subject());
            self.say(&mut status.conditions, PROGRESSING, (ConditionStatus::True, DONE), message);
        } else if self.has_progressed(status) {
            let message = format!("{} is progressing.", subject());
            let mut condition =
                self.condition(PROGRESSING, ConditionStatus::True, "ReplicaSetUpdated", &message);
            if let Some(current) = self.progress().filter(|current| current.status == ConditionStatus::True) {
                condition.last_transition_time = current.last_transition_time;
            }
            status.conditions.retain(|known| &*known.r#type != PROGRESSING);
            status.conditions.push(condition);
        } else if self.is_timed_out(status) {
            let message = || format!("{} has timed out progressing.", subject());
            self.say(&mut status.conditions, PROGRESSING, (ConditionStatus::False, TIMED_OUT), message);
        }
    }

    fn calculate(&self, split: &Split) -> DeploymentStatus {
        let known = &self.deployment.status;
        let sum =
            |count: fn(&ReplicaSet) -> i32| split.each().map(|set| count(set)).fold(0, i32::saturating_add);
        let available = total_available(split.each());
        let mut status = DeploymentStatus {
            observed_generation: self.deployment.meta.generation,
            replicas: sum(|set| set.status.replicas),
            updated_replicas: split.new.as_ref().map_or(0, |new| new.status.replicas),
            ready_replicas: sum(|set| set.status.ready_replicas),
            available_replicas: available,
            unavailable_replicas: total_size(split.each()).saturating_sub(available).max(0),
            terminating_replicas: terminating(split.each()),
            collision_count: known.collision_count,
            conditions: known.conditions.clone(),
        };
        let is_available = available >= self.least_available();
        self.words.say_available(&mut status.conditions, is_available, self.ctx.api.timestamp());
        status
    }

    /// Available pods with which the Deployment is available.
    pub(super) fn least_available(&self) -> i32 {
        self.replicas().saturating_sub(self.max_unavailable())
    }

    /// Sets a condition that is made only where it is another one.
    fn say(
        &self,
        conditions: &mut List<Condition>,
        r#type: &str,
        (status, reason): (ConditionStatus, &str),
        message: impl FnOnce() -> String,
    ) {
        let known = condition::find(conditions, r#type);
        if known.is_some_and(|known| known.status == status && &*known.reason == reason) {
            return;
        }
        let condition = self.condition(r#type, status, reason, &message());
        set(conditions, condition);
    }

    /// Whether all pods are of the present template, and available.
    pub(super) fn is_complete(&self, status: &DeploymentStatus) -> bool {
        let wanted = self.replicas();
        status.updated_replicas == wanted
            && status.replicas == wanted
            && status.available_replicas == wanted
            && status.observed_generation >= self.deployment.meta.generation
    }

    fn has_progressed(&self, new: &DeploymentStatus) -> bool {
        let known = &self.deployment.status;
        let old_pods = |status: &DeploymentStatus| status.replicas.saturating_sub(status.updated_replicas);
        new.updated_replicas > known.updated_replicas
            || old_pods(new) < old_pods(known)
            || new.ready_replicas > known.ready_replicas
            || new.available_replicas > known.available_replicas
    }

    fn is_timed_out(&self, status: &DeploymentStatus) -> bool {
        let Some(deadline) = self.deadline() else { return false };
        let Some(progress) = condition::find(&status.conditions, PROGRESSING) else { return false };
        match &*progress.reason {
            DONE => false,
            TIMED_OUT => true,
            _ => progress
                .last_update_time
                .is_some_and(|since| since + Span::from_secs(i64::from(deadline)) < self.ctx.api.now()),
        }
    }

    /// A rollout that has gone on for as long as it may is looked at again at that moment (`requeueStuckDeployment`). Upstream
    /// looks again and again at one whose rollout was over before and that lacks a pod; it finds nothing each time, for
    /// without a rollout there is nothing that could be late, and is spared that here.
    fn look_again_at_deadline(&mut self, status: &DeploymentStatus) {
        let (Some(deadline), Some(progress)) = (self.deadline(), self.progress()) else { return };
        if self.is_complete(status) || [TIMED_OUT, DONE].contains(&&*progress.reason) {
            return;
        }
        let Some(since) = progress.last_update_time else { return };
        let rest = since + Span::from_secs(i64::from(deadline)) - self.ctx.api.now();
        let second = Span::from_secs(1);
        let pause = if rest < second { rest.max(Span::ZERO) + RETRY } else { rest + second };
        self.ctx.enqueue_after(Controller::Deployment, self.slot, pause);
    }
}

/// Leaves a condition out, if it is there: the list of a status is its predecessor's as long as nothing changes.
fn leave_out(conditions: &mut List<Condition>, r#type: &str) {
    if condition::find(conditions, r#type).is_some() {
        conditions.retain(|condition| &*condition.r#type != r#type);
    }
}

/// Pods on their way out; unknown while a ReplicaSet has not said.
fn terminating<'a>(sets: impl Iterator<Item = &'a Arc<ReplicaSet>>) -> Option<i32> {
    let mut sum = 0;
    for set in sets {
        match set.status.terminating_replicas {
            Some(count) => sum += count,
            None if set.status.observed_generation == 0 => {}
            None => return None,
        }
    }
    Some(sum)
}

/// The failure of the new ReplicaSet, or else of any.
fn failure(split: &Split) -> Option<Condition> {
    let of = |set: &Arc<ReplicaSet>| condition::find(&set.status.conditions, FAILURE).cloned();
    let found = split.new.as_ref().and_then(of).or_else(|| split.each().find_map(of))?;
    Some(Condition { last_update_time: found.last_transition_time, ..found })
}
