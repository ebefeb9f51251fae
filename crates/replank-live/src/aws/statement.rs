//! IAM statements: what a role needs to do what is asked of it.

use serde_json::{Value, json};

/// The statement that allows an action (`autoscaling:DescribeAutoScalingGroups`).
#[must_use]
pub fn statement(action: &str) -> String {
    format!("{{\"Effect\": \"Allow\", \"Action\": [\"{action}\"], \"Resource\": \"*\"}}")
}

/// The statement that allows what IAM says is lacking to whoever has asked for an action, in its words: `is not authorized to perform: ACTION on resource: ARN`; `None` where it says nothing of the kind.
///
/// Source: IAM user guide, "Troubleshoot access denied error messages".
#[must_use]
pub(super) fn lacking(asked: &str, message: &str) -> Option<String> {
    let (_, rest) = message.split_once("is not authorized to perform: ")?;
    let is_end = |letter: char| letter.is_whitespace() || letter == ',';
    let action = rest.split(is_end).next().filter(|action| action.contains(':'))?;
    let resource = rest.split_once("on resource: ").and_then(|(_, rest)| rest.split(is_end).next());
    // IAM's own actions name a role without its ARN.
    let resource = resource.filter(|resource| resource.starts_with("arn:")).unwrap_or("*");
    let condition = match action {
        "iam:PassRole" if asked.starts_with("eks:") => {
            format!(", \"Condition\": {{\"StringEquals\": {{\"iam:PassedToService\": \"{TO_EKS}\"}}}}")
        }
        _ => String::new(),
    };
    Some(format!(
        "{{\"Effect\": \"Allow\", \"Action\": [\"{action}\"], \"Resource\": \"{resource}\"{condition}}}"
    ))
}

/// A statement that allows actions on resources.
#[must_use]
pub fn allowed(actions: &[&str], resource: &Value) -> Value {
    json!({"Effect": "Allow", "Action": actions, "Resource": resource})
}

/// What is read of groups: a rehearsal and a dry run need no more.
pub const READS: &[&str] = &[
    "autoscaling:DescribeAutoScalingGroups",
    "autoscaling:DescribeAutoScalingInstances",
    "autoscaling:DescribeLifecycleHooks",
    "ec2:DescribeImages",
    "ec2:DescribeInstances",
    "ec2:DescribeLaunchTemplateVersions",
    "eks:DescribeNodegroup",
    "eks:DescribeUpdate",
    "eks:ListUpdates",
    "elasticloadbalancing:DescribeTargetGroupAttributes",
    "elasticloadbalancing:DescribeTargetGroups",
    "elasticloadbalancing:DescribeTargetHealth",
    "ssm:GetParameter",
    "sts:GetCallerIdentity",
];

/// What changes self-managed Auto Scaling groups.
pub const AUTO_SCALING: &[&str] = &[
    "autoscaling:CreateOrUpdateTags",
    "autoscaling:DeleteTags",
    "autoscaling:ResumeProcesses",
    "autoscaling:SetInstanceProtection",
    "autoscaling:SuspendProcesses",
    "autoscaling:TerminateInstanceInAutoScalingGroup",
    "autoscaling:UpdateAutoScalingGroup",
    "ec2:CreateLaunchTemplateVersion",
];

/// What AWS checks of whoever names a launch template in UpdateAutoScalingGroup, or in UpdateNodegroupVersion, although Auto Scaling launches the instances: that they may launch them
/// themselves (RunInstances), with the role of the template's instance profile (PassRole) and its tags (CreateTags). Without it: "You are not authorized to use launch template".
///
/// Sources: the user guide of EC2 Auto Scaling, "Control Amazon EC2 launch template usage in Auto Scaling groups" and "Amazon EC2 Auto Scaling API permissions"; of EKS, errors of users
/// ("You are not authorized to launch instances with this launch template", e.g. aws-samples/terraform-eks-code#13).
pub const LAUNCHES: &[&str] = &["ec2:CreateTags", "ec2:RunInstances", "iam:PassRole"];

