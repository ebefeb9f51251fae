//! `leftover`: what is printed, and how it ends.

use super::common::{SNAPSHOT, replank, scratch};

const NODES: &str = "apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Node
  metadata:
    name: web-1
    annotations: {replank.dev/run: r1, replank.dev/role: draining, replank.dev/since: 2026-01-01T00:00:00Z,
      replank.dev/drain-from: 2026-01-01T00:00:00Z, replank.dev/expires: 2026-01-08T00:00:00Z}
  spec: {unschedulable: true}
- apiVersion: v1
  kind: Node
  metadata:
    name: web-2
    annotations: {replank.dev/run: r2, replank.dev/role: queued, replank.dev/since: 2026-01-08T00:00:00Z,
      replank.dev/expires: 2026-01-15T00:00:00Z}
  spec: {unschedulable: true}
";
const GROUPS: &str = r#"{"AutoScalingGroups": [{"AutoScalingGroupName": "eks-web", "MinSize": 0, "MaxSize": 4, "DesiredCapacity": 3,
    "Tags": [{"Key": "replank.dev/begun", "Value": "r1 nodes=3 surge=1"}, {"Key": "replank.dev/original-size", "Value": "0/3/3"}]}]}"#;
const NOW: [&str; 2] = ["--now", "2026-01-09T00:00:00Z"];

/// Objects of what is printed under some arguments, with how it ends.
fn objects(arguments: &[&str]) -> (Option<i32>, Vec<String>) {
    let ran = replank(&[&["leftover", "-o", "json"], arguments, &NOW].concat());
    let all = ran.json()["leftovers"].as_array().expect("a list").clone();
    let objects = all.iter().map(|one| one["object"].as_str().expect("a name").to_owned());
    (ran.code, objects.collect())
}

#[test]
fn what_was_left_is_listed_and_can_be_asked_for_by_run_and_state() {
    let nodes = scratch("leftover-nodes.yaml", NODES);
    let groups = scratch("leftover-groups.json", GROUPS);
    let with = |more: &[&str]| objects(&[&[nodes.as_str()], more].concat());
    assert_eq!(with(&[]), (Some(3), vec!["Node web-1".to_owned(), "Node web-2".to_owned()]));
    assert_eq!(with(&["--expired"]), (Some(3), vec!["Node web-1".to_owned()]));
    assert_eq!(with(&["--run", "r2", "--groups", &groups]), (Some(3), vec!["Node web-2".to_owned()]));
    let of_r1 = vec!["Node web-1".to_owned(), "NodeGroup eks-web".to_owned()];
    assert_eq!(with(&["--run", "r1", "--expired", "--groups", &groups]), (Some(3), of_r1));
    assert_eq!(with(&["--run", "r3"]), (Some(0), Vec::new()));
}

#[test]
fn nothing_left_is_exit_code_0() {
    let ran = replank(&["leftover", SNAPSHOT]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.starts_with("Leftover  nothing"), "{ran:?}");
}

#[test]
fn mistakes_are_usage_errors() {
    let error = replank(&["leftover"]).usage_error();
    assert!(error.contains("no snapshot to read"), "{error}");
    let error = replank(&["leftover", SNAPSHOT, "--groups", "no-such.json"]).usage_error();
    assert!(
        error.contains("cannot read no-such.json") && error.contains("describe-auto-scaling-groups"),
        "{error}"
    );
    let other = scratch("leftover-other.json", "{}");
    let error = replank(&["leftover", SNAPSHOT, "--groups", &other]).usage_error();
    assert!(error.contains("AutoScalingGroups"), "{error}");
    replank(&["leftover", SNAPSHOT, "--run", ""]).usage_error();
}
