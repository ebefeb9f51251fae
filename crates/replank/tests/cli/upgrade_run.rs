//! `replank upgrade run` on a served cluster and account: the plan of `upgrade plan`, carried out step by step; killed, stopped, and gone on with.

mod changed;
mod other_cluster;

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

/// Two nodes of a managed group `web`, two of a self-managed one `own`, four pods, a budget, and the workload of an add-on.
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
            let zone = node["metadata"]["labels"]["topology.kubernetes.io/zone"]
                .as_str()
                .expect("a zone")
                .to_owned();
            node["spec"]["providerID"] = json!(format!("aws:///{zone}/i-{number:017x}"));
            all.push(node);
        }
    }
    let workload = |name: &str, image: &str, namespace: &str, replicas: u32| {
        let labels = json!({"app": name});
        let container = json!({"name": name, "image": image, "resources": {"requests": {"cpu": "100m"}}});
        let spec = json!({"replicas": replicas, "selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels},
            "spec": {"terminationGracePeriodSeconds": 2, "containers": [container]}}});
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": namespace}, "spec": spec})
    };
    all.push(workload("shop", "shop:1", "default", 4));
    all.push(workload("coredns", "coredns:v1.11.6-eksbuild.1", "kube-system", 2));
    all.push(json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "shop", "namespace": "default"},
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"app": "shop"}}}}));
    list(all)
}

/// An account of 1.35 with two add-ons, whose pods are Ready.
fn begun(name: &str) -> Account {
    begun_at(name, SPEED)
}

fn begun_at(name: &str, speed: u32) -> Account {
    let account = Account::served_with(name, &snapshot(), (LABEL, speed), &["--kubernetes-version", "1.35"]);
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
    assert_eq!(account.get("/version")["minor"], "35");
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
        format!(
            "{} {}",
            update["type"].as_str().unwrap_or_default(),
            update["status"].as_str().unwrap_or_default()
        )
    });
    told.collect()
}

fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Everything is upgraded, each thing was asked for once, and nothing of ours is left.
fn is_upgraded(account: &Account) {
    assert_eq!(cluster(account)["version"], "1.36");
    let told = account.get("/version");
    assert_eq!(told["gitVersion"], "v1.36.2", "the Kubernetes API says so, too: {told}");
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
    assert!(told.contains("Insights what EKS finds itself"), "{ran:?}");
    let coredns = account.get("/apis/apps/v1/namespaces/kube-system/deployments/coredns");
    let image = &coredns["spec"]["template"]["spec"]["containers"][0]["image"];
    assert_eq!(image, "coredns:v1.11.6-eksbuild.2", "its add-on was updated");
    assert!(ran.stdout.contains("aws_eks_cluster: version = \\\"1.36\\\""), "{ran:?}");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("upgrade-run-whole");
    let file = folder.join("snapshot.json");
    let eks = folder.join("eks.json");
    let addons: Vec<Value> = [("coredns", "v1.11.6-eksbuild.1"), ("vpc-cni", "v1.20.6-eksbuild.1")]
        .map(|(name, version)| json!({"addon": {"addonName": name, "addonVersion": version}}))
        .into();
    let offered = ["coredns", "vpc-cni"].map(|name| {
        account.eks("GET", &format!("/addons/supported-versions?addonName={name}"), &Value::Null)
    });
    let mut facts = vec![json!({"cluster": {"name": "rehearsal", "version": "1.35", "status": "ACTIVE"}})];
    facts.extend(addons);
    facts.extend(offered);
    std::fs::write(&eks, Value::from(facts).to_string()).expect("it can be written");
    let [file, eks] = [&file, &eks].map(|path| path.to_str().expect("it is text"));
    let now = "2026-11-27T00:00:00Z";
    let words = [
        "rehearse",
        file,
        "--upgrade-to",
        "1.36",
        "--eks",
        eks,
        "--bake",
        "0d",
        "--group-label",
        LABEL,
        "-o",
        "json",
        "--now",
        now,
    ];
    let rehearsed: Ran = command(&words).output().expect("it can be run").into();
    super::schemas::hold(&words, &rehearsed.stdout);
    let report: Value = serde_json::from_str(&rehearsed.stdout).unwrap_or_else(|_| panic!("{rehearsed:?}"));
    let steps = report["steps"].as_array().expect("a list").iter();
    let titles: Vec<String> = steps.map(|step| bare(step["title"].as_str().expect("a title"))).collect();
    assert_eq!(begun_steps(&ran), titles, "{ran:?} {rehearsed:?}");
}

