//! `replank roll --make-group`, on a served AWS account: nodes of a managed group move into one that the run has EKS make like it.

use std::process::Child;

use serde_json::{Value, json};

use super::aws_account::Account;
use super::common::{Ran, plan};
use super::roll_aws_live::{begin, begun, nodes, snapshot, wait};

const LABEL: &str = "eks.amazonaws.com/nodegroup";
const SPEC: &str = "groups: [web], target: {group: green, kubernetesVersion: '1.36'}, budget: {surge: 3}, pace: {parallel: 3}";
const GROUPS: &str = "/clusters/rehearsal/node-groups";

fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The cluster's managed node groups.
fn groups(account: &Account) -> Value {
    account.eks("GET", GROUPS, &Value::Null)["nodegroups"].clone()
}

fn group(account: &Account, name: &str) -> Value {
    account.eks("GET", &format!("{GROUPS}/{name}"), &Value::Null)["nodegroup"].clone()
}

/// Every node has moved: three instances were launched, three terminated, and nothing of the run is left.
fn is_moved(account: &Account, ran: &Ran) {
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("run test is done: 3 of 3 nodes replaced"), "{ran:?}");
    assert_eq!(groups(account), json!(["green", "web"]));
    let (green, web) = (group(account, "green"), group(account, "web"));
    assert_eq!((&green["status"], &green["version"]), (&json!("ACTIVE"), &json!("1.36")));
    assert_eq!(green["scalingConfig"], json!({"minSize": 0, "maxSize": 3, "desiredSize": 3}));
    assert_eq!(web["scalingConfig"], json!({"minSize": 0, "maxSize": 3, "desiredSize": 0}));
    for of in [&green, &web] {
        assert_eq!(of["tags"], json!({}), "nothing of ours is left");
    }
    wait(account, "only new nodes are left", |account| {
        let (_, kubelets, is_left) = nodes(account);
        kubelets.len() == 3 && kubelets.iter().all(|kubelet| kubelet.starts_with("v1.36.")) && !is_left
    });
    let (launched, mut ended) = account.heard();
    ended.sort_unstable();
    let old: Vec<String> = (1..=3).map(|number| format!("i-{number:017x}")).collect();
    assert_eq!((launched.len(), ended), (3, old), "{ran:?}");
}

