//! How pods are replaced (`ValidateDeploymentStrategy`, `ValidateDaemonSetUpdateStrategy`,
//! `validateRollingUpdateStatefulSet`).

use serde_json::Value;

use super::error::{Causes, Shown};
use super::field::Field;
use super::{names, show};
use crate::go::parse_int;

/// A Deployment's strategy.
pub(super) fn of_deployment(strategy: &Field<'_>, causes: &mut Causes) {
    let rolling = strategy.child("rollingUpdate");
    match strategy.child("type").text() {
        "Recreate" => {
            if rolling.is_set() {
                let why = "may not be specified when strategy `type` is 'Recreate'";
                causes.forbidden(rolling.path, why);
            }
        }
        "RollingUpdate" => {
            let (unavailable, surge) = (rolling.child("maxUnavailable"), rolling.child("maxSurge"));
            share(&unavailable, causes);
            share(&surge, causes);
            if number(&unavailable) == 0 && number(&surge) == 0 {
                let shown = show::int_or_string(unavailable.value);
                causes.invalid(&unavailable.path, shown, "may not be 0 when `maxSurge` is 0");
            }
            at_most_all(&unavailable, causes);
        }
        _ => {
            let shown = show::shown("apps.DeploymentStrategy", strategy.value);
            causes.not_supported(&strategy.path, shown, &["Recreate", "RollingUpdate"]);
        }
    }
}

/// A DaemonSet's strategy.
pub(super) fn of_daemon_set(strategy: &Field<'_>, causes: &mut Causes) {
    let rolling = strategy.child("rollingUpdate");
    match strategy.child("type").text() {
        "OnDelete" => {}
        "RollingUpdate" => {
            let (unavailable, surge) = (rolling.child("maxUnavailable"), rolling.child("maxSurge"));
            share(&unavailable, causes);
            share(&surge, causes);
            at_most_all(&unavailable, causes);
            at_most_all(&surge, causes);
            match (number(&unavailable) != 0, number(&surge) != 0) {
                (true, true) => {
                    let shown = show::int_or_string(surge.value);
                    causes.invalid(&surge.path, shown, "may not be set when maxUnavailable is non-zero");
                }
                (false, false) => causes.required(&unavailable.path, "cannot be 0 when maxSurge is 0"),
                (true, false) | (false, true) => {}
            }
        }
        _ => {
            let shown = show::shown("apps.DaemonSetUpdateStrategy", strategy.value);
            causes.not_supported(&strategy.path, shown, &["RollingUpdate", "OnDelete"]);
        }
    }
}

/// A StatefulSet's strategy. The gate MaxUnavailableStatefulSet is off in 1.36: `maxUnavailable` is dropped before.
pub(super) fn of_stateful_set(strategy: &Field<'_>, causes: &mut Causes) {
    let rolling = strategy.child("rollingUpdate");
    match strategy.child("type").text() {
        "" => causes.required(&strategy.path, ""),
        "OnDelete" => {
            if rolling.is_set() {
                let shown = show::shown("apps.RollingUpdateStatefulSetStrategy", rolling.value);
                causes.invalid(&rolling.path, shown, "only allowed for updateStrategy 'RollingUpdate'");
            }
        }
        "RollingUpdate" => {
            let partition = rolling.child("partition");
            causes.not_negative(&partition.path, partition.number_or_zero());
        }
        _ => {
            let shown = show::shown("apps.StatefulSetUpdateStrategy", strategy.value);
            causes.invalid(&strategy.path, shown, "must be 'RollingUpdate' or 'OnDelete'");
        }
    }
}

/// A number or a share of all (`ValidatePositiveIntOrPercent`).
fn share(field: &Field<'_>, causes: &mut Causes) {
    if let Value::String(text) = field.value {
        for rule in names::percent(text) {
            causes.invalid(&field.path, Shown::word(text), rule);
        }
    } else {
        causes.not_negative(&field.path, field.number_or_zero());
    }
}

/// The number itself, or that before the percent sign (`getIntOrPercentValue`). Any other text is the number that it
/// begins as, or 0.
fn number(field: &Field<'_>) -> i64 {
    let Value::String(text) = field.value else { return field.number_or_zero() };
    let digits = text.strip_suffix('%').filter(|_| names::percent(text).is_empty()).unwrap_or(text);
    parse_int(digits.as_bytes()).unwrap_or(0)
}

/// `IsNotMoreThan100Percent`.
fn at_most_all(field: &Field<'_>, causes: &mut Causes) {
    if field.value.is_string() && names::percent(field.text()).is_empty() && number(field) > 100 {
        causes.invalid(&field.path, Shown::word(field.text()), "must not be greater than 100%");
    }
}
