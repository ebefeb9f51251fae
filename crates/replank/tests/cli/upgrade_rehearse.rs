//! `replank rehearse --upgrade-to`: the whole way in virtual time.

use serde_json::{Value, json};

use super::common::{Ran, replank};
use super::upgrade_plan::{CLUSTER, EKS};

fn upgrade(arguments: &[&str]) -> Ran {
    let words: Vec<&str> =
        ["rehearse", CLUSTER, "--upgrade-to"].iter().chain(arguments).chain(&EKS).copied().collect();
    replank(&words)
}

fn steps(value: &Value) -> Vec<String> {
    let of = |step: &Value| format!("{} {}", step["kind"].as_str().unwrap(), step["came"].as_str().unwrap());
    value["steps"].as_array().unwrap().iter().map(of).collect()
}

#[test]
fn every_step_begins_with_what_the_one_before_has_left() {
    for route in ["fewest-rolls", "every-step"] {
        let ran = upgrade(&["1.36", "--route", route, "-o", "json"]);
        let value = ran.json();
        assert_eq!((ran.code, &value["verdict"]), (Some(3), &json!("findings")), "{route}: {value}");
        let steps = value["steps"].as_array().unwrap();
        assert!(steps.iter().all(|step| step["came"] == "done"), "{route}: {value}");
        // The moments follow each other without a gap, and rolls replace what there is.
        let replaced: Vec<u64> = steps
            .iter()
            .filter(|step| step["kind"] == "roll")
            .map(|step| step["nodesReplaced"].as_u64().unwrap())
            .collect();
        let expected: &[u64] = if route == "fewest-rolls" { &[2, 2, 3] } else { &[2, 2, 3, 2, 3, 2, 3] };
        assert_eq!(replaced, expected, "{route}");
        assert!(steps.iter().all(|step| step["budgetViolations"] == 0), "{value}");
        let took: u64 = steps.iter().map(|step| step["tookMs"].as_u64().unwrap()).sum();
        assert_eq!(value["virtualDurationMs"], took);
    }
}

#[test]
fn nothing_blocking_is_passed_by_unless_somebody_says_so() {
    let ran = upgrade(&["1.34", "--scan", "examples/upgrade/deploy", "--bake", "0d", "-o", "json"]);
    let value = ran.json();
    assert_eq!(ran.code, Some(4), "{value}");
    assert_eq!(steps(&value)[..2], ["controlPlane notBegun", "roll notComeTo"]);
    assert_eq!(value["virtualDurationMs"], 0);
    let ran = upgrade(&[
        "1.34",
        "--scan",
        "examples/upgrade/deploy",
        "--bake",
        "0d",
        "--as-if-cleared",
        "-o",
        "json",
    ]);
    let value = ran.json();
    assert_eq!(steps(&value)[..2], ["controlPlane asIfCleared", "roll done"]);
    let fails = value["steps"][0]["fails"][0].as_str().unwrap();
    assert!(fails.contains("cannot be applied any more") && fails.contains("policy.yaml:2"), "{fails}");
}

#[test]
fn durations_are_those_that_were_said_and_runs_are_repeatable() {
    let arguments = ["1.34", "--bake", "2d", "--hop-takes", "40m", "--addon-takes", "7m", "-o", "json"];
    let value = upgrade(&arguments).json();
    let took = |kind: &str| {
        let steps = value["steps"].as_array().unwrap();
        steps.iter().find(|step| step["kind"] == kind).map(|step| step["tookMs"].as_u64().unwrap() / 60_000)
    };
    assert_eq!(
        (took("controlPlane"), took("bake"), took("kubeProxy")),
        (Some(40), Some(2 * 24 * 60), Some(7))
    );
    assert_eq!(upgrade(&arguments).json(), value);
}

#[test]
fn what_does_not_go_together_is_a_usage_error() {
    assert!(upgrade(&["1.34", "--seeds", "3"]).usage_error().contains("cannot be used with"));
    for option in ["--load", "--interruptions"] {
        assert!(
            upgrade(&["1.34", option, "some.csv"]).usage_error().contains("cannot be used with"),
            "{option}"
        );
    }
    let stray = replank(&["rehearse", CLUSTER, "--bake", "1d"]).usage_error();
    assert!(stray.contains("--bake requires --upgrade-to"), "{stray}");
    assert!(
        replank(&["rehearse", "--upgrade-to", "1.34"]).usage_error().contains("no snapshot to rehearse on")
    );
    assert!(upgrade(&["1.34", "-o", "markdown"]).usage_error().contains("a change request covers one roll"));
}

