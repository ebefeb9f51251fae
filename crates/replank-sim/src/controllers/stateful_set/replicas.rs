//! Bringing the pods nearer to what they should be (`stateful_set_control.go`, `updateStatefulSet`).

use std::sync::Arc;

use replank_model::object::Object;
use replank_model::object::pod::{Pod, PodPhase};
use replank_model::object::workload::{StatefulSet, StatefulSetStatus, UpdateStrategyType};
use replank_model::text::Name;
use replank_model::time::Time;

use super::revisions::Plan;
use super::{claims, identity, is_ordered, is_running_and_ready, ordinal, revision_label, strategy};
use crate::controllers::replica_set::is_available;
use crate::controllers::{Ctx, pods};
use replank_apiserver::{ApiError, EventType};

/// One look at a StatefulSet.
pub(super) struct Look<'a, 'b> {
    ctx: &'a mut Ctx<'b>,
    set: Arc<StatefulSet>,
    plan: Plan,
    now: Time,
    status: Option<StatefulSetStatus>,
}

/// A pod that the set wants.
enum Replica {
    There(Arc<Pod>),
    /// Its number.
    Missing(i64),
}

/// Whether the look ends here.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    GoOn,
    Stop,
}

impl<'a, 'b> Look<'a, 'b> {
    pub(super) fn new(ctx: &'a mut Ctx<'b>, set: Arc<StatefulSet>, plan: Plan, now: Time) -> Self {
        Self { ctx, set, plan, now, status: None }
    }

    /// What was planned, and the status to be written.
    pub(super) fn finish(self) -> (Plan, Option<StatefulSetStatus>) {
        (self.plan, self.status)
    }

    /// Takes the next step.
    pub(super) fn update(&mut self, owned: &[Arc<Pod>]) -> Result<(), ApiError> {
        let (replicas, condemned) = self.split(owned);
        self.count(owned.iter().map(|pod| &**pod));
        let first_unavailable = self.first_unavailable(&replicas, &condemned);
        if self.set.meta.is_terminating() {
            return Ok(());
        }
        let next = self.run(&replicas, Self::process_replica);
        let next = self.counted(next, &replicas, &condemned)?;
        if next == Next::Stop {
            return Ok(());
        }
        let next = self.run(&condemned, |look, pod| {
            if !claims::match_policy(look.ctx, &look.set, pod) {
                claims::apply_policy(look.ctx, &look.set, pod)?;
            }
            Ok(Next::GoOn)
        });
        if self.counted(next, &replicas, &condemned)? == Next::Stop {
            return Ok(());
        }
        let next =
            self.run(&condemned, |look, pod| look.process_condemned(pod, first_unavailable.as_deref()));
        if self.counted(next, &replicas, &condemned)? == Next::Stop {
            return Ok(());
        }
        match strategy(&self.set) {
            UpdateStrategyType::OnDelete => Ok(()),
            UpdateStrategyType::RollingUpdate => self.roll(&replicas),
        }
    }

    /// Counts again after a step, whatever its outcome.
    fn counted(
        &mut self,
        next: Result<Next, ApiError>,
        replicas: &[Replica],
        condemned: &[Arc<Pod>],
    ) -> Result<Next, ApiError> {
        let there = replicas.iter().filter_map(|replica| match replica {
            Replica::There(pod) => Some(&**pod),
            Replica::Missing(_) => None,
        });
        self.count(there.chain(condemned.iter().map(|pod| &**pod)));
        next
    }

    /// Does one thing for each, one after the other where the set is ordered: there the first that is not done ends it.
    fn run<T>(
        &mut self,
        items: &[T],
        mut step: impl FnMut(&mut Self, &T) -> Result<Next, ApiError>,
    ) -> Result<Next, ApiError> {
        let ordered = is_ordered(&self.set);
        let mut failure = None;
        for item in items {
            match step(self, item) {
                Ok(Next::Stop) if ordered => return Ok(Next::Stop),
                Ok(Next::Stop | Next::GoOn) => {}
                Err(error) if ordered => return Err(error),
                Err(error) => failure = Some(error),
            }
        }
        failure.map_or(Ok(Next::GoOn), Err)
    }

