//! What Auto Scaling groups did: launches, terminations, and launches that failed.

use replank_model::object::cloud::{Instance, Lifecycle, NodeGroup};
use serde_json::{Value, json};

use super::groups::{bad_token, size_of};
use super::members::{group, known_group};
use super::own::Account;
use crate::call::Reply;
use crate::input::Input;
use crate::page::page;
use crate::region::Region;
use crate::text::{moment, uuid};

impl Account {
    pub(crate) fn describe_activities(&mut self, region: &dyn Region, input: Input<'_>) -> Reply {
        let size = size_of(input, 100, 100)?;
        let ids = input.texts("ActivityIds");
        let groups = match input.text("AutoScalingGroupName") {
            Some(name) if input.flag("IncludeDeletedGroups")?.unwrap_or(false) => {
                group(region, name).into_iter().collect()
            }
            Some(name) => vec![known_group(region, name)?],
            None => region.groups(),
        };
        let mut all = Vec::new();
        for group in groups {
            for instance in region.instances().iter().filter(|one| one.group == group.name) {
                all.extend(of_instance(&group, instance));
            }
            for failure in &group.failures {
                let what = format!("{} {} {}", failure.code, failure.instance_type, failure.zone);
                let message = format!(
                    "We currently do not have sufficient {} capacity in the Availability Zone you requested ({}). Our system will be working on provisioning additional capacity. Launching EC2 instance failed.",
                    failure.instance_type, failure.zone
                );
                let id = uuid(&format!("{} {what} {}", group.name, failure.at.as_millis()));
                all.push((failure.at, json!({
                    "ActivityId": id, "AutoScalingGroupName": &*group.auto_scaling_group, "Description": "Launching a new EC2 instance.  Status Reason: ".to_owned() + &message,
                    "Cause": format!("At {} an instance was started in response to a difference between desired and actual capacity.", failure.at),
                    "StartTime": moment(failure.at), "EndTime": moment(failure.at), "StatusCode": "Failed", "StatusMessage": message, "Progress": 100,
                    "Details": json!({"Availability Zone": failure.zone.as_str(), "InvalidParameters": &*failure.code}).to_string(),
                    "AutoScalingGroupARN": self.names.group_arn(&group.auto_scaling_group)})));
            }
        }
        all.retain(|(_, activity)| ids.is_empty() || ids.iter().any(|id| activity["ActivityId"] == **id));
        // The newest first; pages go by this order.
        let keyed = all.into_iter().map(|(at, activity)| {
            (format!("{:020}{}", i64::MAX - at.as_millis(), activity["ActivityId"]), activity)
        });
        let (activities, next) = page(keyed.collect(), size, input.text("NextToken"), &bad_token())?;
        Ok(json!({"Activities": activities, "NextToken": next}))
    }
}

/// An instance's launch, and its end.
fn of_instance(group: &NodeGroup, instance: &Instance) -> Option<(replank_model::time::Time, Value)> {
    let launched = instance.launched?;
    let is_going = !instance.lifecycle.is_counted();
    let (verb, status) = match instance.lifecycle {
        Lifecycle::Pending | Lifecycle::PendingProceed => ("Launching a new EC2 instance", "PreInService"),
        Lifecycle::PendingWait => ("Launching a new EC2 instance", "MidLifecycleAction"),
        Lifecycle::TerminatingWait => ("Terminating EC2 instance", "MidTerminatingLifecycleAction"),
        Lifecycle::Terminating | Lifecycle::TerminatingProceed => ("Terminating EC2 instance", "InProgress"),
        Lifecycle::Terminated => ("Terminating EC2 instance", "Successful"),
        Lifecycle::InService | Lifecycle::Standby | Lifecycle::Detached | Lifecycle::Warmed => {
            ("Launching a new EC2 instance", "Successful")
        }
    };
    let cause = if is_going {
        "was taken out of service"
    } else {
        "was started in response to a difference between desired and actual capacity"
    };
    let activity: Value = json!({
        "ActivityId": uuid(&format!("{verb} {}", instance.id)), "AutoScalingGroupName": &*group.auto_scaling_group,
        "Description": format!("{verb}: {}", instance.id), "Cause": format!("At {launched} instance {} {cause}.", instance.id),
        "StartTime": moment(launched), "StatusCode": status, "Progress": if status == "Successful" { 100 } else { 30 },
        "Details": json!({"Availability Zone": instance.zone.as_str()}).to_string()});
    Some((launched, activity))
}
