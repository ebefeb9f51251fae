//! Journals: kept by a rehearsal, told, and laid side by side.

use std::fs;

use super::common::{replank, scratch};

/// A path where nothing is.
fn fresh(name: &str) -> String {
    let path = scratch(name, "");
    fs::remove_file(&path).expect("the scratch file was just made");
    path
}

#[test]
fn a_rehearsal_keeps_a_journal_that_is_told_and_compared() {
    let [first, again, other] = ["journal-1.jsonl", "journal-again.jsonl", "journal-2.jsonl"].map(fresh);
    for (path, seed) in [(&first, "1"), (&again, "1"), (&other, "2")] {
        let ran = replank(&["rehearse", "--seed", seed, "--journal", path]);
        assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    }
    assert_eq!(
        fs::read(&first).expect("written"),
        fs::read(&again).expect("written"),
        "same seed, same lines"
    );

    let told = replank(&["report", &first, "-o", "json"]);
    assert_eq!(told.code, Some(0), "{}", told.stderr);
    let tale = told.json();
    let result = replank(&["rehearse", "--seed", "1", "-o", "json"]).json();
    let evictions = result["evictions"].as_array().expect("the rehearsal lists evictions").len();
    let nodes = tale["nodes"].as_array().expect("nodes");
    let pods: Vec<_> = nodes.iter().flat_map(|node| node["pods"].as_array().expect("pods")).collect();
    assert_eq!(pods.len(), evictions, "the journal has every eviction of the rehearsal");
    assert!(pods.iter().all(|pod| pod["gone"].is_string()), "each pod is seen to go");
    assert_eq!(tale["end"], "done");

    let text = replank(&["report", &first]);
    for part in [
        "rehearsal of job-site-to-1-36 on the bundled example",
        // In a pipe no name is cut.
        "ip-10-0-3-151.ap-northeast-1.compute.internal  +",
        "NODE",
        "What it waited for",
        "disruption budget",
    ] {
        assert!(text.stdout.contains(part), "{part}:\n{}", text.stdout);
    }

    let alike = replank(&["diff", &first, &again]);
    assert_eq!(alike.code, Some(0), "{}", alike.stdout);
    assert!(alike.stdout.contains("alike"), "{}", alike.stdout);
    let differs = replank(&["diff", &first, &other]);
    assert_eq!(differs.code, Some(3), "another seed takes another time: {}", differs.stdout);
    assert!(differs.stdout.contains("the whole:"), "{}", differs.stdout);
}

#[test]
fn a_journal_is_never_overwritten_and_what_is_none_is_an_error() {
    let taken = scratch("journal-taken.jsonl", "mine\n");
    let ran = replank(&["rehearse", "--journal", &taken]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("never overwritten"), "{}", ran.stderr);
    assert_eq!(fs::read_to_string(&taken).expect("still there"), "mine\n");

    let none = replank(&["report", &taken]);
    assert_eq!(none.code, Some(2));
    assert!(none.stderr.contains("line 1 does not say what this is a journal of"), "{}", none.stderr);
    let missing = replank(&["diff", &taken, &fresh("journal-none.jsonl")]);
    assert_eq!(missing.code, Some(2));
    let newer = r#"{"at":"2026-01-01T00:00:00Z","what":{"began":{"version":9,"writer":"x","verb":"x","on":"x","of":"x"}}}"#;
    let newer = replank(&["report", &scratch("journal-newer.jsonl", format!("{newer}\n"))]);
    assert!(newer.stderr.contains("upgrade Replank"), "{}", newer.stderr);
}

#[test]
fn a_journal_whose_writer_was_killed_is_told_without_its_last_line() {
    let path = fresh("journal-killed.jsonl");
    replank(&["rehearse", "--journal", &path]);
    let whole = fs::read_to_string(&path).expect("written");
    let half = &whole[..whole.len() / 2];
    let torn = scratch("journal-torn.jsonl", half);
    let told = replank(&["report", &torn]);
    assert_eq!(told.code, Some(0), "{}", told.stderr);
    assert!(told.stderr.contains("the last line is incomplete"), "{}", told.stderr);
    assert!(told.stdout.contains("not ended"), "{}", told.stdout);
}
