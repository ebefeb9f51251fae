use crate::upgrade::facts::Facts;
use crate::upgrade::usage::ApiUse;
use replank_facts::plan::RunOptions;
use replank_model::delta::Delta;
use replank_model::object::Object;
use replank_model::view::View;
use serde_json::{Value, json};
use std::collections::BTreeSet;

use super::super::usage::{Certainty, User};
use super::*;
use replank_facts::groups::GroupBy;

const NOW: &str = "2026-11-20T09:00:00Z";

/// Everything that a plan is made of, to be changed by a test.
struct Stage {
    objects: Vec<Value>,
    facts: Facts,
    uses: Vec<ApiUse>,
    kubelets: BTreeMap<Text, String>,
    rehearsed: BTreeMap<Text, Rehearsed>,
    not_offered: BTreeSet<Minor>,
    now: &'static str,
    options: Options,
}

impl Stage {
    fn new(to: u64, objects: Vec<Value>) -> Self {
        Self {
            objects,
            facts: Facts::default(),
            uses: Vec::new(),
            kubelets: BTreeMap::new(),
            rehearsed: BTreeMap::new(),
            not_offered: BTreeSet::new(),
            now: NOW,
            options: Options { bake: Span::ZERO, ..Options::to(Minor(to)) },
        }
    }

    fn eks(mut self, value: Value) -> Self {
        self.facts.read(&Value::Array(vec![value])).expect("an answer of AWS");
        self
    }

    fn plan(&self) -> UpgradePlan {
        let view: View = self
            .objects
            .iter()
            .cloned()
            .map(|value| Delta::Put(Object::from_json(value).expect("a valid object")))
            .collect();
        let run = RunOptions { started: self.now.parse().expect("a moment"), group_by: GroupBy::default() };
        let input = Input {
            view: &view,
            run: &run,
            facts: &self.facts,
            uses: &self.uses,
            scanned: Scanned::No,
            kubelets: &self.kubelets,
            rehearsed: &self.rehearsed,
            not_offered: &self.not_offered,
            now: run.started,
        };
        UpgradePlan::make(&input, &self.options).expect("there is a way")
    }

    /// Steps in a word each.
    fn steps(&self) -> Vec<String> {
        self.plan().steps.iter().map(|step| told(&step.what)).collect()
    }

    /// Findings of one rule, with the step that they stand before.
    fn found(&self, rule: Rule) -> Vec<String> {
        let plan = self.plan();
        let found = plan.findings().filter(|(_, finding)| finding.rule == rule);
        found
            .map(|(step, finding)| {
                assert!(!finding.remedy.is_empty(), "{finding}");
                format!(
                    "{} | {} {}: {}",
                    told(&plan.steps[step].what),
                    finding.severity,
                    finding.object,
                    finding.reason
                )
            })
            .collect()
    }
}

use super::super::finding::Rule;

fn told(what: &What) -> String {
    match what {
        What::ControlPlane(hop) => format!("control plane {}", hop.to),
        What::Bake { after } => format!("bake {}", after.to),
        What::Roll { group, from, to, .. } => format!("roll {group} {from} to {to}"),
        What::LeftTo { name, from, to, .. } => format!("left {name} {from} to {to}"),
        What::KubeProxy { from, to } => format!("kube-proxy {from} to {to}"),
        What::Addon { name, to, .. } => {
            format!("{name} {}", to.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))
        }
    }
}

fn node(name: &str, labels: Value, kubelet: &str) -> Value {
    let mut node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "uid": name},
        "status": {"nodeInfo": {"kubeletVersion": kubelet, "osImage": "Amazon Linux 2023"}, "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "20"},
            "conditions": [{"type": "Ready", "status": "True"}]}});
    node["metadata"]["labels"] = labels;
    node
}

fn web(kubelet: &str) -> Value {
    node("a", json!({"eks.amazonaws.com/nodegroup": "web"}), kubelet)
}

fn daemon_set(name: &str, image: &str) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": name, "namespace": "kube-system", "uid": name},
        "spec": {"selector": {"matchLabels": {"app": name}}, "template": {"metadata": {"labels": {"app": name}},
            "spec": {"containers": [{"name": "c", "image": image}]}}}})
}

