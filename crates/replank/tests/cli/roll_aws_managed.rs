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

/// As `nodegroup`, once no update goes on, with the days by which a release is called.
fn release(account: &Account) -> Value {
    let group = nodegroup(account);
    assert_eq!(group["status"], "ACTIVE", "{group}");
    group["releaseVersion"].clone()
}

/// A plan that names a release.
fn releasing(version: &str) -> String {
    format!("groups: [web], target: {{releaseVersion: '{version}'}}")
}

#[test]
fn a_release_is_asked_for_by_its_name_and_another_day_is_another_release() {
    let account = begun("roll-managed-release", LABEL);
    let before = release(&account);
    assert_eq!(before, "1.35.6-20261120");
    let file = plan("roll-managed-release/plan.yaml", &releasing("1.36.1-20260918"));
    let child = begin(&account, &["roll", "-f", &file, "--yes"]);
    wait(&account, "the update is in progress", |account| nodegroup(account)["status"] == "UPDATING");
    // Which image to go back to, while it goes on.
    let status = account.run(&["roll", "status", "-o", "json"]).json();
    let told = &status["before"][0];
    assert_eq!((&told["group"], &told["release"]), (&json!("web"), &before), "{status}");
    let image = told["image"].as_str().expect("its id is known");
    assert!(image.starts_with("ami-"), "{status}");
    let text = account.run(&["roll", "status"]).stdout;
    assert!(text.contains(&format!("before the run: group web release 1.35.6-20261120 ({image})")), "{text}");
    let ran: Ran = child.wait_with_output().expect("it ends").into();
    let told = flat(&ran.stderr);
    assert!(
        told.contains("nodes of node group web have release 1.35.6-20261120. EKS takes no node group back"),
        "{told}"
    );
    assert!(ran.stdout.contains("asking EKS to update node group web to release 1.36.1-20260918"), "{ran:?}");
    is_updated(&account, &ran);
    assert_eq!(release(&account), "1.36.1-20260918");

    let again = roll(&account, "roll-managed-release", &releasing("1.36.1-20260918"));
    assert!(again.code == Some(0) && again.stderr.contains("no node is to be replaced"), "{again:?}");
    assert_eq!(updates(&account).len(), 1, "nothing was asked for");
    // The same kubelet, a month later.
    let file = plan("roll-managed-release/next.yaml", &releasing("1.36.1-20261023"));
    let next = account.run(&["roll", "-f", &file, "--dry-run"]);
    assert!(next.stdout.contains(" of 3 replaced") && !next.stdout.contains(" 0 of 3 replaced"), "{next:?}");
    let asked = json!({"version": "1.36", "releaseVersion": "1.36.1-20261023"});
    account.eks("POST", &format!("{BASE}/update-version"), &asked);
    wait(&account, "EKS has updated it", |account| nodegroup(account)["status"] == "ACTIVE");
    assert_eq!(release(&account), "1.36.1-20261023");
    let back = roll(&account, "roll-managed-release", &releasing("1.36.1-20260918"));
    assert_eq!(back.code, Some(2), "{back:?}");
    assert!(
        flat(&back.stderr).contains("node group web has release 1.36.1-20261023, and EKS takes no node group back to an earlier one: 1.36.1-20260918"),
        "{back:?}"
    );
    assert_eq!(updates(&account).len(), 2, "nothing more was asked for");
}

#[test]
fn a_release_that_is_bad_or_not_there_changes_nothing() {
    let account = begun("roll-managed-bad-release", LABEL);
    let listed = "groups: [web], target: {releaseVersion: '1.36.1-20261023', badReleases: ['v20261023']}";
    let ran = roll(&account, "roll-managed-bad-release", listed);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    let told = flat(&ran.stderr);
    assert!(
        told.contains("spec.target.releaseVersion: found 1.36.1-20261023, which is on badReleases"),
        "{told}"
    );
    let unknown = roll(&account, "roll-managed-bad-release", &releasing("1.36.9-20261120"));
    assert_eq!(unknown.code, Some(4), "{unknown:?}");
    let told = flat(&unknown.stderr);
    assert!(
        told.contains("Requested release version 1.36.9-20261120 is not valid for kubernetes version 1.36."),
        "{told}"
    );
    assert!(updates(&account).is_empty());
    // Another release is on the list than the one that is asked for.
    let other =
        "groups: [web], target: {releaseVersion: '1.36.2-20261120', badReleases: ['1.36.1-20261023']}";
    let dry = account.run(&["roll", "-f", &plan("roll-managed-bad-release/other.yaml", other), "--dry-run"]);
    assert!(matches!(dry.code, Some(0 | 3)), "{dry:?}");
}

#[test]
fn an_update_of_somebody_else_is_adopted_if_it_leads_to_the_release() {
    for (version, is_it) in [("1.36.1-20261023", true), ("1.36.2-20261120", false)] {
        let account = begun_at(&format!("roll-managed-adopts-{is_it}"), LABEL, 15);
        // As EKS labels its nodes.
        for number in 1..=3 {
            let node = format!("/api/v1/nodes/ip-10-0-0-{number}.eu-west-1.compute.internal");
            let labels = json!({"eks.amazonaws.com/nodegroup-image": "ami-0123456789abcdef0"});
            account.merge(&node, &json!({"metadata": {"labels": labels}}));
        }
        let asked = json!({"version": "1.36", "releaseVersion": "1.36.1-20261023"});
        let began = account.eks("POST", &format!("{BASE}/update-version"), &asked);
        assert_eq!(began["update"]["status"], "InProgress", "{began}");
        let ran = roll(&account, &format!("roll-managed-adopts-{is_it}"), &releasing(version));
        let told = flat(&ran.stderr);
        assert!(
            told.contains("ReleaseVersion: \"1.36.1-20261023\"; before: image ami-0123456789abcdef0"),
            "what to commit, and what was there: {told}"
        );
        assert_eq!(ran.stdout.contains("asking EKS to update"), !is_it, "{ran:?}");
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert_eq!(updates(&account).len(), if is_it { 1 } else { 2 }, "{ran:?}");
        assert_eq!(release(&account), version);
    }
}

#[test]
fn a_self_managed_group_has_an_image_and_no_release() {
    let account = begun("roll-managed-none", "group");
    let file = plan("roll-managed-none/plan.yaml", &releasing("1.36.1-20261023"));
    let ran = account.run(&["roll", "-f", &file, "--yes", "--group-label", "group"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    let told = flat(&ran.stderr);
    assert!(
        told.contains("group web is self-managed, and its launch template names an image: it has no release"),
        "{told}"
    );
    assert!(told.contains("target.image instead of target.releaseVersion"), "{told}");
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
