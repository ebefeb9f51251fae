//! Groups as AWS describes them: managed ones are updated by EKS, and suspended processes are found.

use serde_json::{Value, json};

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

/// A rehearsal of a plan that names a release, of a group that has one as EKS describes it.
fn releasing(name: &str, target: &str, has: &str, status: &str) -> Ran {
    let answer = json!({"nodegroup": {"nodegroupName": "web", "clusterName": "c", "amiType": "AL2023_x86_64_STANDARD",
        "status": status, "version": "1.36", "releaseVersion": has, "scalingConfig": {"minSize": 1, "maxSize": 9, "desiredSize": 2},
        "resources": {"autoScalingGroups": [{"name": "eks-web-1234"}]}}});
    let head = "apiVersion: replank.dev/v1alpha1\nkind: NodeRoll\nmetadata: {name: p}";
    let plan =
        scratch(&format!("{name}.yaml"), format!("{head}\nspec: {{groups: [web], target: {target}}}\n"));
    let groups = scratch(&format!("{name}.json"), answer.to_string());
    replank(&["rehearse", SNAPSHOT, "-f", &plan, "--groups", &groups, "-o", "json"])
}

#[test]
fn a_release_is_rehearsed_and_nodes_that_have_it_stay() {
    let replaced = |ran: &Ran| ran.json()["nodes"]["replaced"].clone();
    let same = releasing("release-same", "{releaseVersion: 1.36.2-20261120}", "1.36.2-20261120", "ACTIVE");
    assert_eq!(replaced(&same), 0, "{same:?}");
    // The same kubelet, another day; or nobody knows the day, as an update goes on.
    for (name, has, status) in
        [("day", "1.36.2-20261023", "ACTIVE"), ("updating", "1.36.2-20261120", "UPDATING")]
    {
        let ran = releasing(&format!("release-{name}"), "{releaseVersion: 1.36.2-20261120}", has, status);
        assert_eq!(replaced(&ran), 2, "{ran:?}");
        let known = status == "ACTIVE";
        assert_eq!(
            ran.stderr.contains("nodes of node group web have release 1.36.2-20261023. EKS takes no"),
            known,
            "{ran:?}"
        );
    }
    let next = releasing("release-next", "{releaseVersion: 1.37.0-20261120}", "1.36.2-20261120", "ACTIVE");
    assert_eq!(replaced(&next), 2, "{next:?}");
}

#[test]
fn a_release_that_cannot_be_or_must_not_be_is_refused_before_anything_is_rehearsed() {
    let bad = "{releaseVersion: 1.36.2-20261120, badReleases: [1.36.2-20261120]}";
    let ran = releasing("release-bad", bad, "1.36.2-20261023", "ACTIVE");
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(
        ran.stderr.contains("spec.target.releaseVersion: found 1.36.2-20261120, which is on badReleases"),
        "{ran:?}"
    );
    let earlier =
        releasing("release-earlier", "{releaseVersion: 1.36.2-20260918}", "1.36.2-20261023", "ACTIVE");
    assert_eq!(earlier.code, Some(2), "{earlier:?}");
    assert!(
        earlier.stderr.contains("has release 1.36.2-20261023, and EKS takes no node group back"),
        "{earlier:?}"
    );
    let other = "{releaseVersion: 1.36.2-20261120, badReleases: [1.36.2-20261023]}";
    let ran = releasing("release-other", other, "1.36.2-20261023", "ACTIVE");
    assert_eq!(ran.json()["nodes"]["replaced"], 2, "it is left, not gone to: {ran:?}");
}

