//! EC2 Auto Scaling: which call is answered where.

use serde_json::json;

use super::members::known_group;
use super::own::Account;
use super::unknown::unknown;
use crate::call::Reply;
use crate::fault::Fault;
use crate::input::Input;
use crate::region::Region;
use crate::service::Service;

impl Account {
    pub(crate) fn autoscaling(&mut self, region: &mut dyn Region, action: &str, input: Input<'_>) -> Reply {
        match action {
            "DescribeAutoScalingGroups" => self.describe_groups(region, input),
            "DescribeAutoScalingInstances" => self.describe_group_instances(region, input),
            "DescribeTags" => self.describe_group_tags(region, input),
            "DescribeScalingActivities" => self.describe_activities(region, input),
            "DescribeLifecycleHooks" => self.describe_hooks(region, input),
            "DescribeLaunchConfigurations" => Ok(json!({"LaunchConfigurations": []})),
            "DescribePolicies" => Ok(json!({"ScalingPolicies": []})),
            "DescribeScheduledActions" => Ok(json!({"ScheduledUpdateGroupActions": []})),
            "DescribeNotificationConfigurations" => Ok(json!({"NotificationConfigurations": []})),
            "DescribeLoadBalancers" => Ok(json!({"LoadBalancers": []})),
            "DescribeTrafficSources" => self.describe_traffic(region, input),
            "AttachTrafficSources" | "AttachLoadBalancerTargetGroups" => self.attach_traffic(region, input),
            "DetachTrafficSources" | "DetachLoadBalancerTargetGroups" => self.detach_traffic(region, input),
            "AttachLoadBalancers" | "DetachLoadBalancers" => {
                known_group(region, input.required("AutoScalingGroupName")?)?;
                Err(super::traffic::no_load_balancers())
            }
            "CreateLaunchConfiguration" => Err(no_configurations()),
            "DeleteLaunchConfiguration" => {
                let name = input.required("LaunchConfigurationName")?;
                Err(Fault::validation(format!(
                    "Launch configuration name not found - Launch configuration {name} not found"
                )))
            }
            "DescribeAdjustmentTypes" => {
                let all = ["ChangeInCapacity", "ExactCapacity", "PercentChangeInCapacity"];
                Ok(json!({"AdjustmentTypes": all.map(|name| json!({"AdjustmentType": name})).to_vec()}))
            }
            "DescribeAutoScalingNotificationTypes" => Ok(json!({"AutoScalingNotificationTypes": [
                "autoscaling:EC2_INSTANCE_LAUNCH", "autoscaling:EC2_INSTANCE_LAUNCH_ERROR", "autoscaling:EC2_INSTANCE_TERMINATE",
                "autoscaling:EC2_INSTANCE_TERMINATE_ERROR", "autoscaling:TEST_NOTIFICATION"]})),
            "DescribeWarmPool" => {
                known_group(region, input.required("AutoScalingGroupName")?)?;
                Ok(json!({"Instances": []}))
            }
            "DescribeInstanceRefreshes" => {
                known_group(region, input.required("AutoScalingGroupName")?)?;
                Ok(json!({"InstanceRefreshes": []}))
            }
            "DescribeMetricCollectionTypes" => Ok(super::settings::metric_types()),
            "EnableMetricsCollection" => self.collect_metrics(region, input, true),
            "DisableMetricsCollection" => self.collect_metrics(region, input, false),
            "DescribeLoadBalancerTargetGroups" => self.describe_target_groups(region, input),
            "DescribeTerminationPolicyTypes" => {
                Ok(json!({"TerminationPolicyTypes": super::groups::policies()}))
            }
            "DescribeScalingProcessTypes" => Ok(super::groups::processes()),
            "DescribeLifecycleHookTypes" => Ok(
                json!({"LifecycleHookTypes": ["autoscaling:EC2_INSTANCE_LAUNCHING", "autoscaling:EC2_INSTANCE_TERMINATING"]}),
            ),
            "DescribeAccountLimits" => {
                Ok(json!({"MaxNumberOfAutoScalingGroups": 500, "MaxNumberOfLaunchConfigurations": 200,
                "NumberOfAutoScalingGroups": region.groups().len(), "NumberOfLaunchConfigurations": 0}))
            }
            "CreateAutoScalingGroup" => self.create_group(region, input),
            "UpdateAutoScalingGroup" => self.update_group(region, input),
            "DeleteAutoScalingGroup" => self.delete_group(region, input),
            "SetDesiredCapacity" => self.set_desired(region, input),
            "SuspendProcesses" => self.processes(region, input, true),
            "ResumeProcesses" => self.processes(region, input, false),
            "CreateOrUpdateTags" => self.write_tags(region, input),
            "DeleteTags" => self.delete_tags(region, input),
            "PutLifecycleHook" => self.put_hook(region, input),
            "DeleteLifecycleHook" => self.delete_hook(region, input),
            "CompleteLifecycleAction" => self.complete_action(region, input),
            "RecordLifecycleActionHeartbeat" => self.heartbeat(region, input),
            "TerminateInstanceInAutoScalingGroup" => self.terminate_in_group(region, input),
            "SetInstanceProtection" => self.protect(region, input),
            "SetInstanceHealth" => self.set_health(region, input),
            "DetachInstances" => {
                self.leave_group(region, input, replank_model::object::cloud::Lifecycle::Detached)
            }
            "AttachInstances" => self.attach(region, input),
            "EnterStandby" => {
                self.leave_group(region, input, replank_model::object::cloud::Lifecycle::Standby)
            }
            "ExitStandby" => self.exit_standby(region, input),
            _ => Err(unknown(Service::AutoScaling, action)),
        }
    }
}

/// Accounts that are newer than October 2024 have no launch configurations: so AWS refuses to make one.
fn no_configurations() -> Fault {
    Fault::bad(
        "UnsupportedOperation",
        "The Launch Configuration creation operation is not available in your account. Use launch templates to create configuration templates for your Auto Scaling groups.",
    )
}