/// As if the Leases of a process that was killed had run out.
fn free(account: &Account) {
    let leases = account.get(LEASES);
    let names =
        leases["items"].as_array().expect("a list").iter().filter_map(|one| one["metadata"]["name"].as_str());
    for name in names.filter(|name| name.starts_with("replank-")) {
        account.merge(&format!("{LEASES}/{name}"), &json!({"spec": {"holderIdentity": ""}}));
    }
}

#[test]
fn killed_after_the_effect_of_each_step_it_goes_on_and_does_nothing_twice() {
    let account = begun("upgrade-run-killed");
    let mut child = begin(&account, &[RUN, &["--group-label", LABEL]].concat());
    type IsSo = dyn Fn(&Account) -> bool;
    let moments: [(&str, &IsSo); 5] = [
        ("EKS updates the control plane", &|account| !updates(account, "").is_empty()),
        ("EKS updates the first add-on", &|account| !updates(account, "addonName=coredns").is_empty()),
        ("EKS updates the second add-on", &|account| !updates(account, "addonName=vpc-cni").is_empty()),
        ("the self-managed group is larger", &|account| {
            account
                .auto_scaling("DescribeAutoScalingGroups", "&AutoScalingGroupNames.member.1=own")
                .contains("<MaxSize>4</MaxSize>")
        }),
        ("EKS updates the managed group", &|account| !updates(account, "nodegroupName=web").is_empty()),
    ];
    // All five take a minute and a half.
    let is_whole = std::env::var_os("REPLANK_UPGRADE_KILLS").is_some();
    if !is_whole {
        println!(
            "not run without REPLANK_UPGRADE_KILLS: kills after the second add-on's update and in the rolls"
        );
    }
    let further: &[&str] =
        if is_whole { &["upgrade", "resume"] } else { &["upgrade", "resume", "--until-step", "2"] };
    let moments = moments.into_iter().take(if is_whole { 5 } else { 2 });
    for (at, (what, is_so)) in moments.enumerate() {
        wait(&account, what, is_so);
        child.kill().expect("it can be ended");
        child.wait().expect("it has ended");
        free(&account);
        let status: Value = serde_json::from_str(&account.run(&["upgrade", "status", "-o", "json"]).stdout)
            .expect("an upgrade is recorded");
        let states: Vec<&str> = status["steps"]
            .as_array()
            .expect("a list")
            .iter()
            .filter_map(|step| step["state"].as_str())
            .collect();
        // A step that was done quickly may have been written down before it was killed.
        assert!(
            states[..at].iter().all(|state| *state == "done") && states[at] != "open",
            "{what}: {states:?}"
        );
        child = begin(&account, further);
    }
    let ran: Ran = child.wait_with_output().expect("it ends").into();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    if is_whole {
        is_upgraded(&account);
        return;
    }
    assert_eq!(updates(&account, ""), ["VersionUpdate Successful"], "{ran:?}");
    assert_eq!(updates(&account, "addonName=coredns"), ["AddonUpdate Successful"], "{ran:?}");
    assert!(updates(&account, "addonName=vpc-cni").is_empty(), "{ran:?}");
}

