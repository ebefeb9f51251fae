//! The labelled set: small snapshots with what `replank check` or a rehearsal must find in each, and nothing else.
//!
//! `testdata/labelled/README.md` describes the form. `REPLANK_LABELLED` names another directory in the same form.

mod case;
mod cluster;
mod entry;
mod jobs;
mod nodes;
mod others;
mod pods;
mod score;
mod volumes;
mod workloads;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde_json::{Value, json};

use super::common::{command, root, scratch};
use case::{Case, Found, Trial};
use cluster::Cluster;
use score::Score;

/// The time of every snapshot; a Friday.
pub(crate) const NOW: &str = "2026-11-20T09:52:00Z";

#[test]
fn what_is_found_is_what_the_labels_say() {
    let directory = std::env::var_os("REPLANK_LABELLED")
        .map_or_else(|| root().join("testdata/labelled"), |given| root().join(PathBuf::from(given)));
    let cases = Case::all(&directory);
    assert!(!cases.is_empty(), "no case in {}", directory.display());
    let names: BTreeSet<String> = cases.iter().map(Case::full_name).collect();
    assert_eq!(names.len(), cases.len(), "two cases have the same name");

    let mut score = Score::default();
    let mut differences = Vec::new();
    let mut proofs: BTreeMap<String, usize> = BTreeMap::new();
    for case in &cases {
        let (findings, again) = put_to_trial(case);
        for finding in &findings {
            *proofs.entry(finding["proof"].as_str().unwrap_or_default().to_owned()).or_default() += 1;
            let unproved = unproved_command(finding);
            assert!(
                unproved.is_none(),
                "{}: {unproved:?} is shown and was not proved: {finding}",
                case.full_name()
            );
        }
        let found: Vec<Found> = findings.iter().map(Found::of).collect();
        if let Some(difference) = score.take(case, &found) {
            differences.push(format!("{}\n  {}\n{difference}  again: {again}\n", case.full_name(), case.why));
        }
    }
    let table = score.table();
    // Printed with --nocapture, and below every failure.
    println!("{table}");
    println!("remedies: {proofs:?}");
    assert!(
        differences.is_empty(),
        "{} of {} cases differ\n\n{}\n{table}",
        differences.len(),
        cases.len(),
        differences.join("\n")
    );
}

/// What is found in a case, and the call to be made by hand.
fn put_to_trial(case: &Case) -> (Vec<Value>, String) {
    let cluster = Cluster::of(case);
    let file = |what: &str| format!("labelled/{}.{what}", case.full_name());
    let snapshot = scratch(&file("snapshot.json"), text(&cluster.snapshot()));
    let verb = match &case.trial {
        Trial::Check => "check",
        Trial::Rehearse(_) => "rehearse",
    };
    let mut arguments =
        vec![verb.to_owned(), snapshot, "-o".into(), "json".into(), "--now".into(), NOW.into()];
    match &case.trial {
        Trial::Rehearse(script) if !script.is_empty() => {
            arguments.extend(["--script".into(), scratch(&file("script.txt"), script.join("\n"))]);
        }
        Trial::Rehearse(_) | Trial::Check => {}
    }
    if let Some(spec) = &case.plan {
        let plan = json!({"apiVersion": "replank.dev/v1alpha1", "kind": "NodeRoll", "metadata": {"name": "labelled"}, "spec": spec});
        arguments.extend(["-f".into(), scratch(&file("plan.json"), text(&plan))]);
    }
    if let Some(group) = &case.roll {
        arguments.extend(["--roll".into(), group.clone()]);
    }
    if !case.groups.is_empty() {
        arguments
            .extend(["--groups".into(), scratch(&file("groups.json"), text(&cluster.groups(&case.groups)))]);
    }
    if !case.aws.is_empty() {
        arguments.extend(["--aws".into(), answers(case, &cluster)]);
    }
    if !case.bad_images.is_empty() {
        let list = scratch(&file("images.txt"), case.bad_images.join("\n"));
        arguments.extend(["--bad-images".into(), list]);
    }
    if case.managed_update {
        arguments.push("--managed-update".into());
    }
    let ran: super::common::Ran = command(&arguments).output().expect("the binary can be run").into();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    super::schemas::hold(&words, &ran.stdout);
    let again = format!("replank {}", arguments.join(" "));
    // 0: nothing; 3: findings; 6: kinds that no case needs are not in its snapshot, or answers of AWS; 4: a rehearsal is blocked.
    let is_right = match (&case.trial, ran.code) {
        (Trial::Check | Trial::Rehearse(_), Some(0 | 3 | 6)) | (Trial::Rehearse(_), Some(4)) => true,
        (Trial::Check | Trial::Rehearse(_), Some(_) | None) => false,
    };
    assert!(is_right, "{}: {again}\n{}", case.full_name(), ran.stderr);
    (ran.json()["findings"].as_array().expect("a list of findings").clone(), again)
}

/// The directory of `--aws`, with a file for each answer and none of an earlier run.
fn answers(case: &Case, cluster: &Cluster) -> String {
    let directory =
        PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("labelled/{}.aws", case.full_name()));
    drop(std::fs::remove_dir_all(&directory));
    for (at, answer) in case.aws.iter().enumerate() {
        let name = format!("labelled/{}.aws/{at}.json", case.full_name());
        scratch(&name, text(&cluster.answer(answer)));
    }
    directory.into_os_string().into_string().expect("the scratch path is text")
}

/// A command of a remedy that changes something, though nobody has proved it.
fn unproved_command(finding: &Value) -> Option<String> {
    const READING: [&str; 6] = ["get", "describe", "logs", "edit", "rollout history", "explain"];
    if matches!(finding["proof"].as_str(), Some("checked" | "rehearsed")) {
        return None;
    }
    let lines = finding["remedy"].as_str().unwrap_or_default().lines();
    let changes = |line: &&str| {
        let Some(words) = line.strip_prefix("kubectl ") else { return false };
        let words = match words.strip_prefix("-n ") {
            Some(rest) => rest.split_once(' ').map_or("", |(_, rest)| rest),
            None => words,
        };
        !READING.iter().any(|verb| words.starts_with(verb))
    };
    lines.into_iter().find(changes).map(str::to_owned)
}

fn text(value: &Value) -> String {
    serde_json::to_string_pretty(value).expect("JSON can be written")
}
