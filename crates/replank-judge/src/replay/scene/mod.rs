//! The clusters that are built, dumped, rehearsed and replayed.

mod dump;
mod form;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::kubelets::NodeSpec;

pub use dump::of_dump;
pub use form::Scene;
use form::USUAL;

/// Nodes of a managed node group, spread over zones.
pub(super) fn nodes(group: &str, count: usize, zones: usize, cpu: &str) -> Vec<NodeSpec> {
    (0..count)
        .map(|index| {
            let zone = format!("eu-west-1{}", ["a", "b", "c"][index % zones]);
            let name = format!("{group}-{index}");
            let labels = [
                ("kubernetes.io/hostname", name.as_str()),
                ("kubernetes.io/os", "linux"),
                ("kubernetes.io/arch", "amd64"),
                ("topology.kubernetes.io/zone", zone.as_str()),
                ("topology.kubernetes.io/region", "eu-west-1"),
                ("node.kubernetes.io/instance-type", "m5.large"),
                ("eks.amazonaws.com/nodegroup", group),
            ];
            let capacity = [("cpu", cpu), ("memory", "8Gi"), ("pods", "29")];
            let owned = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
                pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
            };
            NodeSpec {
                name: name.clone(),
                labels: owned(&labels),
                taints: Vec::new(),
                capacity: owned(&capacity),
                version: "v1.35.4".to_owned(),
            }
        })
        .collect()
}

/// A pod template: labels, requests, and what the kubelet is told of it.
fn template(app: &str, cpu: &str, told: &[(&str, &str)], extra: &Value) -> Value {
    let annotations: BTreeMap<String, &str> =
        told.iter().map(|(key, value)| (format!("judge.replank.dev/{key}"), *value)).collect();
    let mut spec = json!({"terminationGracePeriodSeconds": 2 + app.bytes().map(u64::from).sum::<u64>() % 5,
        "containers": [{"name": "main", "image": format!("{app}:1"), "resources": {"requests": {"cpu": cpu, "memory": "64Mi"}}}]});
    merge(&mut spec, extra);
    // A hook up to the last second of the grace: each pod of a workload takes as long to stop, with any seed, and no draw makes two times differ.
    let hook = spec["terminationGracePeriodSeconds"].as_u64().map_or(0, |grace| grace.saturating_sub(1));
    if hook > 0 {
        spec["containers"][0]["lifecycle"] = json!({"preStop": {"sleep": {"seconds": hook}}});
    }
    json!({"metadata": {"labels": {"app": app}, "annotations": annotations}, "spec": spec})
}

fn merge(into: &mut Value, from: &Value) {
    for (key, value) in from.as_object().into_iter().flatten() {
        into[key] = value.clone();
    }
}

fn workload(kind: &str, app: &str, replicas: u32, template: &Value) -> Value {
    let mut spec = json!({"selector": {"matchLabels": {"app": app}}, "template": template});
    if kind != "DaemonSet" {
        spec["replicas"] = replicas.into();
    }
    if kind == "StatefulSet" {
        spec["serviceName"] = app.into();
    }
    json!({"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": app, "namespace": "shop"}, "spec": spec})
}

fn deployment(app: &str, replicas: u32, template: &Value) -> Value {
    workload("Deployment", app, replicas, template)
}

fn budget(app: &str, spec: Value) -> Value {
    let mut whole = json!({"selector": {"matchLabels": {"app": app}}});
    merge(&mut whole, &spec);
    drop(spec);
    json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": app, "namespace": "shop"}, "spec": whole})
}

fn spread(app: &str, key: &str, hard: bool) -> Value {
    json!({"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": key,
        "whenUnsatisfiable": if hard { "DoNotSchedule" } else { "ScheduleAnyway" },
        "labelSelector": {"matchLabels": {"app": app}}}]})
}

fn apart(app: &str, key: &str) -> Value {
    json!({"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
        {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key}]}}})
}

/// A node that a pod prefers by far. Without it a pod that no budget lets go might be in the way of the first node, and a roll that can replace none is not begun.
fn rather(node: &str) -> Value {
    let term = json!({"matchExpressions": [{"key": HOST, "operator": "In", "values": [node]}]});
    json!({"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
        {"weight": 100, "preference": term}]}}})
}

const HOST: &str = "kubernetes.io/hostname";
const ZONE: &str = "topology.kubernetes.io/zone";

