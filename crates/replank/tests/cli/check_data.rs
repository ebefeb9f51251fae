//! Dumps of real control planes: every finding that their descriptions list, none that they rule out, and no other without a
//! reason. `REPLANK_DATA` names where they are; without it the tests say so and pass.

use super::common::replank;
use super::place_data::snapshot;

/// What a description lists: id and object; `*` at the end stands for any ending.
type Row = (&'static str, &'static str);
/// What is found besides: id, object and why it is right.
type Extra = (&'static str, &'static str, &'static str);

const BOUTIQUE: &[Row] = &[
    ("pdb-never-allows", "PodDisruptionBudget boutique/redis-cart"),
    ("local-storage", "Deployment boutique/redis-cart"),
    ("pdb-never-allows", "PodDisruptionBudget boutique/emailservice"),
    ("pdb-not-counted", "PodDisruptionBudget batch/embedding-train"),
    ("pdb-waits-for-batch", "PodDisruptionBudget pipelines/nightly-etl-1795158000"),
    ("pdb-not-counted", "PodDisruptionBudget pipelines/adhoc-backfill-x7k2p"),
    ("batch-unprotected", "Workflow pipelines/metrics-rollup-*"),
    ("batch-unprotected", "Workflow pipelines/feature-store-*"),
    ("batch-unprotected", "Job batch/data-export-q4"),
    ("batch-unprotected", "CronJob batch/search-index-rebuild"),
    ("pinned-to-group", "StatefulSet monitoring/prometheus-k8s"),
    ("zone-bound", "StatefulSet monitoring/prometheus-k8s"),
    ("long-grace", "StatefulSet monitoring/prometheus-k8s"),
    ("placed-apart", "StatefulSet monitoring/alertmanager-main"),
    ("zone-bound", "StatefulSet monitoring/alertmanager-main"),
    ("no-budget", "Deployment boutique/shippingservice"),
    ("no-budget", "Deployment boutique/adservice"),
    ("no-budget", "Deployment boutique/thumbnailer"),
    ("singleton", "Deployment monitoring/grafana"),
    ("local-storage", "Deployment monitoring/grafana"),
    ("singleton", "Deployment monitoring/kube-state-metrics"),
    ("singleton", "Deployment monitoring/prometheus-operator"),
    ("singleton", "Deployment monitoring/blackbox-exporter"),
    ("singleton", "Deployment argo/workflow-controller"),
    ("singleton", "Deployment argo/argo-server"),
    ("singleton", "Deployment kube-system/cluster-autoscaler"),
    ("hpa-at-maximum", "HorizontalPodAutoscaler boutique/recommendationservice"),
];

const BOUTIQUE_EXTRA: &[Extra] = &[
    (
        "no-budget",
        "Deployment boutique/loadgenerator",
        "2 replicas and no budget, though nobody is served by it",
    ),
    ("no-budget", "Deployment kube-system/aws-load-balancer-controller", "2 replicas and no budget"),
    ("local-storage", "Deployment argo/argo-server", "an emptyDir of the only copy"),
    ("local-storage", "Deployment boutique/thumbnailer", "an emptyDir, told as info"),
    ("local-storage", "Deployment kube-system/*", "an emptyDir, told as info"),
    ("local-storage", "Deployment monitoring/prometheus-adapter", "an emptyDir, told as info"),
    (
        "placed-apart",
        "Deployment boutique/*",
        "a spread over zones that must hold: it asks for a surge of one node for each zone",
    ),
    ("placed-apart", "StatefulSet monitoring/prometheus-k8s", "required anti-affinity by host, told as info"),
    (
        "result-unrecorded",
        "Workflow pipelines/*",
        "a budget and no finalizer: other drains may lose the record, told as info",
    ),
    (
        "shutdown-timing",
        "Deployment boutique/frontend",
        "a LoadBalancer to nodes, no preStop: refused until the proxies of nodes know, told as info",
    ),
    ("spot-only", "Deployment boutique/thumbnailer", "it tolerates and selects spot only, told as info"),
];

const ELASTIC: &[Row] = &[
    ("pdb-never-allows", "PodDisruptionBudget engine/leader-lock"),
    ("placed-apart", "Deployment engine/master"),
    ("zone-bound", "StatefulSet stateful/kafka"),
    ("placed-apart", "StatefulSet stateful/kafka"),
    ("zone-bound", "StatefulSet stateful/cassandra"),
    ("placed-apart", "StatefulSet stateful/cassandra"),
    ("long-grace", "StatefulSet stateful/cassandra"),
    ("pinned-to-group", "Deployment engine/coordinator"),
    ("placed-apart", "Deployment engine/coordinator"),
    ("spot-only", "Deployment engine/scaler-burst"),
    ("hpa-at-maximum", "HorizontalPodAutoscaler engine/scaler-burst"),
    ("hpa-at-maximum", "HorizontalPodAutoscaler istio-system/istio-ingressgateway"),
    ("pdb-weak", "PodDisruptionBudget istio-system/istio-ingressgateway"),
    ("singleton", "Deployment guestbook/redis-leader"),
    ("no-budget", "ReplicationController guestbook/redis-replica-legacy"),
    ("no-budget", "Deployment guestbook/*"),
    ("no-budget", "Deployment bookinfo/details-v1"),
    ("no-budget", "Deployment bookinfo/ratings-v1"),
    ("no-budget", "Deployment bookinfo/reviews-*"),
    ("singleton", "Deployment kube-system/cluster-autoscaler"),
    ("pending-before", "Deployment engine/analyst"),
    ("pending-before", "Deployment engine/gpu-infer"),
    ("pending-before", "Deployment engine/big-merge"),
];

const ELASTIC_EXTRA: &[Extra] = &[
    ("no-budget", "Deployment kube-system/aws-load-balancer-controller", "2 replicas and no budget"),
    ("zone-bound", "StatefulSet stateful/redis", "its volumes are bound to zones like kafka's"),
    ("local-storage", "Deployment bookinfo/*", "an emptyDir, told as info"),
    ("local-storage", "Deployment istio-system/istio-ingressgateway", "an emptyDir, told as info"),
    (
        "shutdown-timing",
        "Deployment istio-system/istio-ingressgateway",
        "an NLB to pods sends for up to 180 s, and Envoy ends at 5 s",
    ),
    ("proxy-drain", "Deployment istio-system/istio-ingressgateway", "Envoy ends at 5 s of a grace of 30 s"),
    ("proxy-drain", "Deployment bookinfo/*", "sidecars that end at 5 s of a grace of 30 s, told as info"),
    ("local-storage", "Deployment kube-system/*", "an emptyDir, told as info"),
    (
        "label-by-hand",
        "Label kubernetes.io/role",
        "pods select kubernetes.io/role, which no kubelet sets on a new node",
    ),
];

/// Whether a row speaks of a finding.
fn is_of((id, object): (&str, &str), finding: &(String, String)) -> bool {
    let is_object = match object.strip_suffix('*') {
        Some(head) => finding.1.starts_with(head),
        None => finding.1 == object,
    };
    finding.0 == id && is_object
}

fn held(name: &str, listed: &[Row], extra: &[Extra], never_blocking: &[&str]) {
    let Some(path) = snapshot(name) else { return };
    let all = replank(&["check", &path, "-o", "json"]).json();
    let all = all["findings"].as_array().expect("a list").clone();
    let found: Vec<(String, String)> = all
        .iter()
        .map(|one| {
            (
                one["id"].as_str().unwrap_or_default().to_owned(),
                one["object"].as_str().unwrap_or_default().to_owned(),
            )
        })
        .collect();
    let missing: Vec<&Row> = listed.iter().filter(|row| !found.iter().any(|one| is_of(**row, one))).collect();
    assert!(missing.is_empty(), "listed and not found: {missing:?}");
    let known = |one: &(String, String)| {
        listed.iter().any(|row| is_of(*row, one))
            || extra.iter().any(|(id, object, _)| is_of((*id, *object), one))
    };
    let unexplained: Vec<_> = found.iter().filter(|one| !known(one)).collect();
    assert!(unexplained.is_empty(), "found and not explained: {unexplained:#?}");
    let idle: Vec<_> =
        extra.iter().filter(|(id, object, _)| !found.iter().any(|one| is_of((*id, *object), one))).collect();
    assert!(idle.is_empty(), "explained and not found: {idle:?}");
    for one in all.iter().filter(|one| one["severity"] == "blocking") {
        let object = one["object"].as_str().unwrap_or_default();
        let name = object.rsplit('/').next().unwrap_or_default();
        assert!(!never_blocking.contains(&name), "{object} must not be blocking: {one}");
    }
}

#[test]
fn the_boutique_cluster_has_what_is_listed_and_nothing_unexplained() {
    let never = [
        "frontend",
        "checkoutservice",
        "cartservice",
        "currencyservice",
        "productcatalogservice",
        "paymentservice",
        "recommendationservice",
        "coredns",
        "metrics-server",
        "prometheus-k8s",
    ];
    held("A-boutique", BOUTIQUE, BOUTIQUE_EXTRA, &never);
}

#[test]
fn the_elastic_cluster_has_what_is_listed_and_nothing_unexplained() {
    let never = ["scaler-worker", "scaler-burst", "istiod", "planner", "redis", "productpage"];
    held("B-elastic", ELASTIC, ELASTIC_EXTRA, &never);
}
