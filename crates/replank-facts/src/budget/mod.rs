//! Disruption budgets: which evictions they allow, all taken together.
//!
//! The eviction API decides pod by pod, and a dry run of it decrements nothing, so that pods that share a budget all "pass".
//! A [`Ledger`] keeps account of everything that was decided or is under way, so that no more is asked for than will be
//! granted (promise S1). The rules are those of the API server (registry/core/pod/storage/eviction.go, Kubernetes
//! 1.36):
//!
//! - pods that are Pending, finished or on their way out are evicted whatever the budgets say;
//! - a pod under several budgets is never evicted (500);
//! - a pod that is not ready is evicted without spending anything under `AlwaysAllow`, and under `IfHealthyBudget` (the
//!   default) while `currentHealthy ≥ desiredHealthy > 0`; else it is counted as a ready one;
//! - a budget whose controller lags behind its generation, has more than 2,000 evictions under way, or allows none, refuses.
//!
//! **Lag.** A budget's status and its pods come by different streams, and either may be ahead. What a budget allows is the
//! smaller of what its status says and of how many more of its pods are seen healthy than must stay. So an eviction counts from
//! the moment that the first of the two shows it, and until then its sender charges the ledger with it.

mod health;
mod slack;
mod standing;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use replank_model::int_or_string::IntOrString;
use replank_model::object::pod::{Pod, PodPhase};
use replank_model::object::policy::{PodDisruptionBudget, UnhealthyPodEvictionPolicy};
use replank_model::time::{Span, Time};
use replank_model::view::{Ix, View};

pub use health::Healths;
pub use slack::how_to_give_slack;
pub use standing::{failed_sync, uncounted};

use replank_protocol::waiting::{PodEnd, PodWait, WaitingOn};

/// How long a granted eviction is waited for (pkg/controller/disruption `DeletionTimeout`).
const GRANT_LIFE: Span = Span::from_secs(120);

/// What budgets allow, less what has been taken from them.
#[derive(Debug)]
pub struct Ledger<'a> {
    view: &'a View,
    healths: &'a mut Healths,
    taken: BTreeMap<Ix<PodDisruptionBudget>, i32>,
}

/// What budgets go by of a pod itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Footing {
    ignores_budgets: bool,
    is_ready: bool,
    cover: Cover,
}

/// How many budgets cover a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cover {
    None,
    One(Ix<PodDisruptionBudget>),
    Several,
}

impl Footing {
    /// That of a pod; of use for as long as neither the pod nor what budgets select changes.
    #[must_use]
    pub fn of(view: &View, ix: Ix<Pod>, pod: &Pod) -> Self {
        let cover = match view.budgets_of(ix) {
            [] => Cover::None,
            [only] => Cover::One(*only),
            _ => Cover::Several,
        };
        Self { ignores_budgets: ignores_budgets(pod), is_ready: pod.is_ready(), cover }
    }

    /// Whether a budget covers it.
    #[must_use]
    pub fn is_covered(self) -> bool {
        self.cover != Cover::None
    }
}

/// What was taken from a ledger up to some moment.
#[derive(Clone, Debug)]
pub struct Taken(BTreeMap<Ix<PodDisruptionBudget>, i32>);

/// What an eviction would cost.
enum Price {
    /// Nothing: no budget is asked, or none is touched.
    Free,
    /// One disruption of this budget.
    One(Ix<PodDisruptionBudget>),
    /// It is never granted.
    Never(WaitingOn),
}

impl<'a> Ledger<'a> {
    /// A ledger from which nothing has been taken.
    pub fn new(view: &'a View, healths: &'a mut Healths) -> Self {
        Self { view, healths, taken: BTreeMap::new() }
    }

    /// What has been taken so far: [`Ledger::back_to`] gives back what is taken after it.
    #[must_use]
    pub fn taken(&self) -> Taken {
        Taken(self.taken.clone())
    }

    /// Gives back what was taken since.
    pub fn back_to(&mut self, taken: Taken) {
        self.taken = taken.0;
    }

    /// Counts an eviction that was sent and is not seen yet. One that the budget's status shows already costs nothing more.
    pub fn charge(&mut self, ix: Ix<Pod>, pod: &Pod) {
        if let Price::One(budget) = self.price(ix, Footing::of(self.view, ix, pod))
            && !self.is_disrupted(budget, pod)
        {
            *self.taken.entry(budget).or_default() += 1;
        }
    }

    /// Whether a pod may be evicted on top of everything that was charged.
    ///
    /// # Errors
    /// What it has to wait for.
    pub fn check(&mut self, ix: Ix<Pod>, pod: &Pod) -> Result<(), WaitingOn> {
        self.check_on(ix, Footing::of(self.view, ix, pod))
    }

    /// As [`Ledger::check`] of a pod on such a footing.
    ///
    /// # Errors
    /// What it has to wait for.
    pub fn check_on(&mut self, ix: Ix<Pod>, footing: Footing) -> Result<(), WaitingOn> {
        match self.price(ix, footing) {
            Price::Free => Ok(()),
            Price::Never(why) => Err(why),
            Price::One(budget) => self.refusal(budget).map_or(Ok(()), Err),
        }
    }

