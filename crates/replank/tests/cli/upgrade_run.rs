//! `replank upgrade run` on a served cluster and account: the plan of `upgrade plan`, carried out step by step; killed, stopped, and gone on with.

use std::path::Path;

use serde_json::{Value, json};

use super::aws_account::{Account, list, nodes_of};
use super::common::{Ran, command};
use super::roll_aws_live::{begin, nodes, wait};

/// By which nodes are in groups: those of the managed one bear EKS's label, too.
const LABEL: &str = "group";
const MANAGED: &str = "eks.amazonaws.com/nodegroup";
const SPEED: u32 = 120;
const RUN: &[&str] = &["upgrade", "run", "--to", "1.36", "--cluster", "rehearsal", "--bake", "0d", "--yes"];
const RECORDS: &str = "/api/v1/namespaces/kube-system/configmaps?labelSelector=replank.dev%2Frecord";
const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";

/// Two nodes of a managed group `web`, two of a self-managed one `own`, four pods, a budget, and the workloads of two add-ons.
fn snapshot() -> Value {
    let mut all = Vec::new();
    for (group, from) in [("web", 0), ("own", 10)] {
        for (mut node, number) in nodes_of(LABEL).into_iter().take(2).zip(1_u32..) {
            let number = number + from;
            let name = format!("ip-10-0-0-{number}.eu-west-1.compute.internal");
            node["metadata"]["name"] = json!(name);
            node["metadata"]["labels"]["kubernetes.io/hostname"] = json!(name);
            node["metadata"]["labels"][LABEL] = json!(group);
            if group == "web" {
                node["metadata"]["labels"][MANAGED] = json!(group);
            }
            let zone = node["metadata"]["labels"]["topology.kubernetes.io/zone"].as_str().expect("a zone").to_owned();
            node["spec"]["providerID"] = json!(format!("aws:///{zone}/i-{number:017x}"));
            all.push(node);
        }
    }
    let workload = |kind: &str, name: &str, image: &str, namespace: &str, replicas: Option<u32>| {
        let labels = json!({"app": name});
        let container = json!({"name": name, "image": image, "resources": {"requests": {"cpu": "100m"}}});
        let mut spec = json!({"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels},
            "spec": {"terminationGracePeriodSeconds": 2, "containers": [container]}}});
        if let Some(replicas) = replicas {
            spec["replicas"] = json!(replicas);
        }
        json!({"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name, "namespace": namespace}, "spec": spec})
    };
    all.push(workload("Deployment", "shop", "shop:1", "default", Some(4)));
    all.push(workload("Deployment", "coredns", "coredns:v1.11.6-eksbuild.1", "kube-system", Some(2)));
    all.push(workload("DaemonSet", "aws-node", "vpc-cni:v1.20.6-eksbuild.1", "kube-system", None));
    all.push(json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "shop", "namespace": "default"},
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"app": "shop"}}}}));
    list(all)
}

/// An account of 1.35 with two add-ons, whose pods are Ready.
fn begun(name: &str) -> Account {
    let account = Account::served_with(name, &snapshot(), (LABEL, SPEED), &["--kubernetes-version", "1.35"]);
    wait(&account, "all pods are Ready", |account| {
        let budget = account.get("/apis/policy/v1/namespaces/default/poddisruptionbudgets/shop");
        budget["status"]["currentHealthy"] == 4
    });
    for (name, version) in [("coredns", "v1.11.6-eksbuild.1"), ("vpc-cni", "v1.20.6-eksbuild.1")] {
        let body = json!({"addonName": name, "addonVersion": version});
        account.eks("POST", "/clusters/rehearsal/addons", &body);
    }
    for name in ["coredns", "vpc-cni"] {
        wait(&account, "the add-on is there", |account| addon(account, name)["status"] == "ACTIVE");
    }
    account.listen();
    account
}

fn addon(account: &Account, name: &str) -> Value {
    account.eks("GET", &format!("/clusters/rehearsal/addons/{name}"), &Value::Null)["addon"].clone()
}

fn run(account: &Account, arguments: &[&str]) -> Ran {
    account.run(&[arguments, &["--group-label", LABEL]].concat())
}

fn cluster(account: &Account) -> Value {
    account.eks("GET", "/clusters/rehearsal", &Value::Null)["cluster"].clone()
}

