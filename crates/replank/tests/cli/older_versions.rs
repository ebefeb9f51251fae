//! Snapshots in older API versions: the same cluster in old and new words comes to the same, in every command.

use serde_json::Value;

use super::common::{Ran, replank, root, scratch};

/// A cluster of 1.15, as `kubectl get … -A -o yaml` of its day printed it.
const OLD: &str = "examples/upgrade-2020/cluster.yaml";
const GROUPS: [&str; 2] = ["--group-label", "nodegroup"];
const TOLD: &str = "older API versions";

/// What stands where in the old words, and in the new ones. A server writes all defaults out, so that mostly the version alone differs.
const WORDS: [(&str, &str); 12] = [
    (", \"currentCPUUtilizationPercentage\": 38", ""),
    (
        "apiVersion: \"extensions/v1beta1\"\nkind: \"Deployment\"",
        "apiVersion: \"apps/v1\"\nkind: \"Deployment\"",
    ),
    (
        "apiVersion: \"extensions/v1beta1\"\nkind: \"ReplicaSet\"",
        "apiVersion: \"apps/v1\"\nkind: \"ReplicaSet\"",
    ),
    (
        "apiVersion: \"extensions/v1beta1\"\nkind: \"DaemonSet\"",
        "apiVersion: \"apps/v1\"\nkind: \"DaemonSet\"",
    ),
    ("  templateGeneration: 3\n", ""),
    (
        "apiVersion: \"extensions/v1beta1\"\nkind: \"Ingress\"",
        "apiVersion: \"networking.k8s.io/v1\"\nkind: \"Ingress\"",
    ),
    (
        "\"backend\": {\"serviceName\": \"web\", \"servicePort\": 80}",
        "\"pathType\": \"ImplementationSpecific\", \"backend\": {\"service\": {\"name\": \"web\", \"port\": {\"number\": 80}}}",
    ),
    ("policy/v1beta1", "policy/v1"),
    ("batch/v1beta1", "batch/v1"),
    ("autoscaling/v1", "autoscaling/v2"),
    (
        "\"targetCPUUtilizationPercentage\": 70",
        "\"metrics\": [{\"type\": \"Resource\", \"resource\": {\"name\": \"cpu\", \"target\": {\"type\": \"Utilization\", \"averageUtilization\": 70}}}]",
    ),
    (
        "    failure-domain.beta.kubernetes.io/zone:",
        "    topology.kubernetes.io/zone: ZONE\n    topology.kubernetes.io/region: \"eu-west-1\"\n    node.kubernetes.io/instance-type: \"m5.large\"\n    failure-domain.beta.kubernetes.io/zone:",
    ),
];
/// The same cluster as a server of today prints it; made by hand, without the converters.
fn new_words(old: &str) -> String {
    let mut text = old.to_owned();
    for (was, is) in WORDS {
        assert!(text.contains(was), "{was} is not there any more");
        text = text.replace(was, is);
    }
    // Each zone stands behind the label that it is copied to.
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for at in 0..lines.len() {
        if lines[at].ends_with("zone: ZONE") {
            let zone = lines[at + 3].split_once("zone: ").expect("the old label follows").1.to_owned();
            lines[at] = lines[at].replace("ZONE", &zone);
        }
    }
    lines.join("\n") + "\n"
}

fn old_words() -> String {
    std::fs::read_to_string(root().join(OLD)).expect("the example is there")
}

/// A call about the cluster in old words, and about the same one in new ones: by the same name, since it is printed.
fn both(name: &str, arguments: &dyn Fn(&str) -> Vec<String>) -> [Ran; 2] {
    let old = old_words();
    let new = new_words(&old);
    [old, new].map(|text| {
        let path = scratch(&format!("older-{name}/cluster.yaml"), text);
        replank(&arguments(&path))
    })
}

fn words(call: &[&str]) -> Vec<String> {
    call.iter().map(|word| (*word).to_owned()).collect()
}

