//! `replank upgrade watch`.

use serde_json::json;

use super::common::{Ran, replank, scratch};
use super::drive::ground::Ground;

const CLUSTER: &str = "examples/upgrade/cluster.yaml";
/// The same, from whatever directory it is served.
const SERVED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/upgrade/cluster.yaml");
const EKS: &str = "examples/upgrade/eks/cluster.json";

fn watch(arguments: &[&str]) -> Ran {
    let words: Vec<&str> = ["upgrade", "watch"].iter().chain(arguments).copied().collect();
    replank(&words)
}

#[test]
fn support_that_ends_soon_needs_attention_and_support_that_lasts_does_not() {
    // (window, day, exit code): extended support of 1.33 ends on 2027-07-29.
    for (within, now, code) in [
        ("90d", "2026-11-20T09:00:00Z", 0),
        ("300d", "2026-11-20T09:00:00Z", 3),
        ("90d", "2027-05-01T00:00:00Z", 3),
    ] {
        let ran = watch(&[CLUSTER, "--eks", EKS, "--within", within, "--now", now]);
        assert_eq!(ran.code, Some(code), "{within} {now}: {ran:?}");
        assert_eq!(ran.stdout.contains("nothing needs attention"), code == 0, "{ran:?}");
    }
}

#[test]
fn a_controller_that_is_not_made_for_the_version_needs_attention() {
    // Cluster Autoscaler 1.33 and cert-manager 1.18 on a control plane of 1.34.
    let ran = watch(&[CLUSTER, "--from", "1.34", "--now", "2026-01-20T09:00:00Z"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(ran.stdout.contains("Cluster Autoscaler: not compatible with 1.34: update to 1.34"), "{ran:?}");
}

/// Its README promises one Kubernetes only, and says of no other that it fails.
#[test]
fn a_controller_that_a_version_is_best_effort_for_needs_no_attention() {
    let cluster = std::fs::read_to_string(SERVED).expect("it is there");
    let own = "registry.k8s.io/autoscaling/cluster-autoscaler:v1.33.0";
    let metrics = "registry.k8s.io/kube-state-metrics/kube-state-metrics:v2.16.0";
    let cluster = scratch("upgrade-watch-metrics.yaml", cluster.replace(own, metrics));
    let arguments = [cluster.as_str(), "--eks", EKS, "--now", "2026-11-20T09:00:00Z"];
    let ran = watch(&arguments);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let text = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("best effort with 1.33: its client-go is that of 1.32; best effort"), "{text}");
    let value = watch(&[&arguments[..], &["-o", "json"]].concat()).json();
    let modules = value["modules"].as_array().expect("a list");
    let module = modules.iter().find(|one| one["name"] == "kube-state-metrics").expect("it is known");
    assert_eq!((&module["current"], &module["next"]), (&"bestEffort".into(), &"bestEffort".into()));
}

#[test]
fn the_json_has_dates_modules_and_what_stands_before_the_next_version() {
    let ran = watch(&[CLUSTER, "--eks", EKS, "--now", "2026-11-20T09:00:00Z", "-o", "json"]);
    let value = ran.json();
    assert_eq!(value["version"], "replank.dev/watch/v1alpha1");
    assert_eq!((&value["controlPlane"], &value["cluster"]), (&"1.33".into(), &"shop".into()));
    assert_eq!(value["attention"], serde_json::json!([]));
    let dates = value["dates"].as_array().expect("a list");
    let ends = dates.iter().find(|date| date["day"] == "2027-07-29").expect("the end of extended support");
    assert_eq!((&ends["expected"], &ends["daysLeft"]), (&false.into(), &251.into()));
    let autoscaler =
        value["modules"].as_array().expect("a list").iter().find(|one| one["name"] == "Cluster Autoscaler");
    let autoscaler = autoscaler.expect("it is known by its image");
    assert_eq!((&autoscaler["current"], &autoscaler["next"]), (&"compatible".into(), &"notMadeFor".into()));
    assert_eq!(value["next"]["version"], "1.34");
}

#[test]
fn a_release_that_is_not_announced_is_expected_as_long_after_kubernetes_as_the_ones_before() {
    let row = json!([{"version": "1.38", "upstream_release": "2026-12-09"}]).to_string();
    let row = scratch("upgrade-watch-1.38.json", row);
    let value = watch(&["--eks", EKS, "--calendar", &row, "--now", "2026-12-15", "-o", "json"]).json();
    let next = offered(&value, "1.38").expect("it is ahead");
    assert_eq!(next["expected"], true);
    // 41 days, as for the others.
    assert_eq!(next["day"], "2027-01-19", "{next}");
}

#[test]
fn an_expected_day_that_the_data_did_not_see_come_is_not_ahead() {
    // Kubernetes 1.37 came on 2026-08-26; EKS did not offer it about 2026-10-06, as far as the data of 2026-11-20 knows.
    let value = watch(&["--eks", EKS, "--now", "2026-09-01T00:00:00Z", "-o", "json"]).json();
    assert_eq!(offered(&value, "1.37"), None, "{value}");
}

fn offered<'v>(value: &'v serde_json::Value, version: &str) -> Option<&'v serde_json::Value> {
    let what = format!("EKS offers {version}");
    let dates = value["dates"].as_array().expect("a list");
    dates.iter().find(|date| date["what"].as_str().is_some_and(|text| text.starts_with(&what)))
}

