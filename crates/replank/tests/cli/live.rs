//! Commands that read a live cluster: here, one that is served.

use std::fs;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use serde_json::{Value, json};

use super::cluster::Served;
use super::common::{Ran, SNAPSHOT, command, replank};

fn scratch(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("live-{name}"))
}

/// The kubeconfig of a served cluster, changed.
fn changed(served: &Served, name: &str, change: impl FnOnce(&mut Value)) -> PathBuf {
    let text = fs::read(&served.file).expect("it is written");
    let mut config: Value = serde_json::from_slice(&text).expect("it is JSON");
    change(&mut config);
    let file = scratch(name);
    fs::write(&file, config.to_string()).expect("it can be written");
    file
}

fn run(arguments: &[&str], kubeconfig: &Path) -> Ran {
    let file = kubeconfig.to_str().expect("it is text");
    replank(&[arguments, &["--kubeconfig", file]].concat())
}

#[test]
fn a_snapshot_says_what_the_cluster_says_and_is_the_same_twice() {
    let served = Served::of(&[SNAPSHOT, "--clock", "step"]);
    let files = [scratch("one.json"), scratch("two.json.gz")];
    for file in &files {
        let ran = run(&["snapshot", "-o", file.to_str().expect("it is text")], &served.file);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(ran.stderr.contains("objects from context rehearsal-"), "{ran:?}");
    }
    let plain = fs::read_to_string(&files[0]).expect("it is written");
    let mut unpacked = String::new();
    let packed = fs::File::open(&files[1]).expect("it is written");
    std::io::Read::read_to_string(&mut GzDecoder::new(packed), &mut unpacked).expect("it is gzip");
    assert!(plain == unpacked, "two snapshots of one moment differ");
    // No part of a file, and nothing that others may read.
    assert!(!scratch("one.json.part").exists());

    let saved = replank(&["check", files[0].to_str().expect("it is text"), "-o", "json"]);
    let live = run(&["check", "-o", "json"], &served.file);
    assert_eq!(saved.code, live.code, "{live:?}");
    let findings = |ran: &Ran| ran.json()["findings"].clone();
    assert!(findings(&saved).as_array().is_some_and(|all| !all.is_empty()));
    assert_eq!(findings(&saved), findings(&live));
    let rehearsed = run(&["rehearse", "--roll", "workers", "-o", "json"], &served.file);
    let groups = run(&["rehearse"], &served.file);
    assert!(rehearsed.code == Some(2) || rehearsed.json()["verdict"].is_string(), "{rehearsed:?}");
    // A live cluster is rehearsed, and not the bundled example: without a plan, it is asked for one.
    assert!(groups.usage_error().contains("--roll"), "{groups:?}");
    served.kill();
}

#[test]
fn no_secret_no_config_map_and_no_value_of_a_variable_is_in_it() {
    let served = Served::of(&["--nodes", "1"]);
    let objects = json!({"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "default"}, "stringData": {"k": "hidden-secret"}},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "default"}, "data": {"k": "hidden-map"}},
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "default"}, "spec": {"containers": [
            {"name": "c", "image": "i", "env": [{"name": "TOKEN", "value": "hidden-value"}]}]}}]});
    for object in objects["items"].as_array().expect("it is a list") {
        let kind = object["kind"].as_str().expect("it is text").to_lowercase();
        served.post(&format!("/api/v1/namespaces/default/{kind}s"), object);
    }
    let ran = run(&["snapshot"], &served.file);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(!ran.stdout.contains("hidden"), "{ran:?}");
    assert!(ran.stdout.contains("\"TOKEN\""));
    let ran = run(&["snapshot", "--config-map", "default/c"], &served.file);
    assert!(ran.stdout.contains("hidden-map") && !ran.stdout.contains("hidden-secret"));
    served.kill();
}

#[test]
fn what_is_wrong_with_the_way_to_a_cluster_is_said() {
    let missing = run(&["snapshot"], &scratch("not-there"));
    assert!(missing.usage_error().contains("there is no kubeconfig"), "{missing:?}");
    assert!(replank(&["snapshot"]).usage_error().contains("KUBECONFIG is not set"));
    let served = Served::of(&["--nodes", "1"]);
    let file = served.file.to_str().expect("it is text");

    let context = replank(&["snapshot", "--kubeconfig", file, "--context", "prod"]);
    assert!(
        context.usage_error().contains("no context \"prod\"") && context.stderr.contains("rehearsal-"),
        "{context:?}"
    );
    let stranger =
        changed(&served, "stranger", |config| config["users"][0]["user"] = json!({"token": "not-a-token"}));
    assert!(run(&["snapshot"], &stranger).usage_error().contains("401 Unauthorized"));
    let nobody = changed(&served, "nobody", |config| config["users"][0]["user"]["as"] = "nobody".into());
    let forbidden = run(&["snapshot"], &nobody);
    let said = forbidden.usage_error();
    assert!(said.contains("\"nobody\" cannot list resource") && said.contains("verbs: [list]"), "{said}");
    let other = Served::of(&["--nodes", "1"]);
    let authority = |config: &Value| config["clusters"][0]["cluster"]["certificate-authority-data"].clone();
    let others: Value =
        serde_json::from_slice(&fs::read(&other.file).expect("it is written")).expect("it is JSON");
    let trusted = changed(&served, "trusted", |config| {
        config["clusters"][0]["cluster"]["certificate-authority-data"] = authority(&others);
    });
    assert!(run(&["snapshot"], &trusted).usage_error().contains("is not one that the kubeconfig trusts"));
    let both = replank(&["check", SNAPSHOT, "--kubeconfig", file]);
    assert!(both.usage_error().contains("pass only one of them"));
    let gone = served.file.clone();
    let copy = changed(&served, "gone", |_| {});
    served.kill();
    other.kill();
    // Any command can end with 1, and the table of codes does not say so again.
    let arguments = ["snapshot", "--kubeconfig", copy.to_str().expect("it is text")];
    let unreachable: Ran = command(&arguments).output().expect("the binary can be run").into();
    assert_eq!((unreachable.code, unreachable.stdout.as_str()), (Some(1), ""), "{unreachable:?} {gone:?}");
    assert!(unreachable.stderr.contains("cannot reach the API server https://127.0.0.1:"), "{unreachable:?}");
}