fn deployment(name: &str, image: &str) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": "ops", "uid": name},
        "spec": {"replicas": 1, "selector": {"matchLabels": {"app": name}}, "template": {"metadata": {"labels": {"app": name}},
            "spec": {"containers": [{"name": "c", "image": image}]}}}})
}

fn cluster(version: &str) -> Value {
    json!({"cluster": {"name": "prod", "version": version, "status": "ACTIVE"}})
}

fn offered(name: &str, rows: &[(&str, &[&str])]) -> Value {
    let versions: Vec<Value> = rows
        .iter()
        .map(|(version, with)| {
            let compatible: Vec<Value> =
                with.iter().map(|minor| json!({"clusterVersion": minor, "defaultVersion": false})).collect();
            json!({"addonVersion": version, "compatibilities": compatible})
        })
        .collect();
    json!({"addons": [{"addonName": name, "addonVersions": versions}]})
}

#[test]
fn the_control_plane_bakes_and_nodes_follow_before_kube_proxy_and_addons() {
    let mut stage = Stage::new(
        36,
        vec![
            web("v1.33.4-eks-1"),
            daemon_set("kube-proxy", "x/eks/kube-proxy:v1.33.0-eksbuild.2"),
            daemon_set("aws-node", "x/amazon-k8s-cni:v1.19.2-eksbuild.1"),
        ],
    )
    .eks(cluster("1.33"))
    .eks(offered(
        "vpc-cni",
        &[
            ("v1.19.2-eksbuild.1", &["1.33", "1.34"]),
            ("v1.20.1-eksbuild.1", &["1.33", "1.34", "1.35"]),
            ("v1.21.0-eksbuild.1", &["1.35", "1.36"]),
            ("v1.22.0-eksbuild.1", &["1.36"]),
        ],
    ));
    stage.options.bake = BAKE;
    assert_eq!(
        stage.steps(),
        [
            "control plane 1.34",
            "bake 1.34",
            "vpc-cni v1.20.1-eksbuild.1",
            "control plane 1.35",
            "bake 1.35",
            "vpc-cni v1.21.0-eksbuild.1",
            "control plane 1.36",
            "bake 1.36",
            "roll web 1.33 to 1.36",
            "kube-proxy 1.33 to 1.36",
            "vpc-cni v1.22.0-eksbuild.1",
        ]
    );
    stage.options.way = Some(Way::EveryStep);
    stage.options.bake = Span::ZERO;
    assert_eq!(
        stage.steps()[..5],
        [
            "control plane 1.34",
            "roll web 1.33 to 1.34",
            "vpc-cni v1.20.1-eksbuild.1",
            "control plane 1.35",
            "roll web 1.34 to 1.35"
        ]
    );
}

#[test]
fn a_way_back_is_told_with_each_step() {
    let mut stage = Stage::new(34, vec![web("v1.33.4-eks-1")]).eks(cluster("1.33"));
    let back = |stage: &Stage| stage.plan().steps[0].back.clone();
    assert_eq!(back(&stage), Back::ControlPlane { to: Minor(33), within: Span::from_minutes(7 * 24 * 60) });
    assert_eq!(stage.plan().steps[1].back, Back::Nodes { group: "web".into() });
    stage.now = "2026-01-01T00:00:00Z";
    assert!(matches!(back(&stage), Back::None { .. }), "there was none then");
    let elsewhere = Stage::new(34, vec![node("a", json!({}), "v1.33.4")]);
    assert!(matches!(back(&elsewhere), Back::None { .. }), "EKS has one, Kubernetes has not");
}

