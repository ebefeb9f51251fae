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
