//! What is done with instances of Auto Scaling groups.

use replank_model::object::cloud::{HealthStatus, Instance, Lifecycle, NodeGroup};
use replank_protocol::command::Replacement;
use serde_json::{Value, json};

use super::members::{known_group, known_instance, refused};
use super::own::Account;
use crate::call::Reply;
use crate::fault::Fault;
use crate::input::Input;
use crate::region::Region;
use crate::text::{moment, uuid};

impl Account {
    pub(crate) fn terminate_in_group(&mut self, region: &mut dyn Region, input: Input<'_>) -> Reply {
        let id = input.required("InstanceId")?;
        let instance = known_instance(region, id)?;
        let decrements = input.flag("ShouldDecrementDesiredCapacity")?.ok_or_else(|| Fault::validation("1 validation error detected: Value null at 'shouldDecrementDesiredCapacity' failed to satisfy constraint: Member must not be null"))?;
        let group = region.groups().into_iter().find(|group| group.name == instance.group);
        if decrements
            && let Some(group) = &group
            && group.size.desired <= group.size.min
        {
            return Err(Fault::validation(format!(
                "Currently, desiredSize equals minSize ({}). Terminating instance without replacement will violate group's min size constraint. Either set shouldDecrementDesiredCapacity flag to false or lower group's min size.",
                group.size.min
            )));
        }
        let replacement = if decrements { Replacement::Decrement { keep: 0 } } else { Replacement::Launch };
        region.terminate(&instance.id, replacement).map_err(refused)?;
        let now = region.now();
        let name =
            group.map_or_else(|| instance.group.to_string(), |group| group.auto_scaling_group.to_string());
        Ok(json!({"Activity": {
            "ActivityId": uuid(&format!("terminate {id} {}", now.as_millis())),
            "AutoScalingGroupName": name,
            "Description": format!("Terminating EC2 instance: {id}"),
            "Cause": format!("At {now} instance {id} was taken out of service in response to a user request."),
            "StartTime": moment(now), "StatusCode": "InProgress", "Progress": 0,
            "Details": json!({"Availability Zone": instance.zone.as_str()}).to_string(),
        }}))
    }

    pub(crate) fn protect(&mut self, region: &mut dyn Region, input: Input<'_>) -> Reply {
        let group = known_group(region, input.required("AutoScalingGroupName")?)?;
        let is_protected = input.flag("ProtectedFromScaleIn")?.unwrap_or(false);
        let ids = input.texts("InstanceIds");
        if ids.len() > 50 {
            return Err(Fault::validation(
                "1 validation error detected: Value at 'instanceIds' failed to satisfy constraint: Member must have length less than or equal to 50",
            ));
        }
        let found = ids.iter().map(|id| of_group(region, &group, id)).collect::<Result<Vec<_>, _>>()?;
        for instance in found {
            if instance.lifecycle != Lifecycle::InService && instance.lifecycle != Lifecycle::Standby {
                return Err(Fault::validation(format!(
                    "The instance {} is not in InService or Standby.",
                    instance.id
                )));
            }
            region.put_instance(Instance { is_protected, ..instance });
        }
        Ok(json!({}))
    }

    pub(crate) fn set_health(&mut self, region: &mut dyn Region, input: Input<'_>) -> Reply {
        let instance = known_instance(region, input.required("InstanceId")?)?;
        let health = match input.required("HealthStatus")? {
            "Healthy" => HealthStatus::Healthy,
            "Unhealthy" => HealthStatus::Unhealthy,
            other => {
                return Err(Fault::validation(format!(
                    "HealthStatus is Healthy or Unhealthy, and not {other}."
                )));
            }
        };
        region.put_instance(Instance { health, ..Instance::clone(&instance) });
        Ok(Value::Null)
    }

