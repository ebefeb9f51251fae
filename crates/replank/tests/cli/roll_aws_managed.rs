//! `replank roll` of a managed node group, on a served AWS account: EKS replaces the nodes, the run starts that, follows it, and says why it failed.

use serde_json::{Value, json};

use super::aws_account::Account;
use super::common::{Ran, plan};
use super::handle_aws::befalls;
use super::roll_aws_live::{begin, begun, begun_at, nodes, wait};

const LABEL: &str = "eks.amazonaws.com/nodegroup";
const SPEC: &str = "groups: [web], target: {kubernetesVersion: '1.36'}";
const BASE: &str = "/clusters/rehearsal/node-groups/web";
const BUDGET: &str = "/apis/policy/v1/namespaces/default/poddisruptionbudgets/shop";

fn roll(account: &Account, name: &str, spec: &str) -> Ran {
    let file = plan(&format!("{name}/plan.yaml"), spec);
    account.run(&["roll", "-f", &file, "--yes"])
}

fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn nodegroup(account: &Account) -> Value {
    account.eks("GET", BASE, &Value::Null)["nodegroup"].clone()
}

/// Every update of the group, with how it stands.
fn updates(account: &Account) -> Vec<String> {
    let all = account.eks("GET", "/clusters/rehearsal/updates?nodegroupName=web", &Value::Null);
    let ids = all["updateIds"].as_array().expect("a list").iter().filter_map(Value::as_str);
    ids.map(|id| {
        let path = format!("/clusters/rehearsal/updates/{id}?nodegroupName=web");
        let update = account.eks("GET", &path, &Value::Null)["update"].clone();
        format!(
            "{} {}",
            update["type"].as_str().unwrap_or_default(),
            update["status"].as_str().unwrap_or_default()
        )
    })
    .collect()
}

fn is_updated(account: &Account, ran: &Ran) {
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("run test is done: 3 of 3 nodes replaced"), "{ran:?}");
    assert_eq!(updates(account), ["VersionUpdate Successful"], "{ran:?}");
    let group = nodegroup(account);
    assert_eq!((&group["status"], &group["version"]), (&json!("ACTIVE"), &json!("1.36")));
    assert_eq!(group["scalingConfig"], json!({"minSize": 0, "maxSize": 3, "desiredSize": 3}));
    assert_eq!(group["tags"], json!({}), "nothing of ours is left");
    wait(account, "only new nodes are left", |account| {
        let (_, kubelets, is_left) = nodes(account);
        kubelets.len() == 3 && kubelets.iter().all(|kubelet| kubelet.starts_with("v1.36.")) && !is_left
    });
}

#[test]
fn eks_is_asked_for_its_update_once_and_it_is_followed_to_its_end() {
    let account = begun("roll-managed-whole", LABEL);
    let ran = roll(&account, "roll-managed-whole", SPEC);
    assert!(ran.stdout.contains("asking EKS to update node group web"), "{ran:?}");
    assert!(!ran.stderr.contains("to commit"), "what it has asked for itself is no surprise: {ran:?}");
    is_updated(&account, &ran);
}

#[test]
fn an_update_that_somebody_else_has_started_is_adopted() {
    // The update is to be under way for longer than a run takes to begin.
    let account = begun_at("roll-managed-adopted", LABEL, 15);
    let began = account.eks("POST", &format!("{BASE}/update-version"), &json!({"version": "1.36"}));
    assert_eq!(began["update"]["status"], "InProgress", "{began}");
    let ran = roll(&account, "roll-managed-adopted", SPEC);
    assert!(!ran.stdout.contains("asking EKS to update"), "{ran:?}");
    let id = began["update"]["id"].as_str().expect("it has an id");
    let told = flat(&ran.stderr);
    assert!(
        told.contains(&format!("node group web: EKS update {id}, which somebody else has begun")),
        "{ran:?}"
    );
    let commit = "to commit: node group web: Terraform aws_eks_node_group: version = \"1.36\", release_version = \"1.36.2-20261120\"; \
        CloudFormation AWS::EKS::Nodegroup: Version: \"1.36\", ReleaseVersion: \"1.36.2-20261120\"";
    assert!(told.contains(&flat(commit)), "{ran:?}");
    is_updated(&account, &ran);
}

#[test]
fn without_another_version_there_is_nothing_to_update() {
    let account = begun("roll-managed-nothing", LABEL);
    let ran = roll(&account, "roll-managed-nothing", "groups: [web]");
    assert_eq!(ran.code, Some(4), "{ran:?}");
    let told = flat(&ran.stderr);
    assert!(told.contains("nothing to update: EKS replaces nodes only for another version"), "{ran:?}");
    assert!(told.contains("already using the requested version"), "{ran:?}");
    assert!(updates(&account).is_empty());
}

