//! Where pods would go: typical questions on the bundled example.

use super::common::{Ran, SNAPSHOT, replank, replank_reading};

/// What is printed and how it ends; the story is that of reading.
pub(crate) fn shown(ran: &Ran) -> String {
    let code = ran.code.expect("it ends by itself");
    format!("exit code {code}\n\n{}", ran.stdout)
}

fn ask(words: &[&str]) -> String {
    let mut all = vec!["place"];
    all.extend(words);
    all.push(SNAPSHOT);
    shown(&replank(&all))
}

fn manifest(text: &str, words: &[&str]) -> String {
    let mut all = vec!["place", "-f", "-", SNAPSHOT];
    all.extend(words);
    shown(&replank_reading(&all, text.as_bytes()))
}

#[test]
fn where_can_coredns_go() {
    insta::assert_snapshot!(ask(&["-n", "kube-system", "deployment/coredns"]));
}

#[test]
fn does_a_pod_with_a_volume_move_within_its_zone() {
    insta::assert_snapshot!(ask(&["site/search-index-1"]));
}

#[test]
fn a_lost_zone_keeps_a_pod_with_a_volume_there_waiting() {
    insta::assert_snapshot!(ask(&[
        "site/search-index-1",
        "--cordon",
        "topology.kubernetes.io/zone=ap-northeast-1c"
    ]));
}

#[test]
fn how_many_more_copies_fit() {
    insta::assert_snapshot!(ask(&["-n", "site", "deployment/apply", "--replicas", "10"]));
}

#[test]
fn scores_are_shown_with_o_wide() {
    insta::assert_snapshot!(ask(&["site/deployment/web", "-o", "wide"]));
}

#[test]
fn what_if_a_node_goes() {
    insta::assert_snapshot!(ask(&[
        "--all-pending",
        "--without",
        "ip-10-0-1-17.ap-northeast-1.compute.internal"
    ]));
}

#[test]
fn what_if_only_the_batch_nodes_took_pods() {
    insta::assert_snapshot!(ask(&["site/deployment/web", "--only-group", "batch"]));
}

#[test]
fn where_would_a_pod_go_if_its_node_went() {
    let pod = "site/session-store-nrnzjrvl45-bpd7s";
    insta::assert_snapshot!(ask(&[pod, "--without", "topology.kubernetes.io/zone=ap-northeast-1c"]));
}

#[test]
fn nothing_waits() {
    insta::assert_snapshot!(ask(&["--all-pending"]));
}

#[test]
fn a_manifest_with_a_mistyped_selector() {
    let text = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: mailer, namespace: site}\n\
                spec:\n  replicas: 2\n  selector: {matchLabels: {app: mailer}}\n  template:\n    \
                metadata: {labels: {app: mailer}}\n    spec:\n      nodeSelector: {tier: wbe}\n      \
                containers: [{name: mailer, image: mailer:1}]\n";
    insta::assert_snapshot!(manifest(text, &[]));
}

#[test]
fn a_manifest_of_a_daemon_set() {
    let text = "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: scanner, namespace: kube-system}\n\
                spec:\n  selector: {matchLabels: {app: scanner}}\n  template:\n    \
                metadata: {labels: {app: scanner}}\n    spec:\n      \
                containers: [{name: scanner, image: scanner:1, resources: {requests: {cpu: 900m}}}]\n";
    insta::assert_snapshot!(manifest(text, &[]));
}

/// A StatefulSet with a Service and claims of a storage class.
fn stateful_set(class: &str) -> String {
    let text = "apiVersion: v1\nkind: Service\nmetadata: {name: queue}\nspec: {clusterIP: None, selector: {app: queue}}\n---\n\
                apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: queue}\n\
                spec:\n  serviceName: queue\n  replicas: 3\n  selector: {matchLabels: {app: queue}}\n  template:\n    \
                metadata: {labels: {app: queue}}\n    spec:\n      topologySpreadConstraints:\n      \
                - {maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule, \
                labelSelector: {matchLabels: {app: queue}}}\n      \
                containers: [{name: queue, image: queue:1, volumeMounts: [{name: data, mountPath: /data}], \
                resources: {requests: {cpu: 200m}}}]\n  \
                volumeClaimTemplates:\n  - metadata: {name: data}\n    spec: {CLASSaccessModes: [ReadWriteOnce], \
                resources: {requests: {storage: 10Gi}}}\n";
    text.replace("CLASS", class)
}

#[test]
fn a_manifest_of_a_stateful_set_with_claims() {
    insta::assert_snapshot!(manifest(&stateful_set("storageClassName: gp3, "), &["-n", "site"]));
}

#[test]
fn a_stateful_set_that_counts_on_a_default_class_which_there_is_not() {
    insta::assert_snapshot!(manifest(&stateful_set(""), &["-n", "site"]));
}

#[test]
fn a_manifest_of_a_pod_that_is_too_large_and_one_that_is_not() {
    let text = "apiVersion: v1\nkind: Pod\nmetadata: {name: merge, namespace: batch}\n\
                spec:\n  tolerations: [{key: dedicated, operator: Exists}]\n  \
                containers: [{name: merge, image: merge:1, resources: {requests: {cpu: '1', memory: 60Gi}}}]\n---\n\
                apiVersion: v1\nkind: Pod\nmetadata: {name: small, namespace: batch}\n\
                spec: {containers: [{name: small, image: small:1}]}\n";
    insta::assert_snapshot!(manifest(text, &[]));
}

#[test]
fn names_alone() {
    insta::assert_snapshot!(ask(&["site/deployment/thumbnails", "-o", "name"]));
}

#[test]
fn json_says_the_same() {
    let mut words = vec!["place", "site/deployment/thumbnails", SNAPSHOT];
    let names = replank(&[&words[..], &["-o", "name"]].concat()).stdout;
    words.extend(["-o", "json"]);
    let json = replank(&words).json();
    let question = &json["questions"][0];
    let nodes = question["nodes"].as_array().expect("a list");
    let fitting = nodes.iter().filter(|node| node["fits"] == true).count();
    assert_eq!((question["feasible"].as_u64(), fitting), (Some(fitting as u64), names.lines().count()));
    let best = question["best"][0].as_str().expect("a node");
    assert!(names.contains(best), "{best} {names}");
}

#[test]
fn the_same_question_has_the_same_answer() {
    let words = ["place", "-n", "site", "deployment/apply", "--replicas", "4", SNAPSHOT, "-o", "json"];
    assert_eq!(replank(&words).stdout, replank(&words).stdout);
}