#[test]
fn what_others_replace_comes_before_it_would_be_too_old() {
    let stage = Stage::new(
        36,
        vec![
            web("v1.33.4-eks-1"),
            node("f", json!({"eks.amazonaws.com/compute-type": "fargate"}), "v1.31.0-eks-1"),
            node("k", json!({"karpenter.sh/nodepool": "general"}), "v1.33.0-eks-1"),
        ],
    )
    .eks(cluster("1.33"));
    assert_eq!(
        stage.steps(),
        [
            "control plane 1.34",
            "left Fargate 1.31 to 1.34",
            "control plane 1.35",
            "control plane 1.36",
            "roll web 1.33 to 1.36",
            "left Fargate 1.34 to 1.36",
            "left general 1.33 to 1.36",
        ]
    );
    assert_eq!(
        stage.found(Rule::FargateBehind),
        [
            "left Fargate 1.31 to 1.34 | warning NodeGroup Fargate: 1 node at 1.31: a control plane of 1.35 does not support them, so they are rolled to 1.34 before it is upgraded"
        ]
    );
}

#[test]
fn an_old_kube_proxy_comes_before_the_step_that_would_not_take_it() {
    let stage = Stage::new(18, vec![web("v1.17.9-eks-1"), daemon_set("kube-proxy", "x/kube-proxy:v1.15.11")])
        .eks(cluster("1.17"));
    assert_eq!(
        stage.steps(),
        ["kube-proxy 1.15 to 1.17", "control plane 1.18", "roll web 1.17 to 1.18", "kube-proxy 1.17 to 1.18"]
    );
}

fn api(removed: u64, user: User, certainty: Certainty, place: &str) -> ApiUse {
    ApiUse {
        api: "policy/v1beta1 PodDisruptionBudget".to_owned(),
        removed: Minor(removed),
        replacement: Some("policy/v1".to_owned()),
        replacement_from: Some(Minor(21)),
        user,
        certainty,
        place: place.to_owned(),
    }
}

#[test]
fn api_versions_block_the_step_that_takes_them_away() {
    let mut stage = Stage::new(26, vec![web("v1.24.4-eks-1")]).eks(cluster("1.24"));
    stage.uses = vec![
        api(25, User::Source, Certainty::Sure, "deploy/web.yaml:3 shop/web"),
        api(25, User::Writer, Certainty::Likely, "live.json:9 shop/web (helm)"),
    ];
    assert_eq!(
        stage.found(Rule::ApiRemoved),
        [
            "control plane 1.25 | blocking API policy/v1beta1 PodDisruptionBudget: is no longer served as of 1.25, and used at 2 places (1 of them write or read it, and fail from then on): deploy/web.yaml:3 shop/web; live.json:9 shop/web (helm)"
        ]
    );
    let plan = stage.plan();
    let blocked = plan.may_start(1).unwrap_err();
    assert_eq!((blocked.step, blocked.by.len()), (0, 1), "no later step begins either");
    assert_eq!(plan.blocked().map(|blocked| blocked.step), Some(0));
    // Leftover uses do not block, nor mere references; versions that are already removed are not reported again.
    for (user, certainty, removed, severity) in [
        (User::Source, Certainty::WorthALook, 25, "warning"),
        (User::Rule, Certainty::Sure, 25, "warning"),
        (User::Source, Certainty::Sure, 22, "warning"),
        (User::Writer, Certainty::Sure, 26, "blocking"),
    ] {
        stage.uses = vec![api(removed, user, certainty, "x:1")];
        let found = stage.found(Rule::ApiRemoved);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains(&format!("| {severity} API")), "{found:?}");
        assert_eq!(stage.plan().blocked().is_some(), severity == "blocking");
    }
    stage.uses = vec![api(27, User::Source, Certainty::Sure, "x:1")];
    assert_eq!(stage.found(Rule::ApiRemoved), [""; 0], "it goes after the target");
}

#[test]
fn eks_contradictory_texts_are_named_where_nodes_are_behind() {
    let stage = Stage::new(35, vec![web("v1.33.4-eks-1")]).eks(cluster("1.33"));
    let found = stage.found(Rule::NodesMatch);
    assert_eq!(found.len(), 1, "before the first step they match: {found:?}");
    assert!(found[0].starts_with("control plane 1.35 | warning NodeGroup web: managed groups are behind the control plane of 1.34: web at 1.33."));
    for text in ["API reference", "user guide", "best practices"] {
        assert!(found[0].contains(text), "{text} is not named");
    }
    let mut every = Stage::new(35, vec![web("v1.33.4-eks-1")]).eks(cluster("1.33"));
    every.options.way = Some(Way::EveryStep);
    assert_eq!(every.found(Rule::NodesMatch), [""; 0]);
    let elsewhere = Stage::new(35, vec![node("a", json!({"eks.amazonaws.com/nodegroup": "web"}), "v1.33.4")]);
    assert_eq!(elsewhere.found(Rule::NodesMatch).len(), 1, "the label alone says that it is EKS");
}

