//! `replank roll` on AWS: nodes of Auto Scaling groups are replaced through the APIs of an account that is served beside the cluster.

use std::process::Stdio;

use serde_json::{Value, json};

use super::aws_account::Account;
use super::common::{plan, replank};

const NEW: &str = "v1.36";

/// Three nodes of a group by a label, and six pods of a workload with a budget.
fn snapshot(label: &str) -> Value {
    let node = |number: u32| {
        let zone = ["eu-west-1a", "eu-west-1b", "eu-west-1c"][number as usize - 1];
        let name = format!("ip-10-0-0-{number}.eu-west-1.compute.internal");
        json!({"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "creationTimestamp": "2026-11-01T00:00:00Z", "labels": {
                label: "web", "kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64",
                "topology.kubernetes.io/zone": zone, "topology.kubernetes.io/region": "eu-west-1",
                "node.kubernetes.io/instance-type": "m6i.large"}},
            "spec": {"providerID": format!("aws:///{zone}/i-{number:017x}")},
            "status": {"capacity": {"cpu": "2", "memory": "8Gi", "pods": "29"},
                "allocatable": {"cpu": "1930m", "memory": "7Gi", "pods": "29"},
                "nodeInfo": {"kubeletVersion": "v1.35.6", "osImage": "Amazon Linux 2023.9.20251117", "architecture": "amd64",
                    "operatingSystem": "linux", "containerRuntimeVersion": "containerd://2.1.5", "kernelVersion": "6.12"},
                "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}]}})
    };
    let labels = json!({"app": "web"});
    let web = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "default"},
        "spec": {"replicas": 6, "selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels},
            "spec": {"containers": [{"name": "web", "image": "web:1", "resources": {"requests": {"cpu": "200m"}}}]}}}});
    let budget = json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "web", "namespace": "default"},
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": labels}}});
    let namespace = |name: &str| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    json!({"apiVersion": "v1", "kind": "List", "items": [
        namespace("default"), namespace("kube-system"), node(1), node(2), node(3), web, budget]})
}

const GROUPED: &[&str] = &["--group-label", "group"];
const SPEC: &str = "groups: [web], target: {kubernetesVersion: '1.36'}";

fn nodes(account: &Account) -> Vec<Value> {
    account.get("/api/v1/nodes")["items"].as_array().cloned().unwrap_or_default()
}

fn kubelets(account: &Account) -> Vec<String> {
    let version = |node: &Value| node["status"]["nodeInfo"]["kubeletVersion"].as_str().map(str::to_owned);
    nodes(account).iter().filter_map(version).collect()
}

/// The sizes and the tags of ours that the group has.
fn group(account: &Account) -> String {
    let answer = account.auto_scaling("DescribeAutoScalingGroups", "");
    let of = |name: &str| {
        let rest = answer.split_once(&format!("<{name}>")).map_or("", |(_, rest)| rest);
        rest.split('<').next().unwrap_or_default().to_owned()
    };
    let ours = if answer.contains("replank.dev/") { " and tags of ours" } else { "" };
    format!("{} (min {}, max {}){ours}", of("DesiredCapacity"), of("MinSize"), of("MaxSize"))
}

fn activity(account: &Account) -> usize {
    account.auto_scaling("DescribeScalingActivities", "").matches("<Description>Terminating").count()
}

#[test]
fn a_group_is_rolled_from_end_to_end_and_a_run_that_was_killed_restores_what_it_had_raised() {
    let account = Account::served("roll-aws-group", &snapshot("group"), "group");
    let file = plan("roll-aws-group/plan.yaml", SPEC);
    account.wait("all pods run", |account| {
        let pods = account.get("/api/v1/pods?fieldSelector=status.phase%3DRunning");
        pods["items"].as_array().is_some_and(|all| all.len() == 6)
    });
    assert_eq!(group(&account), "3 (min 0, max 3)");
    let dry = account.run(&[&["roll", "-f", &file, "--dry-run"], GROUPED].concat());
    assert!([Some(0), Some(3)].contains(&dry.code), "{dry:?}");
    assert_eq!((group(&account).as_str(), kubelets(&account).len()), ("3 (min 0, max 3)", 3));

    let journal = account.folder.join("begun.jsonl");
    let arguments = ["roll", "-f", &file, "--yes", "--journal", journal.to_str().expect("it is text")];
    drop(std::fs::remove_file(&journal));
    let mut child = account
        .call(&[&arguments, GROUPED].concat())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it can be run");
    account.wait("the group is raised and a node drained", |account| {
        group(account).contains("max 4")
            && nodes(account)
                .iter()
                .any(|node| node["metadata"]["annotations"]["replank.dev/drain-from"].is_string())
    });
    child.kill().expect("it can be ended");
    child.wait().expect("it has ended");
    assert!(group(&account).contains("tags of ours"), "{}", group(&account));

    let resumed = account.run(&["roll", "resume"]);
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    assert!(resumed.stdout.contains("run test is done"), "{resumed:?}");
    account.wait("the old instances are gone", |account| kubelets(account).len() == 3);
    assert!(kubelets(&account).iter().all(|one| one.starts_with(NEW)), "{:?}", kubelets(&account));
    assert_eq!(group(&account), "3 (min 0, max 3)");
    assert_eq!(activity(&account), 3, "each old instance is terminated once");
}

