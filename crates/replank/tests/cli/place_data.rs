//! Where pods would go: typical questions on dumps of real control planes.
//!
//! The dumps are not part of this repository: `REPLANK_DATA` names the directory that has `snapshots/`. Without it the tests
//! say so and pass.

use std::path::PathBuf;

use super::common::{replank, replank_reading};
use super::place::shown;
use replank_oracle::tell::tell;

pub(crate) fn snapshot(name: &str) -> Option<String> {
    let Some(data) = std::env::var_os("REPLANK_DATA") else {
        tell(format!("skipped: REPLANK_DATA names no directory with snapshots/{name}.json.gz"));
        return None;
    };
    let path = PathBuf::from(data).join("snapshots").join(format!("{name}.json.gz"));
    Some(path.to_str().expect("the path is text").to_owned())
}

fn ask(name: &str, words: &[&str]) -> Option<String> {
    let snapshot = snapshot(name)?;
    Some(shown(&replank(&[&["place"], words, &[&snapshot]].concat())))
}

fn manifest(name: &str, text: &str) -> Option<String> {
    let snapshot = snapshot(name)?;
    Some(shown(&replank_reading(&["place", "-f", "-", &snapshot], text.as_bytes())))
}

/// One question, one golden file.
macro_rules! questions {
    ($( $name:ident: $snapshot:literal, [$($word:literal),*]; )*) => {
        $(
            #[test]
            fn $name() {
                if let Some(answer) = ask($snapshot, &[$($word),*]) {
                    insta::assert_snapshot!(answer);
                }
            }
        )*
    };
}

questions! {
    what_waits: "B-elastic", ["--all-pending"];
    one_more_analyst_asks_for_a_role_that_nobody_has: "B-elastic", ["engine/deployment/analyst"];
    gpu_infer_asks_for_what_no_node_has: "B-elastic", ["engine/deployment/gpu-infer"];
    big_merge_asks_for_more_than_any_node_has: "B-elastic", ["engine/deployment/big-merge"];
    where_can_coredns_go_in_a: "A-boutique", ["-n", "kube-system", "deployment/coredns"];
    where_can_coredns_go_in_b: "B-elastic", ["-n", "kube-system", "deployment/coredns"];
    does_prometheus_move_within_its_zone: "A-boutique", ["monitoring/prometheus-k8s-0"];
    how_many_more_scaler_workers_fit: "B-elastic", ["engine/deployment/scaler-worker", "--replicas", "500"];
    what_if_only_one_spot_group_took_pods: "B-elastic", ["engine/deployment/scaler-burst", "--replicas", "10", "--only-group", "scaler-spot-b"];
    kafka_with_a_lost_zone: "B-elastic", ["--all-pending", "--without", "topology.kubernetes.io/zone=ap-northeast-1c"];
    what_if_the_group_system_goes: "A-boutique", ["--all-pending", "--without", "eks.amazonaws.com/nodegroup=system"];
    coordinator_is_tied_to_its_group: "B-elastic", ["engine/deployment/coordinator", "--cordon", "eks.amazonaws.com/nodegroup=scaler-od"];
}

#[test]
fn a_manifest_for_spot_that_forgets_the_toleration() {
    let text = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: resize, namespace: boutique}\n\
                spec:\n  replicas: 3\n  selector: {matchLabels: {app: resize}}\n  template:\n    \
                metadata: {labels: {app: resize}}\n    spec:\n      \
                nodeSelector: {eks.amazonaws.com/capacityType: SPOT}\n      \
                containers: [{name: resize, image: resize:1, resources: {requests: {cpu: 500m}}}]\n";
    if let Some(answer) = manifest("A-boutique", text) {
        insta::assert_snapshot!(answer);
    }
}

#[test]
fn a_daemon_set_of_one_role() {
    let text = "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: cache, namespace: engine}\n\
                spec:\n  selector: {matchLabels: {app: cache}}\n  template:\n    \
                metadata: {labels: {app: cache}}\n    spec:\n      nodeSelector: {kubernetes.io/role: master}\n      \
                tolerations: [{key: kubernetes.io/role, operator: Exists}]\n      \
                containers: [{name: cache, image: cache:1, resources: {requests: {memory: 16Gi}}}]\n";
    if let Some(answer) = manifest("B-elastic", text) {
        insta::assert_snapshot!(answer);
    }
}