#[test]
fn what_eks_says_of_the_cluster_blocks() {
    let of = |value: Value| Stage::new(35, vec![web("v1.34.4-eks-1")]).eks(value);
    let busy = of(json!({"cluster": {"name": "prod", "version": "1.34", "status": "UPDATING"}}));
    assert_eq!(
        busy.found(Rule::ClusterNotActive),
        [
            "control plane 1.35 | blocking Cluster prod: its status is UPDATING: EKS accepts one update at a time, and only for an ACTIVE cluster"
        ]
    );
    let subnets = |free: u64| {
        of(
            json!([{"cluster": {"name": "prod", "version": "1.34", "status": "ACTIVE", "resourcesVpcConfig": {"subnetIds": ["s1", "s2"]}}},
            {"Subnets": [{"SubnetId": "s1", "AvailableIpAddressCount": free}, {"SubnetId": "s2", "AvailableIpAddressCount": 0}]}]),
        )
    };
    assert_eq!(
        subnets(4).found(Rule::SubnetAddresses),
        [
            "control plane 1.35 | blocking Cluster prod: 4 addresses free in the 2 subnets of the control plane, and EKS needs up to 5 for a new one"
        ]
    );
    assert_eq!(subnets(5).found(Rule::SubnetAddresses), [""; 0]);
    let insight = |version: &str, status: &str| {
        of(json!([cluster("1.34"), {"insights": [{"name": "kubelet skew", "kubernetesVersion": version, "insightStatus": {"status": status, "reason": "r"}}]}]))
            .found(Rule::Insight)
    };
    assert_eq!(
        insight("1.35", "ERROR"),
        ["control plane 1.35 | blocking Insight kubelet skew: EKS says ERROR: r"]
    );
    assert_eq!(insight("1.35", "WARNING").len(), 1);
    assert_eq!(insight("1.35", "PASSING"), [""; 0]);
    assert_eq!(insight("1.36", "ERROR"), [""; 0], "it is about a later step");
    let mut early = of(cluster("1.34"));
    early.not_offered = BTreeSet::from([Minor(35)]);
    assert_eq!(
        early.found(Rule::VersionNotOffered),
        ["control plane 1.35 | blocking Cluster prod: EKS does not offer 1.35 yet"]
    );
}

#[test]
fn addons_are_unknown_where_nobody_asked_and_block_where_nothing_goes() {
    let objects =
        || vec![web("v1.33.4-eks-1"), daemon_set("aws-node", "x/amazon-k8s-cni:v1.18.3-eksbuild.2")];
    let stage = Stage::new(35, objects()).eks(cluster("1.33"));
    assert_eq!(
        stage.found(Rule::AddonUnknown),
        [
            "control plane 1.34 | warning Addon vpc-cni: the compatibility of v1.18.3-eksbuild.2 with 1.34 to 1.35 is unknown"
        ],
        "once, and nothing is guessed"
    );
    let none = Stage::new(34, objects())
        .eks(cluster("1.33"))
        .eks(offered("vpc-cni", &[("v1.17.0-eksbuild.1", &["1.34"])]));
    assert_eq!(
        none.found(Rule::AddonIncompatible),
        [
            "control plane 1.34 | blocking Addon vpc-cni: v1.18.3-eksbuild.2 is not compatible with 1.34, and EKS offers no later version that is"
        ]
    );
}