#[test]
fn a_managed_group_is_updated_by_eks_and_an_update_that_is_under_way_is_adopted() {
    let label = "eks.amazonaws.com/nodegroup";
    for is_begun in [false, true] {
        let name = format!("roll-aws-managed-{is_begun}");
        let account = Account::served(&name, &snapshot(label), label);
        let file = plan(&format!("{name}/plan.yaml"), SPEC);
        let updates = |account: &Account| {
            let told = account.eks("GET", "/clusters/rehearsal/node-groups/web", "");
            let arn = told["nodegroup"]["nodegroupArn"].as_str().map(str::to_owned);
            assert!(arn.is_some(), "{told}");
        };
        updates(&account);
        if is_begun {
            let asked = json!({"version": "1.36", "clientRequestToken": "somebody-else"}).to_string();
            account.eks("POST", "/clusters/rehearsal/node-groups/web/update-version", &asked);
        }
        let rolled = account.run(&[
            "roll",
            "-f",
            &file,
            "--yes",
            "--journal",
            account.folder.join("j.jsonl").to_str().expect("it is text"),
        ]);
        assert_eq!(rolled.code, Some(0), "{rolled:?}");
        assert_eq!(rolled.stdout.contains("asking EKS to update node group web"), !is_begun, "{rolled:?}");
        assert!(kubelets(&account).iter().all(|one| one.starts_with(NEW)), "{:?}", kubelets(&account));
    }
}

#[test]
fn what_is_wrong_with_the_account_is_said_and_nothing_is_changed() {
    let account = Account::served("roll-aws-bad", &snapshot("group"), "group");
    let file = plan("roll-aws-bad/plan.yaml", SPEC);
    let arguments = [&["roll", "-f", &file, "--yes"], GROUPED].concat();
    let refused = |change: &dyn Fn(&mut std::process::Command), words: &str| {
        let mut command = account.call(&arguments);
        change(&mut command);
        let ran: super::common::Ran = command.output().expect("it can be run").into();
        assert_eq!(ran.code, Some(2), "{ran:?}");
        let flat = ran.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains(words), "{words}: {ran:?}");
    };
    refused(
        &|command| drop(command.env_remove("AWS_REGION").env_remove("AWS_DEFAULT_REGION")),
        "no AWS region is given",
    );
    refused(
        &|command| drop(command.env_remove("AWS_ACCESS_KEY_ID").env_remove("AWS_SECRET_ACCESS_KEY")),
        "no AWS credentials are found",
    );
    refused(&|command| drop(command.args(["--profile", "nobody"])), "has no profile \"nobody\"");
    refused(
        &|command| drop(command.env("AWS_SECRET_ACCESS_KEY", "wrong")),
        "AWS does not accept the credentials from the environment",
    );
    let other = plan("roll-aws-bad/other.yaml", "groups: [batch]");
    let unknown = account.run(&[&["roll", "-f", &other, "--yes"], GROUPED].concat());
    assert_eq!(unknown.code, Some(2), "{unknown:?}");
    assert_eq!(group(&account), "3 (min 0, max 3)");
    assert!(nodes(&account).iter().all(|node| node["spec"]["unschedulable"].is_null()));
    assert!(replank(&["roll", "--help"]).stdout.contains("--endpoint-url"));
}

#[test]
fn another_account_and_a_managed_group_under_another_name_are_refused() {
    let mine = Account::served("roll-aws-mine", &snapshot("group"), "group");
    let file = plan("roll-aws-mine/plan.yaml", SPEC);
    let mut elsewhere = snapshot("group");
    for node in elsewhere["items"].as_array_mut().expect("a list") {
        if let Some(id) = node["spec"]["providerID"].as_str().map(|id| id.replace("/i-", "/i-f")) {
            node["spec"]["providerID"] = id.into();
        }
    }
    let theirs = Account::served("roll-aws-theirs", &elsewhere, "group");
    let mut command = mine.call(&[&["roll", "-f", &file, "--yes"], GROUPED].concat());
    command.envs(theirs.variables.iter().filter(|(name, _)| name.starts_with("AWS_")).cloned());
    let ran: super::common::Ran = command.output().expect("it can be run").into();
    assert_eq!(ran.code, Some(2), "{ran:?}");
    let flat = ran.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("no Auto Scaling group of account 111122223333 in eu-west-1"), "{ran:?}");

    let mut both = snapshot("eks.amazonaws.com/nodegroup");
    for node in both["items"].as_array_mut().expect("a list").iter_mut().filter(|one| one["kind"] == "Node") {
        node["metadata"]["labels"]["group"] = "front".into();
    }
    let managed = Account::served("roll-aws-renamed", &both, "eks.amazonaws.com/nodegroup");
    let file = plan("roll-aws-renamed/plan.yaml", "groups: [front], target: {kubernetesVersion: '1.36'}");
    let ran = managed.run(&[&["roll", "-f", &file, "--yes"], GROUPED].concat());
    assert_eq!(ran.code, Some(2), "{ran:?}");
    let flat = ran.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("EKS owns its Auto Scaling group"), "{ran:?}");
    assert_eq!(group(&managed), "3 (min 0, max 3)");
}