/// Workloads that are moved by a restart where the plan says so: of a single replica, with a budget that never allows an eviction and without one. Which of several
/// equal pods a rollout ends first is drawn.
pub(super) fn singletons_that_surge() -> Scene {
    // What a rollout stops is in no list of evictions: its pods stop within their grace, and that is short.
    let told = [("start-after", "4"), ("ready-after", "4"), ("stop-seconds", "0.8")];
    let quick = |app: &str| template(app, "200m", &told, &json!({"terminationGracePeriodSeconds": 1}));
    Scene::new(
        "surge",
        nodes("web", 3, 3, "2"),
        vec![
            deployment("one", 1, &quick("one")),
            budget("one", json!({"minAvailable": 1})),
            deployment("other", 1, &quick("other")),
            deployment("cart", 3, &template("cart", "200m", USUAL, &json!({}))),
            budget("cart", json!({"minAvailable": 2})),
        ],
    )
}

/// Nodes that are to be Karpenter's: on each is one pod, for which no other has room.
pub(super) fn pool() -> Scene {
    let mut nodes = nodes("web", 5, 1, "1");
    for node in &mut nodes {
        node.labels.remove("eks.amazonaws.com/nodegroup");
        node.labels.insert("karpenter.sh/nodepool".to_owned(), "web".to_owned());
    }
    // What Karpenter evicts is in no list of evictions of the run's: its pods stop within their grace, and that is short.
    let told = [("start-after", "4"), ("ready-after", "4"), ("stop-seconds", "0.8")];
    let quick = template("api", "800m", &told, &json!({"terminationGracePeriodSeconds": 1}));
    Scene::new(
        "karpenter",
        nodes,
        vec![deployment("api", 5, &quick), budget("api", json!({"maxUnavailable": 1}))],
    )
}

