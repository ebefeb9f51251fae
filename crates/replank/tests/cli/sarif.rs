//! Every SARIF log that is printed is one: held to a schema of what Replank prints, and to that of the standard where it is at hand.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use super::common::{PLAN, SNAPSHOT, replank, replank_reading, root, scratch};
use super::json_schema::violations;

const MANIFESTS: &str = "apiVersion: policy/v1beta1\nkind: PodDisruptionBudget\nmetadata: {name: web, namespace: shop}\n\
     ---\napiVersion: batch/v1beta1\nkind: CronJob\nmetadata: {name: nightly}\n\
     ---\napiVersion: v1\nkind: ComponentStatus\nmetadata: {name: \"a \\\"quoted\\\" name\"}\n";

fn schemas() -> Vec<(String, Value)> {
    let own = root().join("testdata/sarif/printed.schema.json");
    let standard = std::env::var_os("REPLANK_SARIF_SCHEMA").map(Into::into);
    std::iter::once(own)
        .chain(standard)
        .map(|path| {
            let text =
                std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            (path.display().to_string(), serde_json::from_str(&text).expect("a schema is JSON"))
        })
        .collect()
}

/// Holds a log to the schemas, and its results to its rules, which no schema can say.
fn assert_valid(name: &str, log: &Value) {
    for (path, schema) in schemas() {
        assert_eq!(violations(&schema, log), Vec::<String>::new(), "{name} by {path}");
    }
    let run = &log["runs"][0];
    for result in run["results"].as_array().expect("a list") {
        let index = usize::try_from(result["ruleIndex"].as_u64().expect("a number")).expect("small");
        assert_eq!(run["tool"]["driver"]["rules"][index]["id"], result["ruleId"], "{name}");
    }
}

fn results(log: &Value) -> usize {
    log["runs"][0]["results"].as_array().expect("a list").len()
}

#[test]
fn logs_of_check_are_valid() {
    let spaced = scratch("sarif/a snapshot: 50% {of} it.yaml", super::common::snapshot_text());
    for arguments in [
        &["check", SNAPSHOT, "-f", PLAN][..],
        &["check", SNAPSHOT],
        &["check", SNAPSHOT, "--only", "hpa-beyond-nodes"],
        &["check", &spaced, "-f", PLAN],
    ] {
        let log = replank(&[arguments, &["-o", "sarif"]].concat()).json();
        assert_valid(&arguments.join(" "), &log);
    }
    let of_stdin = replank_reading(&["check", "-", "-o", "sarif"], super::common::snapshot_text().as_bytes());
    assert!(results(&of_stdin.json()) > 0);
    assert_valid("check -", &of_stdin.json());
}

/// Its content has lines; the file has none that anybody could open.
#[test]
fn a_compressed_snapshot_has_no_lines() {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(super::common::snapshot_text().as_bytes()).expect("memory takes it");
    let packed = packed.finish().expect("memory takes it");
    for name in ["sarif/packed.yaml.gz", "sarif/packed-all-the-same.yaml"] {
        let packed = scratch(name, &packed);
        let log = replank(&["check", &packed, "-o", "sarif"]).json();
        assert!(results(&log) > 3);
        for result in log["runs"][0]["results"].as_array().expect("a list") {
            assert_eq!(
                result["locations"][0]["physicalLocation"]["region"],
                json!({"startLine": 1}),
                "{result}"
            );
        }
        assert_valid(name, &log);
        let annotations = replank(&["check", &packed, "-o", "github"]).stdout;
        assert!(annotations.contains("packed") && !annotations.contains(",line="), "{annotations}");
    }
    let plain = replank(&["check", SNAPSHOT, "-o", "github"]).stdout;
    assert!(plain.contains(",line="), "{plain}");
}

#[test]
fn logs_of_scan_are_valid() {
    let directory = scratch("sarif/mani fests/all.yaml", MANIFESTS);
    let directory = directory.rsplit_once('/').expect("a path").0;
    for (arguments, found) in [
        (&["scan", directory, "--target-version", "1.29"][..], 2),
        (&["scan", directory, "--target-version", "1.29", "--current", "1.26"], 2),
        (&["scan", directory, "--target-version", "1.16"], 0),
        (&["scan", SNAPSHOT], 0),
    ] {
        let log = replank(&[arguments, &["-o", "sarif"]].concat()).json();
        assert!(results(&log) >= found, "{arguments:?}: {log}");
        assert_valid(&arguments.join(" "), &log);
    }
}

/// The schema is not one that anything passes.
#[test]
fn what_is_wrong_is_found() {
    let good = replank(&["check", SNAPSHOT, "-f", PLAN, "-o", "sarif"]).json();
    let (_, schema) = &schemas()[0];
    for (pointer, wrong, words) in [
        ("/version", json!("2.1"), "$.version: \"2.1\" is none of"),
        ("/runs/0/results/0/level", json!("blocking"), "level: \"blocking\" is none of"),
        ("/runs/0/results/0/message", json!({"markdown": "x"}), "lacks \"text\""),
        ("/runs/0/results/0/ruleIndex", json!(null), "ruleIndex: is no \"integer\""),
        ("/runs/0/results/0/locations/0/physicalLocation/region/startLine", json!(0), "0 is below 1"),
        (
            "/runs/0/results/0/locations/0/physicalLocation/artifactLocation/uri",
            json!("a b"),
            "a b is no relative",
        ),
        ("/runs/0/results/0/partialFingerprints/a", json!(1), "a: is no \"string\""),
        ("/runs/0/tool/driver/rule", json!([]), "has rule, which is not allowed"),
    ] {
        let mut log = good.clone();
        let (parent, name) = pointer.rsplit_once('/').expect("a path");
        log.pointer_mut(parent).expect("it is there")[name] = wrong;
        let found = violations(schema, &log);
        assert!(found.iter().any(|one| one.contains(words)), "{pointer}: {found:?}");
    }
}
