//! Replacing pods of another template within the bounds (`update.go`, `rollingUpdate`).

use replank_model::int_or_string::{IntOrString, Rounding};
use replank_model::object::Kind;
use replank_model::object::meta::Key;
use replank_model::object::workload::{DaemonSet, UpdateStrategyType};

use super::report::Step;
use super::roster::Roster;
use super::{Burst, strategy};
use replank_apiserver::ApiError;

/// How many more pods than nodes there may be during an update (`SurgeCount`).
pub(super) fn surge(set: &DaemonSet, nodes: i32) -> i64 {
    let rolling = set.spec.update_strategy.rolling_update.as_ref();
    bound(set, rolling.and_then(|rolling| rolling.max_surge.as_ref()), nodes)
}

fn unavailable(set: &DaemonSet, nodes: i32) -> i64 {
    let rolling = set.spec.update_strategy.rolling_update.as_ref();
    let default = IntOrString::Int(1);
    bound(set, rolling.map(|rolling| rolling.max_unavailable.as_ref().unwrap_or(&default)), nodes)
}

fn bound(set: &DaemonSet, value: Option<&IntOrString>, nodes: i32) -> i64 {
    match strategy(set) {
        UpdateStrategyType::OnDelete => 0,
        UpdateStrategyType::RollingUpdate => {
            value.and_then(|value| value.scaled(i64::from(nodes), Rounding::Up).ok()).unwrap_or(0)
        }
    }
}

/// What the update does next.
pub(super) fn plan(set: &DaemonSet, roster: &Roster) -> Result<Burst, ApiError> {
    let tally = roster.tally();
    let (max_surge, mut max_unavailable) = (surge(set, tally.desired), unavailable(set, tally.desired));
    if tally.desired > 0 && max_surge == 0 && max_unavailable == 0 {
        max_unavailable = 1;
    }
    let mut at_once = roster.at(Step::AtOnce);
    let mut candidates = roster.at(Step::Candidate);
    if max_surge == 0 {
        let held = roster.count(Step::Held) + at_once.len();
        candidates.truncate(rest(max_unavailable, held));
        at_once.append(&mut candidates);
        return Ok(Burst::new(Vec::new(), roster.old_on(&at_once)));
    }
    if let Some(node) = roster.at(Step::Lost).first() {
        // Upstream stops at the first node it cannot look up.
        return Err(ApiError::not_found(Kind::Node, &Key::cluster(node.text().clone())));
    }
    candidates.truncate(rest(max_surge, roster.count(Step::Held)));
    at_once.append(&mut candidates);
    let mut doomed = roster.old_on(&roster.at(Step::Outdone));
    let mut sunset = roster.old_on(&roster.at(Step::Sunset));
    sunset.truncate(usize::try_from(tally.serving - tally.desired).unwrap_or(0));
    doomed.append(&mut sunset);
    Ok(Burst::new(at_once, doomed))
}

/// What is left of a bound.
fn rest(bound: i64, used: usize) -> usize {
    usize::try_from(bound).unwrap_or(0).saturating_sub(used)
}
