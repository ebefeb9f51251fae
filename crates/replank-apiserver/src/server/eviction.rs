//! Eviction: the deletion of a pod that asks its disruption budget first (core/pod `storage/eviction.go`).

use replank_model::object::condition::ConditionStatus;
use replank_model::object::meta::Key;
use replank_model::object::pod::{Pod, PodPhase};
use replank_model::object::policy::{PodDisruptionBudget, UnhealthyPodEvictionPolicy};
use replank_model::object::{Kind, Object};
use replank_model::text::Name;
use replank_model::view::Ix;

use super::Effect;
use super::budget::{DISRUPTION_TARGET, set_allowed_condition};
use super::delete::{DeleteOptions, check_preconditions};
use super::error::{ApiError, Cause, ResourceName};
use super::store::Api;
use crate::condition;

/// Allowed evictions that have not yet been seen to happen, above which a budget allows no more (`MaxDisruptedPodSize`).
const DISRUPTED_PODS_MAX: usize = 2000;
/// Seconds after which a client may come again while a budget is being worked on.
const RETRY_AFTER_SECONDS: i64 = 10;
const WOULD_VIOLATE: &str = "Cannot evict pod as it would violate the pod's disruption budget.";

/// A request to evict a pod (policy/v1 Eviction).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Eviction {
    /// The pod.
    pub pod: Key,
    /// How the pod is to be deleted; or what is wrong with the options, which the server says only when it comes to
    /// deleting, after the budget has been charged.
    pub options: Result<DeleteOptions, ApiError>,
    /// Whether the pod is evicted, or only asked for.
    pub effect: Effect,
}

impl Eviction {
    /// Evicts a pod as it wants to be deleted.
    #[must_use]
    pub fn of(pod: Key, options: DeleteOptions) -> Self {
        Self { pod, options: Ok(options), effect: Effect::Real }
    }
}

/// Why a pod is not evicted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EvictionRefusal {
    /// There is no such pod.
    NoPod,
    /// It is another incarnation, or another state, than the one that was meant.
    Precondition(ApiError),
    /// The options cannot be carried out.
    Options(ApiError),
    /// More than one budget covers the pod.
    SeveralBudgets,
    /// The budget's status speaks of an earlier state of the budget.
    Unobserved {
        /// The budget.
        budget: Name,
    },
    /// The budget's status makes no sense.
    Negative {
        /// The budget.
        budget: Name,
    },
    /// Too many evictions were allowed and not yet seen to happen.
    TooManyDisrupted {
        /// The budget.
        budget: Name,
    },
    /// The budget allows no eviction.
    Exhausted {
        /// The budget.
        budget: Name,
        /// Healthy pods that must stay.
        needed: i32,
        /// Healthy pods there are.
        healthy: i32,
    },
    /// The budget was written by others 20 times within 10 s. Nobody can come between within one moment of the simulated
    /// time; the answer is here for those who replay or inject it.
    Conflicts {
        /// The budget.
        budget: Name,
    },
}

impl EvictionRefusal {
    /// The answer as the server gives it.
    #[must_use]
    pub fn into_error(self, pod: &Key) -> ApiError {
        match self {
            Self::NoPod => ApiError::not_found(Kind::Pod, pod),
            Self::Precondition(error) | Self::Options(error) => error,
            Self::SeveralBudgets => ApiError::internal(
                "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
            ),
            Self::Unobserved { budget } => {
                let message =
                    format!("The disruption budget {budget} is still being processed by the server.");
                too_many_requests(message, Some(RETRY_AFTER_SECONDS))
            }
            Self::Negative { budget } => forbidden(pod, budget, "pdb disruptions allowed is negative"),
            Self::TooManyDisrupted { budget } => forbidden(
                pod,
                budget,
                "DisruptedPods map too big - too many evictions not confirmed by PDB controller",
            ),
            Self::Exhausted { budget, needed, healthy } => {
                let message = format!(
                    "The disruption budget {budget} needs {needed} healthy pods and has {healthy} currently"
                );
                too_many_requests(message, None)
            }
            Self::Conflicts { budget } => {
                let message = format!("couldn't update PodDisruptionBudget \"{budget}\" due to conflicts");
                ApiError::timeout(&message, RETRY_AFTER_SECONDS)
            }
        }
    }
}

fn too_many_requests(message: String, retry_after_seconds: Option<i64>) -> ApiError {
    let cause = Cause { reason: "DisruptionBudget", message, field: None };
    ApiError::too_many_requests(WOULD_VIOLATE, vec![cause], retry_after_seconds)
}

fn forbidden(pod: &Key, budget: Name, why: &str) -> ApiError {
    let resource = ResourceName {
        group: "policy".into(),
        plural: "poddisruptionbudget".into(),
        kind: "PodDisruptionBudget".into(),
    };
    ApiError::forbidden(resource, &Key { namespace: pod.namespace.clone(), name: budget }, why)
}

/// What the budget says of a pod.
enum Verdict {
    /// No budget has anything to say.
    Free,
    /// The eviction uses up one of the budget's disruptions.
    Charged(Ix<PodDisruptionBudget>),
}