    /// DetachInstances and EnterStandby.
    pub(crate) fn leave_group(&mut self, region: &mut dyn Region, input: Input<'_>, to: Lifecycle) -> Reply {
        let group = known_group(region, input.required("AutoScalingGroupName")?)?;
        let ids = input.texts("InstanceIds");
        let decrements = input.flag("ShouldDecrementDesiredCapacity")?.unwrap_or(false);
        let found = ids.iter().map(|id| of_group(region, &group, id)).collect::<Result<Vec<_>, _>>()?;
        if let Some(other) = found.iter().find(|one| one.lifecycle != Lifecycle::InService) {
            return Err(Fault::validation(format!("The instance {} is not in InService.", other.id)));
        }
        if decrements {
            let count = u32::try_from(found.len()).unwrap_or(u32::MAX);
            let left = group.size.desired.checked_sub(count).filter(|left| *left >= group.size.min);
            let left = left.ok_or_else(|| {
                Fault::validation(format!(
                    "AutoScalingGroup {} has min size {}, and cannot be decremented by {count}.",
                    group.auto_scaling_group, group.size.min
                ))
            })?;
            let mut changed = NodeGroup::clone(&group);
            changed.size.desired = left;
            region.put_group(changed);
        }
        let now = region.now();
        let word = if to == Lifecycle::Standby {
            "Moving EC2 instance to Standby"
        } else {
            "Detaching EC2 instance"
        };
        let mut activities = Vec::new();
        for instance in found {
            activities.push(json!({
                "ActivityId": uuid(&format!("{word} {} {}", instance.id, now.as_millis())), "AutoScalingGroupName": &*group.auto_scaling_group,
                "Description": format!("{word}: {}", instance.id), "Cause": format!("At {now} instance {} was taken out of service in response to a user request.", instance.id),
                "StartTime": moment(now), "StatusCode": "InProgress", "Progress": 50}));
            region.put_instance(Instance { lifecycle: to, ..instance });
        }
        Ok(json!({"Activities": activities}))
    }

    pub(crate) fn exit_standby(&mut self, region: &mut dyn Region, input: Input<'_>) -> Reply {
        let group = known_group(region, input.required("AutoScalingGroupName")?)?;
        let ids = input.texts("InstanceIds");
        let found = ids.iter().map(|id| of_group(region, &group, id)).collect::<Result<Vec<_>, _>>()?;
        if let Some(other) = found.iter().find(|one| one.lifecycle != Lifecycle::Standby) {
            return Err(Fault::validation(format!("The instance {} is not in Standby.", other.id)));
        }
        self.back_into(region, &group, found)
    }

    pub(crate) fn attach(&mut self, region: &mut dyn Region, input: Input<'_>) -> Reply {
        let group = known_group(region, input.required("AutoScalingGroupName")?)?;
        let mut found = Vec::new();
        for id in input.texts("InstanceIds") {
            let one = region.instances().into_iter().find(|one| one.id == *id && one.state.is_alive());
            let one =
                one.ok_or_else(|| Fault::validation(format!("Invalid Instance ID(s): [{id}] specified")))?;
            if one.lifecycle != Lifecycle::Detached {
                return Err(Fault::validation(format!(
                    "The instance {id} is already part of AutoScalingGroup:{}",
                    one.group
                )));
            }
            found.push(Instance { group: group.name.clone(), ..Instance::clone(&one) });
        }
        self.back_into(region, &group, found)?;
        Ok(Value::Null)
    }

    /// Instances are in service again, and the group wants as many more.
    fn back_into(&mut self, region: &mut dyn Region, group: &NodeGroup, found: Vec<Instance>) -> Reply {
        let mut changed = group.clone();
        changed.size.desired += u32::try_from(found.len()).unwrap_or(0);
        if changed.size.desired > changed.size.max {
            return Err(Fault::validation(format!(
                "AutoScalingGroup {} has max size {}, and cannot have {}.",
                group.auto_scaling_group, group.size.max, changed.size.desired
            )));
        }
        let now = region.now();
        let mut activities = Vec::new();
        for instance in found {
            activities.push(json!({
                "ActivityId": uuid(&format!("back {} {}", instance.id, now.as_millis())), "AutoScalingGroupName": &*group.auto_scaling_group,
                "Description": format!("Moving EC2 instance out of Standby: {}", instance.id), "Cause": format!("At {now} instance {} was moved in response to a user request.", instance.id),
                "StartTime": moment(now), "StatusCode": "InProgress", "Progress": 30}));
            region.put_instance(Instance { lifecycle: Lifecycle::InService, ..instance });
        }
        region.put_group(changed);
        Ok(json!({"Activities": activities}))
    }
}

fn of_group(region: &dyn Region, group: &NodeGroup, id: &str) -> Result<Instance, Fault> {
    let instance = known_instance(region, id).ok().filter(|one| one.group == group.name);
    let instance = instance.ok_or_else(|| {
        Fault::validation(format!(
            "The instance {id} is not part of Auto Scaling group {}.",
            group.auto_scaling_group
        ))
    })?;
    Ok(Instance::clone(&instance))
}
