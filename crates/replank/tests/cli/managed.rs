//! Groups as AWS describes them: managed ones are updated by EKS, and suspended processes are found.

use super::common::{Ran, replank, scratch};

const SNAPSHOT: &str = "examples/hpa/snapshot.yaml";

/// A rehearsal of a new version for the group `web`, with more of its plan and what AWS says.
fn rehearse(name: &str, more: &str, words: &[&str]) -> Ran {
    let head = "apiVersion: replank.dev/v1alpha1\nkind: NodeRoll\nmetadata: {name: p}";
    let plan = format!("{head}\nspec: {{groups: [web], target: {{kubernetesVersion: \"1.37\"}}{more}}}\n");
    let plan = scratch(&format!("{name}.yaml"), plan);
    replank(&[&["rehearse", SNAPSHOT, "-f", &plan, "--timeline"], words].concat())
}

#[test]
fn a_group_that_the_plan_says_is_managed_is_updated_by_eks() {
    let own = rehearse("managed-not", "", &[]);
    assert!(!own.stdout.contains("EKS update"), "{own:?}");
    let managed = rehearse("managed-plan", ", nodeGroups: [{name: web, managedBy: eks}]", &[]);
    assert!(managed.stdout.contains("EKS update"), "{managed:?}");
}

#[test]
fn a_group_that_describe_nodegroup_tells_is_managed() {
    let answer = r#"{"nodegroup": {"nodegroupName": "web", "clusterName": "c", "amiType": "AL2023_x86_64_STANDARD", "status": "ACTIVE",
        "scalingConfig": {"minSize": 1, "maxSize": 9, "desiredSize": 2}, "launchTemplate": {"id": "lt-0123456789abcdef0", "version": "4"},
        "resources": {"autoScalingGroups": [{"name": "eks-web-1234"}]}}}"#;
    let groups = scratch("managed-nodegroup.json", answer);
    let managed = rehearse("managed-groups", "", &["--groups", &groups]);
    assert!(managed.stdout.contains("EKS update"), "{managed:?}");
}

#[test]
fn a_suspended_process_is_found_and_waited_for() {
    let answer = |suspended: &str| {
        format!(
            r#"{{"AutoScalingGroups": [{{"AutoScalingGroupName": "web", "MinSize": 1, "MaxSize": 9, "DesiredCapacity": 2,
            "SuspendedProcesses": [{{"ProcessName": "{suspended}", "SuspensionReason": "User suspended"}}]}}]}}"#
        )
    };
    let of = |name: &str, suspended: &str| {
        let groups = scratch(&format!("{name}.json"), answer(suspended));
        rehearse(name, "", &["--groups", &groups])
    };
    let stopped = of("suspended-launch", "Launch");
    assert!(stopped.stdout.contains("suspended-process"), "{stopped:?}");
    assert!(
        stopped.stdout.contains("process Launch of Auto Scaling group web, which is suspended: resume it"),
        "{stopped:?}"
    );
    assert!(
        stopped.stdout.contains("resume-processes --auto-scaling-group-name web --scaling-processes Launch"),
        "{stopped:?}"
    );
    let other = of("suspended-other", "AZRebalance");
    assert!(!other.stdout.contains("suspended"), "{other:?}");
}
