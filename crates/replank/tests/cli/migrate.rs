//! `migrate`: what is judged and rehearsed, and how it ends.

use super::common::replank;

const CLUSTER: &str = "examples/migrate/cluster.yaml";

fn migrate(arguments: &[&str]) -> super::common::Ran {
    let now = ["--now", "2026-11-20T10:00:00Z"];
    replank(&[&["migrate"], arguments, &[CLUSTER, "-n", "shop"], &now].concat())
}

#[test]
fn pods_are_kept_where_the_selector_takes_them_over() {
    let ran = migrate(&["deployment/web", "--selector", "app=web", "-o", "json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let report = ran.json();
    assert_eq!(report["way"], "keep");
    assert_eq!(report["rehearsal"]["ending"], "done");
    assert_eq!((&report["rehearsal"]["podsKept"], &report["rehearsal"]["podsMax"]), (&4.into(), &4.into()));
    assert_eq!(report["rehearsal"]["services"][0]["fewest"], 4);
    assert_eq!(report["rehearsal"]["steps"].as_array().map(Vec::len), Some(5), "{report}");
}

#[test]
fn a_twin_serves_where_they_cannot_be() {
    let ran = migrate(&["deployment/web", "--selector", "app=web,release=second", "-o", "json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let report = ran.json();
    assert_eq!(report["way"], "twin");
    assert_eq!(
        (&report["rehearsal"]["podsKept"], &report["rehearsal"]["ending"]),
        (&0.into(), &"done".into())
    );
    assert!(report["rehearsal"]["services"][0]["fewest"].as_u64() >= Some(4), "{report}");
    assert_eq!(report["rehearsal"]["services"][0]["after"], 4);
}

#[test]
fn a_rollout_takes_over() {
    for who in ["never", "onsuccess", "progressively"] {
        let ran = migrate(&["deployment/web", "--to-rollout", "--scale-down", who, "-o", "json"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let report = ran.json();
        assert_eq!(report["way"], "rollout");
        assert_eq!(report["rehearsal"]["ending"], "done");
        assert!(report["rehearsal"]["services"][0]["fewest"].as_u64() >= Some(4), "{report}");
        assert_eq!(report["hindrances"]["rollout"], serde_json::json!([]));
        assert!(report["rehearsal"]["assumptions"].to_string().contains("Argo Rollouts"), "{report}");
    }
}

#[test]
fn what_argo_cd_keeps_is_left_alone() {
    let ran = migrate(&["deployment/ledger", "--selector", "app=ledger,component=books"]);
    assert_eq!(ran.code, Some(4), "{ran:?}");
    assert!(ran.stdout.contains("Argo CD Application argocd/shop keeps it"), "{ran:?}");
}

#[test]
fn mistakes_are_usage_errors() {
    let cases: [(&[&str], &str); 8] = [
        (&["deployment/web"], "--selector"),
        (&["web", "--selector", "app=web"], "names no object"),
        (&["daemonset/web", "--selector", "app=web"], "a daemonset cannot be migrated"),
        (&["deployment/shop", "--selector", "app=web"], "there is no Deployment shop/shop"),
        (&["deployment/web", "--selector", "app"], "is no label"),
        (&["deployment/web", "--selector", "app=web", "-f", "x.yaml"], "cannot be used with"),
        (&["deployment/web", "--selector", "app=web", "--to-rollout"], "cannot be used with"),
        (&["deployment/web", "--selector", "app=web", "--scale-down", "never"], "cannot be used with"),
    ];
    for (arguments, words) in cases {
        let error = migrate(arguments).usage_error();
        assert!(error.contains(words), "{arguments:?}: {error}");
    }
}
