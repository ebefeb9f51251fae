//! `replank upgrade plan`, on the example of a cluster of 1.33.

use serde_json::{Value, json};

use super::common::{Ran, replank, scratch};

pub(crate) const CLUSTER: &str = "examples/upgrade/cluster.yaml";
pub(crate) const EKS: [&str; 10] = [
    "--eks",
    "examples/upgrade/eks/cluster.json",
    "--eks",
    "examples/upgrade/eks/subnets.json",
    "--eks",
    "examples/upgrade/eks/nodegroup-tools.json",
    "--eks",
    "examples/upgrade/eks/addons.json",
    "--eks",
    "examples/upgrade/eks/addon-vpc-cni.json",
];

fn plan(arguments: &[&str]) -> Ran {
    let words: Vec<&str> = ["upgrade", "plan"].iter().chain(arguments).copied().collect();
    replank(&words)
}

fn of_example(arguments: &[&str]) -> Ran {
    let words: Vec<&str> = [CLUSTER, "--no-rehearsal"].iter().chain(&EKS).chain(arguments).copied().collect();
    plan(&words)
}

/// `controlPlane 1.34`, `roll tools 1.34`, …
fn steps(value: &Value) -> Vec<String> {
    let of = |step: &Value| {
        let words = ["kind", "group", "name", "to", "after"];
        words.iter().filter_map(|member| step[*member].as_str()).collect::<Vec<_>>().join(" ")
    };
    value["steps"].as_array().unwrap().iter().map(of).collect()
}

#[test]
fn the_steps_come_in_order_and_the_worst_is_the_exit_code() {
    let ran = of_example(&["--to", "1.36", "-o", "json"]);
    assert_eq!(ran.code, Some(3), "warnings, and nothing that blocks");
    let value = ran.json();
    assert_eq!(value["version"], "replank.dev/upgrade/v1alpha1");
    assert_eq!(
        (&value["from"], &value["to"], &value["controlPlaneKnownBy"]),
        (&json!("1.33"), &json!("1.36"), &json!("eks"))
    );
    assert_eq!(
        steps(&value),
        [
            "controlPlane 1.34",
            "bake 1.34",
            "roll tools 1.34",
            "addon vpc-cni",
            "controlPlane 1.35",
            "bake 1.35",
            "kubeProxy 1.35",
            "addon vpc-cni",
            "controlPlane 1.36",
            "bake 1.36",
            "roll tools 1.36",
            "roll web 1.36",
            "kubeProxy 1.36",
        ]
    );
    assert_eq!(value["steps"][0]["back"]["kind"], "controlPlane");
    assert_eq!(value["steps"][0]["back"]["withinMs"], 7 * 24 * 60 * 60 * 1000);
    assert_eq!(value["steps"][3]["versions"], json!(["v1.20.4-eksbuild.2"]));
    assert_eq!(value["routes"][0]["way"], "fewest-rolls");
    assert_eq!((&value["routes"][0]["rolls"], &value["routes"][1]["rolls"]), (&json!(3), &json!(7)));
    assert!(value["routes"][0]["takesMs"].is_null(), "nothing was rehearsed");
}

#[test]
fn an_api_version_that_goes_blocks_until_it_is_changed() {
    let blocked = of_example(&["--to", "1.34", "--scan", "examples/upgrade/deploy", "-o", "json"]);
    assert_eq!(blocked.code, Some(4), "{blocked:?}");
    let value = blocked.json();
    assert_eq!(value["blockedSteps"], json!([1]));
    let finding = &value["steps"][0]["findings"][0];
    assert_eq!((&finding["id"], &finding["severity"]), (&json!("api-removed"), &json!("blocking")));
    assert!(finding["reason"].as_str().unwrap().contains("deploy/policy.yaml:2"), "{finding}");
    let text =
        std::fs::read_to_string(super::common::root().join("examples/upgrade/deploy/policy.yaml")).unwrap();
    let changed = scratch("upgrade/deploy/policy.yaml", text.replace("v1beta1", "v1"));
    let dir = changed.strip_suffix("/policy.yaml").unwrap();
    let cleared = of_example(&["--to", "1.34", "--scan", dir]);
    assert_eq!(cleared.code, Some(3), "{cleared:?}");
}