/// Without what says that it was read as newer versions, without the machine's own time and the file's name.
fn apart_from_the_note(value: &Value) -> Value {
    let is_note =
        |one: &Value| one["about"] == TOLD || one.as_str().is_some_and(|text| text.starts_with(TOLD));
    match value {
        Value::Object(members) => {
            let told = members.iter().filter(|(key, _)| !["wallMs", "snapshot"].contains(&key.as_str()));
            told.map(|(key, member)| (key.clone(), apart_from_the_note(member))).collect()
        }
        Value::Array(items) => items.iter().filter(|one| !is_note(one)).map(apart_from_the_note).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

#[test]
fn the_same_cluster_in_old_and_new_words_gives_the_same_rehearsal() {
    let [old, new] = both("rehearse", &|path| {
        words(&["rehearse", path, "--roll", "web", GROUPS[0], GROUPS[1], "-o", "json"])
    });
    let (told, silent) = (old.json(), new.json());
    assert!(told["nodes"]["replaced"].as_u64() == Some(3), "{told}");
    let notes = |value: &Value| {
        let all = value["assumptions"].as_array().expect("a list");
        all.iter().filter(|one| one["about"] == TOLD).count()
    };
    assert_eq!((notes(&told), notes(&silent)), (1, 0), "it is said once, and only where it is so");
    assert_eq!(apart_from_the_note(&told), apart_from_the_note(&silent), "the trace is the same, too");
    assert!(old.stderr.contains("older API versions: "), "{}", old.stderr);
    assert!(!new.stderr.contains("older API versions"), "{}", new.stderr);
    assert_eq!(old.code, new.code);
}

#[test]
fn every_command_reads_them() {
    for call in [
        &["check", "PATH", GROUPS[0], GROUPS[1], "-o", "json"][..],
        &["place", "PATH", "--audit", GROUPS[0], GROUPS[1], "-o", "json"],
        &["place", "PATH", "--all-pending", "-o", "json"],
        &["scale", "simulate", "PATH", GROUPS[0], GROUPS[1], "-o", "json"],
        &["leftover", "PATH", "-o", "json"],
        &[
            "migrate",
            "deployment/search",
            "PATH",
            "-n",
            "shop",
            "--selector",
            "app=search,tier=backend",
            "-o",
            "json",
        ],
        &[
            "upgrade",
            "plan",
            "PATH",
            "--to",
            "1.18",
            "--from",
            "1.15",
            "--no-rehearsal",
            GROUPS[0],
            GROUPS[1],
        ],
        &["hpa", "explain", "cart", "PATH", "-n", "shop"],
    ] {
        let [old, new] = both(call[0], &|path| {
            call.iter()
                .map(|word| if *word == "PATH" { path.to_owned() } else { (*word).to_owned() })
                .collect()
        });
        assert_ne!(old.code, Some(2), "{call:?}: {old:?}");
        assert_eq!(old.code, new.code, "{call:?}");
        if call.contains(&"json") {
            assert_eq!(apart_from_the_note(&old.json()), apart_from_the_note(&new.json()), "{call:?}");
        } else {
            assert_eq!(old.stdout, new.stdout, "{call:?}");
        }
        assert!(old.stderr.contains("older API versions: "), "{call:?}: {}", old.stderr);
    }
}

/// A scan reads what is written, not what it is read as.
#[test]
fn a_scan_still_sees_the_version_as_it_was_written() {
    let ran = replank(&["scan", OLD, "--target-version", "1.18", "-o", "json"]);
    assert!(ran.stdout.contains("extensions/v1beta1"), "{ran:?}");
}

#[test]
fn what_cannot_be_converted_is_said_and_the_rest_goes_on() {
    let broken = "---\napiVersion: extensions/v1beta1\nkind: Deployment\nmetadata: {name: odd, namespace: shop}\n\
                  spec: {replicas: 1, template: {spec: {containers: [{name: a, image: b}]}}}\n";
    let path = scratch("older-broken/cluster.yaml", old_words() + broken);
    let ran = replank(&["check", &path, GROUPS[0], GROUPS[1]]);
    assert_ne!(ran.code, Some(2), "{ran:?}");
    let told = ran.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        told.contains("extensions/v1beta1 Deployment shop/odd cannot be converted to a supported version: spec.selector is missing"),
        "{told}"
    );
    let strict = replank(&["check", &path, "--strict", GROUPS[0], GROUPS[1]]);
    assert_eq!(strict.code, Some(2), "{strict:?}");
}
