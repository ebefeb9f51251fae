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
    assert!(stray.contains("--bake is of an upgrade"), "{stray}");
    assert!(
        replank(&["rehearse", "--upgrade-to", "1.34"]).usage_error().contains("no snapshot of a cluster")
    );
    assert!(upgrade(&["1.34", "-o", "markdown"]).usage_error().contains("a change request is of one roll"));
}
