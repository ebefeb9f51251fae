//! Bodies of the events that EventBridge sends about instances.

use replank_model::object::cloud::{Instance, LifecycleHook, Transition};
use replank_model::text::InstanceId;
use replank_model::time::Time;
use serde_json::{Value, json};

/// What is said about instances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// A spot instance will be taken back in two minutes.
    Spot,
    /// One is likelier than before to be.
    Rebalance,
    /// It will be retired at a moment.
    Retirement(Time),
}

/// The events that say so: EC2 sends one for each instance, AWS Health one for all.
pub(super) fn warnings(told: Told, instances: &[&InstanceId], now: Time) -> Vec<String> {
    let of_ec2 = |kind: &str, detail: &dyn Fn(&InstanceId) -> Value| {
        let one = |id: &&InstanceId| envelope("aws.ec2", kind, now, &detail(id));
        instances.iter().map(one).collect()
    };
    match told {
        Told::Spot => of_ec2(
            "EC2 Spot Instance Interruption Warning",
            &|id| json!({"instance-id": id.as_str(), "instance-action": "terminate"}),
        ),
        Told::Rebalance => {
            of_ec2("EC2 Instance Rebalance Recommendation", &|id| json!({"instance-id": id.as_str()}))
        }
        Told::Retirement(at) => {
            let arn = |id: &&InstanceId| format!("arn:aws:ec2:eu-west-1:111122223333:instance/{id}");
            let entities: Vec<Value> = instances.iter().map(|id| json!({"entityValue": arn(id)})).collect();
            let detail = json!({"service": "EC2", "eventTypeCategory": "scheduledChange", "statusCode": "upcoming",
                "eventTypeCode": "AWS_EC2_INSTANCE_RETIREMENT_SCHEDULED", "startTime": at.to_string(),
                "affectedEntities": entities});
            vec![envelope("aws.health", "AWS Health Event", now, &detail)]
        }
    }
}

pub(super) fn action(instance: &Instance, hook: &LifecycleHook, token: &str, now: Time) -> String {
    let (kind, transition, from, to) = match hook.at {
        Transition::Launching => {
            ("EC2 Instance-launch Lifecycle Action", "LAUNCHING", "EC2", "AutoScalingGroup")
        }
        Transition::Terminating => {
            ("EC2 Instance-terminate Lifecycle Action", "TERMINATING", "AutoScalingGroup", "EC2")
        }
    };
    let detail = json!({"LifecycleActionToken": token, "AutoScalingGroupName": instance.group.as_str(),
        "LifecycleHookName": &*hook.name, "EC2InstanceId": instance.id.as_str(),
        "LifecycleTransition": format!("autoscaling:EC2_INSTANCE_{transition}"), "Origin": from, "Destination": to});
    envelope("aws.autoscaling", kind, now, &detail)
}

pub(super) fn state(instance: &Instance, now: Time) -> String {
    let detail = json!({"instance-id": instance.id.as_str(), "state": instance.state.as_str()});
    envelope("aws.ec2", "EC2 Instance State-change Notification", now, &detail)
}

fn envelope(source: &str, kind: &str, now: Time, detail: &Value) -> String {
    json!({"version": "0", "source": source, "detail-type": kind, "account": "111122223333", "time": now.to_string(),
        "region": "eu-west-1", "detail": detail})
    .to_string()
}