#[test]
fn a_group_is_made_like_the_first_before_the_run_and_takes_its_nodes() {
    let account = begun("roll-made-whole", LABEL);
    let file = plan("roll-made-whole/plan.yaml", SPEC);
    let ran = account.run(&["roll", "-f", &file, "--yes"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(
        flat(&ran.stderr).contains("`replank roll --make-group` makes it before the run begins"),
        "{ran:?}"
    );
    let ran = account.run(&["roll", "-f", &file, "--dry-run", "--make-group"]);
    assert!(matches!(ran.code, Some(0 | 3)), "{ran:?}");
    let told = flat(&ran.stderr);
    assert!(
        told.contains("node group green does not exist: before the run begins it is made like web, without nodes, by aws eks create-nodegroup"),
        "{told}"
    );
    assert!(told.contains("nothing was changed: node group green was assumed, and not made"), "{told}");
    let unasked = account.run(&["roll", "-f", &file, "--make-group"]);
    assert_eq!(unasked.code, Some(2), "nobody has confirmed it: {unasked:?}");
    assert_eq!(groups(&account), json!(["web"]), "nothing was made yet");

    let ran = account.run(&["roll", "-f", &file, "--yes", "--make-group"]);
    let told = flat(&ran.stderr);
    assert!(told.contains("EKS makes node group green like web"), "{told}");
    assert!(told.contains("node group green is like web: EKS describes both alike"), "{told}");
    assert!(told.contains("node group green was made for this run, like web"), "{told}");
    is_moved(&account, &ran);
    assert!(!ran.stdout.contains("asking EKS to update"), "EKS replaces nothing by itself: {ran:?}");

    let again = account.run(&["roll", "-f", &file, "--yes", "--make-group"]);
    assert_ne!(again.code, Some(0), "group web has no nodes to choose: {again:?}");
    assert!(!flat(&again.stderr).contains("EKS makes node group"), "{again:?}");
    assert_eq!(groups(&account), json!(["green", "web"]));
}

#[test]
fn a_group_with_the_release_to_go_back_to_is_made_and_takes_the_nodes() {
    let account = begun("roll-made-back", LABEL);
    let listed = "groups: [web], target: {group: green, badReleases: ['1.35.6-20261120']}";
    let file = plan("roll-made-back/listed.yaml", listed);
    let ran = account.run(&["roll", "-f", &file, "--yes", "--make-group"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    let told = flat(&ran.stderr);
    assert!(
        told.contains(
            "new nodes of group green would have release 1.35.6-20261120, which is on target.badReleases"
        ),
        "it would be made like web: {told}"
    );
    assert_eq!(groups(&account), json!(["web"]), "nothing was made");
    let back = "groups: [web], target: {group: green, releaseVersion: '1.35.5-20261023', badReleases: ['1.35.6-20261120']}, \
                budget: {surge: 3}, pace: {parallel: 3}";
    let file = plan("roll-made-back/plan.yaml", back);
    let ran = account.run(&["roll", "-f", &file, "--yes", "--make-group"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("run test is done: 3 of 3 nodes replaced"), "{ran:?}");
    let told = flat(&ran.stderr);
    assert!(
        told.contains(
            "nodes of group web have release 1.35.6-20261120, which is on target.badReleases: do not go back to it"
        ),
        "{told}"
    );
    let green = group(&account, "green");
    assert_eq!((&green["version"], &green["releaseVersion"]), (&json!("1.35"), &json!("1.35.5-20261023")));
    wait(&account, "only new nodes are left", |account| {
        let (_, kubelets, is_left) = nodes(account);
        kubelets.len() == 3 && kubelets.iter().all(|kubelet| kubelet.starts_with("v1.35.5")) && !is_left
    });
}

/// Whether EKS knows the group, and has not made it yet.
fn is_creating(account: &Account) -> bool {
    groups(account) == json!(["green", "web"]) && group(account, "green")["status"] == "CREATING"
}

fn ended(child: Child) -> Ran {
    child.wait_with_output().expect("it ends").into()
}

#[test]
fn whoever_is_interrupted_or_killed_while_it_is_made_goes_on_with_the_same_group() {
    // EKS makes it only when the clock goes on.
    let name = "roll-made-killed";
    let account = Account::served_with(name, &snapshot(LABEL), (LABEL, 60), &["--clock", "step"]);
    wait(&account, "all pods are Ready", |account| {
        account.goes_on_once();
        let budget = account.get("/apis/policy/v1/namespaces/default/poddisruptionbudgets/shop");
        budget["status"]["currentHealthy"] == 6
    });
    account.listen();
    let file = plan(&format!("{name}/plan.yaml"), SPEC);
    let roll = ["roll", "-f", &file, "--yes", "--make-group"];
    let child = begin(&account, &roll);
    wait(&account, "it is being made", is_creating);
    let sent = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(sent.expect("it can be sent").success());
    let interrupted = ended(child);
    assert_eq!(interrupted.code, Some(130), "{interrupted:?}");
    let told = flat(&interrupted.stderr);
    assert!(told.contains("interrupted: the run was not begun"), "{told}");
    assert!(
        told.contains("aws eks delete-nodegroup --cluster-name rehearsal --nodegroup-name green"),
        "{told}"
    );
    let records = account.get("/api/v1/namespaces/kube-system/configmaps?labelSelector=replank.dev%2Frecord");
    assert_eq!(records["items"], json!([]));

    let mut child = begin(&account, &roll);
    std::thread::sleep(std::time::Duration::from_secs(3));
    child.kill().expect("it can be ended");
    ended(child);
    assert!(is_creating(&account), "it was killed in the middle");
    let child = begin(&account, &roll);
    std::thread::sleep(std::time::Duration::from_secs(5));
    account.goes_on();
    let ran = ended(child);
    let told = flat(&ran.stderr);
    assert!(told.contains("EKS is making node group green: the run begins once it can be used"), "{told}");
    assert!(!told.contains("EKS makes node group green"), "it is not asked for again: {told}");
    is_moved(&account, &ran);
}

#[test]
fn whoever_may_not_make_it_is_told_and_nothing_is_changed() {
    for (action, lacking) in [
        ("eks:CreateNodegroup", r#""Action": ["eks:CreateNodegroup"]"#),
        (
            "iam:PassRole",
            r#""Action": ["iam:PassRole"], "Resource": "arn:aws:iam::111122223333:role/rehearsal-node", "Condition": {"StringEquals": {"iam:PassedToService": "eks.amazonaws.com"}}"#,
        ),
    ] {
        let name = format!("roll-made-denied-{}", action.split(':').next_back().expect("a name"));
        let account = Account::served_with(&name, &snapshot(LABEL), (LABEL, 60), &["--aws-deny", action]);
        let file = plan(&format!("{name}/plan.yaml"), SPEC);
        let ran = account.run(&["roll", "-f", &file, "--yes", "--make-group"]);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains(lacking), "{ran:?}");
        let all = "everything that it needs: replank setup aws --cluster rehearsal --mode roll --node-role arn:aws:iam::111122223333:role/rehearsal-node";
        assert!(flat(&ran.stderr).contains(all), "{ran:?}");
        assert_eq!(groups(&account), json!(["web"]));
        assert!(!nodes(&account).2, "no node was touched");
    }
}

#[test]
fn what_ends_the_run_ends_it_before_the_group_is_made() {
    let account = begun("roll-made-blocked", LABEL);
    // The group would be made with the image of the first one.
    let file = plan(
        "roll-made-blocked/plan.yaml",
        "groups: [web], target: {group: green, image: ami-0123456789abcdef0}",
    );
    let ran = account.run(&["roll", "-f", &file, "--yes", "--make-group"]);
    assert_eq!(ran.code, Some(4), "{ran:?}");
    assert!(flat(&ran.stderr).contains("nothing was changed: a run is begun only if"), "{ran:?}");
    assert_eq!(groups(&account), json!(["web"]));
    let file = plan("roll-made-blocked/other.yaml", "groups: [web]");
    let ran = account.run(&["roll", "-f", &file, "--yes", "--make-group"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("the plan has no target.group"), "{ran:?}");
}

#[test]
fn a_run_that_is_ended_says_what_becomes_of_the_group() {
    let account = begun("roll-made-cancelled", LABEL);
    let file = plan("roll-made-cancelled/plan.yaml", SPEC);
    let mut child = begin(&account, &["roll", "-f", &file, "--yes", "--make-group"]);
    wait(&account, "the run has begun", |account| {
        let records =
            account.get("/api/v1/namespaces/kube-system/configmaps?labelSelector=replank.dev%2Frecord");
        records["items"].as_array().is_some_and(|all| !all.is_empty())
    });
    child.kill().expect("it can be ended");
    child.wait().expect("it has ended");
    let ran = account.run(&["roll", "cancel"]);
    let stays = "node group green stays: if it was made for this run, and nothing needs it, delete it: aws eks delete-nodegroup --cluster-name rehearsal --nodegroup-name green";
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(flat(&ran.stdout).contains(stays), "{ran:?}");
    assert_eq!(group(&account, "green")["status"], "ACTIVE");
}