#[test]
fn rolls_are_rehearsed_and_both_ways_are_compared() {
    let words: Vec<&str> =
        [CLUSTER].iter().chain(&EKS).copied().chain(["--to", "1.36", "-o", "json"]).collect();
    let value = plan(&words).json();
    let [fewest, every] = [0, 1].map(|way| value["routes"][way]["takesMs"].as_u64().expect("rehearsed"));
    assert!(fewest > 60_000 && every > fewest, "{fewest} {every}");
    assert_eq!(value["steps"][2]["takesBy"], "rehearsal");
    let again = plan(&words).json();
    assert_eq!(again, value, "the same input gives the same plan");
}

#[test]
fn what_kubelets_refuse_blocks_the_roll() {
    let user_data = scratch(
        "upgrade/user-data.sh",
        "/etc/eks/bootstrap.sh shop --kubelet-extra-args '--pod-infra-container-image=x/pause:3.5'\n",
    );
    let given = format!("web={user_data}");
    let value = of_example(&["--to", "1.36", "--kubelet", &given, "-o", "json"]).json();
    assert_eq!(value["blockedSteps"], json!([12]), "the group of that user data, where it comes to 1.36");
    let value = of_example(&["--to", "1.34", "--kubelet", &given, "-o", "json"]).json();
    assert_eq!(value["blockedSteps"], json!([]), "1.34 still takes it");
}

/// As `aws ec2 describe-launch-template-versions` prints it.
#[test]
fn user_data_is_taken_out_of_a_launch_template() {
    let of = |data: &[&str]| {
        let version = |data: &&str| json!({"LaunchTemplateData": {"UserData": data}});
        let template = json!({"LaunchTemplateVersions": data.iter().map(version).collect::<Vec<_>>()});
        let file = scratch(&format!("upgrade/template-{}.json", data.len()), template.to_string());
        of_example(&["--to", "1.36", "--kubelet", &format!("web={file}"), "-o", "json"])
    };
    // `kubelet --pod-infra-container-image=x/pause:3.5`
    let packed = "a3ViZWxldCAtLXBvZC1pbmZyYS1jb250YWluZXItaW1hZ2U9eC9wYXVzZTozLjU=";
    assert_eq!(of(&[packed]).json()["blockedSteps"], json!([12]));
    let several = of(&[packed, "a3ViZWxldCAtLXY9MiAtLW5vZGUtaXA9MTAuMC4wLjE="]).usage_error();
    assert!(
        several.contains("it has 2 different user data: save one version of one launch template"),
        "{several}"
    );
}

#[test]
fn a_plan_can_be_made_of_what_eks_says_alone() {
    let words: Vec<&str> =
        EKS.iter().copied().chain(["--to", "1.35", "--now", "2026-11-20T09:00:00Z", "-o", "json"]).collect();
    let value = plan(&words).json();
    assert_eq!(steps(&value), ["controlPlane 1.34", "bake 1.34", "controlPlane 1.35", "bake 1.35"]);
    let unknown = value["notLookedAt"].to_string();
    assert!(unknown.contains("pass a snapshot"), "{unknown}");
}

#[test]
fn versions_that_eks_does_not_offer_are_not_gone_to() {
    let words: Vec<&str> =
        EKS.iter().copied().chain(["--to", "1.36", "--now", "2026-05-01T00:00:00Z", "-o", "json"]).collect();
    let value = plan(&words).json();
    assert_eq!(value["blockedSteps"], json!([5]), "EKS offers 1.36 since June: {value}");
    let words: Vec<&str> =
        EKS.iter().copied().chain(["--to", "1.37", "--now", "2026-11-20T09:00:00Z", "-o", "json"]).collect();
    assert!(plan(&words).json()["notLookedAt"].to_string().contains("whether EKS offers 1.37"));
}

#[test]
fn every_form_names_every_step() {
    let value = of_example(&["--to", "1.36", "-o", "json"]).json();
    for form in ["text", "markdown"] {
        let ran = of_example(&["--to", "1.36", "-o", form]);
        let page = ran.stdout.replace('\\', "");
        for step in value["steps"].as_array().unwrap() {
            let title = step["title"].as_str().unwrap();
            assert!(page.contains(title), "{form} lacks {title}");
        }
    }
}