/// Type and status of every update of the cluster, an add-on, or a node group.
fn updates(account: &Account, of: &str) -> Vec<String> {
    let base = "/clusters/rehearsal/updates";
    let query = if of.is_empty() { String::new() } else { format!("?{of}") };
    let all = account.eks("GET", &format!("{base}{query}"), &Value::Null);
    let ids = all["updateIds"].as_array().expect("a list").iter().filter_map(Value::as_str);
    let told = ids.map(|id| {
        let update = account.eks("GET", &format!("{base}/{id}{query}"), &Value::Null)["update"].clone();
        format!("{} {}", update["type"].as_str().unwrap_or_default(), update["status"].as_str().unwrap_or_default())
    });
    told.collect()
}

fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Everything is upgraded, each thing was asked for once, and nothing of ours is left.
fn is_upgraded(account: &Account) {
    assert_eq!(cluster(account)["version"], "1.36");
    assert_eq!(updates(account, ""), ["VersionUpdate Successful"]);
    assert_eq!(updates(account, "nodegroupName=web"), ["VersionUpdate Successful"]);
    for (name, version) in [("coredns", "v1.11.6-eksbuild.2"), ("vpc-cni", "v1.20.6-eksbuild.2")] {
        let query = format!("addonName={name}");
        assert_eq!(updates(account, &query), ["AddonUpdate Successful"], "{name}");
        assert_eq!(addon(account, name)["addonVersion"], version);
    }
    wait(account, "only new nodes are left", |account| {
        let (_, kubelets, is_left) = nodes(account);
        kubelets.len() == 4 && kubelets.iter().all(|kubelet| kubelet.starts_with("v1.36.")) && !is_left
    });
    // The managed update keeps what it launched beyond its size until it has ended; each old instance went once.
    let (_, mut ended) = account.heard();
    ended.retain(|id| [1, 2, 11, 12].iter().any(|number| *id == format!("i-{number:017x}")));
    ended.sort_unstable();
    assert_eq!(ended, [1, 2, 11, 12].map(|number| format!("i-{number:017x}")));
    assert_eq!(account.get(RECORDS)["items"], json!([]));
}

/// Titles of steps, in the order in which a run told that it begins them.
fn begun_steps(ran: &Ran) -> Vec<String> {
    let events = ran.stdout.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let begun = events.filter(|event| event["event"] == "step" && event["state"] == "begun");
    begun.map(|event| bare(event["title"].as_str().expect("it has a title"))).collect()
}

/// A title without how much moves.
fn bare(title: &str) -> String {
    title.split(": ").next().expect("there is one").to_owned()
}

#[test]
fn a_cluster_is_upgraded_step_by_step_in_the_order_of_its_rehearsal() {
    let account = begun("upgrade-run-whole");
    let ran = run(&account, &[RUN, &["-o", "json"]].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    is_upgraded(&account);
    let told = flat(&ran.stderr);
    assert!(told.contains("Insights"), "{ran:?}");
    assert!(ran.stdout.contains("aws_eks_cluster: version = \\\"1.36\\\""), "{ran:?}");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("upgrade-run-whole");
    let file = folder.join("snapshot.json");
    let eks = folder.join("eks.json");
    let addons: Vec<Value> = [("coredns", "v1.11.6-eksbuild.1"), ("vpc-cni", "v1.20.6-eksbuild.1")]
        .map(|(name, version)| json!({"addon": {"addonName": name, "addonVersion": version}}))
        .into();
    let offered = ["coredns", "vpc-cni"].map(|name| account.eks("GET", &format!("/addons/supported-versions?addonName={name}"), &Value::Null));
    let mut facts = vec![json!({"cluster": {"name": "rehearsal", "version": "1.35", "status": "ACTIVE"}})];
    facts.extend(addons);
    facts.extend(offered);
    std::fs::write(&eks, Value::from(facts).to_string()).expect("it can be written");
    let [file, eks] = [&file, &eks].map(|path| path.to_str().expect("it is text"));
    let now = "2026-11-27T00:00:00Z";
    let rehearsed = command(&[
        "rehearse", file, "--upgrade-to", "1.36", "--eks", eks, "--bake", "0d", "--group-label", LABEL, "-o", "json", "--now", now,
    ]);
    let rehearsed: Ran = { rehearsed }.output().expect("it can be run").into();
    let report: Value = serde_json::from_str(&rehearsed.stdout).unwrap_or_else(|_| panic!("{rehearsed:?}"));
    let steps = report["steps"].as_array().expect("a list").iter();
    let titles: Vec<String> = steps.map(|step| bare(step["title"].as_str().expect("a title"))).collect();
    assert_eq!(begun_steps(&ran), titles, "{ran:?} {rehearsed:?}");
}
