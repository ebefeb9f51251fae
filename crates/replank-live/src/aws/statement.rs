//! IAM statements: what a role needs to do what is asked of it.

/// The statement that allows an action (`autoscaling:DescribeAutoScalingGroups`).
#[must_use]
pub fn statement(action: &str) -> String {
    format!("{{\"Effect\": \"Allow\", \"Action\": [\"{action}\"], \"Resource\": \"*\"}}")
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
    "ssm:GetParameter",
    "sts:GetCallerIdentity",
];

/// What changes self-managed Auto Scaling groups.
pub const AUTO_SCALING: &[&str] = &[
    "autoscaling:CreateOrUpdateTags",
    "autoscaling:DeleteTags",
    "autoscaling:ResumeProcesses",
    "autoscaling:SuspendProcesses",
    "autoscaling:TerminateInstanceInAutoScalingGroup",
    "autoscaling:UpdateAutoScalingGroup",
    "ec2:CreateLaunchTemplateVersion",
];

/// What changes managed node groups.
pub const MANAGED: &[&str] = &[
    "eks:TagResource",
    "eks:UntagResource",
    "eks:UpdateNodegroupConfig",
    "eks:UpdateNodegroupVersion",
    "ec2:CreateLaunchTemplateVersion",
];

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