impl Api {
    /// Evicts a pod if its budget allows it: charges the budget, says on the pod why it ends, deletes it.
    ///
    /// # Errors
    /// See [`EvictionRefusal`].
    pub fn evict(&mut self, eviction: &Eviction) -> Result<(), EvictionRefusal> {
        let Some(ix) = self.view().pods.find(&eviction.pod) else { return Err(EvictionRefusal::NoPod) };
        match self.ask_budget(ix)? {
            Verdict::Free => {}
            Verdict::Charged(budget) => match eviction.effect {
                Effect::Real => self.charge(budget, &eviction.pod),
                Effect::DryRun => {}
            },
        }
        self.end(ix, eviction)
    }

    /// Whether the budget allows the eviction, and at what price.
    fn ask_budget(&self, ix: Ix<Pod>) -> Result<Verdict, EvictionRefusal> {
        let pod = &self.view().pods[ix];
        if is_disrupted_already(pod) {
            return Ok(Verdict::Free);
        }
        let budget = match self.view().budgets_of(ix) {
            [] => return Ok(Verdict::Free),
            [budget] => *budget,
            [_, _, ..] => return Err(EvictionRefusal::SeveralBudgets),
        };
        let object = &self.view().pod_disruption_budgets[budget];
        if !pod.is_ready() && lets_unhealthy_go(object) {
            return Ok(Verdict::Free);
        }
        let (name, status) = (object.meta.name.clone(), &object.status);
        if status.observed_generation < object.meta.generation {
            Err(EvictionRefusal::Unobserved { budget: name })
        } else if status.disruptions_allowed < 0 {
            Err(EvictionRefusal::Negative { budget: name })
        } else if status.disrupted_pods.len() > DISRUPTED_PODS_MAX {
            Err(EvictionRefusal::TooManyDisrupted { budget: name })
        } else if status.disruptions_allowed == 0 {
            let (needed, healthy) = (status.desired_healthy, status.current_healthy);
            Err(EvictionRefusal::Exhausted { budget: name, needed, healthy })
        } else {
            Ok(Verdict::Charged(budget))
        }
    }

    /// Takes one disruption off the budget and notes whose it is (`checkAndDecrement`).
    fn charge(&mut self, budget: Ix<PodDisruptionBudget>, pod: &Key) {
        let now = self.timestamp();
        self.modify_status_at::<PodDisruptionBudget>(budget, |budget| {
            let status = &mut budget.status;
            status.disruptions_allowed -= 1;
            status.disrupted_pods.insert(pod.name.text().clone(), now);
            if status.disruptions_allowed == 0 {
                set_allowed_condition(status, now);
            }
        });
    }

    /// Writes the condition, then deletes (`addConditionAndDeletePod`). The preconditions are looked at before the first
    /// write, the rest of the options only before the second.
    fn end(&mut self, ix: Ix<Pod>, eviction: &Eviction) -> Result<(), EvictionRefusal> {
        let object = Object::Pod(self.view().pods[ix].clone());
        if let Ok(options) = &eviction.options {
            check_preconditions(&object, options).map_err(EvictionRefusal::Precondition)?;
        }
        let now = self.timestamp();
        match eviction.effect {
            Effect::DryRun => {}
            Effect::Real => {
                self.modify_at::<Pod>(ix, |pod| {
                    let mut target = condition::condition(
                        DISRUPTION_TARGET,
                        ConditionStatus::True,
                        "EvictionByEvictionAPI",
                        "Eviction API: evicting",
                    );
                    target.observed_generation = pod.meta.generation;
                    condition::set(&mut pod.status.conditions, target, now);
                });
            }
        }
        let options = eviction.options.as_ref().map_err(|error| EvictionRefusal::Options(error.clone()))?;
        match eviction.effect {
            Effect::DryRun => Ok(()),
            Effect::Real => {
                // The state has just changed by the condition; the incarnation has not.
                let options = DeleteOptions { version: None, ..options.clone() };
                // A pod that had nothing left but this deletion to wait for has gone with the condition.
                let Some(known) = self.view().pods.get(ix).cloned() else {
                    return Err(EvictionRefusal::Precondition(ApiError::not_found(Kind::Pod, &eviction.pod)));
                };
                let deleted = self.delete_known(&known.into(), &options);
                deleted.map(drop).map_err(EvictionRefusal::Precondition)
            }
        }
    }
}

/// Whether ending the pod disrupts nothing any more, so that no budget is asked (`canIgnorePDB`).
fn is_disrupted_already(pod: &Pod) -> bool {
    match pod.status.phase {
        PodPhase::Pending | PodPhase::Succeeded | PodPhase::Failed => true,
        PodPhase::Running | PodPhase::Unknown => pod.is_terminating(),
    }
}

/// Whether a budget lets pods go that are not ready without being charged.
fn lets_unhealthy_go(budget: &PodDisruptionBudget) -> bool {
    let policy = budget.spec.unhealthy_pod_eviction_policy;
    match policy.unwrap_or(UnhealthyPodEvictionPolicy::IfHealthyBudget) {
        UnhealthyPodEvictionPolicy::AlwaysAllow => true,
        UnhealthyPodEvictionPolicy::IfHealthyBudget => {
            let status = &budget.status;
            status.current_healthy >= status.desired_healthy && status.desired_healthy > 0
        }
    }
}

#[cfg(test)]
mod tests;
