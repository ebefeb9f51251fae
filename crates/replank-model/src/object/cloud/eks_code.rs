//! What the error codes of EKS mean, and what can be done about each: those of updates, and those of the health of managed node groups.
//!
//! Sources: the API reference of EKS (`ErrorDetail.errorCode`; `Issue.code`, whose codes are `NodegroupIssueCode` in the API model) and the user guide's pages on managed node groups,
//! launch templates, updating clusters, add-ons and troubleshooting. Some codes stand in the API model only, without a description: these are explained by their names.

/// What an error is about: the same code means other subnets there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EksSubject {
    /// A managed node group.
    Nodegroup,
    /// A control plane or one of its add-ons.
    Cluster,
}

/// What a code means, and what can be done about it; `None` where EKS's own message has to be enough.
#[must_use]
pub fn explained(code: &str, of: EksSubject) -> Option<&'static str> {
    let &(_, nodes, cluster) = CODES.iter().find(|(own, ..)| *own == code)?;
    let words = match of {
        EksSubject::Nodegroup => nodes,
        EksSubject::Cluster => cluster,
    };
    (!words.is_empty()).then_some(words)
}

/// Code; what it means of a node group; what it means of a control plane or an add-on. Empty where it is none of theirs.
#[rustfmt::skip]
const CODES: &[(&str, &str, &str)] = &[
    // Of both.
    ("AccessDenied",
        "the role of the nodes or of the cluster lacks permissions, or neither an access entry nor aws-auth knows the nodes' role",
        "whoever asked, the cluster's role, or EKS inside the cluster may not do what the update needs"),
    ("AdmissionRequestDenied",
        "an admission webhook refuses what EKS changes: its message names it",
        "an admission webhook refuses the add-on's objects: its message names it"),
    ("ClusterUnreachable",
        "EKS does not reach the cluster's API server: a webhook or a network policy may be in its way",
        "EKS could not reach the cluster's API: look for webhooks that refuse or do not answer"),
    ("EniLimitReached",
        "the account has no network interfaces left: ask AWS for more",
        "the account's limit of network interfaces is reached: have it raised, or delete interfaces that nothing uses"),
    ("InsufficientFreeAddresses",
        "the subnets have no free addresses left: free some, or add a subnet",
        "the cluster's subnets have too few free addresses: a control plane needs up to five"),
    ("IpNotAvailable",
        "the subnets have no free addresses left: free some, or add a subnet",
        "the cluster's subnets have too few free addresses: a control plane needs up to five"),
    ("NodeCreationFailure",
        "new nodes did not join the cluster in time: look at their role's permissions, their way out to the internet, their user data and image",
        "new nodes did not become Ready within 15 minutes"),
    ("OperationNotPermitted",
        "the cluster's role lacks permissions that EKS needs",
        "the cluster's role lacks permissions that EKS needs: compare it with the policy AmazonEKSClusterPolicy"),
    ("PodEvictionFailure",
        "pods were still on a node after 15 minutes: let their disruption budgets allow evictions, then run it again",
        "pods were left on a node after 15 minutes: a disruption budget or a finalizer keeps them"),
    ("SecurityGroupNotFound",
        "a security group of the node group does not exist any more",
        "a security group of the cluster does not exist any more: make one with the same rules, or ask AWS support"),
    ("SubnetNotFound",
        "a subnet of the node group does not exist any more",
        "a subnet of the cluster does not exist any more: aws eks describe-cluster names them"),
    ("VpcIdNotFound", "the VPC of the cluster does not exist any more", "the cluster's VPC does not exist any more"),
    // Of add-ons.
    ("ConfigurationConflict", "", "somebody has changed fields of the add-on that the update sets"),
    ("InsufficientNumberOfReplicas", "", "pods of the add-on are not available: kubectl -n kube-system get pods"),
    ("K8sResourceNotFound", "", "an object of the add-on was deleted: reinstall it"),
    ("UnsupportedAddonModification", "", "the add-on has settings that the new version does not take: aws eks describe-addon-configuration shows those that it does"),
    // Of the health of node groups.
    ("AmiIdNotFound", "the image of the launch template does not exist, or is not shared with this account any more: name another in a new version of it", ""),
    ("AsgInstanceLaunchFailures", "the Auto Scaling group cannot launch instances: aws autoscaling describe-scaling-activities names the reason; nodes that come up during an update would meet it, too", ""),
    ("AutoScalingGroupInvalidConfiguration", "somebody has changed the Auto Scaling group behind the node group: take that back, EKS owns it", ""),
    ("AutoScalingGroupNotFound", "the Auto Scaling group behind the node group was deleted: make it again with the same settings, or another node group", ""),
    ("AutoScalingGroupInstanceRefreshActive", "an instance refresh of the Auto Scaling group is active: aws autoscaling cancel-instance-refresh ends it", ""),
    ("Ec2InstanceTypeDoesNotExist", "an instance type of the node group does not exist in this region: make a node group with others", ""),
    ("Ec2LaunchTemplateInvalidConfiguration", "the launch template has a setting that EKS does not take: see the message, and make a new version without it", ""),
    ("Ec2LaunchTemplateNotFound", "the launch template of the node group was deleted: make it again with the same settings, or another node group", ""),
    ("Ec2LaunchTemplateVersionMismatch", "somebody has changed the launch template version of the Auto Scaling group or of EKS's own template: set it back to the version that the message names", ""),
    ("Ec2SecurityGroupDeletionFailure", "the security group for remote access to the nodes cannot be deleted: take away what uses it", ""),
    ("Ec2SecurityGroupNotFound", "the cluster's security group does not exist any more: the cluster has to be made again", ""),
    ("Ec2SubnetInvalidConfiguration", "a subnet of the node group does not give its instances public addresses, and has no other way out: change that, or choose other subnets", ""),
    ("Ec2SubnetNotFound", "a subnet of the node group does not exist any more: make a node group with others", ""),
    ("IamInstanceProfileNotFound", "the instance profile of the nodes was deleted: make it again with the same settings", ""),
    ("IamLimitExceeded", "a limit of IAM in the account is reached: have it raised, or delete what nothing uses", ""),
    ("IamNodeRoleNotFound", "the role of the nodes was deleted: make it again with the same name and policies", ""),
    ("InstanceLimitExceeded", "the account's quota of instances is reached: have it raised, or give nodes back", ""),
    ("NodeTerminationFailure", "EKS cannot terminate nodes of the group: see the message", ""),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_code_stands_there_once_and_is_explained_where_it_occurs() {
        for (at, (code, nodes, cluster)) in CODES.iter().enumerate() {
            assert!(CODES[..at].iter().all(|(other, ..)| other != code), "{code}");
            assert!(!nodes.is_empty() || !cluster.is_empty(), "{code}");
        }
        let subnet = explained("SubnetNotFound", EksSubject::Nodegroup).expect("it is known");
        assert!(subnet.contains("of the node group"), "{subnet}");
        assert_eq!(explained("ConfigurationConflict", EksSubject::Nodegroup), None, "it is of add-ons");
        assert_eq!(explained("AmiIdNotFound", EksSubject::Cluster), None, "it is of node groups");
        assert_eq!(explained("Unknown", EksSubject::Nodegroup), None);
    }
}