#[test]
fn of_versions_to_come_the_next_two_are_listed_and_all_on_request() {
    let then = [CLUSTER, "--from", "1.33", "--now", "2025-06-15"];
    let text = watch(&then).stdout;
    assert!(text.contains("EKS offers 1.34") && text.contains("EKS offers 1.35"), "{text}");
    assert!(!text.contains("EKS offers 1.36"), "{text}");
    assert!(text.contains("1 date of later versions: --all lists them"), "{text}");
    let few = watch(&[&then[..], &["-o", "json"]].concat()).json();
    let all = watch(&[&then[..], &["--all", "-o", "json"]].concat()).json();
    assert_eq!((&few["laterDates"], &all["laterDates"]), (&1.into(), &0.into()), "{few}");
    let number = |value: &serde_json::Value| value["dates"].as_array().expect("a list").len();
    assert_eq!(number(&all), number(&few) + 1);
    let last = offered(&all, "1.36").expect("all are listed");
    assert_eq!((&last["day"], offered(&few, "1.36")), (&"2026-06-02".into(), None));
}

#[test]
fn a_version_that_is_assumed_from_kubelets_is_marked_and_needs_attention() {
    let now = ["--now", "2026-11-20"];
    let assumed = watch(&[&[CLUSTER], &now[..]].concat());
    assert_eq!(assumed.code, Some(3), "{assumed:?}");
    let text = assumed.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("control plane 1.33 (assumed from the newest kubelet)"), "{text}");
    let value = watch(&[&[CLUSTER, "-o", "json"], &now[..]].concat()).json();
    let known = |value: &serde_json::Value| {
        (value["controlPlaneKnownBy"].clone(), value["controlPlaneAssumed"].clone())
    };
    assert_eq!(known(&value), ("newestKubelet".into(), true.into()));
    let attention = value["attention"].as_array().expect("a list");
    let [only] = attention.as_slice() else { panic!("{attention:?}") };
    let only = only.as_str().expect("a sentence");
    assert!(only.contains("--eks") && only.contains("--from"), "{only}");
    // The near misses: it is told.
    for (told, by) in [(["--eks", EKS], "eks"), (["--from", "1.33"], "given")] {
        let ran = watch(&[&[CLUSTER, "-o", "json"], &now[..], &told].concat());
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert_eq!(known(&ran.json()), (by.into(), false.into()));
    }
}

#[test]
fn a_live_cluster_is_read_where_no_snapshot_is_given_and_says_its_version_itself() {
    // Its kubelets run 1.31 to 1.33, its API server 1.36.
    let ground = Ground::served_from("upgrade-watch", SERVED);
    let live = ["--kubeconfig", ground.kubeconfig().to_str().expect("it is text")];
    let value = watch(&[&live[..], &["-o", "json"]].concat()).json();
    assert_eq!(
        (&value["controlPlane"], &value["controlPlaneKnownBy"], &value["controlPlaneAssumed"]),
        (&"1.36".into(), &"apiServers".into(), &false.into()),
        "{value}"
    );
    assert!(value["modules"].as_array().is_some_and(|modules| !modules.is_empty()), "{value}");
    let arguments = ["upgrade", "plan", "--to", "1.36", "--no-rehearsal", "-o", "json"];
    let plan = replank(&[&arguments[..], &live].concat()).json();
    assert_eq!((&plan["from"], &plan["controlPlaneKnownBy"]), (&"1.36".into(), &"apiServers".into()));
    let commands: Vec<&str> = plan["steps"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|step| step["command"].as_str())
        .collect();
    assert!(commands.iter().any(|command| command.contains("--context ")), "{commands:?}");
    let both = watch(&[&[CLUSTER], &live[..]].concat()).usage_error();
    assert!(both.contains("a SNAPSHOT and a live cluster"), "{both}");
    let label = |key: &str| {
        for node in ground.get("/api/v1/nodes")["items"].as_array().expect("a list") {
            let path = format!("/api/v1/nodes/{}", node["metadata"]["name"].as_str().expect("a name"));
            ground.merge(&path, &json!({"metadata": {"labels": {key: "other"}}}));
        }
    };
    // Cluster API's name for it may be another than EKS's.
    label("cluster.x-k8s.io/cluster-name");
    let own = watch(&[&live[..], &["--eks", EKS, "-o", "json"]].concat()).json();
    assert_eq!(own["cluster"], "shop");
    // What EKS says of another cluster is not mixed with it.
    label("alpha.eksctl.io/cluster-name");
    let other = watch(&[&live[..], &["--eks", EKS]].concat()).usage_error();
    assert!(other.contains("belong to cluster other, and --eks describes shop"), "{other}");
}

#[test]
fn nothing_named_is_a_usage_error() {
    assert!(watch(&[]).usage_error().contains("neither a snapshot nor EKS output"));
}