#[test]
fn controllers_that_stop_block_the_step_after_which_they_do() {
    let stage = Stage::new(
        23,
        vec![
            web("v1.21.4-eks-1"),
            deployment(
                "alb",
                "602401143452.dkr.ecr.us-west-2.amazonaws.com/amazon/aws-load-balancer-controller:v2.2.0",
            ),
            deployment("autoscaler", "registry.k8s.io/autoscaling/cluster-autoscaler:v1.21.0"),
        ],
    )
    .eks(cluster("1.21"));
    let found = stage.found(Rule::ControllerVersion);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(
        found[0].starts_with(
            "control plane 1.22 | blocking Deployment ops/alb: AWS Load Balancer Controller of "
        ),
        "{found:?}"
    );
    assert!(
        found[1]
            .starts_with("control plane 1.23 | warning Deployment ops/autoscaler: Cluster Autoscaler of "),
        "{found:?}"
    );
    assert_eq!(stage.plan().inventory.len(), 2);
}

#[test]
fn a_controller_that_a_version_is_best_effort_for_is_told_without_a_warning() {
    let found = |image: &str| {
        let image = format!("registry.k8s.io/kube-state-metrics/kube-state-metrics:{image}");
        let stage = Stage::new(34, vec![web("v1.33.4-eks-1"), deployment("metrics", &image)]);
        stage.eks(cluster("1.33")).found(Rule::ControllerVersion)
    };
    let told = |image: &str, client: u64| {
        format!(
            "control plane 1.34 | info Deployment ops/metrics: kube-state-metrics of registry.k8s.io/kube-state-metrics/kube-state-metrics:{image} is built with the client-go of 1.{client}: its project supports 1.34 on a best-effort basis only"
        )
    };
    assert_eq!(found("v2.17.0"), [told("v2.17.0", 33)]);
    assert_eq!(found("v2.10.1"), [told("v2.10.1", 27)]);
    // Of one that is built for it nothing is told, nor of a later one: each step brings the control plane nearer to it.
    assert_eq!(found("v2.18.0"), [""; 0]);
    assert_eq!(found("v2.20.0"), [""; 0]);
}

#[test]
fn webhooks_that_see_one_version_are_told() {
    let webhook = |policy: &str, versions: Value| {
        json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration", "metadata": {"name": "guard", "uid": "g"},
            "webhooks": [{"name": "guard.example.com", "matchPolicy": policy, "failurePolicy": "Fail", "sideEffects": "None",
                "admissionReviewVersions": ["v1"], "clientConfig": {"url": "https://guard.example.com"},
                "rules": [{"apiGroups": ["policy"], "apiVersions": versions, "resources": ["poddisruptionbudgets"], "operations": ["CREATE"]}]}]})
    };
    let found = |policy: &str, versions: Value| {
        Stage::new(34, vec![web("v1.33.4-eks-1"), webhook(policy, versions)]).found(Rule::WebhookExact)
    };
    assert_eq!(
        found("Exact", json!(["v1beta1"])),
        [
            "control plane 1.34 | warning ValidatingWebhookConfiguration guard: webhook guard.example.com has matchPolicy: Exact and matches v1beta1 only: requests at other versions bypass it"
        ]
    );
    assert_eq!(found("Equivalent", json!(["v1beta1"])), [""; 0]);
    assert_eq!(found("Exact", json!(["*"])), [""; 0]);
}

#[test]
fn labels_and_arguments_that_new_kubelets_refuse_block_the_roll() {
    let mut stage = Stage::new(16, vec![web("v1.15.11-eks-1")])
        .eks(cluster("1.15"))
        .eks(json!({"nodegroup": {"nodegroupName": "web", "version": "1.15", "labels": {"kubernetes.io/role": "web", "team": "shop"}}}));
    stage.kubelets =
        BTreeMap::from([("web".into(), "--kubelet-extra-args '--allow-privileged=true'".to_owned())]);
    let found = stage.found(Rule::KubeletRefuses);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(
        found.iter().all(|text| text.starts_with("roll web 1.15 to 1.16 | blocking NodeGroup web: ")),
        "{found:?}"
    );
    assert!(
        found[0].contains("--allow-privileged") && found[1].contains("the label kubernetes.io/role"),
        "{found:?}"
    );
    let plan = stage.plan();
    assert!(
        plan.may_start(0).is_ok(),
        "the control plane may go: kubelets are looked at when they are replaced"
    );
    assert!(plan.may_start(1).is_err());
}

