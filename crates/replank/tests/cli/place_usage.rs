//! Questions that cannot be asked: exit code 2, the API server's own words, and what to do.

use super::common::{SNAPSHOT, replank, replank_reading, scratch};

fn error(words: &[&str]) -> String {
    replank(&[&["place"], words].concat()).usage_error()
}

fn manifest(text: &str) -> String {
    replank_reading(&["place", "-f", "-", SNAPSHOT], text.as_bytes()).usage_error()
}

#[test]
fn a_pod_that_is_not_there() {
    insta::assert_snapshot!(error(&["nobody", SNAPSHOT]));
}

#[test]
fn a_pod_that_is_in_another_namespace() {
    insta::assert_snapshot!(error(&["search-index-0", SNAPSHOT]));
}

#[test]
fn a_deployment_that_is_taken_for_a_pod() {
    insta::assert_snapshot!(error(&["site/web", SNAPSHOT]));
}

#[test]
fn a_deployment_that_is_mistyped() {
    insta::assert_snapshot!(error(&["-n", "site", "deployment/wbe", SNAPSHOT]));
}

#[test]
fn no_snapshot() {
    insta::assert_snapshot!(error(&["deployment/web"]));
}

#[test]
fn a_snapshot_in_place_of_a_pod() {
    insta::assert_snapshot!(error(&[SNAPSHOT]));
}

#[test]
fn nothing_is_asked_about() {
    insta::assert_snapshot!(error(&[]));
}

#[test]
fn a_node_that_is_not_there() {
    let node = "ip-10-0-1-71.ap-northeast-1.compute.internal";
    insta::assert_snapshot!(error(&["site/deployment/web", SNAPSHOT, "--without", node]));
}

#[test]
fn a_group_that_is_not_there() {
    insta::assert_snapshot!(error(&["site/deployment/web", SNAPSHOT, "--only-group", "bacth"]));
}

#[test]
fn a_manifest_without_anything_to_place() {
    insta::assert_snapshot!(manifest("apiVersion: v1\nkind: Service\nmetadata: {name: a}\n"));
}

#[test]
fn a_priority_class_that_is_not_there() {
    let text = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n\
                spec: {priorityClassName: urgent, containers: [{name: a, image: a}]}\n";
    insta::assert_snapshot!(manifest(text));
}

/// A Deployment whose containers, and a pod spec's other members, are these.
fn deployment(containers: &str, more: &str) -> String {
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: a}}\nspec:\n  selector: {{matchLabels: {{app: a}}}}\n  \
         template:\n    metadata: {{labels: {{app: a}}}}\n    spec: {{containers: [{containers}]{more}}}\n"
    )
}

#[test]
fn a_manifest_without_containers() {
    insta::assert_snapshot!(manifest(&deployment("", "")));
}

#[test]
fn a_negative_quantity() {
    let container = "{name: a, image: a, resources: {requests: {cpu: -1}}}";
    insta::assert_snapshot!(manifest(&deployment(container, "")));
}

#[test]
fn a_selector_with_a_bad_operator() {
    let affinity = ", affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: \
                    [{matchExpressions: [{key: tier, operator: Is, values: [web]}]}]}}}";
    insta::assert_snapshot!(manifest(&deployment("{name: a, image: a}", affinity)));
}

#[test]
fn a_kind_that_is_mistyped() {
    let text = deployment("{name: a, image: a}", "").replace("Deployment", "Deploymnet");
    insta::assert_snapshot!(manifest(&text));
}

#[test]
fn a_version_that_is_not_served_any_more() {
    let text = deployment("{name: a, image: a}", "").replace("apps/v1", "extensions/v1beta1");
    insta::assert_snapshot!(manifest(&text));
}

#[test]
fn a_custom_kind_whose_pods_the_api_server_would_refuse() {
    let container = "{name: a, image: a, resources: {requests: {cpu: -1}}}";
    let text =
        deployment(container, "").replace("apps/v1", "argoproj.io/v1alpha1").replace("Deployment", "Rollout");
    insta::assert_snapshot!(manifest(&text));
}

#[test]
fn a_preemption_policy_beside_that_of_the_class() {
    let text = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n\
                spec: {preemptionPolicy: Never, containers: [{name: a, image: a}]}\n";
    insta::assert_snapshot!(manifest(text));
}

#[test]
fn a_manifest_and_a_pod() {
    insta::assert_snapshot!(error(&["-f", "-", "deployment/web", SNAPSHOT]));
}

#[test]
fn what_a_manifests_objects_meet_in_the_snapshot_is_told() {
    let known = deployment("{name: a, image: a}", "")
        .replace("{name: a}\nspec", "{name: web, namespace: site}\nspec");
    let ran = replank_reading(&["place", "-f", "-", SNAPSHOT], known.as_bytes());
    assert!(ran.stdout.contains("its 8 pods stay"), "{ran:?}");
    let elsewhere = deployment("{name: a, image: a}", "")
        .replace("{name: a}\nspec", "{name: a, namespace: nowhere}\nspec");
    let ran = replank_reading(&["place", "-f", "-", SNAPSHOT], elsewhere.as_bytes());
    assert!(ran.stdout.contains("namespaces \"nowhere\" not found"), "{ran:?}");
}

#[test]
fn a_pod_that_names_its_node_is_asked_about_as_if_it_did_not() {
    let text = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {nodeName: ip-10-0-1-94.ap-northeast-1.compute.internal, \
                containers: [{name: a, image: a, resources: {requests: {cpu: 100m}}}]}\n";
    let ran = replank_reading(&["place", "-f", "-", SNAPSHOT], text.as_bytes());
    assert!(
        ran.stdout.contains("names the node ip-10-0-1-94") && ran.stdout.contains("fits on 6 of 10"),
        "{ran:?}"
    );
}

#[test]
fn a_member_that_nobody_reads_is_told() {
    let text = deployment("{name: a, image: a}", ", nodeSelecter: {tier: web}");
    let ran = replank_reading(&["place", "-f", "-", SNAPSHOT], text.as_bytes());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stderr.contains("unknown field") && ran.stderr.contains("nodeSelecter"), "{}", ran.stderr);
}

#[test]
fn a_manifest_that_is_no_yaml() {
    let file = scratch("broken-manifest.yaml", "spec: {containers: [web\n");
    let told = error(&["-f", &file, SNAPSHOT]);
    assert!(told.contains("cannot be read") && told.contains("line "), "{told}");
}

#[test]
fn values_that_are_none() {
    for (flag, value) in [("--replicas", "0"), ("--replicas", "many"), ("-o", "yaml"), ("--without", "=b")] {
        let told = error(&["site/deployment/web", SNAPSHOT, flag, value]);
        assert!(told.contains(value), "{flag} {value}: {told}");
    }
}

#[test]
fn questions_that_exclude_each_other() {
    for words in
        [["--all-pending", "--audit"], ["--all-pending", "--replicas=2"], ["--audit", "--replicas=2"]]
    {
        let told = error(&[&words[..], &[SNAPSHOT]].concat());
        assert!(told.contains("cannot be used with"), "{words:?}: {told}");
    }
}