#[test]
fn what_cannot_be_meant_is_a_usage_error() {
    let error = |words: &[&str]| plan(words).usage_error();
    assert!(error(&["--to", "1.36"]).contains("neither a snapshot nor EKS output (--eks) given"));
    assert!(
        error(&[CLUSTER, "--to", "1.32", "--no-rehearsal"]).contains("a control plane cannot be downgraded")
    );
    assert!(error(&[CLUSTER]).contains("--to <VERSION>"));
    assert!(error(&[CLUSTER, "--to", "newest"]).contains("expected a minor version such as 1.36"));
    assert!(error(&[CLUSTER, "--to", "1.36", "--kubelet", "web"]).contains("expected GROUP=FILE"));
    let other = scratch("upgrade/other.json", r#"{"clusters": []}"#);
    assert!(error(&[CLUSTER, "--to", "1.36", "--eks", &other]).contains("other.json cannot be loaded"));
}

#[test]
fn a_finding_says_what_it_could_not_see() {
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "uid": "n", "labels": {"eks.amazonaws.com/nodegroup": "web"}},
        "spec": {"providerID": "aws:///eu-west-1a/i-n"},
        "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "58"}, "nodeInfo": {"kubeletVersion": "v1.35.0"},
            "conditions": [{"type": "Ready", "status": "True", "lastHeartbeatTime": "2026-11-20T09:00:00Z"}]}});
    // A pod that is bound to the group's only zone and fits nowhere else: its roll cannot end.
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "shop", "uid": "p"},
        "spec": {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]},
        "status": {"phase": "Running", "startTime": "2026-11-20T08:00:00Z", "conditions": [{"type": "Ready", "status": "True"}]}});
    let list = json!({"apiVersion": "v1", "kind": "List", "items": [node, pod]});
    let snapshot = scratch("upgrade-unseen.json", list.to_string());
    let value = plan(&[&snapshot, "--to", "1.36", "-o", "json"]).json();
    let steps = value["steps"].as_array().expect("they are listed").iter();
    let findings: Vec<&Value> =
        steps.flat_map(|step| step["findings"].as_array().expect("an array")).collect();
    let of = |id: &str| {
        *findings.iter().find(|one| one["id"] == id).unwrap_or_else(|| panic!("{id}: {findings:?}"))
    };
    let unseen = of("roll-blocked")["unseen"].to_string();
    assert!(unseen.contains("PodDisruptionBudget") && unseen.contains("absent"), "{unseen}");
    assert_eq!(of("control-plane-unknown")["unseen"], json!([]), "nodes were there");
    for format in ["text", "markdown"] {
        let told = plan(&[&snapshot, "--to", "1.36", "-o", format]).stdout;
        assert!(told.contains("not seen: no PodDisruptionBudget in the input"), "{told}");
    }
}

#[test]
fn a_plan_that_could_not_see_everything_does_not_begin_with_good_news() {
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "uid": "n"}, "spec": {},
        "status": {"nodeInfo": {"kubeletVersion": "v1.35.0"}, "conditions": [{"type": "Ready", "status": "True", "lastHeartbeatTime": "2026-11-20T09:00:00Z"}]}});
    let snapshot = scratch("upgrade-incomplete.json", node.to_string());
    let words = [snapshot.as_str(), "--to", "1.36", "--no-rehearsal"];
    let told = plan(&words);
    assert_eq!(told.code, Some(6));
    assert!(
        told.stdout.starts_with("Upgrade 1.35 to 1.36  incomplete: nothing blocks in what was seen\n"),
        "{}",
        told.stdout
    );
    let markdown = plan(&[&words[..], &["-o", "markdown"]].concat()).stdout;
    assert!(
        markdown.contains("**Incomplete: nothing blocks in what was seen (see Coverage).**"),
        "{markdown}"
    );
    let accepted = plan(&[&words[..], &["--allow-incomplete", "pods,poddisruptionbudgets"]].concat());
    assert!(accepted.stdout.starts_with("Upgrade 1.35 to 1.36  nothing blocks\n"), "{}", accepted.stdout);
}

#[test]
fn what_follows_a_version_is_not_dropped() {
    let told = plan(&[CLUSTER, "--to", "1.35x"]).usage_error();
    assert!(told.contains("expected a minor version such as 1.36"), "{told}");
}
