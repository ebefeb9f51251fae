//! `check` and `explain`.

use super::common::{PLAN, SNAPSHOT, plan, replank};
use super::place::shown;

#[test]
fn the_example_checked_under_its_plan() {
    insta::assert_snapshot!(shown(&replank(&["check", SNAPSHOT, "-f", PLAN])));
}

#[test]
fn without_a_plan_every_group_is_looked_at_and_it_is_said() {
    let ran = replank(&["check", SNAPSHOT]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(
        ran.stderr.contains("no plan given: checked as if every node group were replaced by identical nodes"),
        "{ran:?}"
    );
    assert!(ran.stdout.contains("as if every group were replaced by identical"), "{ran:?}");
}

#[test]
fn nodes_of_no_known_group_are_replaced_each_for_itself_and_the_flag_is_named_once() {
    let example = "examples/termination/corrected";
    let (cluster, aws) = (format!("{example}/cluster.yaml"), format!("{example}/aws"));
    let ran = replank(&["check", &cluster, "--aws", &aws]);
    assert_eq!(ran.stderr.matches("--group-label").count(), 1, "{ran:?}");
    let text = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("as if each were replaced by an identical one"), "{ran:?}");
    assert!(!ran.stdout.contains("blocking") && !ran.stdout.contains("no-room"), "{ran:?}");
    assert!(!replank(&["check", SNAPSHOT]).stderr.contains("--group-label"), "its groups are known");
}

#[test]
fn a_check_finds_what_a_rehearsal_finds() {
    let checked = replank(&["check", SNAPSHOT, "-f", PLAN, "-o", "json"]).json();
    let rehearsed = replank(&["rehearse", SNAPSHOT, "-f", PLAN, "-o", "json"]).json();
    assert!(checked["findings"].as_array().is_some_and(|all| all.len() > 3), "{checked}");
    assert_eq!(checked["findings"], rehearsed["findings"]);
}

#[test]
fn nothing_named_is_the_bundled_example() {
    let bundled = replank(&["check", "-o", "json"]).json();
    let named = replank(&["check", SNAPSHOT, "-f", PLAN, "-o", "json"]).json();
    assert_eq!(bundled["findings"], named["findings"]);
}

#[test]
fn a_check_refuses_what_a_rehearsal_refuses_and_counts_the_same_nodes() {
    let releases = "examples/questions/releases.yaml";
    let managed = "nodeGroups: [{name: web, managedBy: eks}]";
    let back = plan(
        "check-release-back.yaml",
        &format!("groups: [web], target: {{releaseVersion: 1.35.6-20260625}}, {managed}"),
    );
    let refused = ["check", "rehearse"].map(|verb| replank(&[verb, releases, "-f", &back]).usage_error());
    assert!(refused[0].contains("EKS takes no node group back to an earlier one"), "{refused:?}");
    assert!(refused[1].contains("EKS takes no node group back to an earlier one"), "{refused:?}");
    // Group web has the release already.
    let on = "examples/questions/release.yaml";
    let checked = replank(&["check", releases, "-f", on]);
    assert!(checked.stdout.contains("on-to-july replaces 1 node of"), "{checked:?}");
    assert_eq!(replank(&["rehearse", releases, "-f", on, "-o", "json"]).json()["nodes"]["total"], 1);
}

#[test]
fn lists_of_bad_images_are_looked_at_in_a_rehearsal_as_in_a_check() {
    let (releases, list) = ("examples/questions/releases.yaml", "examples/questions/bad-images.txt");
    let on = "examples/questions/release.yaml";
    let found = |verb: &str| {
        let ran = replank(&[verb, releases, "-f", on, "--bad-images", list, "-o", "json"]).json();
        let all = ran["findings"].as_array().cloned().unwrap_or_default();
        let of_images = all.into_iter().filter(|one| one["id"] == "image-release");
        of_images.map(|one| (one["severity"].clone(), one["object"].clone())).collect::<Vec<_>>()
    };
    let checked = found("check");
    assert_eq!(checked.len(), 4, "what the plan brings, and what the nodes have: {checked:?}");
    assert_eq!(found("rehearse"), checked);
    let missing = replank(&["rehearse", releases, "-f", on, "--bad-images", "not-there"]);
    assert!(missing.usage_error().contains("not-there cannot be read"), "{missing:?}");
}

#[test]
fn what_only_the_rehearsal_has_is_named_and_no_command_shows_it() {
    let of = |script: &str| {
        let script = format!("examples/questions/image/{script}.txt");
        let image = "examples/questions/image";
        let (cluster, plan) = (format!("{image}/cluster.yaml"), format!("{image}/plan.yaml"));
        replank(&["rehearse", &cluster, "-f", &plan, "--script", &script, "-o", "json"]).json()
    };
    let overloaded = of("overloaded");
    let finding = &overloaded["findings"][0];
    assert_eq!(finding["id"], "stops-the-roll", "{finding}");
    let remedy = finding["remedy"].as_str().unwrap_or_default();
    assert!(
        remedy.contains("kubelet settings of group web's new nodes") && !remedy.contains("kubectl"),
        "{remedy}"
    );
    // The rollback has moved the pod for which the run halted; it is named all the same.
    let dns = of("dns");
    let told: Vec<String> =
        dns["blockers"].as_array().into_iter().flatten().map(ToString::to_string).collect();
    assert!(
        told.iter().any(|one| one.contains("pod shop/cart-") && one.contains("in CrashLoopBackOff")),
        "{told:?}"
    );
}

#[test]
fn nothing_found_is_exit_code_0() {
    let plan = plan("check-nothing.yaml", "groups: [web], kubeletVersion: '<1.20'");
    let ran = replank(&["check", SNAPSHOT, "-f", &plan]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.starts_with("Check  nothing found"), "{ran:?}");
}

#[test]
fn mistakes_are_usage_errors() {
    let error = replank(&["check", "-f", PLAN]).usage_error();
    assert!(error.contains("no snapshot to check"), "{error}");
    let error = replank(&["check", SNAPSHOT, "--roll", "bacth"]).usage_error();
    assert!(error.contains("did you mean batch?"), "{error}");
    let error = replank(&["explain", "pdb-nver-allows"]).usage_error();
    assert!(error.contains("did you mean pdb-never-allows?"), "{error}");
}

#[test]
fn an_explanation_for_a_person() {
    insta::assert_snapshot!(shown(&replank(&["explain", "pdb-not-counted"])));
}

#[test]
fn all_explanations_are_listed() {
    let ran = replank(&["explain"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("pdb-never-allows") && ran.stdout.contains("addon-placement"), "{ran:?}");
}

#[test]
fn an_explanation_for_a_program() {
    let all = replank(&["explain", "-o", "json"]).json();
    let found = all["findings"].as_array().expect("a list");
    assert!(found.len() > 30, "{}", found.len());
    let one = replank(&["explain", "singleton", "-o", "json"]).json();
    assert_eq!(one["findings"][0]["foundBy"], serde_json::json!(["check", "rehearse"]));
}
