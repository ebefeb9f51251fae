//! Launches that failed, as the groups' activities tell them: without them, a lack of capacity is noticed only when a node has not come for long.

use std::time::{Duration, Instant};

use replank_model::object::cloud::{LaunchFailure, Market, NodeGroup};
use replank_model::text::{Text, Zone};
use serde_json::{Value, json};

use super::account::Aws;
use super::answer::{taken, text};
use super::client::Manner;
use super::error::AwsError;
use super::service::Service;
use crate::cloud::Observed;

/// How often a group that lacks instances is asked why.
const EVERY: Duration = Duration::from_secs(10);
/// Activities that are looked at, the newest first.
const ACTIVITIES: u32 = 50;

impl Aws {
    /// From now on it is asked of groups that lack instances why they do.
    pub fn follow_failures(&self) {
        self.state().failures.get_or_insert_default();
    }

    /// Gives groups the launches that failed there.
    pub(super) async fn learn_failures(&self, observed: &mut Observed) -> Result<(), AwsError> {
        if self.state().failures.is_none() {
            return Ok(());
        }
        let Observed { groups, instances } = observed;
        for group in groups {
            let present =
                instances.values().filter(|one| one.group == group.name && one.is_counted()).count();
            let lacks = usize::try_from(group.size.desired).is_ok_and(|desired| desired > present);
            let name = group.auto_scaling_group.clone();
            let known = self.state().failures.as_ref().and_then(|all| all.get(&name).cloned());
            let is_fresh = known.as_ref().is_some_and(|(at, _)| at.elapsed() < EVERY);
            if lacks && !is_fresh {
                let (at, found) = (Instant::now(), self.failed_launches(group).await?);
                group.failures.clone_from(&found);
                if let Some(all) = &mut self.state().failures {
                    all.insert(name, (at, found));
                }
            } else {
                group.failures = known.map(|(_, failures)| failures).unwrap_or_default();
            }
        }
        Ok(())
    }

    /// The last failed launch of a group for each code, type and zone.
    pub(super) async fn failed_launches(&self, group: &NodeGroup) -> Result<Vec<LaunchFailure>, AwsError> {
        let params = json!({"AutoScalingGroupName": &*group.auto_scaling_group, "MaxRecords": ACTIVITIES});
        let call = (Service::AutoScaling, "DescribeScalingActivities");
        let mut answer = self.caller.query(call, &params, Manner::Read).await?;
        let activities = taken(&mut answer, call, "Activities")?;
        let shape =
            group.profile().shapes.first().map(|shape| shape.instance_type.clone()).unwrap_or_default();
        let market = Market::of(&group.profile().labels);
        let mut all: Vec<LaunchFailure> = Vec::new();
        for activity in &activities {
            let Some(failure) = failure(activity, &shape, market) else { continue };
            let is_same = |known: &LaunchFailure| {
                (&known.code, &known.instance_type, &known.zone)
                    == (&failure.code, &failure.instance_type, &failure.zone)
            };
            if !all.iter().any(is_same) {
                all.push(failure);
            }
        }
        Ok(all)
    }
}

/// What an activity says of a launch that failed; `None` for all others. Groups of one type name no type where it is not for want of capacity.
fn failure(activity: &Value, shape: &Text, market: Market) -> Option<LaunchFailure> {
    let is_launch = text(activity, "Description").is_some_and(|words| words.starts_with("Launching"));
    if text(activity, "StatusCode") != Some("Failed") || !is_launch {
        return None;
    }
    let at = text(activity, "StartTime")?.parse().ok()?;
    let message = text(activity, "StatusMessage").unwrap_or_default();
    let details: Value =
        serde_json::from_str(text(activity, "Details").unwrap_or_default()).unwrap_or_default();
    // EC2's words for InsufficientInstanceCapacity: "... sufficient m5.large capacity in the Availability Zone you requested (eu-west-1a)."
    let named = message
        .split_once("sufficient ")
        .and_then(|(_, rest)| rest.split_once(" capacity in the Availability Zone you requested ("));
    let (code, instance_type, zone) = match named {
        Some((kind, rest)) => {
            let zone = rest.split(')').next().unwrap_or_default();
            (LaunchFailure::NO_CAPACITY, Text::from(kind), Zone::from(zone))
        }
        None => {
            let zone = Zone::from(text(&details, "Availability Zone").unwrap_or_default());
            let code = match message {
                words
                    if words.contains("InsufficientInstanceCapacity")
                        || words.contains("UnfulfillableCapacity") =>
                {
                    LaunchFailure::NO_CAPACITY
                }
                words if words.contains("vCPU") => "VcpuLimitExceeded",
                words if words.contains("MaxSpotInstanceCountExceeded") => "MaxSpotInstanceCountExceeded",
                words if words.contains("InstanceLimitExceeded") => "InstanceLimitExceeded",
                words if words.contains("InvalidAMIID") => "InvalidAMIID",
                _ => "LaunchFailed",
            };
            (code, shape.clone(), zone)
        }
    };
    Some(LaunchFailure { at, code: Text::from(code), instance_type, zone, market })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(message: &str, status: &str) -> Option<String> {
        let activity = json!({"Description": "Launching a new EC2 instance.", "StatusCode": status, "StatusMessage": message,
            "StartTime": "2026-11-27T10:00:00Z", "Details": "{\"Availability Zone\": \"eu-west-1b\"}"});
        failure(&activity, &Text::from("m5.large"), Market::OnDemand).map(|failure| failure.to_string())
    }

    #[test]
    fn activities_tell_what_is_lacking() {
        let short = "We currently do not have sufficient c5.xlarge capacity in the Availability Zone you requested (eu-west-1a). Our system will be \
            working on provisioning additional capacity. Launching EC2 instance failed.";
        assert_eq!(
            read(short, "Failed").as_deref(),
            Some("InsufficientInstanceCapacity: on-demand c5.xlarge in eu-west-1a")
        );
        let limit = "You have requested more vCPU capacity than your current vCPU limit of 32 allows. Launching EC2 instance failed.";
        assert_eq!(
            read(limit, "Failed").as_deref(),
            Some("VcpuLimitExceeded: on-demand m5.large in eu-west-1b")
        );
        assert_eq!(
            read("something else", "Failed").as_deref(),
            Some("LaunchFailed: on-demand m5.large in eu-west-1b")
        );
        assert_eq!(read(short, "Successful"), None);
    }
}