#[test]
fn feature_gates_and_values_that_new_kubelets_refuse_block_the_roll() {
    let of = |from: &str, to: u64| {
        let version = Minor::of(from).expect("a version").to_string();
        let mut stage = Stage::new(to, vec![web(from)]).eks(cluster(&version));
        stage.kubelets = BTreeMap::from([(
            "web".into(),
            "#!/bin/bash
/etc/eks/bootstrap.sh x --container-runtime containerd --kubelet-extra-args '--cloud-provider=aws'
             kubelet --feature-gates=CSIMigrationAWS=true,RotateKubeletServerCertificate=true
"
            .to_owned(),
        )]);
        stage.found(Rule::KubeletRefuses)
    };
    let found = of("v1.26.9-eks-1", 27);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(
        found
            .iter()
            .any(|text| text.contains("line 2 of its user data passes kubelets --cloud-provider=aws"))
    );
    assert!(
        found
            .iter()
            .any(|text| text.contains("line 3 of its user data sets the feature gate CSIMigrationAWS")),
        "{found:?}"
    );
    assert_eq!(of("v1.25.9-eks-1", 26), [""; 0], "they know all of it");
}

#[test]
fn who_talks_to_docker_is_told_before_the_last_nodes_go_that_have_it() {
    let of = |from: &str, to: u64, runtime: &str, path: &str| {
        let mut node = web(from);
        node["status"]["nodeInfo"]["containerRuntimeVersion"] = json!(runtime);
        let mut builder = daemon_set("builder", "x:1");
        builder["spec"]["template"]["spec"]["volumes"] = json!([{"name": "a", "hostPath": {"path": path}}]);
        let version = Minor::of(from).expect("a version").to_string();
        Stage::new(to, vec![node, builder, daemon_set("other", "x:1")])
            .eks(cluster(&version))
            .found(Rule::DockerGone)
    };
    let docker = "docker://20.10.25";
    let found = of("v1.23.17-eks-1", 24, docker, "/var/run/docker.sock");
    assert_eq!(
        found,
        [
            "roll web 1.23 to 1.24 | warning DaemonSet kube-system/builder: its pods mount /var/run/docker.sock, and nodes of 1.24 and later have no Docker: once web is rolled, the mount is empty"
        ]
    );
    assert_eq!(of("v1.23.17-eks-1", 24, "", "/run/docker.sock/").len(), 1, "nobody says what runs there");
    assert_eq!(of("v1.23.17-eks-1", 24, docker, "/var/log"), [""; 0]);
    assert_eq!(
        of("v1.23.17-eks-1", 24, "containerd://1.6.19", "/var/run/docker.sock"),
        [""; 0],
        "it is gone already"
    );
    assert_eq!(of("v1.22.17-eks-1", 23, docker, "/var/run/docker.sock"), [""; 0], "it stays");
    assert_eq!(of("v1.24.17-eks-1", 25, "", "/var/run/docker.sock"), [""; 0], "it went before");
}

#[test]
fn labels_of_nodes_block_where_their_old_kubelets_may_have_set_them() {
    let of = |kubelet: &str, to: u64, arguments: Option<&str>| {
        let labels = json!({"eks.amazonaws.com/nodegroup": "web", "kubernetes.io/role": "web", "beta.kubernetes.io/arch": "amd64"});
        let version = Minor::of(kubelet).expect("a version");
        let mut stage = Stage::new(to, vec![node("a", labels, kubelet)]).eks(cluster(&version.to_string()));
        stage.kubelets = arguments.map(|text| (Text::from("web"), text.to_owned())).into_iter().collect();
        stage.found(Rule::KubeletRefuses)
    };
    let found = of("v1.15.11-eks-1", 16, None);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].starts_with(
            "roll web 1.15 to 1.16 | blocking NodeGroup web: its nodes have the label kubernetes.io/role"
        ),
        "{found:?}"
    );
    assert_eq!(of("v1.15.11-eks-1", 16, Some("--node-labels=team=shop")), [""; 0], "they are not told to");
    assert_eq!(of("v1.15.11-eks-1", 16, Some("--node-labels=kubernetes.io/role=web")).len(), 1);
    assert_eq!(of("v1.16.15-eks-1", 17, None), [""; 0], "kubelets of 1.16 cannot have set it");
    assert_eq!(of("v1.14.9-eks-1", 15, None), [""; 0], "kubelets of 1.15 still may");
}

