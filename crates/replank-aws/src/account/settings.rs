//! Settings of Auto Scaling groups that the simulated cloud keeps and shows, and does nothing with; and metrics that are collected of them.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::extra::Extra;
use super::members::known_group;
use super::own::Account;
use crate::call::Reply;
use crate::fault::Fault;
use crate::input::Input;
use crate::region::Region;

/// Texts; an empty one takes the setting away.
const TEXTS: [&str; 4] = ["PlacementGroup", "ServiceLinkedRoleARN", "Context", "DesiredCapacityType"];
const WARMUP: &str = "DefaultInstanceWarmup";
const MAINTENANCE: &str = "InstanceMaintenancePolicy";
/// Structures, shown as they are given.
const STRUCTURES: [&str; 4] = [
    MAINTENANCE,
    "AvailabilityZoneDistribution",
    "AvailabilityZoneImpairmentPolicy",
    "CapacityReservationSpecification",
];
/// What would change what the group does.
const ABSENT: [&str; 4] =
    ["DeletionProtection", "InstanceLifecyclePolicy", "InstanceId", "LoadBalancerNames"];
/// How often metrics are collected; there is one way (EnableMetricsCollection).
const GRANULARITY: &str = "1Minute";
/// Metrics that can be collected (EnableMetricsCollection).
const METRICS: [&str; 20] = [
    "GroupMinSize",
    "GroupMaxSize",
    "GroupDesiredCapacity",
    "GroupInServiceInstances",
    "GroupPendingInstances",
    "GroupStandbyInstances",
    "GroupTerminatingInstances",
    "GroupTotalInstances",
    "GroupInServiceCapacity",
    "GroupPendingCapacity",
    "GroupStandbyCapacity",
    "GroupTerminatingCapacity",
    "GroupTotalCapacity",
    "WarmPoolDesiredCapacity",
    "WarmPoolWarmedCapacity",
    "WarmPoolPendingCapacity",
    "WarmPoolTerminatingCapacity",
    "WarmPoolTotalCapacity",
    "GroupAndWarmPoolDesiredCapacity",
    "GroupAndWarmPoolTotalCapacity",
];

/// Takes in what a call says of a group's settings.
pub(crate) fn keep(extra: &mut Extra, input: Input<'_>) -> Result<(), Fault> {
    if let Some(absent) = ABSENT
        .iter()
        .find(|name| input.has(name) && !input.list(name).is_empty() && input.text(name) != Some("none"))
    {
        return Err(Fault::validation(format!(
            "{absent} is not valid: the simulated cloud does not have it."
        )));
    }
    for name in TEXTS {
        match input.text(name) {
            Some("") => drop(extra.settings.remove(name)),
            Some(text) => drop(extra.settings.insert(name.to_owned(), json!(text))),
            None => {}
        }
    }
    match input.number(WARMUP)? {
        Some(-1) => drop(extra.settings.remove(WARMUP)),
        Some(seconds) => drop(extra.settings.insert(WARMUP.to_owned(), json!(seconds))),
        None => {}
    }
    for name in STRUCTURES {
        let Some(given) = input.get(name) else { continue };
        let percent = |member: &str| Input(given).number(member);
        // A policy of -1 and -1 is none (UpdateAutoScalingGroup).
        let is_none = name == MAINTENANCE
            && (percent("MinHealthyPercentage")?, percent("MaxHealthyPercentage")?) == (Some(-1), Some(-1));
        match is_none {
            true => drop(extra.settings.remove(name)),
            false => drop(extra.settings.insert(name.to_owned(), given.clone())),
        }
    }
    Ok(())
}

/// What a group shows of them.
pub(crate) fn show(extra: Option<&Extra>, shown: &mut Value) {
    shown["AvailabilityZoneDistribution"] = json!({"CapacityDistributionStrategy": "balanced-best-effort"});
    for (name, value) in extra.map(|extra| &extra.settings).into_iter().flatten() {
        shown[name] = value.clone();
    }
    let metrics = extra.map(|extra| &extra.metrics).into_iter().flatten();
    let metrics: Vec<Value> =
        metrics.map(|name| json!({"Metric": name, "Granularity": GRANULARITY})).collect();
    shown["EnabledMetrics"] = json!(metrics);
}

/// Metrics and how often they are collected.
pub(crate) fn metric_types() -> Value {
    json!({"Metrics": METRICS.map(|name| json!({"Metric": name})), "Granularities": [{"Granularity": GRANULARITY}]})
}

impl Account {
    /// Has metrics collected, or not any more: those that are named, or all.
    pub(crate) fn collect_metrics(&mut self, region: &dyn Region, input: Input<'_>, enables: bool) -> Reply {
        let name = input.required("AutoScalingGroupName")?;
        known_group(region, name)?;
        if enables && input.required("Granularity")? != GRANULARITY {
            return Err(Fault::validation(format!(
                "Invalid granularity. The only valid one is {GRANULARITY}."
            )));
        }
        let named = input.texts("Metrics");
        if let Some(wrong) = named.iter().find(|metric| !METRICS.contains(&&***metric)) {
            return Err(Fault::validation(format!("{wrong} is not a valid metric type.")));
        }
        let asked: BTreeSet<String> = if named.is_empty() {
            METRICS.iter().map(|metric| (*metric).to_owned()).collect()
        } else {
            named.into_iter().collect()
        };
        let kept = &mut self.groups.entry(name.to_owned()).or_default().metrics;
        match enables {
            true => kept.extend(asked),
            false => kept.retain(|metric| !asked.contains(metric)),
        }
        Ok(Value::Null)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_kept_until_they_are_taken_away() {
        let mut extra = Extra::default();
        let policy = json!({"MinHealthyPercentage": "90", "MaxHealthyPercentage": "120"});
        let given = json!({"PlacementGroup": "p", "Context": "c", "DefaultInstanceWarmup": "30", MAINTENANCE: policy});
        assert_eq!(keep(&mut extra, Input(&given)), Ok(()));
        let mut shown = json!({});
        show(Some(&extra), &mut shown);
        let zones = json!({"CapacityDistributionStrategy": "balanced-best-effort"});
        assert_eq!(
            shown,
            json!({"PlacementGroup": "p", "Context": "c", "DefaultInstanceWarmup": 30, MAINTENANCE: policy, "EnabledMetrics": [],
                "AvailabilityZoneDistribution": zones})
        );
        let none = json!({"MinHealthyPercentage": "-1", "MaxHealthyPercentage": "-1"});
        let taken =
            json!({"PlacementGroup": "", "Context": "", "DefaultInstanceWarmup": "-1", MAINTENANCE: none});
        assert_eq!(keep(&mut extra, Input(&taken)), Ok(()));
        assert!(extra.settings.is_empty(), "{:?}", extra.settings);
    }

    #[test]
    fn what_would_change_what_a_group_does_is_refused() {
        let mut extra = Extra::default();
        assert_eq!(keep(&mut extra, Input(&json!({"DeletionProtection": "none"}))), Ok(()));
        let asked = json!({"DeletionProtection": "prevent-all-deletion"});
        assert_eq!(
            keep(&mut extra, Input(&asked)).map_err(|fault| fault.code),
            Err("ValidationError".to_owned())
        );
    }
}
