//! What a budget allows, from its counters (pkg/controller/disruption `trySync`, `failSafe`, `updatePdbStatus`).

use std::collections::BTreeMap;

use replank_apiserver::{set_allowed_condition, set_disruption_condition};
use replank_model::int_or_string::{IntOrString, IntOrStringError, Rounding};
use replank_model::object::condition::ConditionStatus;
use replank_model::object::meta::Key;
use replank_model::object::policy::{PodDisruptionBudget, PodDisruptionBudgetStatus};
use replank_model::text::{Name, Text};
use replank_model::time::{Span, Time};
use replank_model::view::{Ix, View};
use thiserror::Error;

use super::scale::{ScaleError, scale_of};
use super::tally::{Tally, is_healthy};

/// How long an allowed eviction may take to show as a deletion before it is taken back (`DeletionTimeout`).
pub(super) const DELETION_TIMEOUT: Span = Span::from_minutes(2);

/// What a look at a budget found.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Found {
    /// The status that the budget gets.
    pub(super) status: PodDisruptionBudgetStatus,
    /// When the first allowed eviction is taken back, should nothing be seen of it.
    pub(super) recheck: Option<Time>,
    /// Pods whose allowed eviction is taken back.
    pub(super) not_deleted: Vec<Name>,
}

/// Why a budget's status cannot be computed; reads as upstream's message.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(super) enum Failure {
    /// An owner's scale is not known.
    #[error(transparent)]
    Scale(#[from] ScaleError),
    /// An owner is not there.
    #[error("found no controllers for pod {pod:?}")]
    NoController {
        /// One of its pods.
        pod: String,
    },
    /// The percentage is none.
    #[error(transparent)]
    Percentage(#[from] IntOrStringError),
}

/// How many pods the owners of a budget's pods want, and what that was counted by: which owners there were, and how often a scale had changed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    rosters: u64,
    scales: u64,
    pods: i32,
}

/// Computes a budget's status. What its owners want is counted only where that may have changed since it was counted last.
pub(super) fn compute(
    view: &View,
    ix: Ix<PodDisruptionBudget>,
    budget: &PodDisruptionBudget,
    (tally, scales, wanted): (&Tally, u64, &mut Option<Wanted>),
    now: Time,
) -> Result<Found, Failure> {
    let count = || -> Result<i32, Failure> {
        let rosters = tally.rosters;
        if let Some(known) = wanted.filter(|known| (known.rosters, known.scales) == (rosters, scales)) {
            return Ok(known.pods);
        }
        let pods = expected_scale(view, budget, tally)?;
        *wanted = Some(Wanted { rosters, scales, pods });
        Ok(pods)
    };
    let (expected, desired) = expected_and_desired(budget, tally, count)?;
    let (disrupted, recheck, not_deleted) = disrupted_pods(view, ix, budget, now);
    let leaving = disrupted.iter().filter(|(name, at)| {
        **at + DELETION_TIMEOUT > now && pod_of(view, budget, name).is_some_and(|pod| is_healthy(&pod))
    });
    let healthy = i32::try_from((tally.healthy as usize).saturating_sub(leaving.count())).unwrap_or(i32::MAX);
    // A budget that expects nothing allows nothing: its first pods may just be appearing.
    let allowed = if expected <= 0 { 0 } else { healthy.saturating_sub(desired).max(0) };
    let mut status = PodDisruptionBudgetStatus {
        observed_generation: budget.meta.generation,
        disrupted_pods: disrupted,
        disruptions_allowed: allowed,
        current_healthy: healthy,
        desired_healthy: desired,
        expected_pods: expected,
        conditions: budget.status.conditions.clone(),
    };
    set_allowed_condition(&mut status, now.floor_seconds());
    Ok(Found { status, recheck, not_deleted })
}