/// A cluster of 1.15 on its way to 1.18, with such manifests and user data.
fn in_2020(manifests: &str, user_data: &str, more: &[&str]) -> Value {
    const HOME: &str = "examples/upgrade-2020";
    let kubelet = |group: &str| format!("{group}={HOME}/user-data/{group}{user_data}.sh");
    let words = [
        "rehearse",
        &format!("{HOME}/cluster.yaml"),
        "--upgrade-to",
        "1.18",
        "--group-label",
        "nodegroup",
        "--eks",
        &format!("{HOME}/eks/cluster.json"),
        "--scan",
        &format!("{HOME}/{manifests}"),
        "--kubelet",
        &kubelet("web"),
        "--kubelet",
        &kubelet("jobs"),
        "-o",
        "json",
    ]
    .iter()
    .chain(more)
    .map(|word| (*word).to_owned())
    .collect::<Vec<_>>();
    replank(&words).json()
}

#[test]
fn a_cluster_of_1_15_comes_to_1_18_once_its_manifests_and_kubelets_are_ready() {
    let before = in_2020("deploy", "", &[]);
    assert_eq!(
        (steps(&before)[0].as_str(), &before["verdict"]),
        ("controlPlane notBegun", &json!("blocked"))
    );
    let why = before["steps"][0]["why"].to_string();
    assert!(why.contains("extensions/v1beta1 Deployment") && why.contains("deploy/web.yaml"), "{why}");
    assert!(
        !why.contains("as the cluster showed it"),
        "in what version a dump shows an object says nothing of who writes it: {why}"
    );

    let forced = in_2020("deploy", "", &["--as-if-cleared"]);
    let fails = forced["steps"][0]["fails"].to_string();
    assert!(fails.contains("apps/v1beta1 Deployment cannot be applied any more"), "{fails}");
    assert!(
        fails.contains(
            "extensions/v1beta1 Deployment is not found any more: examples/upgrade-2020/deploy/cart.yaml:34"
        ),
        "{fails}"
    );
    let rolls = |value: &Value| -> Vec<String> {
        let all = value["steps"].as_array().unwrap();
        all.iter()
            .filter(|step| step["kind"] == "roll")
            .map(|step| format!("{} {}", step["came"].as_str().unwrap(), step["why"]))
            .collect()
    };
    assert!(rolls(&forced)[0].contains("node-role.kubernetes.io/jobs"), "{:?}", rolls(&forced));
    assert_eq!(
        rolls(&forced)[2],
        "done []",
        "what kubelets refuse stands before the first roll of a group alone"
    );

    let after = in_2020("fixed", "-after", &[]);
    assert!(steps(&after).iter().all(|step| step.ends_with(" done")), "{after}");
    assert_eq!(rolls(&after).len(), 4, "no kubelet of 1.15 is taken by 1.18: both groups are rolled twice");
    let all = after["steps"].as_array().unwrap();
    assert!(all.iter().all(|step| step["fails"] == json!([]) && step["budgetViolations"] == 0), "{after}");
}

#[test]
fn what_selects_a_label_that_new_kubelets_do_not_set_finds_no_new_node() {
    let text =
        std::fs::read_to_string(super::common::root().join("examples/upgrade-2020/cluster.yaml")).unwrap();
    let changed = text.replace(
        "nodeSelector: {\"nodegroup\": \"web\"}",
        "nodeSelector: {\"node-role.kubernetes.io/web\": \"\"}",
    );
    assert_ne!(changed, text);
    let path = super::common::scratch("selects-a-role/cluster.yaml", changed);
    let user_data = "web=examples/upgrade-2020/user-data/web-after.sh";
    let ran = replank(&[
        "upgrade",
        "plan",
        &path,
        "--to",
        "1.16",
        "--from",
        "1.15",
        "--group-label",
        "nodegroup",
        "--kubelet",
        user_data,
        "-o",
        "json",
    ]);
    let value = ran.json();
    let all = value["steps"].as_array().unwrap();
    let web = all.iter().find(|step| step["group"] == "web").unwrap();
    let found: Vec<&str> =
        web["findings"].as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap()).collect();
    assert_eq!(found, ["roll-blocked"], "{web}");
}