    /// Pods that are wanted, by number; and those that are not, the highest first.
    fn split(&self, owned: &[Arc<Pod>]) -> (Vec<Replica>, Vec<Arc<Pod>>) {
        let set = &self.set;
        let wanted = i64::from(set.spec.replicas.unwrap_or(1));
        let first = identity::first(set);
        let of = |number: i64| owned.iter().find(|pod| ordinal(pod) == Some(number));
        let replicas = (first..first + wanted)
            .map(|number| match of(number) {
                Some(pod) => Replica::There(pod.clone()),
                None => Replica::Missing(number),
            })
            .collect();
        let mut condemned: Vec<Arc<Pod>> = owned
            .iter()
            .filter(|pod| ordinal(pod).is_some_and(|number| !identity::is_wanted(set, number)))
            .cloned()
            .collect();
        condemned.sort_by_key(|pod| std::cmp::Reverse(ordinal(pod)));
        (replicas, condemned)
    }

    /// The pod of a number: below the partition it has the former revision (`newVersionedStatefulSetPod`).
    fn versioned(&self, number: i64) -> Pod {
        let (set, plan) = (&self.set, &self.plan);
        let rolling = set.spec.update_strategy.rolling_update.as_ref();
        let first = identity::first(set);
        let is_former = match (strategy(set), rolling) {
            (UpdateStrategyType::RollingUpdate, None) => {
                number < first + i64::from(set.status.current_replicas)
            }
            (_, Some(rolling)) => number < first + i64::from(rolling.partition.unwrap_or(0)),
            (UpdateStrategyType::OnDelete, None) => false,
        };
        let (template, revision) = match is_former {
            true => (&plan.current_template, &plan.current),
            false => (&plan.update_template, &plan.update),
        };
        identity::new_pod(set, template, revision.meta.name.as_str(), number)
    }

    fn is_unavailable(&self, pod: &Pod) -> bool {
        !is_available(pod, self.set.spec.min_ready_seconds, self.now) || pod.is_terminating()
    }

    fn first_unavailable(&self, replicas: &[Replica], condemned: &[Arc<Pod>]) -> Option<Arc<Pod>> {
        let missing = replicas.iter().find(|replica| match replica {
            Replica::There(pod) => self.is_unavailable(pod),
            Replica::Missing(_) => true,
        });
        match missing {
            Some(Replica::There(pod)) => Some(pod.clone()),
            Some(Replica::Missing(_)) => None,
            None => condemned.iter().rev().find(|pod| self.is_unavailable(pod)).cloned(),
        }
    }

    /// Tells that a pod was refused (`recordPodEvent`).
    fn tell_failure(&mut self, about: &Object, pod: &Name, error: &ApiError) {
        if self.ctx.api.serving().traces && error.reason != "AlreadyExists" {
            let (set, why) = (&self.set.meta.name, &error.message);
            let words = format!("create Pod {pod} in StatefulSet {set} failed error: {why}");
            let told = ("FailedCreate", words.as_str());
            self.ctx.api.record_of("statefulset-controller", about, EventType::Warning, told);
        }
    }