#[test]
fn names_are_redacted_and_the_same_is_found_without_them() {
    let served = Served::of(&[SNAPSHOT, "--clock", "step"]);
    let (named, redacted) = (scratch("named.json"), scratch("redacted.json"));
    let text = |file: &Path| file.to_str().expect("it is text").to_owned();
    assert_eq!(run(&["snapshot", "-o", &text(&named)], &served.file).code, Some(0));
    for _ in 0..2 {
        assert_eq!(run(&["snapshot", "--redact-names", "-o", &text(&redacted)], &served.file).code, Some(0));
    }
    let (before, after) = (
        fs::read_to_string(&named).expect("it is written"),
        fs::read_to_string(&redacted).expect("it is written"),
    );
    for name in ["search-api", "crawl-postings", "pipelines", "recommendations"] {
        assert!(before.contains(name), "{name} is in the snapshot");
        assert!(!after.contains(name), "{name} is in the redacted one");
    }
    let rules = |file: &Path| -> Vec<String> {
        let found = replank(&["check", &text(file), "-o", "json"]).json();
        let all = found["findings"].as_array().expect("a list").clone();
        let mut rules: Vec<String> = all.iter().map(|one| one["id"].to_string()).collect();
        rules.sort();
        rules
    };
    assert_eq!(rules(&named), rules(&redacted), "the same rules find the same number of things");
    served.kill();
}

#[test]
fn a_live_cluster_is_scanned_for_versions_that_go() {
    let served = Served::of(&["--nodes", "1", "--kubernetes-version", "1.24"]);
    let cron_job = json!({"apiVersion": "batch/v1beta1", "kind": "CronJob",
        "metadata": {"name": "report", "namespace": "default", "annotations": {"kubectl.kubernetes.io/last-applied-configuration":
            json!({"apiVersion": "batch/v1beta1", "kind": "CronJob", "metadata": {"name": "report"}}).to_string()}},
        "spec": {"schedule": "0 3 * * *", "jobTemplate": {"spec": {"template": {"spec": {
            "restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}}}}});
    served.post("/apis/batch/v1beta1/namespaces/default/cronjobs", &cron_job);
    let hidden = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "default"}, "stringData": {"k": "v"}});
    served.post("/api/v1/namespaces/default/secrets", &hidden);
    let ran = run(&["scan", "--target-version", "1.36", "-o", "json"], &served.file);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(ran.stderr.contains("--helm-releases reads them"), "{ran:?}");
    let found = ran.json();
    let findings = found["findings"].as_array().expect("a list");
    let applied = findings.iter().find(|one| one["evidence"] == "last-applied");
    let applied =
        applied.unwrap_or_else(|| panic!("what was applied last is found among {}", findings.len()));
    assert_eq!((&applied["name"], &applied["apiVersion"]), (&json!("report"), &json!("batch/v1beta1")));
    // What the API server counts says who still asks for it.
    let metric = findings.iter().find(|one| one["evidence"] == "metric");
    let metric = metric.unwrap_or_else(|| panic!("the request is counted, among {}", findings.len()));
    assert_eq!(metric["apiVersion"], "batch/v1beta1", "{metric}");
    let builtin = findings.iter().filter(|one| one["holder"].to_string().contains("system:"));
    assert_eq!(builtin.count(), 0, "roles that the API server keeps itself are not the user's to change");
    // With a path, both are scanned; --fix is for files.
    let none = scratch("no-manifests");
    fs::create_dir_all(&none).expect("it can be made");
    let both = run(
        &["scan", none.to_str().expect("it is text"), "--target-version", "1.36", "-o", "json"],
        &served.file,
    );
    assert_eq!(both.json()["findings"].as_array().map(Vec::len), Some(findings.len()));
    assert_eq!(replank(&["scan", "--cluster", "--fix"]).code, Some(2));
    served.kill();
}