/// All scenes.
#[must_use]
pub fn scenes() -> Vec<Scene> {
    let none = json!({});
    let plain = |app: &str, cpu: &str| template(app, cpu, USUAL, &none);
    vec![
        Scene::new(
            "plain",
            nodes("web", 4, 2, "2"),
            vec![
                deployment("cart", 3, &plain("cart", "250m")),
                budget("cart", json!({"minAvailable": 2})),
                deployment("front", 4, &plain("front", "200m")),
                budget("front", json!({"maxUnavailable": 1})),
                deployment("search", 2, &plain("search", "100m")),
            ],
        ),
        Scene::new(
            "slow-starts",
            nodes("web", 3, 3, "2"),
            vec![
                deployment("slow", 6, &template("slow", "300m", &[("start-after", "4"), ("ready-after", "11")], &none)),
                budget("slow", json!({"maxUnavailable": 1})),
                deployment("quick", 3, &template("quick", "100m", &[("start-after", "1")], &none)),
                budget("quick", json!({"minAvailable": "50%"})),
            ],
        )
        .aged(30),
        Scene::new(
            "stateful",
            nodes("web", 3, 3, "2"),
            vec![
                workload("StatefulSet", "db", 3, &template("db", "400m", USUAL, &apart("db", ZONE))),
                budget("db", json!({"maxUnavailable": 1})),
                workload("StatefulSet", "queue", 5, &plain("queue", "100m")),
                budget("queue", json!({"minAvailable": 3})),
            ],
        ),
        Scene::new(
            "apart",
            nodes("web", 4, 2, "2"),
            vec![
                deployment("api", 4, &template("api", "300m", USUAL, &apart("api", HOST))),
                budget("api", json!({"minAvailable": 3})),
                deployment("cache", 2, &template("cache", "100m", USUAL, &apart("cache", ZONE))),
                budget("cache", json!({"maxUnavailable": 1})),
            ],
        ),
        Scene::new(
            "zones-hard",
            nodes("web", 6, 3, "2"),
            vec![
                deployment("api", 6, &template("api", "300m", USUAL, &spread("api", ZONE, true))),
                budget("api", json!({"maxUnavailable": 2})),
                deployment("soft", 5, &template("soft", "100m", USUAL, &spread("soft", HOST, false))),
                budget("soft", json!({"maxUnavailable": "20%"})),
            ],
        ),
        Scene::new(
            "percentages",
            nodes("web", 5, 2, "2"),
            (0..6)
                .flat_map(|index| {
                    let app = format!("svc-{index}");
                    let share = ["25%", "33%", "50%", "1%", "66%", "10%"][index];
                    let replicas = 2 + u32::try_from(index).unwrap_or_default();
                    [
                        deployment(&app, replicas, &plain(&app, "100m")),
                        budget(&app, json!({ "maxUnavailable": share })),
                    ]
                })
                .collect(),
        ),
        Scene::new(
            "never-ready",
            nodes("web", 3, 1, "2"),
            vec![
                deployment("broken", 2, &template("broken", "100m", &[("start-after", "1"), ("ready-after", "never")], &rather("web-2"))),
                budget("broken", json!({"maxUnavailable": 1})),
                deployment("lenient", 2, &template("lenient", "100m", &[("start-after", "1"), ("ready-after", "never")], &none)),
                budget("lenient", json!({"maxUnavailable": 1, "unhealthyPodEvictionPolicy": "AlwaysAllow"})),
                deployment("cart", 3, &plain("cart", "100m")),
                budget("cart", json!({"minAvailable": 2})),
            ],
        )
        .aged(40),
        Scene::new(
            "overlap",
            nodes("web", 3, 1, "2"),
            vec![
                deployment("twice", 2, &plain("twice", "100m")),
                budget("twice", json!({"maxUnavailable": 1})),
                json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "twice-too", "namespace": "shop"},
                    "spec": {"selector": {"matchLabels": {"app": "twice"}}, "minAvailable": 1}}),
                deployment("never", 2, &plain("never", "100m")),
                budget("never", json!({"minAvailable": 2})),
                deployment("cart", 3, &plain("cart", "100m")),
                budget("cart", json!({"minAvailable": 2})),
            ],
        ),
        Scene::new(
            "daemons",
            nodes("web", 3, 3, "2"),
            vec![
                workload("DaemonSet", "agent", 0, &template("agent", "100m", USUAL, &json!({"hostNetwork": true}))),
                deployment("proxy", 2, &template("proxy", "100m", USUAL, &json!({"containers": [{"name": "main", "image": "proxy:1",
                    "ports": [{"containerPort": 8080, "hostPort": 8080}]}]}))),
                budget("proxy", json!({"maxUnavailable": 1})),
                deployment("cart", 3, &plain("cart", "200m")),
                budget("cart", json!({"minAvailable": 2})),
            ],
        ),
        Scene::new(
            "tight",
            nodes("web", 4, 2, "1"),
            vec![
                json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1000}),
                deployment("core", 4, &template("core", "500m", USUAL, &json!({"priorityClassName": "high"}))),
                budget("core", json!({"maxUnavailable": 1})),
                deployment("filler", 4, &plain("filler", "400m")),
                budget("filler", json!({"maxUnavailable": 2})),
            ],
        ),
        Scene::new(
            "two-groups",
            nodes("web", 3, 3, "2").into_iter().chain(nodes("other", 2, 2, "2")).collect(),
            vec![
                deployment("pinned", 3, &template("pinned", "300m", USUAL, &json!({"nodeSelector": {"eks.amazonaws.com/nodegroup": "web"}}))),
                budget("pinned", json!({"maxUnavailable": 1})),
                deployment("free", 6, &plain("free", "200m")),
                budget("free", json!({"maxUnavailable": 2})),
            ],
        ),
        Scene::new(
            "batch",
            nodes("web", 3, 3, "2"),
            vec![
                json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "report", "namespace": "shop"},
                    "spec": {"completions": 6, "parallelism": 2, "template": template("report", "200m",
                        &[("start-after", "1"), ("run-seconds", "40")], &json!({"restartPolicy": "Never"}))}}),
                deployment("cart", 3, &plain("cart", "200m")),
                budget("cart", json!({"minAvailable": 2})),
            ],
        )
        .exact()
        .aged(50),
        Scene::new(
            "singletons",
            nodes("web", 3, 3, "2"),
            vec![
                deployment("one", 1, &plain("one", "200m")),
                workload("StatefulSet", "solo", 1, &plain("solo", "200m")),
                deployment("two", 2, &template("two", "100m", USUAL, &spread("two", HOST, false))),
            ],
        )
        .with(&["--allow-incomplete", "PodDisruptionBudget"]),
        Scene::new(
            "parallel",
            nodes("web", 8, 2, "2"),
            vec![
                deployment("wide", 16, &plain("wide", "200m")),
                budget("wide", json!({"maxUnavailable": 3})),
                deployment("side", 8, &template("side", "100m", USUAL, &spread("side", HOST, false))),
                budget("side", json!({"minAvailable": "75%"})),
            ],
        )
        .with(&["--surge", "2", "--parallel", "2"]),
        // What people do without this program: kubectl drain, node by node.
        Scene::new(
            "drained-by-hand",
            nodes("web", 4, 2, "2"),
            vec![
                workload("DaemonSet", "agent", 0, &plain("agent", "50m")),
                deployment("cart", 3, &plain("cart", "250m")),
                budget("cart", json!({"minAvailable": 2})),
                deployment("front", 4, &template("front", "200m", USUAL, &spread("front", HOST, false))),
                budget("front", json!({"maxUnavailable": 1})),
                workload("StatefulSet", "db", 2, &template("db", "300m", USUAL, &apart("db", ZONE))),
                budget("db", json!({"maxUnavailable": 1})),
            ],
        )
        .by_hand(
            "at 10s: somebody drains web-0,web-1\nat 3m: somebody uncordons web-0\nat 3m5s: somebody uncordons web-1\nat 4m: somebody drains web-2\n\
             at 7m: somebody uncordons web-2\nat 8m: somebody cordons web-0\nat 9m: somebody drains web-3\n",
        ),
    ]
}
