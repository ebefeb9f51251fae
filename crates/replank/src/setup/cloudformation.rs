//! A template of CloudFormation.

use serde_json::{Map, Value, json};

use super::parts::{DEAD_KEPT_SECONDS, HIDDEN_SECONDS, HOOK, KEPT_SECONDS, OF_ALL, RECEIVED_MAX, Setup};
use super::policy::{Names, document, note, queue_policy, statements, trust};

/// The template, as JSON.
pub(super) fn template(setup: &Setup) -> String {
    let mut resources = Map::new();
    let mut outputs = Map::new();
    if setup.needs_queue() {
        queue(setup, &mut resources);
        outputs.insert(
            "QueueUrl".to_owned(),
            json!({"Description": "replank handle --queue-url", "Value": {"Ref": "Queue"}}),
        );
    }
    role(setup, &mut resources);
    outputs.insert(
        "RoleArn".to_owned(),
        json!({"Description": "The role of Replank's service account", "Value": arn_of("Role")}),
    );
    let template = json!({"AWSTemplateFormatVersion": "2010-09-09",
        "Description": described(setup),
        "Resources": resources, "Outputs": outputs});
    format!("{template:#}\n")
}

fn described(setup: &Setup) -> String {
    let what = format!("What Replank needs for cluster {}", setup.cluster);
    if setup.needs_queue() { format!("{what}. {OF_ALL}.") } else { what }
}

fn arn_of(resource: &str) -> Value {
    json!({"Fn::GetAtt": [resource, "Arn"]})
}

fn resource(kind: &str, properties: &Value) -> Value {
    json!({"Type": kind, "Properties": properties})
}

fn queue(setup: &Setup, resources: &mut Map<String, Value>) {
    let name = &setup.name;
    let mut put = |id: &str, kind: &str, properties: Value| {
        resources.insert(id.to_owned(), resource(kind, &properties));
    };
    put(
        "DeadLetters",
        "AWS::SQS::Queue",
        json!({"QueueName": format!("{name}-dead-letters"), "MessageRetentionPeriod": DEAD_KEPT_SECONDS, "SqsManagedSseEnabled": true}),
    );
    put(
        "Queue",
        "AWS::SQS::Queue",
        json!({"QueueName": name, "MessageRetentionPeriod": KEPT_SECONDS, "VisibilityTimeout": HIDDEN_SECONDS,
            "ReceiveMessageWaitTimeSeconds": 20, "SqsManagedSseEnabled": true,
            "RedrivePolicy": {"deadLetterTargetArn": arn_of("DeadLetters"), "maxReceiveCount": RECEIVED_MAX}}),
    );
    let mut rules = Vec::new();
    for rule in setup.rules() {
        let id = logical(rule.name);
        rules.push(arn_of(&id));
        let target = json!({"Id": "queue", "Arn": arn_of("Queue")});
        put(
            &id,
            "AWS::Events::Rule",
            json!({"Name": format!("{name}-{}", rule.name), "Description": rule.about, "EventPattern": rule.pattern,
                "State": "ENABLED", "Targets": [target]}),
        );
    }
    let policy = queue_policy(&arn_of("Queue"), &rules);
    put(
        "QueuePolicy",
        "AWS::SQS::QueuePolicy",
        json!({"Queues": [{"Ref": "Queue"}], "PolicyDocument": policy}),
    );
    for (number, group) in setup.groups.iter().enumerate() {
        put(
            &format!("Hook{}", number + 1),
            "AWS::AutoScaling::LifecycleHook",
            json!({"LifecycleHookName": HOOK, "AutoScalingGroupName": group, "DefaultResult": "CONTINUE",
                "HeartbeatTimeout": setup.heartbeat_seconds(),
                "LifecycleTransition": "autoscaling:EC2_INSTANCE_TERMINATING"}),
        );
    }
}

fn role(setup: &Setup, resources: &mut Map<String, Value>) {
    let arn = |service: &str, rest: &str| {
        let region = if service == "iam" { "" } else { "${AWS::Region}" };
        json!({"Fn::Sub": format!("arn:${{AWS::Partition}}:{service}:{region}:${{AWS::AccountId}}:{rest}")})
    };
    let names = Names { queue: arn_of("Queue"), arn: &arn };
    let policy = json!({"PolicyName": setup.name, "PolicyDocument": document(&statements(setup, &names))});
    let role = json!({"Description": format!("Replank on cluster {}", setup.cluster),
        "AssumeRolePolicyDocument": trust(), "Policies": [policy]});
    let mut role = resource("AWS::IAM::Role", &role);
    // JSON has no comments; what is under Metadata is for whoever reads the template.
    if let Some(note) = note(setup) {
        role["Metadata"] = json!({ "Note": note });
    }
    resources.insert("Role".to_owned(), role);
    let association = json!({"ClusterName": setup.cluster, "Namespace": setup.namespace,
        "ServiceAccount": setup.service_account, "RoleArn": arn_of("Role")});
    resources.insert("Association".to_owned(), resource("AWS::EKS::PodIdentityAssociation", &association));
}

/// The id of a rule: letters and digits only.
fn logical(name: &str) -> String {
    let mut letters = name.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    format!("Rule{}{}", first.into_iter().collect::<String>(), letters.as_str())
}