/// What changes managed node groups.
pub const MANAGED: &[&str] = &[
    "eks:TagResource",
    "eks:UntagResource",
    "eks:UpdateNodegroupConfig",
    "eks:UpdateNodegroupVersion",
    "ec2:CreateLaunchTemplateVersion",
];

/// What makes a managed node group, on the cluster.
///
/// Source: Service Authorization Reference, "Actions, resources, and condition keys for Amazon Elastic Kubernetes Service": its resource is the cluster, and no dependent actions are listed.
pub const MAKE_GROUP: &[&str] = &["eks:CreateNodegroup"];

/// What EKS checks of whoever makes a managed node group, beside [`LAUNCHES`] where it has a launch template of its own: that they may hand it the nodes' role (PassRole), and, since it looks in their name, that they may
/// see the role, its policies and the subnets.
///
/// Sources: IAM user guide, "Grant a user permissions to pass a role to an AWS service". AWS documents no list for CreateNodegroup: the others are read off errors that users have met
/// (terraform-aws-modules/terraform-aws-eks#823: GetRole of the service-linked role AWSServiceRoleForAmazonEKSNodegroup; aws-controllers-k8s/community#2164: ListAttachedRolePolicies and DescribeSubnets).
pub const MAKES: &[&str] =
    &["ec2:DescribeSubnets", "iam:GetRole", "iam:ListAttachedRolePolicies", "iam:PassRole"];

/// To whom the nodes' role is handed.
pub const TO_EKS: &str = "eks.amazonaws.com";

/// What is read of a cluster before an upgrade, beside [`READS`].
pub const UPGRADE_READS: &[&str] = &[
    "ec2:DescribeSubnets",
    "eks:DescribeAddon",
    "eks:DescribeAddonVersions",
    "eks:DescribeCluster",
    "eks:DescribeClusterVersions",
    "eks:DescribeInsight",
    "eks:ListAddons",
    "eks:ListClusters",
    "eks:ListInsights",
    "eks:ListNodegroups",
];

/// What changes a control plane and its add-ons.
pub const UPGRADE: &[&str] = &["eks:UpdateAddon", "eks:UpdateClusterVersion"];

/// What is read for interruptions.
pub const HANDLE_READS: &[&str] = &[
    "autoscaling:DescribeAutoScalingGroups",
    "autoscaling:DescribeAutoScalingInstances",
    "autoscaling:DescribeLifecycleHooks",
    "ec2:DescribeInstances",
    "sts:GetCallerIdentity",
];

/// What is done about interrupted instances.
pub const HANDLE: &[&str] = &[
    "autoscaling:CompleteLifecycleAction",
    "autoscaling:RecordLifecycleActionHeartbeat",
    "autoscaling:TerminateInstanceInAutoScalingGroup",
];

/// What is read to scale groups.
pub const AUTOSCALE_READS: &[&str] = &[
    "autoscaling:DescribeAutoScalingGroups",
    "autoscaling:DescribeAutoScalingInstances",
    "autoscaling:DescribeScalingActivities",
    "ec2:DescribeImages",
    "ec2:DescribeInstanceTypes",
    "ec2:DescribeInstances",
    "ec2:DescribeLaunchTemplateVersions",
    "ec2:GetInstanceTypesFromInstanceRequirements",
    "eks:DescribeNodegroup",
    "sts:GetCallerIdentity",
];

/// What is done to scale groups.
pub const AUTOSCALE: &[&str] = &[
    "autoscaling:TerminateInstanceInAutoScalingGroup",
    "autoscaling:UpdateAutoScalingGroup",
    "eks:UpdateNodegroupConfig",
];

/// What is done with the queue of messages about them.
pub const QUEUE: &[&str] =
    &["sqs:ChangeMessageVisibility", "sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ReceiveMessage"];