#[test]
fn a_way_back_that_is_open_is_told() {
    let update =
        |at: &str| json!({"update": {"type": "VersionUpdate", "status": "Successful", "createdAt": at}});
    let of = |at: &str, kubelet: &str| {
        Stage::new(35, vec![web(kubelet)]).eks(cluster("1.34")).eks(update(at)).plan().way_back
    };
    let open = of("2026-11-18T09:00:00Z", "v1.33.4-eks-1").expect("two days ago");
    assert_eq!((open.to, open.left, open.in_the_way.len()), (Minor(33), Span::from_minutes(5 * 24 * 60), 0));
    assert_eq!(of("2026-11-18T09:00:00Z", "v1.34.1-eks-1").expect("open").in_the_way, [Text::from("web")]);
    assert_eq!(of("2026-11-13T09:00:00Z", "v1.33.4-eks-1"), None, "it is a week ago");
    assert_eq!(
        Stage::new(35, vec![web("v1.33.4-eks-1")]).eks(cluster("1.34")).plan().way_back,
        None,
        "nobody has said when"
    );
}

#[test]
fn amazon_linux_2_ends_before_1_33() {
    let group = json!({"nodegroup": {"nodegroupName": "web", "amiType": "AL2_x86_64"}});
    let of = |to: u64| {
        Stage::new(to, vec![web(&format!("v1.{}.1-eks-1", to - 1))])
            .eks(cluster(&format!("1.{}", to - 1)))
            .eks(group.clone())
            .found(Rule::ImageGone)
    };
    assert_eq!(of(32), [""; 0]);
    assert_eq!(
        of(33),
        [
            "roll web 1.32 to 1.33 | blocking NodeGroup web: its nodes run AL2_x86_64 (Amazon Linux 2), and EKS publishes no such image for 1.33 and later"
        ]
    );
    let mut seen = web("v1.32.1-eks-1");
    seen["status"]["nodeInfo"]["osImage"] = json!("Amazon Linux 2");
    let found = Stage::new(33, vec![seen]).eks(cluster("1.32")).eks(group.clone()).found(Rule::ImageGone);
    assert_eq!(found.len(), 1, "what the nodes say and what EKS says is told once: {found:?}");
}

#[test]
fn what_blocks_a_roll_blocks_its_step() {
    let labels = json!({"app": "web"});
    let objects = vec![
        web("v1.33.4-eks-1"),
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "bare", "namespace": "shop", "uid": "bare", "labels": labels},
            "spec": {"nodeName": "a", "containers": [{"name": "c"}]}, "status": {"phase": "Running"}}),
    ];
    let mut stage = Stage::new(34, objects).eks(cluster("1.33"));
    let found = stage.found(Rule::RollBlocked);
    assert!(
        found
            .iter()
            .any(|text| text.starts_with("roll web 1.33 to 1.34 | blocking ") && text.contains("bare-pod")),
        "{found:?}"
    );
    stage.objects.pop();
    assert_eq!(stage.found(Rule::RollBlocked), [""; 0]);
    stage.rehearsed = BTreeMap::from([(
        "web".into(),
        Rehearsed { takes: Span::from_minutes(30), blockers: vec!["pod shop/x has no place".to_owned()] },
    )]);
    assert_eq!(
        stage.found(Rule::RollBlocked),
        [
            "roll web 1.33 to 1.34 | blocking NodeGroup web: its rehearsal does not finish: pod shop/x has no place"
        ]
    );
}

