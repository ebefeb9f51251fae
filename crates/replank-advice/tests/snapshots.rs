//! What is found in dumps of real control planes, against what their descriptions say must be found and must not.
//!
//! The dumps are not part of this repository: `REPLANK_DATA` names the directory that has `snapshots/`. Without it the tests
//! say so and pass.

#![expect(clippy::disallowed_methods, reason = "the crate is pure, this test reads files")]

use std::io::Read;
use std::path::PathBuf;

use flate2::read::GzDecoder;
use replank_advice::check::{Finding, Rule, run};
use replank_facts::finding::Severity;
use replank_facts::groups::GroupBy;
use replank_facts::plan::RunOptions;
use replank_facts::plan::{Plan, Target};
use replank_model::delta::Delta;
use replank_model::object::{Object, Projector};
use replank_model::time::Time;
use replank_model::view::View;
use replank_oracle::tell::tell;

/// The snapshot of a name and its newest node heartbeat.
fn snapshot(name: &str) -> Option<(View, Time)> {
    let Some(data) = std::env::var_os("REPLANK_DATA") else {
        tell(format!("skipped: REPLANK_DATA names no directory with snapshots/{name}.json.gz"));
        return None;
    };
    let path = PathBuf::from(data).join("snapshots").join(format!("{name}.json.gz"));
    let file = std::fs::File::open(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut text = String::new();
    GzDecoder::new(file).read_to_string(&mut text).expect("gzip");
    let list: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let mut projector = Projector::default();
    let items = list["items"].as_array().expect("a List").iter();
    let objects: Vec<Object> = items.map(|item| projector.object(item.clone()).expect("an object")).collect();
    let view: View = objects.into_iter().map(Delta::Put).collect();
    let heartbeats = view.nodes.unordered().flat_map(|(_, node)| &node.status.conditions);
    let now = heartbeats.filter_map(|condition| condition.last_heartbeat_time).max().expect("a heartbeat");
    Some((view, now))
}

fn findings(name: &str, plan: Option<&Plan>) -> Option<Vec<Finding>> {
    let (view, now) = snapshot(name)?;
    Some(run(&view, plan, &RunOptions { started: now, group_by: GroupBy::default() }))
}

/// That each expectation, `<severity> <rule> <object>` and parts of the reason, is met by a finding.
fn expect(findings: &[Finding], expected: &[(&str, &[&str])]) {
    for (head, parts) in expected {
        let met = findings.iter().any(|finding| {
            let text = finding.to_string();
            text.starts_with(&format!("{head}:")) && parts.iter().all(|part| finding.reason.contains(part))
        });
        assert!(met, "{head} {parts:?} is not among\n{}", lines(findings));
    }
}

/// That nothing blocking is said of objects of these names.
fn spare(findings: &[Finding], names: &[&str]) {
    for finding in findings.iter().filter(|finding| finding.severity == Severity::Blocking) {
        assert!(!names.contains(&finding.object.key.name.as_str()), "{finding}");
    }
}

fn lines(findings: &[Finding]) -> String {
    findings.iter().map(|finding| format!("{finding}\n    {}\n", finding.remedy)).collect()
}

const DISRUPTION_BUDGET: &str = "PodDisruptionBudget";

#[test]
fn everything_that_the_boutiques_description_lists_is_found() {
    let Some(findings) = findings("A-boutique", None) else { return };
    let pdb =
        |severity: &str, rule: &str, name: &str| format!("{severity} {rule} {DISRUPTION_BUDGET} {name}");
    let heads = [
        pdb("blocking", "pdb-never-allows", "boutique/redis-cart"),
        pdb("blocking", "pdb-never-allows", "boutique/emailservice"),
        pdb("warning", "pdb-not-counted", "batch/embedding-train"),
        pdb("warning", "pdb-waits-for-batch", "pipelines/nightly-etl-1795158000"),
        pdb("warning", "pdb-not-counted", "pipelines/adhoc-backfill-x7k2p"),
    ];
    expect(
        &findings,
        &[
            (&heads[0], &["minAvailable 1 of 1"]),
            ("warning local-storage Deployment boutique/redis-cart", &["redis-data", "only copy"]),
            (&heads[1], &["minAvailable 100% of 4"]),
            (
                &heads[2],
                &[
                    "maxUnavailable 0",
                    "jobs.batch does not implement the scale subresource",
                    "until they have finished",
                ],
            ),
            (&heads[3], &["9999 of 5", "2h25m7s", "4 earlier runs took 1h55m8s to 2h12m13s"]),
            (
                &heads[4],
                &["minAvailable 100%", "workflows.argoproj.io does not implement", "no retryStrategy"],
            ),
            (
                "warning batch-unprotected Workflow pipelines/metrics-rollup-1795166100",
                &["no disruption budget and no retryStrategy", "fails the run"],
            ),
            (
                "info batch-unprotected Workflow pipelines/feature-store-1795165200",
                &["Always", "only the step's time"],
            ),
            (
                "info batch-unprotected Job batch/data-export-q4",
                &["ignores disruptions", "running for 3h58m"],
            ),
            (
                "warning batch-unprotected CronJob batch/search-index-rebuild",
                &["backoffLimit 0", "29m45s to 52m42s", "5 * * * *"],
            ),
            (
                "info pinned-to-group StatefulSet monitoring/prometheus-k8s",
                &["eks.amazonaws.com/nodegroup=system"],
            ),
            ("info zone-bound StatefulSet monitoring/prometheus-k8s", &["1c", "1d"]),
            ("info long-grace StatefulSet monitoring/prometheus-k8s", &["10m"]),
            (
                "info placed-apart StatefulSet monitoring/alertmanager-main",
                &["at most one in each of 3 zones"],
            ),
            ("info zone-bound StatefulSet monitoring/alertmanager-main", &["1a", "1c", "1d"]),
            ("warning no-budget Deployment boutique/shippingservice", &["8 replicas"]),
            ("warning no-budget Deployment boutique/adservice", &["6 replicas"]),
            ("warning no-budget Deployment boutique/thumbnailer", &["22 replicas"]),
            ("warning singleton Deployment monitoring/grafana", &["emptyDir"]),
            ("warning singleton Deployment monitoring/kube-state-metrics", &[]),
            ("warning singleton Deployment monitoring/prometheus-operator", &[]),
            ("warning singleton Deployment monitoring/blackbox-exporter", &[]),
            ("warning singleton Deployment argo/workflow-controller", &[]),
            ("warning singleton Deployment argo/argo-server", &[]),
            ("warning singleton Deployment kube-system/cluster-autoscaler", &["safe-to-evict=false"]),
            // Not in the description, and so: pods under a budget, and none has the controller's finalizer.
            ("info result-unrecorded Workflow pipelines/adhoc-backfill-x7k2p", &["2 pods", "the run fails"]),
            (
                "info result-unrecorded Workflow pipelines/nightly-etl-1795158000",
                &["4 pods", "the step is repeated"],
            ),
            (
                "warning hpa-at-maximum HorizontalPodAutoscaler boutique/recommendationservice",
                &["10 replicas"],
            ),
        ],
    );
    // Its schedules are read, catch up within 300 s, and none is about to begin that another moment would avoid.
    let of_schedules =
        findings.iter().filter(|finding| matches!(finding.rule, Rule::CronSoon | Rule::CronSkips));
    assert_eq!(of_schedules.count(), 0, "{}", lines(&findings));
    spare(
        &findings,
        &[
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
            "aws-node",
            "kube-proxy",
            "ebs-csi-node",
            "node-exporter",
        ],
    );
}

#[test]
fn everything_that_the_elastic_clusters_description_lists_is_found() {
    let Some(findings) = findings("B-elastic", None) else { return };
    expect(
        &findings,
        &[
            ("blocking pdb-never-allows PodDisruptionBudget engine/leader-lock", &["maxUnavailable 0"]),
            ("info placed-apart Deployment engine/master", &["at most one in each of 3 zones"]),
            ("info placed-apart StatefulSet stateful/kafka", &["at most one in each of 12 nodes"]),
            ("info zone-bound StatefulSet stateful/kafka", &["1a", "1c", "1d"]),
            (
                "info placed-apart StatefulSet stateful/cassandra",
                &["spread over 12 nodes", "spread over 3 zones"],
            ),
            ("info zone-bound StatefulSet stateful/cassandra", &["1a", "1c", "1d"]),
            ("warning long-grace StatefulSet stateful/cassandra", &["30m", "gives up after 15m"]),
            (
                "info pinned-to-group Deployment engine/coordinator",
                &["eks.amazonaws.com/nodegroup=scaler-od"],
            ),
            ("info placed-apart Deployment engine/coordinator", &["3 zones"]),
            ("info spot-only Deployment engine/scaler-burst", &["40 pods"]),
            ("warning hpa-at-maximum HorizontalPodAutoscaler engine/scaler-burst", &["40 replicas"]),
            (
                "warning hpa-at-maximum HorizontalPodAutoscaler istio-system/istio-ingressgateway",
                &["6 replicas"],
            ),
            ("info pdb-weak PodDisruptionBudget istio-system/istio-ingressgateway", &["1 of 6"]),
            ("warning singleton Deployment guestbook/redis-leader", &[]),
            ("warning no-budget ReplicationController guestbook/redis-replica-legacy", &["2 replicas"]),
            ("warning no-budget Deployment guestbook/frontend", &[]),
            ("warning no-budget Deployment guestbook/redis-follower", &[]),
            ("warning no-budget Deployment bookinfo/details-v1", &[]),
            ("warning no-budget Deployment bookinfo/ratings-v1", &[]),
            ("warning no-budget Deployment bookinfo/reviews-v1", &[]),
            ("warning singleton Deployment kube-system/cluster-autoscaler", &["safe-to-evict=false"]),
            ("info pending-before Deployment engine/analyst", &["3 pods"]),
            ("info pending-before Deployment engine/gpu-infer", &["2 pods", "nvidia.com/gpu"]),
            ("info pending-before Deployment engine/big-merge", &["1 pod"]),
        ],
    );
    spare(
        &findings,
        &["scaler-worker", "scaler-burst", "istiod", "planner", "redis", "productpage", "productpage-v1"],
    );
}

#[test]
fn a_plan_narrows_what_is_looked_at() {
    let plan = Plan::of_groups("p", vec!["batch".into()], Target::default());
    let Some(findings) = findings("A-boutique", Some(&plan)) else { return };
    let of = |namespace: &str| findings.iter().any(|finding| finding.object.key.namespace == namespace);
    assert!(of("batch") && of("pipelines"), "{}", lines(&findings));
    assert!(!of("boutique") && !of("monitoring"), "{}", lines(&findings));
}
