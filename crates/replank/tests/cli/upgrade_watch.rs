//! `replank upgrade watch`.

use super::common::{Ran, replank};

const CLUSTER: &str = "examples/upgrade/cluster.yaml";
const EKS: &str = "examples/upgrade/eks/cluster.json";

fn watch(arguments: &[&str]) -> Ran {
    let words: Vec<&str> = ["upgrade", "watch"].iter().chain(arguments).copied().collect();
    replank(&words)
}

#[test]
fn support_that_ends_soon_needs_attention_and_support_that_lasts_does_not() {
    // (window, day, exit code): extended support of 1.33 ends on 2027-07-29.
    for (within, now, code) in [
        ("90d", "2026-11-20T09:00:00Z", 0),
        ("300d", "2026-11-20T09:00:00Z", 3),
        ("90d", "2027-05-01T00:00:00Z", 3),
    ] {
        let ran = watch(&[CLUSTER, "--eks", EKS, "--within", within, "--now", now]);
        assert_eq!(ran.code, Some(code), "{within} {now}: {ran:?}");
        assert_eq!(ran.stdout.contains("nothing needs attention"), code == 0, "{ran:?}");
    }
}

#[test]
fn a_controller_that_is_not_made_for_the_version_needs_attention() {
    // Cluster Autoscaler 1.33 and cert-manager 1.18 on a control plane of 1.34.
    let ran = watch(&[CLUSTER, "--from", "1.34", "--now", "2026-01-20T09:00:00Z"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(ran.stdout.contains("Cluster Autoscaler: not compatible with 1.34: update to 1.34"), "{ran:?}");
}

#[test]
fn the_json_has_dates_modules_and_what_stands_before_the_next_version() {
    let ran = watch(&[CLUSTER, "--eks", EKS, "--now", "2026-11-20T09:00:00Z", "-o", "json"]);
    let value = ran.json();
    assert_eq!(value["version"], "replank.dev/watch/v1alpha1");
    assert_eq!((&value["controlPlane"], &value["cluster"]), (&"1.33".into(), &"shop".into()));
    assert_eq!(value["attention"], serde_json::json!([]));
    let dates = value["dates"].as_array().expect("a list");
    let ends = dates.iter().find(|date| date["day"] == "2027-07-29").expect("the end of extended support");
    assert_eq!((&ends["expected"], &ends["daysLeft"]), (&false.into(), &251.into()));
    let autoscaler =
        value["modules"].as_array().expect("a list").iter().find(|one| one["name"] == "Cluster Autoscaler");
    let autoscaler = autoscaler.expect("it is known by its image");
    assert_eq!((&autoscaler["current"], &autoscaler["next"]), (&"compatible".into(), &"notMadeFor".into()));
    assert_eq!(value["next"]["version"], "1.34");
}

#[test]
fn a_release_that_is_not_announced_is_expected_as_long_after_kubernetes_as_the_ones_before() {
    // Kubernetes 1.37 came on 2026-08-26; EKS's day is not in the data.
    let value = watch(&["--eks", EKS, "--now", "2026-09-01T00:00:00Z", "-o", "json"]).json();
    let dates = value["dates"].as_array().expect("a list");
    let next =
        dates.iter().find(|date| date["what"].as_str().is_some_and(|what| what.contains("EKS offers 1.37")));
    let next = next.expect("it is ahead");
    assert_eq!(next["expected"], true);
    assert_eq!(next["day"], "2026-10-06", "{next}");
}

#[test]
fn nothing_named_is_a_usage_error() {
    assert!(watch(&[]).usage_error().contains("neither a snapshot nor EKS output"));
}
