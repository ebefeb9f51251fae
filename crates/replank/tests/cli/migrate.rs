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

const KINDS: &str = "examples/migrate/kinds.yaml";

fn migrate_kinds(arguments: &[&str]) -> super::common::Ran {
    replank(&[&["migrate"], arguments, &[KINDS, "-n", "shop", "--now", "2026-11-20T10:00:00Z"]].concat())
}

#[test]
fn a_stateful_set_keeps_its_pods_or_is_refused() {
    let ran = migrate_kinds(&["sts/db", "--selector", "app=db", "-o", "json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let report = ran.json();
    assert_eq!((&report["kind"], &report["way"]), (&"StatefulSet".into(), &"keep".into()));
    let rehearsal = &report["rehearsal"];
    assert_eq!((&rehearsal["podsKept"], &rehearsal["pods"]), (&2.into(), &2.into()), "{report}");
    assert_eq!(rehearsal["services"][0]["fewest"], 2, "{report}");
    let ran = migrate_kinds(&["sts/db", "--selector", "app=db,release=second", "-o", "json"]);
    assert_eq!(ran.code, Some(4), "{ran:?}");
    let why = ran.json()["hindrances"]["keep"].to_string();
    assert!(why.contains("does not match the labels of pod db-"), "{why}");
}

#[test]
fn objects_of_old_versions_are_the_same_under_the_new() {
    let ran = migrate_kinds(&["ds/agent", "--selector", "app=agent", "-o", "json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let report = ran.json();
    let assumed = report["rehearsal"]["assumptions"].to_string();
    assert!(assumed.contains("DaemonSet of extensions/v1beta1 as apps/v1"), "{assumed}");
    assert_eq!(
        report["writers"][0],
        serde_json::json!({"who": "kubectl apply", "version": "extensions/v1beta1"})
    );
    assert_eq!((&report["way"], &report["rehearsal"]["podsKept"]), (&"keep".into(), &3.into()), "{report}");
    let ran = migrate_kinds(&["deployment/cart", "--selector", "app=cart", "-o", "json"]);
    let report = ran.json();
    assert_eq!((&report["way"], &report["rehearsal"]["podsKept"]), (&"keep".into(), &1.into()), "{report}");
    assert_eq!(report["writers"][0]["who"], "helm", "{report}");
}

#[test]
fn the_same_selector_leaves_nothing_to_move_but_the_writer() {
    for (object, same) in [("ds/agent", "app=agent,version=v1"), ("deployment/cart", "app=cart,version=v1")] {
        let ran = migrate_kinds(&[object, "--selector", same]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(ran.stdout.starts_with("Migration  nothing to move"), "{ran:?}");
        assert!(ran.stdout.contains("writes it as extensions/v1beta1"), "{ran:?}");
    }
    let ran = migrate_kinds(&["rs/cart-6b7d", "--selector", "app=cart"]);
    assert_eq!(ran.code, Some(4), "{ran:?}");
    assert!(ran.stdout.contains("Deployment cart owns it"), "{ran:?}");
}

#[test]
fn what_argo_cd_keeps_is_left_alone() {
    let ran = migrate(&["deployment/ledger", "--selector", "app=ledger,component=books"]);
    assert_eq!(ran.code, Some(4), "{ran:?}");
    assert!(ran.stdout.contains("Argo CD Application argocd/shop manages it"), "{ran:?}");
}

#[test]
fn mistakes_are_usage_errors() {
    let cases: [(&[&str], &str); 9] = [
        (&["deployment/web"], "--selector"),
        (&["web", "--selector", "app=web"], "is not an object name"),
        (&["job/web", "--selector", "app=web"], "a job cannot be migrated"),
        (&["daemonset/web", "--to-rollout"], "a Rollout cannot replace a DaemonSet"),
        (&["deployment/shop", "--selector", "app=web"], "Deployment shop/shop not found"),
        (&["deployment/web", "--selector", "app"], "is not a label"),
        (&["deployment/web", "--selector", "app=web", "-f", "x.yaml"], "cannot be used with"),
        (&["deployment/web", "--selector", "app=web", "--to-rollout"], "cannot be used with"),
        (&["deployment/web", "--selector", "app=web", "--scale-down", "never"], "cannot be used with"),
    ];
    for (arguments, words) in cases {
        let error = migrate(arguments).usage_error();
        assert!(error.contains(words), "{arguments:?}: {error}");
    }
}

/// Clusters before 1.17 have Endpoints only, and a dump may leave EndpointSlices out: that says nothing of who serves.
#[test]
fn a_service_without_endpoint_slices_in_the_snapshot_is_watched_all_the_same() {
    let ran = super::common::replank(&[
        "migrate",
        "deployment/cart",
        "examples/upgrade-2020/cluster.yaml",
        "-n",
        "shop",
        "-f",
        "examples/upgrade-2020/fixed/cart.yaml",
        "-o",
        "json",
    ]);
    let value = ran.json();
    let rehearsal = &value["rehearsal"];
    let service = &rehearsal["services"][0];
    assert_eq!(
        (&service["service"], &service["before"], &service["after"]),
        (&"cart".into(), &2.into(), &2.into()),
        "{value}"
    );
    assert!(service["fewest"].as_u64() > Some(0), "{value}");
    let told = rehearsal["assumptions"].to_string();
    assert!(told.contains("EndpointSlices of Service shop/cart: not in the snapshot"), "{told}");
}
