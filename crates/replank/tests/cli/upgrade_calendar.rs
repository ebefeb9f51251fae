//! `replank upgrade calendar`.

use super::common::{Ran, replank, scratch};

const DAY: &str = "2026-11-20T09:00:00Z";

fn calendar(arguments: &[&str]) -> Ran {
    let words: Vec<&str> = ["upgrade", "calendar", "--now", DAY].iter().chain(arguments).copied().collect();
    replank(&words)
}

#[test]
fn a_pipeline_fails_where_support_ends_soon() {
    // (versions, window, policy, exit code)
    let cases = [
        ("1.31", "7d", "EXTENDED", 3),
        ("1.31", "5d", "EXTENDED", 0),
        ("1.33", "90d", "EXTENDED", 0),
        ("1.33", "90d", "STANDARD", 3),
        ("1.34", "11d", "EXTENDED", 0),
        ("1.34", "12d", "EXTENDED", 3),
        ("1.36", "200d", "EXTENDED", 0),
        ("1.36,1.34", "90d", "EXTENDED", 3),
        ("1.28", "0d", "EXTENDED", 3),
    ];
    for (versions, window, policy, code) in cases {
        let ran = calendar(&["--of", versions, "--fail-within", window, "--policy", policy]);
        assert_eq!(ran.code, Some(code), "{versions} within {window} under {policy}: {ran:?}");
    }
    assert_eq!(calendar(&[]).code, Some(0), "without a window nothing fails");
}

#[test]
fn the_json_has_sources_and_what_forces_an_upgrade() {
    let ran = calendar(&["--of", "1.31", "--fail-within", "7d", "-o", "json"]);
    let value = ran.json();
    assert_eq!(value["version"], "replank.dev/calendar/v1alpha1");
    let row = &value["versions"][0];
    for (key, expected) in [
        ("version", "1.31"),
        ("eksRelease", "2024-09-26"),
        ("standardSupportEnd", "2025-11-26"),
        ("extendedSupportEnd", "2026-11-26"),
        ("forcedUpgrade", "2026-11-26"),
        ("support", "extended"),
    ] {
        assert_eq!(row[key], expected, "{key}");
    }
    assert_eq!((&row["daysLeft"], &row["fails"]), (&6.into(), &true.into()));
    assert!(row["source"].as_str().unwrap().contains("awsdocs"));
}

#[test]
fn only_what_is_supported_is_listed_and_what_is_not_known_is_said() {
    let ran = calendar(&[]);
    let listed: Vec<&str> = ran
        .stdout
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .filter(|word| word.starts_with("1."))
        .collect();
    assert_eq!(listed, ["1.31", "1.32", "1.33", "1.34", "1.35", "1.36", "1.37"], "{}", ran.stdout);
    assert!(ran.stderr.contains("1.37: EKS dates unknown"), "{}", ran.stderr);
    let all = calendar(&["--all"]);
    assert!(all.stdout.contains("1.10 ") && all.stdout.contains("ended 2020-05-12"), "{}", all.stdout);
}

#[test]
fn the_cluster_says_its_version_and_policy_itself() {
    let ran = calendar(&["--eks", "examples/upgrade/eks/cluster.json", "-o", "json"]);
    let value = ran.json();
    assert_eq!((&value["versions"][0]["version"], &value["policy"]), (&"1.33".into(), &"EXTENDED".into()));
    let standard = scratch(
        "cluster-standard.json",
        r#"{"cluster": {"name": "shop", "version": "1.34", "upgradePolicy": {"supportType": "STANDARD"}}}"#,
    );
    let ran = calendar(&["--eks", &standard, "--fail-within", "30d", "-o", "json"]);
    assert_eq!((ran.code, &ran.json()["versions"][0]["forcedUpgrade"]), (Some(3), &"2026-12-02".into()));
    let none = scratch("no-cluster.json", r#"{"addons": []}"#);
    assert!(calendar(&["--eks", &none]).usage_error().contains("does not describe a cluster"));
}

#[test]
fn a_file_replaces_what_is_built_in() {
    let path = scratch(
        "cluster-versions.json",
        r#"{"clusterVersions": [{"clusterVersion": "1.37", "releaseDate": "2026-10-01T00:00:00Z",
            "endOfStandardSupportDate": "2027-12-01T00:00:00Z", "endOfExtendedSupportDate": "2028-12-01T00:00:00Z"}]}"#,
    );
    let ran = calendar(&["--of", "1.37", "--calendar", &path, "-o", "json"]);
    assert_eq!(ran.json()["versions"][0]["support"], "standard");
    assert!(!ran.stderr.contains("not known"), "{}", ran.stderr);
    let broken = scratch("cluster-versions-cut.json", "[{");
    let wrong = calendar(&["--calendar", &broken]).usage_error();
    assert!(wrong.contains("cluster-versions-cut.json cannot be loaded"), "{wrong}");
}

#[test]
fn what_cannot_be_meant_is_a_usage_error() {
    assert!(calendar(&["--of", "1.50"]).usage_error().contains("unknown Kubernetes version 1.50"));
    assert!(calendar(&["--of", "1.33.4"]).usage_error().contains("EKS chooses the patch"));
    assert!(calendar(&["--fail-within", "soon"]).usage_error().contains("expected days or a duration"));
}