#[test]
fn an_add_on_that_somebody_has_changed_stops_the_upgrade_until_it_is_said_what_to_do() {
    let account = begun("upgrade-run-conflict");
    let path = "/apis/apps/v1/namespaces/kube-system/deployments/coredns";
    account.merge(path, &json!({"spec": {"template": {"metadata": {"annotations": {"own": "1"}}}}}));
    let ran = run(&account, &[RUN, &["--until-step", "2"]].concat());
    assert_eq!(ran.code, Some(4), "{ran:?}");
    let told = flat(&ran.stderr);
    assert!(
        told.contains("ConfigurationConflict") && told.contains("--conflicts coredns=OVERWRITE"),
        "{ran:?}"
    );
    assert!(told.contains("step 2 of 5 is not done"), "{ran:?}");
    assert_eq!(addon(&account, "coredns")["addonVersion"], "v1.11.6-eksbuild.1");
    let status = account.run(&["upgrade", "status"]);
    assert!(flat(&status.stdout).contains("EKS has said 1 time that it failed"), "{status:?}");
    let again = account.run(&["upgrade", "resume", "--conflicts", "coredns=OVERWRITE", "--step"]);
    assert_eq!(again.code, Some(0), "{again:?}");
    assert_eq!(updates(&account, "addonName=coredns"), ["AddonUpdate Successful", "AddonUpdate Failed"]);
    let template = account.get(path)["spec"]["template"].clone();
    assert_eq!(template["spec"]["containers"][0]["image"], "coredns:v1.11.6-eksbuild.2");
    assert_eq!(template["metadata"]["annotations"]["own"], Value::Null, "EKS's own values are back");
    let ended = account.run(&["upgrade", "cancel"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(
        flat(&ended.stderr).contains("the way back of control plane 1.35 to 1.36: to 1.35 within 7 days"),
        "{ended:?}"
    );
    assert_eq!(account.get(RECORDS)["items"], json!([]));
}

#[test]
fn an_update_of_the_control_plane_that_somebody_else_has_begun_is_followed() {
    // Slow enough that it is in progress when the plan is made.
    let account = begun_at("upgrade-run-adopted", 10);
    let theirs = account.eks("POST", "/clusters/rehearsal/updates", &json!({"version": "1.36"}));
    let id = theirs["update"]["id"].as_str().expect("it has an id");
    let ran = run(&account, &[RUN, &["--step", "--no-rehearsal"]].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(updates(&account, ""), ["VersionUpdate Successful"]);
    let told = flat(&ran.stdout);
    assert!(
        told.contains(&format!(
            "EKS update {id} to 1.36, which somebody else has begun, is in progress: it is followed"
        )),
        "{ran:?}"
    );
    assert!(told.contains("to commit: cluster rehearsal: Terraform aws_eks_cluster: version = \"1.36\"; CloudFormation AWS::EKS::Cluster: Version: \"1.36\""), "{ran:?}");
    assert!(told.contains("1 of 5 steps done, as asked; to go on: replank upgrade resume"), "{ran:?}");
}

#[test]
fn an_insight_with_an_error_is_shown_and_stops_the_upgrade() {
    let account = served("upgrade-run-insight", &[]);
    let arn = cluster(&account)["arn"].as_str().expect("it has one").replace(':', "%3A").replace('/', "%2F");
    let tagged = |status: &str| {
        account.eks("POST", &format!("/tags/{arn}"), &json!({"tags": {"replank.dev/insight": status}}))
    };
    tagged("ERROR");
    let ran = run(&account, RUN);
    assert_eq!(ran.code, Some(4), "{ran:?}");
    let told = flat(&ran.stdout);
    assert!(told.contains("ERROR Deprecated APIs removed in Kubernetes v1.36 1.36 It is about /apis/example.com/v1beta1/widgets."), "{ran:?}");
    assert!(
        told.contains("blocking Insight Deprecated APIs removed in Kubernetes v1.36 [insight]"),
        "{ran:?}"
    );
    assert!(flat(&ran.stderr).contains("nothing was changed"), "{ran:?}");
    assert!(updates(&account, "").is_empty());
    assert_eq!(account.get(RECORDS)["items"], json!([]));
    let forced = run(&account, &[RUN, &["--ignore-insights", "--step"]].concat());
    assert_eq!(forced.code, Some(0), "{forced:?}");
    assert_eq!(updates(&account, ""), ["VersionUpdate Successful"]);
    assert_eq!(account.run(&["upgrade", "cancel"]).code, Some(0));
    let back = run(&account, &["upgrade", "rollback", "--cluster", "rehearsal", "--yes"]);
    assert_eq!(back.code, Some(0), "{back:?}");
    assert_eq!((updates(&account, "").len(), &cluster(&account)["version"]), (2, &json!("1.35")));
    let again = run(&account, &["upgrade", "rollback", "--cluster", "rehearsal", "--yes"]);
    assert_eq!(again.code, Some(4), "{again:?}");
    assert!(flat(&again.stderr).contains("EKS does not take this control plane back to 1.34"), "{again:?}");
}

/// An account of 1.35 without add-ons.
fn served(name: &str, more: &[&str]) -> Account {
    Account::served_with(
        name,
        &snapshot(),
        (LABEL, SPEED),
        &[&["--kubernetes-version", "1.35"], more].concat(),
    )
}

#[test]
fn what_cannot_be_begun_says_why_and_changes_nothing() {
    let account =
        served("upgrade-run-wrong", &["--aws-deny", "eks:UpdateClusterVersion,eks:DescribeInsight"]);
    let to = |version: &str, more: &[&str]| {
        run(
            &account,
            &[&["upgrade", "run", "--to", version, "--no-rehearsal", "--bake", "0d"], more].concat(),
        )
    };
    let named: &[&str] = &["--cluster", "rehearsal"];
    let without = |names: &[&str]| {
        let mut call = account.call(&[
            "upgrade",
            "run",
            "--to",
            "1.36",
            "--cluster",
            "rehearsal",
            "--group-label",
            LABEL,
            "--dry-run",
        ]);
        for name in names {
            call.env_remove(name);
        }
        call.env("HOME", "/nonexistent");
        Ran::from(call.output().expect("it can be run"))
    };
    let cases: [(Ran, i32, &str); 9] = [
        (without(&["AWS_REGION", "AWS_DEFAULT_REGION"]), 2, "no AWS region is given"),
        (without(&["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"]), 2, "no AWS credentials are found"),
        (
            to("1.36", &["--cluster", "shop", "--yes"]),
            2,
            "EKS knows no cluster shop in account 111122223333 and region eu-west-1 next: it has: rehearsal",
        ),
        (
            to("1.36", &["--yes"]),
            2,
            "the nodes do not tell the cluster's name in EKS next: pass --cluster NAME",
        ),
        (
            to("1.34", &[named, &["--yes"]].concat()),
            2,
            "the control plane runs 1.35, and 1.34 is older: a control plane cannot be downgraded",
        ),
        (
            to("1.39", &[named, &["--yes"]].concat()),
            5,
            "EKS does not offer 1.39: it offers 1.30, 1.31, 1.32, 1.33, 1.34, 1.35, 1.36",
        ),
        (to("1.36", named), 2, "pass --yes where there is no terminal"),
        (account.run(&["upgrade", "resume"]), 2, "there is no upgrade in namespace kube-system"),
        (
            to("1.36", &[named, &["--yes"]].concat()),
            2,
            "eks:UpdateClusterVersion: AccessDeniedException: User: arn:aws:iam::111122223333:user/rehearsal is not authorized",
        ),
    ];
    for (ran, code, words) in &cases {
        assert_eq!(ran.code, Some(*code), "{words}: {ran:?}");
        assert!(flat(&ran.stderr).contains(words), "{words}: {ran:?}");
    }
    let (denied, ..) = &cases[8];
    assert!(
        flat(&denied.stderr)
            .contains(r#"{"Effect": "Allow", "Action": ["eks:UpdateClusterVersion"], "Resource": "*"}"#),
        "{denied:?}"
    );
    assert!(updates(&account, "").is_empty());
    assert_eq!(cluster(&account)["version"], "1.35");
    let again = to("1.36", &[named, &["--yes"]].concat());
    assert_eq!(again.code, Some(5), "{again:?}");
    assert!(flat(&again.stderr).contains("an upgrade of rehearsal to 1.36 was begun at"), "{again:?}");
}

#[test]
fn two_minor_versions_are_two_steps_of_the_control_plane() {
    let more = ["--kubernetes-version", "1.34"];
    let mut old = snapshot();
    for node in old["items"].as_array_mut().expect("a list").iter_mut().filter(|one| one["kind"] == "Node") {
        node["status"]["nodeInfo"]["kubeletVersion"] = json!("v1.32.9");
    }
    let account = Account::served_with("upgrade-run-two", &old, (LABEL, SPEED), &more);
    let ran = run(
        &account,
        &[
            "upgrade",
            "run",
            "--to",
            "1.36",
            "--cluster",
            "rehearsal",
            "--dry-run",
            "--no-rehearsal",
            "-o",
            "json",
        ],
    );
    assert_eq!(ran.code, Some(3), "{ran:?}");
    let told = flat(&ran.stderr);
    assert!(told.contains("EKS takes a control plane up by one minor version at a time: 2 steps"), "{ran:?}");
    let at = |words: &str| told.find(words).unwrap_or_else(|| panic!("{words}: {ran:?}"));
    // Kubelets of 1.32 are too old for 1.36: they are replaced before that.
    assert!(at("control plane 1.34 to 1.35") < at("roll own 1.32 to 1.35"), "{ran:?}");
    assert!(at("roll web 1.32 to 1.35") < at("control plane 1.35 to 1.36"), "{ran:?}");
    let refused = account.refused("POST", "/clusters/rehearsal/updates", &json!({"version": "1.36"}));
    assert!(
        refused.contains("InvalidParameterException")
            && refused.contains("Unsupported Kubernetes minor version update from 1.34 to 1.36"),
        "{refused}"
    );
}
