//! Mistakes: what is wrong, where, why, and what to do next; exit code 2, and nothing on standard output.

use super::common::{PLAN, SNAPSHOT, plan, replank, replank_reading, scratch};

fn error(arguments: &[&str]) -> String {
    replank(arguments).usage_error()
}

#[test]
fn no_command() {
    let ran = replank::<&str>(&[]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
    assert!(ran.stderr.contains("Usage: replank"), "{}", ran.stderr);
}

#[test]
fn a_wrong_flag_is_named_with_the_right_one() {
    let told = error(&["rehearse", "--timelines"]);
    assert!(told.contains("unexpected argument '--timelines'") && told.contains("'--timeline'"), "{told}");
}

#[test]
fn a_wrong_path() {
    insta::assert_snapshot!(error(&["rehearse", "clutser.json", "--roll", "web"]));
}

#[test]
fn an_empty_file() {
    let empty = scratch("empty.yaml", "");
    insta::assert_snapshot!(error(&["rehearse", &empty, "--roll", "web"]));
}

#[test]
fn empty_standard_input() {
    insta::assert_snapshot!(replank_reading(&["rehearse", "-", "--roll", "web"], b"").usage_error());
}

#[test]
fn a_directory_without_manifests() {
    let file = scratch("no-manifests/notes.txt", "nothing");
    let directory = file.strip_suffix("/notes.txt").expect("the file lies in the directory");
    insta::assert_snapshot!(error(&["rehearse", directory, "--roll", "web"]));
}

#[test]
fn a_file_without_objects() {
    let file = scratch("prose.yaml", "this is not a manifest\n");
    insta::assert_snapshot!(error(&["rehearse", &file, "--roll", "web"]));
}

#[test]
fn a_snapshot_without_nodes() {
    let file = scratch(
        "no-nodes.yaml",
        "apiVersion: v1\nkind: Namespace\nmetadata: {name: a, creationTimestamp: \"2026-11-20T09:00:00Z\"}\n",
    );
    insta::assert_snapshot!(error(&["rehearse", &file, "--roll", "web"]));
}

#[test]
fn a_snapshot_without_a_moment() {
    let file = scratch("no-moment.yaml", "apiVersion: v1\nkind: Node\nmetadata: {name: a}\n");
    insta::assert_snapshot!(error(&["rehearse", &file, "--roll", "web"]));
}

#[test]
fn a_plan_without_its_flag() {
    let plan = plan("in-place.yaml", "groups: [web]");
    insta::assert_snapshot!(error(&["rehearse", &plan]));
    for arguments in [
        ["check", &plan, "--now", "2026-11-20T09:52:00Z"].as_slice(),
        &["leftover", &plan],
        // Beside a snapshot it would be passed over without a word.
        &["check", SNAPSHOT, &plan],
    ] {
        let told = error(arguments);
        assert!(told.contains("in-place.yaml is a plan (NodeRoll test), not a snapshot"), "{told}");
        assert!(
            told.contains("-f SCRATCH/in-place.yaml; other commands that read a snapshot take none"),
            "{told}"
        );
    }
}

#[test]
fn a_directory_that_has_only_a_plan() {
    let plan = plan("plans/only.yaml", "groups: [web]");
    let directory = plan.strip_suffix("/only.yaml").expect("the plan lies in the directory");
    for arguments in [["leftover", directory].as_slice(), &["check", SNAPSHOT, directory]] {
        let told = error(arguments);
        assert!(
            told.contains("directory SCRATCH/plans has only a plan (NodeRoll test), not a snapshot"),
            "{told}"
        );
        assert!(told.contains("cluster.json -f SCRATCH/plans/only.yaml; other"), "{told}");
    }
}

#[test]
fn a_plan_on_standard_input() {
    let plan = std::fs::read(super::common::root().join(PLAN)).expect("the example is there");
    // Beside a snapshot it would be passed over without a word.
    for arguments in [["check", "-"].as_slice(), &["check", SNAPSHOT, "-"]] {
        let told = replank_reading(arguments, &plan).usage_error();
        assert!(
            told.contains("standard input is a plan (NodeRoll job-site-to-1-36), not a snapshot"),
            "{told}"
        );
        assert!(told.contains("cluster.json -f -; other"), "{told}");
    }
    // A snapshot that holds the plan, too.
    let both = [plan, b"\n---\n".to_vec(), super::common::snapshot_text().into_bytes()].concat();
    let ran = replank_reading(&["check", "-"], &both);
    assert!(ran.code != Some(2), "{ran:?}");
}

#[test]
fn a_plan_in_the_directory_of_a_snapshot_is_left_aside() {
    assert!(super::common::root().join("examples/job-site/plan.yaml").exists());
    let ran = replank(&["check", "examples/job-site"]);
    assert!(ran.code != Some(2), "{ran:?}");
    let told = error(&["rehearse", "examples/job-site"]);
    assert!(
        told.contains("the snapshot holds the NodeRoll job-site-to-1-36: pass its file with -f"),
        "{told}"
    );
}

#[test]
fn a_plan_with_typos() {
    let plan = plan("typos.yaml", "group: [web], budget: {sugre: 2}, pace: {betweenNodes: 30}");
    insta::assert_snapshot!(error(&["rehearse", SNAPSHOT, "-f", &plan]));
}

#[test]
fn a_plan_that_is_not_there() {
    insta::assert_snapshot!(error(&["rehearse", SNAPSHOT, "-f", "paln.yaml"]));
}

#[test]
fn a_plan_that_is_empty() {
    let plan = scratch("empty-plan.yaml", "# nothing yet\n");
    insta::assert_snapshot!(error(&["rehearse", SNAPSHOT, "-f", &plan]));
}

#[test]
fn a_plan_that_is_no_yaml() {
    let plan = scratch("broken-plan.yaml", "spec: {groups: [web\n");
    let told = error(&["rehearse", SNAPSHOT, "-f", &plan]);
    assert!(told.contains("the plan cannot be read") && told.contains("line "), "{told}");
}

#[test]
fn a_snapshot_in_place_of_a_plan() {
    let told = error(&["rehearse", SNAPSHOT, "-f", SNAPSHOT]);
    assert!(told.contains("documents, expected one"), "{told}");
}

#[test]
fn a_plan_in_place_of_a_snapshot() {
    insta::assert_snapshot!(error(&["rehearse", SNAPSHOT, PLAN]));
}

#[test]
fn neither_plan_nor_groups() {
    insta::assert_snapshot!(error(&["rehearse", SNAPSHOT]));
}

#[test]
fn a_plan_without_a_snapshot() {
    insta::assert_snapshot!(error(&["rehearse", "-f", PLAN]));
}

#[test]
fn an_unknown_group() {
    insta::assert_snapshot!(error(&["rehearse", SNAPSHOT, "--roll", "bacth"]));
}

#[test]
fn a_group_label_that_nobody_has() {
    insta::assert_snapshot!(error(&["rehearse", SNAPSHOT, "--roll", "web", "--group-label", "pool"]));
}

#[test]
fn a_selector_that_matches_nothing() {
    let plan = plan("no-match.yaml", "selector: {matchLabels: {tier: nobody}}");
    insta::assert_snapshot!(error(&["rehearse", SNAPSHOT, "-f", &plan]));
}

#[test]
fn one_seed_and_many() {
    insta::assert_snapshot!(error(&["rehearse", "--seed", "1", "--seeds", "3"]));
}

#[test]
fn a_plan_and_groups() {
    insta::assert_snapshot!(error(&["rehearse", SNAPSHOT, "-f", PLAN, "--roll", "web"]));
}

#[test]
fn values_that_are_none() {
    for (flag, value) in [
        ("--seeds", "0"),
        ("--seed", "-1"),
        ("--limit", "2 days"),
        ("--limit", "0s"),
        ("--now", "yesterday"),
        ("--to-version", "latest"),
        ("-o", "xml"),
    ] {
        let told = error(&["rehearse", SNAPSHOT, "--roll", "web", flag, value]);
        assert!(told.contains(value), "{flag} {value}: {told}");
    }
}

#[test]
fn a_version_without_groups() {
    let told = error(&["rehearse", SNAPSHOT, "--to-version", "1.36"]);
    assert!(told.contains("--roll"), "{told}");
}

#[test]
fn options_that_would_have_no_effect_are_refused() {
    let told = error(&["rehearse", SNAPSHOT, "-f", PLAN, "--as-if-cleared"]);
    assert!(told.contains("--as-if-cleared requires --upgrade-to"), "{told}");
    let told = error(&["rehearse", SNAPSHOT, "-f", PLAN, "--timeline", "--seeds", "2"]);
    assert!(told.contains("'--timeline' cannot be used with '--seeds"), "{told}");
}

#[test]
fn a_script_without_end_is_not_echoed() {
    let line = format!("at 5m: {}\n", "somebody does what nobody knows ".repeat(500));
    let script = scratch("endless.txt", line.repeat(300));
    let told = error(&["rehearse", SNAPSHOT, "-f", PLAN, "--script", &script]);
    assert!(told.len() < 8_000 && told.contains("and 290 more lines"), "{} characters: {told}", told.len());
}

#[test]
fn a_negative_number_is_a_value_and_what_it_may_be_is_said() {
    for option in ["--surge", "--parallel", "--seed"] {
        let told = error(&["rehearse", SNAPSHOT, "--roll", "web", option, "-1"]);
        assert!(!told.contains("unexpected argument") && !told.contains("tip:"), "{told}");
        assert!(told.contains("-1") && told.contains(option), "{told}");
    }
}

#[test]
fn a_group_label_that_no_node_has_is_a_mistake() {
    for command in [["check", SNAPSHOT, "-o"], ["leftover", SNAPSHOT, "-o"]] {
        let told = error(&[&command[..], &["json", "--group-label", "eks.amazonaws.com/nodegrup"]].concat());
        assert!(told.contains("no node has the label eks.amazonaws.com/nodegrup"), "{told}");
        assert!(told.contains("did you mean eks.amazonaws.com/nodegroup?"), "{told}");
    }
}