#[test]
fn what_was_not_looked_at_is_said() {
    let bare = Stage::new(34, vec![web("v1.33.4-eks-1")]).plan();
    assert_eq!(bare.unknown.len(), 4, "{:#?}", bare.unknown);
    assert!(bare.unknown[0].starts_with("removed API versions"));
    assert_eq!(bare.findings().filter(|(_, finding)| finding.rule == Rule::ControlPlaneUnknown).count(), 1);
    let elsewhere = Stage::new(34, vec![node("a", json!({}), "v1.33.4")]).plan();
    assert_eq!(elsewhere.unknown.len(), 1, "what EKS would say is not missed elsewhere");
    assert!(Stage::new(33, vec![web("v1.33.4-eks-1")]).plan().steps.is_empty(), "it is there");
}

#[test]
fn nodes_that_are_newer_than_the_control_plane_are_told() {
    let stage = Stage::new(34, vec![web("v1.34.4-eks-1")]).eks(cluster("1.33"));
    let found = stage.found(Rule::KubeletNewer);
    assert!(found[0].starts_with("control plane 1.34 | warning NodeGroup web: its kubelets run 1.34, newer than the control plane (1.33)"), "{found:?}");
}

#[test]
fn the_time_is_that_of_the_steps() {
    let mut stage = Stage::new(35, vec![web("v1.33.4-eks-1")]).eks(cluster("1.33"));
    assert_eq!(stage.plan().takes(), (HOP * 2, 1), "of the roll nobody knows");
    stage.rehearsed =
        BTreeMap::from([("web".into(), Rehearsed { takes: Span::from_minutes(90), blockers: Vec::new() })]);
    stage.options.bake = BAKE;
    assert_eq!(stage.plan().takes(), (HOP * 2 + BAKE * 2 + Span::from_minutes(90), 0));
}

/// Step after step, whatever nodes there are: the policy holds at each, by the policy's own words.
#[test]
fn no_step_is_outside_the_skew_policy() {
    let fits =
        |kubelet: u64, server: u64| kubelet <= server && server - kubelet <= if kubelet < 25 { 2 } else { 3 };
    let mut steps_seen = 0;
    for (from, far, way) in (16..38)
        .flat_map(|from| [1, 3, 5].into_iter().flat_map(move |far| Way::ALL.map(|way| (from, far, way))))
    {
        let mut objects =
            vec![daemon_set("kube-proxy", &format!("x/kube-proxy:v1.{}.0-eksbuild.1", from - 2))];
        let mut kubelets: BTreeMap<String, u64> = BTreeMap::new();
        for behind in 0..3 {
            let version = format!("v1.{}.1-eks-1", from - behind);
            objects.push(node(
                &format!("n{behind}"),
                json!({"eks.amazonaws.com/nodegroup": format!("g{behind}")}),
                &version,
            ));
            objects.push(node(
                &format!("k{behind}"),
                json!({"karpenter.sh/nodepool": format!("p{behind}")}),
                &version,
            ));
            kubelets.insert(format!("g{behind}"), from - behind);
            kubelets.insert(format!("p{behind}"), from - behind);
        }
        let mut stage = Stage::new(from + far, objects).eks(cluster(&format!("1.{from}")));
        stage.options.way = Some(way);
        let (mut server, mut proxy) = (from, from - 2);
        for step in stage.plan().steps {
            match step.what {
                What::ControlPlane(hop) => {
                    assert_eq!((hop.from.0, hop.to.0), (server, server + 1));
                    server += 1;
                    assert!(fits(proxy, server), "kube-proxy of 1.{proxy} meets 1.{server}");
                    for (name, kubelet) in &kubelets {
                        assert!(fits(*kubelet, server), "{way:?}: {name} at 1.{kubelet} meets 1.{server}");
                    }
                }
                What::Roll { group: name, to, .. } | What::LeftTo { name, to, .. } => {
                    assert!(to.0 <= server);
                    kubelets.insert(name.to_string(), to.0);
                }
                What::KubeProxy { from, to } => {
                    assert!(from.0 == proxy && to.0 <= server);
                    proxy = to.0;
                }
                What::Bake { .. } | What::Addon { .. } => {}
            }
            steps_seen += 1;
        }
        assert_eq!((server, proxy), (from + far, from + far));
        assert!(kubelets.values().all(|kubelet| *kubelet == server), "{kubelets:?}");
    }
    assert!(steps_seen > 1_000, "{steps_seen}");
}