/// Every action that is in a table since the driver calls it; the others are those that AWS checks besides.
#[cfg(test)]
pub(super) fn all_that_are_called() -> std::collections::BTreeSet<String> {
    let tables = [
        READS,
        AUTO_SCALING,
        MANAGED,
        MAKE_GROUP,
        UPGRADE_READS,
        UPGRADE,
        HANDLE_READS,
        HANDLE,
        QUEUE,
        AUTOSCALE_READS,
        AUTOSCALE,
    ];
    tables.concat().into_iter().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The rooms from which AWS is called.
    const CALLS: &[&str] = &[
        include_str!("account.rs"),
        include_str!("act.rs"),
        include_str!("client.rs"),
        include_str!("creation.rs"),
        include_str!("discover.rs"),
        include_str!("eks.rs"),
        include_str!("facts.rs"),
        include_str!("failures.rs"),
        include_str!("fresh.rs"),
        include_str!("managed.rs"),
        include_str!("processes.rs"),
        include_str!("protection.rs"),
        include_str!("queue.rs"),
        include_str!("scaled.rs"),
        include_str!("targets.rs"),
        include_str!("template.rs"),
        include_str!("types.rs"),
    ];

    /// What follows a piece of source, up to the next quote.
    fn quoted<'s>(source: &'s str, before: &str) -> Vec<&'s str> {
        source.split(before).skip(1).filter_map(|rest| rest.split_once('"')).map(|(name, _)| name).collect()
    }

    #[test]
    fn every_call_that_is_made_is_in_a_table() {
        let mut called = BTreeSet::new();
        for source in CALLS {
            let source = source.split("#[cfg(test)]").next().unwrap_or_default();
            for (service, before) in [
                ("autoscaling", "(Service::AutoScaling, \""),
                ("ec2", "(Service::Ec2, \""),
                ("sqs", "(Service::Sqs, \""),
                ("ssm", "(Service::Ssm, \""),
                ("sts", "(Service::Sts, \""),
                ("autoscaling", ".write(\""),
                ("autoscaling", ".of_action(\""),
                ("eks", ".eks(\""),
                ("elasticloadbalancing", ".elb(\""),
                ("eks", ".write_eks(\""),
                ("eks", ".eks_twice(\""),
                ("eks", ".names_of(\""),
                ("eks", ".pages_of(\""),
                ("eks", ".read_eks(\""),
                ("eks", ".write_once(\""),
                ("eks", ".write_update(\""),
                ("sqs", ".sqs(\""),
            ] {
                called.extend(quoted(source, before).iter().map(|name| format!("{service}:{name}")));
            }
        }
        let own = all_that_are_called();
        assert!(called.len() > 20, "{called:?}");
        let missing: Vec<&String> = called.iter().filter(|call| !own.contains(*call)).collect();
        assert!(missing.is_empty(), "in no table: {missing:?}");
        // Names that stand apart from their calls.
        let apart = [
            "autoscaling:CreateOrUpdateTags",
            "autoscaling:DeleteTags",
            "autoscaling:ResumeProcesses",
            "autoscaling:SuspendProcesses",
            "sqs:ChangeMessageVisibility",
            "sqs:DeleteMessage",
        ];
        let unused: Vec<&String> = own
            .iter()
            .filter(|action| !called.contains(*action) && !apart.contains(&action.as_str()))
            .collect();
        assert!(unused.is_empty(), "never called: {unused:?}");
        for name in apart {
            let (_, name) = name.split_once(':').expect("it has a service");
            assert!(CALLS.iter().any(|source| source.contains(&format!("\"{name}\""))), "{name}");
        }
    }

    #[test]
    fn what_handling_calls_is_in_its_policy() {
        let queue = include_str!("queue.rs").split("#[cfg(test)]").next().unwrap_or_default();
        let policy = [HANDLE_READS, HANDLE, QUEUE].concat();
        for name in ["GetQueueAttributes", "ReceiveMessage", "ChangeMessageVisibility", "DeleteMessage"] {
            assert!(queue.contains(&format!("\"{name}\"")), "{name}");
            assert!(policy.contains(&&*format!("sqs:{name}")), "{name}");
        }
    }
}