#[test]
fn an_update_that_fails_is_told_with_its_code_and_what_kept_the_pods() {
    let account = begun("roll-managed-failed", LABEL);
    let file = plan("roll-managed-failed/plan.yaml", SPEC);
    let child = begin(&account, &["roll", "-f", &file, "--yes"]);
    wait(&account, "the update is in progress", |account| nodegroup(account)["status"] == "UPDATING");
    account.merge(BUDGET, &json!({"spec": {"maxUnavailable": 0}}));
    let ran: Ran = child.wait_with_output().expect("it ends").into();
    assert_eq!(ran.code, Some(4), "{ran:?}");
    let told = flat(&ran.stderr);
    assert!(told.contains("PodEvictionFailure") && told.contains("default/shop"), "{told}");
    assert!(
        told.contains("waits for disruption budget default/shop: 6 healthy, 6 needed"),
        "while it lasted: {told}"
    );
    assert!(told.contains("EKS to drain the node: ") && told.contains("EKS gives up"), "{told}");
    assert!(!ran.stdout.contains("restarting deployment"), "the plan does not say so: {ran:?}");
    assert_eq!(updates(&account), ["VersionUpdate Failed"], "{ran:?}");
}

#[test]
fn what_keeps_a_node_of_an_update_is_moved_as_the_plan_says() {
    let account = begun("roll-managed-surge", LABEL);
    let rolling = json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}});
    account
        .merge("/apis/apps/v1/namespaces/default/deployments/shop", &json!({"spec": {"strategy": rolling}}));
    let file = plan("roll-managed-surge/plan.yaml", &format!("{SPEC}, singletons: surge"));
    let child = begin(&account, &["roll", "-f", &file, "--yes"]);
    wait(&account, "the update is in progress", |account| nodegroup(account)["status"] == "UPDATING");
    account.merge(BUDGET, &json!({"spec": {"maxUnavailable": 0}}));
    let ran: Ran = child.wait_with_output().expect("it ends").into();
    assert!(ran.stdout.contains("restarting deployment default/shop"), "{ran:?}");
    is_updated(&account, &ran);
}

/// What is printed to be pasted after some words, up to the end of the line.
fn pasted<'t>(text: &'t str, before: &str) -> &'t str {
    let (_, rest) = text.split_once(before).unwrap_or_else(|| panic!("{before}: {text}"));
    rest.split_once('\n').map_or(rest, |(line, _)| line)
}

#[test]
fn a_second_group_is_printed_like_the_first_and_once_made_takes_the_nodes() {
    let account = begun("roll-managed-green", LABEL);
    let spec = "groups: [web], target: {group: green, kubernetesVersion: '1.36'}";
    let ran = roll(&account, "roll-managed-green", spec);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(
        flat(&ran.stderr).contains("node group green, which nodes are to move into, does not exist"),
        "{ran:?}"
    );
    assert!(ran.stderr.contains("resource \"aws_eks_node_group\" \"green\" {"), "{ran:?}");
    let input = pasted(&ran.stderr, "aws eks create-nodegroup --cli-input-json '").trim_end_matches('\'');
    let input: Value = serde_json::from_str(input).unwrap_or_else(|error| panic!("{error}: {input}"));
    assert_eq!(
        (&input["version"], &input["scalingConfig"]["maxSize"]),
        (&json!("1.36"), &json!(3)),
        "{input}"
    );
    let made = account.eks("POST", "/clusters/rehearsal/node-groups", &input);
    assert_eq!(made["nodegroup"]["nodegroupName"], "green", "{made}");
    // Of a group without nodes the rehearsal does not know the version: the group has it, and the plan need not say it.
    let ran = roll(&account, "roll-managed-green", "groups: [web], target: {group: green}");
    assert!(matches!(ran.code, Some(0 | 3)), "{ran:?}");
    assert!(flat(&ran.stderr).contains("node group green is like web"), "{ran:?}");
    assert!(ran.stdout.contains("run test is done: 3 of 3 nodes replaced"), "{ran:?}");
    let web = nodegroup(&account);
    assert_eq!(web["scalingConfig"]["desiredSize"], 0, "{web}");
    let green =
        account.eks("GET", "/clusters/rehearsal/node-groups/green", &Value::Null)["nodegroup"].clone();
    assert_eq!(
        (&green["scalingConfig"]["desiredSize"], &green["version"]),
        (&json!(3), &json!("1.36")),
        "{green}"
    );
}

#[test]
fn what_eks_says_is_wrong_with_the_group_is_told_before_the_update() {
    let account = begun("roll-managed-unhealthy", LABEL);
    befalls(&account, "any capacity of any in any runs out");
    let change = json!({"scalingConfig": {"minSize": 0, "maxSize": 4, "desiredSize": 4}});
    account.eks("POST", &format!("{BASE}/update-config"), &change);
    wait(&account, "EKS reports an issue", |account| {
        nodegroup(account)["health"]["issues"].as_array().is_some_and(|all| !all.is_empty())
    });
    let file = plan("roll-managed-unhealthy/plan.yaml", SPEC);
    let ran = account.run(&["roll", "-f", &file, "--dry-run"]);
    let told = flat(&ran.stderr);
    assert!(told.contains("node group web has an issue: AsgInstanceLaunchFailures: "), "{ran:?}");
    assert!(
        told.contains(
            "; the Auto Scaling group cannot launch instances: aws autoscaling describe-scaling-activities"
        ),
        "{ran:?}"
    );
    assert!(updates(&account).iter().all(|update| update.starts_with("ConfigUpdate")), "{ran:?}");
}