#[test]
fn a_rollback_leads_to_the_release_of_before_and_says_so() {
    let head = "apiVersion: replank.dev/v1alpha1\nkind: NodeRoll\nmetadata: {name: p}";
    let rehearse = |name: &str, bad: &str, words: &[&str]| {
        let spec = format!(
            "groups: [web], target: {{releaseVersion: 1.36.1-20260610, badReleases: [{bad}]}}, onFailure: rollback, \
             canary: {{nodes: 1, soak: 1h}}"
        );
        let plan = scratch(&format!("{name}.yaml"), format!("{head}\nspec: {{{spec}}}\n"));
        let script = scratch(&format!("{name}.txt"), "at 15m: undo\n");
        let fixed = ["rehearse", "examples/questions/releases.yaml", "-f", &plan, "--script", &script];
        replank(&[&fixed[..], words].concat())
    };
    let told = rehearse("release-back", "v20260625", &["-o", "json"]).json();
    assert_eq!(told["ending"], "rolledBack", "{}", told["blockers"]);
    assert_eq!(
        told["rollback"]["images"],
        json!([{"group": "web", "release": "1.35.6-20260714"}]),
        "{}",
        told["rollback"]
    );
    let text = rehearse("release-back-text", "v20260625", &[]).stdout;
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("; group web: release 1.35.6-20260714"), "{text}");
    let refused = rehearse("release-back-bad", "1.35.6-20260714", &[]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(
        refused.stderr.contains(
            "onFailure: rollback would lead group web back to release 1.35.6-20260714, which is on"
        ),
        "{refused:?}"
    );
}

#[test]
fn a_group_that_nodes_are_to_move_into_is_compared_or_printed() {
    let group = |name: &str, subnets: &[&str]| {
        json!({"nodegroup": {"nodegroupName": name, "clusterName": "c", "amiType": "AL2023_x86_64_STANDARD", "version": "1.36", "releaseVersion": "1.36.2-20261120",
            "nodeRole": "arn:aws:iam::1:role/node", "subnets": subnets, "capacityType": "ON_DEMAND", "status": "ACTIVE",
            "scalingConfig": {"minSize": 1, "maxSize": 9, "desiredSize": 2}, "resources": {"autoScalingGroups": [{"name": format!("eks-{name}-1234")}]}}})
    };
    let head = "apiVersion: replank.dev/v1alpha1\nkind: NodeRoll\nmetadata: {name: p}";
    let plan =
        scratch("managed-like.yaml", format!("{head}\nspec: {{groups: [web], target: {{group: green}}}}\n"));
    let with = |name: &str, answers: Value| {
        let groups = scratch(&format!("{name}.json"), answers.to_string());
        replank(&["rehearse", SNAPSHOT, "-f", &plan, "--groups", &groups]).stderr
    };
    let one = group("web", &["subnet-a", "subnet-b"]);
    let missing = with("managed-like-missing", json!([one]));
    assert!(missing.contains("if it does not exist, make node group green like web:"), "{missing}");
    assert!(
        missing.contains(
            "\n  aws eks create-nodegroup --cli-input-json '{\"amiType\":\"AL2023_x86_64_STANDARD\","
        ),
        "{missing}"
    );
    assert!(
        missing.contains("aws eks wait nodegroup-active --cluster-name c --nodegroup-name green"),
        "{missing}"
    );
    let other = with("managed-like-other", json!([one, group("green", &["subnet-a"])]));
    assert!(
        other.contains("node group green differs from web:\n  subnets: subnet-a, not subnet-a, subnet-b"),
        "{other}"
    );
    let alike = with("managed-like-alike", json!([one, group("green", &["subnet-b", "subnet-a"])]));
    assert!(alike.contains("node group green is like web"), "{alike}");
    assert!(!alike.contains("create-nodegroup"), "{alike}");
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

/// Three nodes of a group with one pod each, under a budget that lets one go, which took so many minutes to be Ready.
fn slow(minutes: u32) -> String {
    scratch(&format!("managed-slow-{minutes}.json"), three(minutes, 1, 30).to_string())
}

/// The same, under a budget that lets so many go, with a grace period of so many seconds.
pub(crate) fn three(minutes: u32, lets_go: u32, grace: u32) -> Value {
    let node = |name: &str, zone: &str| {
        json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "uid": name, "creationTimestamp": "2025-12-01T00:00:00Z",
                "labels": {"eks.amazonaws.com/nodegroup": "web", "kubernetes.io/hostname": name, "topology.kubernetes.io/zone": zone}},
            "spec": {"providerID": format!("aws:///{zone}/i-{name}")},
            "status": {"allocatable": {"cpu": "4", "memory": "16Gi", "pods": "58"}, "nodeInfo": {"kubeletVersion": "v1.35.0-eks-1"},
                "conditions": [{"type": "Ready", "status": "True", "lastHeartbeatTime": "2026-01-01T12:00:00Z", "lastTransitionTime": "2025-12-01T00:01:00Z"}]}})
    };
    let selector = json!({"matchLabels": {"app": "db"}});
    let spec = json!({"terminationGracePeriodSeconds": grace,
        "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "100m"}}}]});
    let owner = |kind: &str, name: &str| json!([{"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": name, "controller": true}]);
    let of = |kind: &str, name: &str, labels: &Value| {
        json!({"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name, "namespace": "shop", "uid": name, "labels": labels},
            "spec": {"replicas": 3, "selector": selector, "template": {"metadata": {"labels": labels}, "spec": spec}},
            "status": {"replicas": 3, "readyReplicas": 3, "availableReplicas": 3}})
    };
    let labels = json!({"app": "db", "pod-template-hash": "abc"});
    let mut set = of("ReplicaSet", "db-abc", &labels);
    set["metadata"]["ownerReferences"] = owner("Deployment", "db");
    let pod = |on: &str| {
        let mut spec = spec.clone();
        spec["nodeName"] = json!(on);
        let ready = format!("2026-01-01T10:{minutes:02}:00Z");
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": format!("db-{on}"), "namespace": "shop", "uid": format!("db-{on}"),
                "labels": labels, "ownerReferences": owner("ReplicaSet", "db-abc")},
            "spec": spec, "status": {"phase": "Running", "startTime": "2026-01-01T10:00:00Z", "conditions": [
                {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-01-01T10:00:00Z"},
                {"type": "Ready", "status": "True", "lastTransitionTime": ready}]}})
    };
    let items = json!([
        node("n0", "eu-west-1a"), node("n1", "eu-west-1b"), node("n2", "eu-west-1c"), pod("n0"), pod("n1"), pod("n2"),
        of("Deployment", "db", &json!({"app": "db"})), set,
        {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "db", "namespace": "shop", "uid": "b"},
            "spec": {"maxUnavailable": lets_go, "selector": selector},
            "status": {"currentHealthy": 3, "desiredHealthy": 3 - lets_go, "expectedPods": 3, "disruptionsAllowed": lets_go}},
    ]);
    json!({"apiVersion": "v1", "kind": "List", "items": items})
}

