//! `--autoscaler`: nodes come and go in rehearsals and replays.

use serde_json::Value;

use super::common::{replank, scratch};

const LOAD: &str = "examples/hpa/load.csv";
const SNAPSHOT: &str = "examples/hpa/snapshot.yaml";
const NOW: &str = "2026-11-20T10:01:00Z";

fn groups(name: &str, max: u32) -> String {
    let group = format!(
        r#"{{"AutoScalingGroups": [{{"AutoScalingGroupName": "web", "MinSize": 1, "MaxSize": {max}, "DesiredCapacity": 2,
            "AvailabilityZones": ["ap-northeast-1a", "ap-northeast-1c"]}}]}}"#
    );
    scratch(name, group)
}

/// What a replay says of the example's autoscaler, as it is.
fn replay(words: &[&str]) -> Value {
    let ran = replank(
        &[&["hpa", "simulate", SNAPSHOT, "--now", NOW, "--load", LOAD, "-o", "json"], words].concat(),
    );
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran.json()["autoscalers"][0]["variants"][0].clone()
}

#[test]
fn pods_that_find_no_node_bring_one_as_far_as_the_group_may_grow() {
    let fixed = replay(&[]);
    assert_eq!((&fixed["nodesMin"], &fixed["nodesMax"]), (&2.into(), &2.into()), "{fixed}");
    let free = replay(&["--autoscaler", "--groups", &groups("elastic-free.json", 9)]);
    assert_eq!(free["nodesMax"], 3, "20 pods of 500m, seven on a node: {free}");
    assert!(free["pendingMs"].as_i64() < fixed["pendingMs"].as_i64(), "{free}");
    assert!(free["overMs"].as_i64() < fixed["overMs"].as_i64(), "{free}");
    let full = replay(&["--autoscaler", "--groups", &groups("elastic-full.json", 2)]);
    assert_eq!(full["nodesMax"], 2, "{full}");
    let kept =
        replay(&["--autoscaler=--scale-down-enabled=false", "--groups", &groups("elastic-kept.json", 9)]);
    assert_eq!(kept["nodesMin"], 2, "{kept}");
}

#[test]
fn a_rehearsal_says_what_was_assumed_of_the_autoscaler() {
    let ran = replank(&["rehearse", "--autoscaler=--scale-down-unneeded-time=5m", "-o", "json"]);
    let value = ran.json();
    let assumptions = value["assumptions"].as_array().expect("a list");
    let of = |about: &str| assumptions.iter().find(|one| one["about"] == about);
    let nodes = of("the number of nodes").expect("it is said who keeps it");
    assert!(
        nodes["value"].as_str().is_some_and(|text| text.contains("flags of the command line")),
        "{nodes}"
    );
    assert!(
        assumptions.iter().any(|one| one["value"].as_str().is_some_and(|text| text.contains("--groups")))
    );
    assert_eq!(value["nodes"]["replaced"], value["nodes"]["total"]);
}

#[test]
fn mistakes_are_named() {
    let error = replank(&["rehearse", "--autoscaler=--expander=cheapest"]).usage_error();
    assert!(error.contains("unknown expander \"cheapest\""), "{error}");
    let error = replank(&["rehearse", "--autoscaler=--expandr=price"]).usage_error();
    assert!(error.contains("unsupported flag --expandr"), "{error}");
    let error = replank(&["rehearse", "--autoscaler=--expander=price"]).usage_error();
    assert!(error.contains("the expander price needs prices"), "{error}");
    let broken = scratch("elastic-broken.json", "{");
    assert!(replank(&["rehearse", "--groups", &broken]).usage_error().contains("is not JSON"));
}

#[test]
fn bounds_tags_and_types_come_from_the_plan_where_no_file_says_them() {
    let plan = |name: &str, groups: &str| {
        let head = "apiVersion: replank.dev/v1alpha1\nkind: NodeRoll\nmetadata: {name: p}";
        scratch(name, format!("{head}\nspec: {{groups: [web], nodeGroups: [{groups}]}}\n"))
    };
    let load = scratch("elastic-load.csv", "time,load\n0,3.2\n5m,3.2\n10m,6.4\n2h,6.4\n");
    let told = |words: &[&str]| {
        let fixed = ["rehearse", SNAPSHOT, "--autoscaler", "--load", &load, "-o", "json"];
        replank(&[&fixed[..], words].concat())
    };
    let pending = |value: &Value| value["autoscalers"][0]["pendingMs"].as_i64().expect("a number");
    let full = plan("elastic-plan-full.yaml", "{name: web, min: 1, max: 2}");
    let free = plan(
        "elastic-plan-free.yaml",
        "{name: web, min: 1, max: 9, tags: {k8s.io/cluster-autoscaler/node-template/taint/role: web}}, \
         {name: spare, max: 3, instanceTypes: [m6i.large], zones: [ap-northeast-1a], tags: {team: shop}}",
    );
    let (grown, held) = (told(&["-f", &free]), told(&["-f", &full]).json());
    // Which group, which tag; it counts as absent, and the rest goes on.
    let bad = "group web: tag k8s.io/cluster-autoscaler/node-template/taint/role";
    assert!(grown.stderr.contains(bad), "{}", grown.stderr);
    let grown = grown.json();
    assert!(pending(&grown) < 20 * 60_000, "{}", grown["autoscalers"]);
    assert!(pending(&held) > 60 * 60_000, "the plan lets it have no third node: {}", held["autoscalers"]);
    let assumed = |value: &Value| value["assumptions"].to_string();
    assert!(!assumed(&grown).contains("no bounds are known"), "{}", assumed(&grown));
    assert!(assumed(&grown).contains("calculated for m6i.large"), "spare has no node: {}", assumed(&grown));
    let over = told(&["-f", &free, "--groups", &groups("elastic-over.json", 2)]).json();
    let full = over["findings"].to_string();
    assert!(full.contains("(spare 3, web 2)"), "a file counts more than the plan: {full}");
    let silent = told(&["--roll", "web"]).json();
    assert!(
        assumed(&silent).contains("pass --groups, or set nodeGroups in the plan"),
        "{}",
        assumed(&silent)
    );
}
