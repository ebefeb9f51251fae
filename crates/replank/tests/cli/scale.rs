//! `replank scale simulate`: what would be added now, and why not more.

use super::common::{replank, scratch};
use super::place_data::snapshot;

fn simulate(words: &[&str]) -> super::common::Ran {
    replank(&[&["scale", "simulate"], words].concat())
}

#[test]
fn the_bundled_example_needs_no_node() {
    let ran = simulate(&[]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.starts_with("Scale up  no pod is pending\n"), "{ran:?}");
    assert!(ran.stdout.contains("\nScale down  ") && ran.stdout.contains("\nAssumptions  "), "{ran:?}");
}

#[test]
fn the_scale_example_says_what_comes_and_what_waits() {
    let ran = simulate(&["examples/scale/cluster.yaml", "--groups", "examples/scale/groups.json"]);
    assert_eq!(ran.code, Some(3), "one pod goes on waiting: {ran:?}");
    for expected in ["batch", "ReplicaSet shop/orders", "didn't match PersistentVolume's node affinity"] {
        assert!(ran.stdout.contains(expected), "{expected}: {ran:?}");
    }
    assert!(
        ran.stderr.contains("group spare: tag k8s.io/cluster-autoscaler/node-template/taint/role"),
        "{ran:?}"
    );
}

#[test]
fn the_elastic_cluster() {
    if let Some(snapshot) = snapshot("B-elastic") {
        let ran = simulate(&[&snapshot]);
        assert_eq!(ran.code, Some(3), "{ran:?}");
        assert!(ran.stdout.starts_with("Scale up  no group helps: 6 pods pending\n"), "{ran:?}");
        assert!(ran.stdout.contains("flags of Deployment"), "{ran:?}");
        assert!(
            ran.stdout.contains("scaler-od, scaler-spot-a: requests 1 nvidia.com/gpu, the node has 0"),
            "{ran:?}"
        );
    }
}

#[test]
fn the_json_says_the_same() {
    let value = simulate(&["-o", "json"]).json();
    assert_eq!(value["schema"], 1);
    assert!(value["groups"].as_array().is_some_and(|groups| !groups.is_empty()), "{value}");
    assert_eq!(value["scaleUp"]["stayPending"], 0);
}

#[test]
fn an_expander_that_does_not_exist_is_named_with_those_that_do() {
    let error = simulate(&["--", "--expander=cheapest"]).usage_error();
    assert!(error.contains("unknown expander \"cheapest\": expected least-waste, most-pods"), "{error}");
    let error = simulate(&["--", "--expandr=price"]).usage_error();
    assert!(error.contains("unsupported flag --expandr"), "{error}");
    let error = simulate(&["--", "expander"]).usage_error();
    assert!(error.contains("is not a flag of Cluster Autoscaler"), "{error}");
}

#[test]
fn the_expander_price_without_prices_is_a_usage_error() {
    let error = simulate(&["--", "--expander=price"]).usage_error();
    assert!(error.contains("the expander price needs prices next: pass --prices FILE"), "{error}");
}

#[test]
fn files_that_cannot_be_read_say_what_was_expected() {
    let names = scratch("scale-names.json", "[\"web\"]");
    let error = simulate(&["--groups", &names]).usage_error();
    assert!(error.contains("expected the JSON of `aws autoscaling describe-auto-scaling-groups`"), "{error}");
    let prices = scratch("scale-prices.json", "{\"m5.large\": \"cheap\"}");
    let error = simulate(&["--prices", &prices]).usage_error();
    assert!(error.contains("m5.large: expected a price per hour above 0"), "{error}");
    let broken = scratch("scale-broken.json", "{");
    assert!(simulate(&["--groups", &broken]).usage_error().contains("is not JSON"));
}

#[test]
fn a_malformed_tag_is_named_with_its_group_and_the_rest_goes_on() {
    let groups = scratch(
        "scale-tags.json",
        r#"{"AutoScalingGroups": [{"AutoScalingGroupName": "batch", "MinSize": 0, "MaxSize": 9, "DesiredCapacity": 8,
            "AvailabilityZones": ["a"], "Tags": [{"Key": "k8s.io/cluster-autoscaler/node-template/taint/role", "Value": "batch"}]}]}"#,
    );
    let ran = simulate(&["--groups", &groups]);
    assert!(
        ran.stderr.contains("group batch: tag k8s.io/cluster-autoscaler/node-template/taint/role"),
        "{ran:?}"
    );
    assert!(ran.stdout.contains("Scale up"), "{ran:?}");
}