#[test]
fn a_budget_that_is_too_slow_for_the_update_of_eks_is_named_as_what_stops_it() {
    let plan = "apiVersion: replank.dev/v1alpha1\nkind: NodeRoll\nmetadata: {name: p}\nspec: {groups: [web], target: {kubernetesVersion: \"1.36\"}, \
                nodeGroups: [{name: web, managedBy: eks}]}\n";
    let plan = scratch("managed-slow.yaml", plan);
    let snapshot = slow(22);
    let told = replank(&["rehearse", &snapshot, "-f", &plan, "-o", "json"]).json();
    assert_eq!(told["verdict"], "blocked");
    let causes = told["causes"].as_array().expect("they are listed");
    let [cause] = causes.as_slice() else { panic!("one update failed: {causes:?}") };
    assert_eq!(
        (&cause["object"], &cause["finding"]),
        (&json!("NodeGroup web"), &json!("pdb-slow")),
        "{cause}"
    );
    let findings = told["findings"].as_array().expect("they are listed");
    let found = findings.iter().find(|one| one["id"] == "pdb-slow").expect("it is found");
    assert_eq!(found["severity"], "blocking", "{found}");
    let report = replank(&["rehearse", &snapshot, "-f", &plan]).stdout;
    let words = report.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("PodEvictionFailure: Reached max retries"), "{report}");
    assert!(words.contains("; finding pdb-slow, PodDisruptionBudget shop/db"), "{report}");
    // As fast as EKS waits, it is no cause, and nothing stops.
    let told = replank(&["rehearse", &slow(2), "-f", &plan, "-o", "json"]).json();
    assert_eq!((&told["nodes"]["replaced"], &told["causes"]), (&json!(3), &json!([])), "{told}");
}