    /// Whether a budget's status may say of a pod on such a footing what [`Ledger::is_granted`] asks.
    #[must_use]
    pub fn may_be_granted(&self, footing: Footing) -> bool {
        match footing.cover {
            Cover::None => false,
            Cover::One(budget) => self.healths.names_granted(self.view, budget),
            Cover::Several => true,
        }
    }

    /// Whether a budget's status says that the pod's eviction was granted a short while ago: it is under way, though the
    /// pod does not show it yet. The controller gives such an entry up after two minutes (`DeletionTimeout`).
    #[must_use]
    pub fn is_granted(&self, now: Time, ix: Ix<Pod>, pod: &Pod) -> bool {
        let granted = |budget: &Ix<PodDisruptionBudget>| {
            let status = &self.view.pod_disruption_budgets[*budget].status;
            let at = status.disrupted_pods.get(pod.meta.name.as_str());
            at.is_some_and(|at| now - *at < GRANT_LIFE)
        };
        self.view.budgets_of(ix).iter().any(granted)
    }

    fn price(&mut self, ix: Ix<Pod>, footing: Footing) -> Price {
        if footing.ignores_budgets {
            return Price::Free;
        }
        let budget = match footing.cover {
            Cover::None => return Price::Free,
            Cover::One(only) => only,
            Cover::Several => {
                let several = self.view.budgets_of(ix).iter();
                let mut budgets: Vec<_> =
                    several.map(|ix| self.view.pod_disruption_budgets[*ix].meta.key()).collect();
                budgets.sort();
                return Price::Never(WaitingOn::PodEnd(PodEnd::Budgets { budgets }));
            }
        };
        if footing.is_ready {
            return Price::One(budget);
        }
        let object = &self.view.pod_disruption_budgets[budget];
        match object.spec.unhealthy_pod_eviction_policy {
            Some(UnhealthyPodEvictionPolicy::AlwaysAllow) => Price::Free,
            Some(UnhealthyPodEvictionPolicy::IfHealthyBudget) | None => {
                let desired = object.status.desired_healthy;
                if desired > 0 && self.healthy(budget) >= desired { Price::Free } else { Price::One(budget) }
            }
        }
    }

    fn taken_from(&self, budget: Ix<PodDisruptionBudget>) -> i32 {
        self.taken.get(&budget).copied().unwrap_or(0)
    }

    /// Healthy pods that are left once everything taken has happened.
    fn healthy(&mut self, budget: Ix<PodDisruptionBudget>) -> i32 {
        self.healths.standing(self.view, budget).healthy - self.taken_from(budget)
    }

    /// What a budget refuses one more eviction with.
    fn refusal(&mut self, ix: Ix<PodDisruptionBudget>) -> Option<WaitingOn> {
        let taken = self.taken_from(ix);
        let standing = self.healths.standing(self.view, ix);
        let budget = || standing.budget.clone();
        if let Some(message) = standing.uncounted.clone() {
            return Some(WaitingOn::Pod(PodWait::BudgetUncounted { budget: budget(), message }));
        }
        if standing.allowed > taken {
            return None;
        }
        let (healthy, needed) = (standing.healthy - taken, standing.needed);
        Some(WaitingOn::Pod(PodWait::Budget { budget: budget(), healthy, needed }))
    }

    /// What keeps a pod from ever being evicted, for as long as nobody changes its budgets or what they count.
    pub fn hopeless(&mut self, ix: Ix<Pod>, pod: &Pod) -> Option<WaitingOn> {
        self.hopeless_on(ix, Footing::of(self.view, ix, pod))
    }

    /// As [`Ledger::hopeless`] of a pod on such a footing.
    pub fn hopeless_on(&mut self, ix: Ix<Pod>, footing: Footing) -> Option<WaitingOn> {
        let at = match self.price(ix, footing) {
            Price::Free => return None,
            Price::Never(on) => return Some(on),
            Price::One(at) => at,
        };
        let budget = &self.view.pod_disruption_budgets[at];
        let (expected, desired) = (budget.status.expected_pods, budget.status.desired_healthy);
        let has_slack = expected == 0 || desired < expected;
        if let Some(message) = failed_sync(budget) {
            return Some(WaitingOn::Pod(PodWait::BudgetUncounted { budget: budget.meta.key(), message }));
        }
        if has_slack {
            return None;
        }
        let healthy = self.healthy(at);
        Some(WaitingOn::Pod(PodWait::Budget { budget: budget.meta.key(), healthy, needed: desired }))
    }

    fn is_disrupted(&self, budget: Ix<PodDisruptionBudget>, pod: &Pod) -> bool {
        let status = &self.view.pod_disruption_budgets[budget].status;
        status.disrupted_pods.contains_key(pod.meta.name.as_str())
    }
}

/// Whether the eviction API asks no budget about the pod (`canIgnorePDB`).
#[must_use]
pub fn ignores_budgets(pod: &Pod) -> bool {
    pod.is_terminating()
        || match pod.status.phase {
            PodPhase::Pending | PodPhase::Succeeded | PodPhase::Failed => true,
            PodPhase::Running | PodPhase::Unknown => false,
        }
}

/// Whether a budget goes by how many pods their owner wants, so that the disruption controller must be able to read that
/// (pkg/controller/disruption `getExpectedPodCount`).
#[must_use]
pub fn asks_for_scale(budget: &PodDisruptionBudget) -> bool {
    budget.spec.max_unavailable.is_some() || matches!(budget.spec.min_available, Some(IntOrString::String(_)))
}