    fn process_replica(&mut self, replica: &Replica) -> Result<Next, ApiError> {
        let ordered = is_ordered(&self.set);
        let set = self.set.clone();
        let pod = match replica {
            Replica::Missing(number) => {
                let pod = self.versioned(*number);
                if claims::is_stale_for(self.ctx, &set, &pod) {
                    return Ok(Next::Stop);
                }
                claims::create_missing(self.ctx, &set, &pod)?;
                let (about, name) = (Object::from(set.clone()), pod.meta.name.clone());
                let made = match self.ctx.api.create(pod) {
                    Ok(made) => made,
                    Err(error) => {
                        self.tell_failure(&about, &name, &error);
                        return Err(error);
                    }
                };
                let done =
                    format!("Create Pod {} in StatefulSet {} successful", made.meta.name, set.meta.name);
                self.ctx.api.tell("statefulset-controller", &about, "SuccessfulCreate", &done);
                claims::apply_policy(self.ctx, &set, &made)?;
                return Ok(if ordered { Next::Stop } else { Next::GoOn });
            }
            Replica::There(pod) => pod,
        };
        if pod.is_terminal() {
            if !pod.is_terminating() {
                pods::delete(self.ctx, pod)?;
            }
            return Ok(Next::Stop);
        }
        if pod.status.phase == PodPhase::Pending {
            claims::create_missing(self.ctx, &set, pod)?;
            claims::apply_policy(self.ctx, &set, pod)?;
        }
        let is_settled = !pod.is_terminating()
            && is_running_and_ready(pod)
            && is_available(pod, set.spec.min_ready_seconds, self.now);
        if ordered && !is_settled {
            return Ok(Next::Stop);
        }
        if let Some(pod) = identity::with_identity(pod) {
            self.ctx.api.update(pod)?;
        }
        if !claims::match_policy(self.ctx, &set, pod) {
            claims::apply_policy(self.ctx, &set, pod)?;
        }
        Ok(Next::GoOn)
    }

    fn process_condemned(&mut self, pod: &Arc<Pod>, first: Option<&Pod>) -> Result<Next, ApiError> {
        let ordered = is_ordered(&self.set);
        if pod.is_terminating() {
            return Ok(if ordered { Next::Stop } else { Next::GoOn });
        }
        let is_first = first.is_some_and(|first| first.meta.uid == pod.meta.uid);
        let is_settled =
            is_running_and_ready(pod) && is_available(pod, self.set.spec.min_ready_seconds, self.now);
        if ordered && !is_settled && !is_first {
            return Ok(Next::Stop);
        }
        pods::delete(self.ctx, pod)?;
        Ok(Next::Stop)
    }

    /// Deletes the highest pod that has a former revision; one at a time, and only if those above it are available.
    fn roll(&mut self, replicas: &[Replica]) -> Result<(), ApiError> {
        let rolling = self.set.spec.update_strategy.rolling_update.as_ref();
        let partition = rolling.and_then(|rolling| rolling.partition).unwrap_or(0);
        let lowest = usize::try_from(partition).unwrap_or(0);
        for replica in replicas.iter().skip(lowest).rev() {
            let is_updated = |pod: &Pod| revision_label(pod) == self.plan.update.meta.name.as_str();
            match replica {
                Replica::There(pod) if !is_updated(pod) && !pod.is_terminating() => {
                    pods::delete(self.ctx, pod)?;
                    if let Some(status) = &mut self.status {
                        status.current_replicas -= 1;
                    }
                    return Ok(());
                }
                Replica::There(pod) if self.is_unavailable(pod) => return Ok(()),
                Replica::Missing(_) => return Ok(()),
                Replica::There(_) => {}
            }
        }
        Ok(())
    }

    /// Counts pods for the status.
    fn count<'p>(&mut self, pods: impl Iterator<Item = &'p Pod>) {
        let (set, plan) = (&self.set, &self.plan);
        let mut status = StatefulSetStatus {
            observed_generation: set.meta.generation,
            current_revision: plan.current.meta.name.text().clone(),
            update_revision: plan.update.meta.name.text().clone(),
            collision_count: Some(plan.collisions),
            conditions: set.status.conditions.clone(),
            ..StatefulSetStatus::default()
        };
        for pod in pods {
            status.replicas += 1;
            if is_running_and_ready(pod) {
                status.ready_replicas += 1;
                let available = is_available(pod, set.spec.min_ready_seconds, self.now);
                status.available_replicas += i32::from(available);
            }
            if !pod.is_terminating() {
                let revision = revision_label(pod);
                status.current_replicas += i32::from(revision == plan.current.meta.name.as_str());
                status.updated_replicas += i32::from(revision == plan.update.meta.name.as_str());
            }
        }
        self.status = Some(status);
    }
}
