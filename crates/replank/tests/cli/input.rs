//! What can be read, and what is said of what cannot.

use std::io::Write;

use super::common::{PLAN, SNAPSHOT, replank, replank_reading, scratch, snapshot_text};

/// A document that no parser takes, and one of which a field is wrong.
const BROKEN: &str = "---\nkind: [\n---\napiVersion: v1\nkind: Pod\nmetadata: {namespace: site}\n";

fn hash(arguments: &[&str]) -> String {
    let ran = replank(arguments);
    ran.json()["traceHash"].as_str().unwrap_or_else(|| panic!("{ran:?}")).to_owned()
}

#[test]
fn files_directories_standard_input_and_gzip_are_the_same_snapshot() {
    let text = snapshot_text();
    let file = hash(&["rehearse", SNAPSHOT, "-f", PLAN, "-o", "json"]);
    let copy = scratch("a-directory/cluster.yaml", &text);
    let directory = copy.strip_suffix("/cluster.yaml").expect("the file lies in the directory");
    assert_eq!(hash(&["rehearse", directory, "-f", PLAN, "-o", "json"]), file);
    let ran = replank_reading(&["rehearse", "-", "-f", PLAN, "-o", "json"], text.as_bytes());
    assert_eq!(ran.json()["traceHash"], *file);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(text.as_bytes()).expect("memory");
    let zipped = scratch("cluster.yaml.gz", gzip.finish().expect("memory"));
    assert_eq!(hash(&["rehearse", &zipped, "-f", PLAN, "-o", "json"]), file);
}

#[test]
fn what_cannot_be_read_is_told_and_the_rest_is_rehearsed() {
    let file = scratch("broken.yaml", snapshot_text() + BROKEN);
    let ran = replank(&["rehearse", &file, "-f", PLAN, "-o", "json"]);
    assert_eq!(ran.code, Some(6), "{ran:?}");
    let accepted = replank(&["rehearse", &file, "-f", PLAN, "-o", "json", "--allow-incomplete", "read"]);
    assert!(matches!(accepted.code, Some(0 | 3)), "{accepted:?}");
    assert!(
        ran.stderr.contains("warning: ") && ran.stderr.contains("broken.yaml: document "),
        "{}",
        ran.stderr
    );
    assert_eq!(ran.json()["traceHash"], *hash(&["rehearse", SNAPSHOT, "-f", PLAN, "-o", "json"]));
}

#[test]
fn strict_makes_it_an_error() {
    let file = scratch("broken-strict.yaml", snapshot_text() + BROKEN);
    let told = replank(&["rehearse", &file, "-f", PLAN, "--strict"]).usage_error();
    assert!(told.contains("2 parts of the snapshot could not be read"), "{told}");
    let whole = replank(&["rehearse", SNAPSHOT, "-f", PLAN, "--strict"]);
    assert!(matches!(whole.code, Some(0 | 3)), "{whole:?}");
}

#[test]
fn the_moment_can_be_given() {
    let ran = replank(&["rehearse", SNAPSHOT, "-f", PLAN, "--now", "2026-11-20T10:00:00Z", "-o", "json"]);
    assert_eq!(ran.json()["start"], "2026-11-20T10:00:00Z");
    assert!(ran.stderr.contains("2026-11-20T10:00:00Z: as given"), "{}", ran.stderr);
}

/// A Pod that asks for less than nothing, and a ReplicaSet that would not know its own pods.
const REFUSED: &str = "---
apiVersion: v1
kind: Pod
metadata: {name: negative, namespace: site}
spec: {containers: [{name: c, image: c, resources: {requests: {cpu: \"-2\"}}}]}
---
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: endless, namespace: site}
spec: {replicas: 3, selector: {matchLabels: {app: a}}, template: {metadata: {labels: {app: b}}, spec: {containers: [{name: c, image: c}]}}}
";

#[test]
fn what_no_api_server_stores_is_left_out_and_said() {
    let file = scratch("refused.yaml", snapshot_text() + REFUSED);
    let ran = replank(&["rehearse", &file, "-f", PLAN, "-o", "json"]);
    assert_eq!(ran.code, Some(6), "{ran:?}");
    let told = ran.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        told.contains("spec.containers[0].resources.requests[cpu]: Invalid value: \"-2\": must be greater"),
        "{told}"
    );
    assert!(told.contains("`selector` does not match template `labels`"), "{told}");
    assert_eq!(ran.json()["coverage"]["skipped"]["parts"], 2);
}

/// More pods than a cluster of this size can ever need.
const RUNS_AWAY: &str = "---
apiVersion: apps/v1
kind: Deployment
metadata: {name: without-end, namespace: site, uid: without-end}
spec: {replicas: 2000000, selector: {matchLabels: {app: e}}, template: {metadata: {labels: {app: e}}, spec: {containers: [{name: c, image: c}]}}}
";

#[test]
fn a_rehearsal_that_runs_away_is_stopped_and_says_what_did() {
    let file = scratch("runs-away.yaml", snapshot_text() + RUNS_AWAY);
    let ran = replank(&["rehearse", &file, "-f", PLAN]);
    assert_eq!(ran.code, Some(4), "{ran:?}");
    let told = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("- Deployment site/without-end: ran away: it made "), "{told}");
    assert!(told.contains("makes or changes more objects than a roll can need"), "{told}");
    assert!(told.contains("correct what is named above in the snapshot"), "{told}");
}