/// The status of a budget whose computation failed: nothing is allowed, the rest stays.
pub(super) fn fail_safe(
    budget: &PodDisruptionBudget,
    failure: &Failure,
    now: Time,
) -> PodDisruptionBudgetStatus {
    let mut status = PodDisruptionBudgetStatus { disruptions_allowed: 0, ..budget.status.clone() };
    let failed = (ConditionStatus::False, "SyncFailed", &*failure.to_string());
    set_disruption_condition(&mut status, failed, now.floor_seconds());
    status
}

/// How many pods there should be, and how many of them must stay healthy.
fn expected_and_desired(
    budget: &PodDisruptionBudget,
    tally: &Tally,
    wanted: impl FnOnce() -> Result<i32, Failure>,
) -> Result<(i32, i32), Failure> {
    let scaled = |value: &IntOrString, total: i32| -> Result<i32, Failure> {
        let scaled = value.scaled(i64::from(total), Rounding::Up)?;
        Ok(i32::try_from(scaled).unwrap_or(i32::MAX))
    };
    match (&budget.spec.max_unavailable, &budget.spec.min_available) {
        (Some(most), _) => {
            let expected = wanted()?;
            Ok((expected, expected.saturating_sub(scaled(most, expected)?).max(0)))
        }
        (None, Some(IntOrString::Int(least))) => Ok((i32::try_from(tally.pods).unwrap_or(i32::MAX), *least)),
        (None, Some(least @ IntOrString::String(_))) => {
            let expected = wanted()?;
            Ok((expected, scaled(least, expected)?))
        }
        (None, None) => Ok((0, 0)),
    }
}

/// The sum of what the owners of the covered pods want, each counted once; pods without an owner count for nothing.
fn expected_scale(view: &View, budget: &PodDisruptionBudget, tally: &Tally) -> Result<i32, Failure> {
    let namespace = &budget.meta.namespace;
    let mut scales: BTreeMap<_, i32> = BTreeMap::new();
    for (uid, owned) in &tally.owners {
        match scale_of(view, namespace, &owned.owner)? {
            // There is nothing to be counted twice.
            Some((_, replicas)) if tally.owners.len() == 1 => return Ok(replicas),
            Some((scaled, replicas)) => {
                scales.insert(scaled, replicas);
            }
            None => {
                let pods = view.pods_of(uid).iter().filter_map(|ix| view.pods.get(*ix));
                let first = pods.map(|pod| &pod.meta.name).min();
                let pod = first.map(ToString::to_string).unwrap_or_default();
                return Err(Failure::NoController { pod });
            }
        }
    }
    Ok(scales.values().fold(0, |sum: i32, replicas| sum.saturating_add(*replicas)))
}

/// The evictions that were allowed and whose pods are not yet on their way out; when the first is taken back; which are
/// (`buildDisruptedPodMap`).
fn disrupted_pods(
    view: &View,
    ix: Ix<PodDisruptionBudget>,
    budget: &PodDisruptionBudget,
    now: Time,
) -> (BTreeMap<Text, Time>, Option<Time>, Vec<Name>) {
    let (mut kept, mut recheck, mut not_deleted) = (BTreeMap::new(), None, Vec::new());
    for (name, at) in &budget.status.disrupted_pods {
        let key = Key { namespace: budget.meta.namespace.clone(), name: Name::new(name.clone()) };
        let Some(pod) = view.pods.find(&key) else { continue };
        if !view.budgets_of(pod).contains(&ix) || view.pods[pod].is_terminating() {
            continue;
        }
        let due = *at + DELETION_TIMEOUT;
        if due < now {
            not_deleted.push(key.name);
        } else {
            kept.insert(name.clone(), *at);
            recheck = Some(recheck.map_or(due, |known: Time| known.min(due)));
        }
    }
    (kept, recheck, not_deleted)
}

fn pod_of(
    view: &View,
    budget: &PodDisruptionBudget,
    name: &Text,
) -> Option<std::sync::Arc<replank_model::object::pod::Pod>> {
    let key = Key { namespace: budget.meta.namespace.clone(), name: Name::new(name.clone()) };
    view.pods.by_key(&key).cloned()
}
