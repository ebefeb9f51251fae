//! One input and one seed, one rehearsal.

use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::process::Stdio;

use serde_json::Value;

use super::common::{PLAN, SNAPSHOT, replank, scratch, snapshot_text};

fn rehearse(snapshot: &str, arguments: &[&str]) -> Value {
    let mut all = vec!["rehearse", snapshot, "-f", PLAN, "-o", "json"];
    all.extend(arguments);
    let mut result = replank(&all).json();
    // The machine's own time differs, and what the input is called.
    for member in ["wallMs", "snapshot"] {
        result.as_object_mut().expect("an object").remove(member).expect("it is always there");
    }
    result
}

#[test]
fn the_same_seed_gives_the_same_result_and_another_seed_another() {
    let first = rehearse(SNAPSHOT, &["--seed", "7"]);
    assert_eq!(first["seed"], 7);
    assert_eq!(rehearse(SNAPSHOT, &["--seed", "7"]), first);
    assert_ne!(rehearse(SNAPSHOT, &["--seed", "8"])["traceHash"], first["traceHash"]);
}

#[test]
fn the_order_of_documents_does_not_matter() {
    let text = snapshot_text();
    let mut documents: Vec<&str> = text.split("\n---\n").collect();
    assert!(documents.len() > 100, "{}", documents.len());
    // A step that shares no divisor with the length meets every document once.
    let count = documents.len();
    let shares_none = |step: &usize| (2..=*step).all(|d| !step.is_multiple_of(d) || !count.is_multiple_of(d));
    let step = (7..).find(shares_none).expect("some number shares no divisor");
    documents = (0..count).map(|at| documents[at * step % count]).collect();
    let shuffled = scratch("shuffled.yaml", documents.join("\n---\n"));
    assert_eq!(rehearse(&shuffled, &[]), rehearse(SNAPSHOT, &[]));
}

#[test]
fn many_seeds_are_each_what_one_would_be() {
    let all = replank(&["rehearse", SNAPSHOT, "-f", PLAN, "--seeds", "3", "-o", "json"]).json();
    assert_eq!(all["version"], "replank.dev/rehearsals/v1alpha1");
    let rehearsals = all["rehearsals"].as_array().expect("a list");
    let seeds: Vec<&Value> = rehearsals.iter().map(|result| &result["seed"]).collect();
    assert_eq!(seeds, [1, 2, 3]);
    assert_eq!(rehearsals[2]["traceHash"], rehearse(SNAPSHOT, &["--seed", "3"])["traceHash"]);
    let durations: Vec<i64> =
        rehearsals.iter().map(|result| result["virtualDurationMs"].as_i64().expect("a number")).collect();
    let spread = &all["summary"]["virtualDurationMs"];
    assert_eq!(spread["min"].as_i64(), durations.iter().min().copied());
    assert_eq!(spread["max"].as_i64(), durations.iter().max().copied());
}

#[test]
fn many_seeds_are_one_document_whatever_is_read_of_it() {
    let ran = replank(&["rehearse", SNAPSHOT, "-f", PLAN, "--seeds", "9", "-o", "json"]);
    let all = ran.json();
    let seeds: Vec<u64> = all["rehearsals"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|result| result["seed"].as_u64().expect("a number"))
        .collect();
    assert_eq!(seeds, (1..=9).collect::<Vec<u64>>(), "several threads, one order");
    let pretty = serde_json::to_string_pretty(&all).expect("it is JSON") + "\n";
    assert_eq!(ran.stdout.lines().count(), pretty.lines().count(), "each member on its line, as in all JSON");
    // Whoever reads no more ends it.
    let mut child =
        super::common::command(&["rehearse", SNAPSHOT, "-f", PLAN, "--seeds", "1000000", "-o", "json"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program is there");
    let mut first = [0; 64];
    child
        .stdout
        .take()
        .expect("it is piped")
        .read_exact(&mut first)
        .expect("the first rehearsal is written at once");
    assert!(first.starts_with(b"{\n  \"version\": \"replank.dev/rehearsals/v1alpha1\""));
    assert_eq!(child.wait().expect("it ends").code(), Some(130), "not all were rehearsed");
}

#[test]
fn a_page_of_json_is_the_page_that_the_rehearsal_wrote() {
    for more in [&["--seeds", "3"][..], &[]] {
        let [written, told] = ["page-written.html", "page-told.html"].map(|name| scratch(name, ""));
        let call = [&["rehearse", SNAPSHOT, "-f", PLAN, "-o", "json", "--html", &written][..], more].concat();
        let json = scratch("page.json", replank(&call).stdout);
        assert_eq!(replank(&["report", &json, "--html", &told]).code, Some(0));
        let [written, told] = [written, told].map(|path| fs::read_to_string(path).expect("it was written"));
        assert!(told.contains("<h1>job-site-to-1-36</h1>") && told.contains(">Next</h2>"), "{more:?}");
        assert!(told.contains(SNAPSHOT), "{more:?}");
        assert_eq!(written, told, "{more:?}");
    }
}

#[test]
fn the_other_forms_of_a_report_are_those_that_it_has_alone() {
    for (more, files) in [
        (&[][..], &["annotations.txt", "report.html", "report.md"][..]),
        (&["--seeds", "3"], &["annotations.txt", "report.html"]),
        (&["--start-sweep", "1d"], &[]),
    ] {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("reports-{}", files.len()));
        drop(fs::remove_dir_all(&folder));
        let folder_name = folder.to_str().expect("text");
        let call = |last: &[&str]| replank(&[&["rehearse", SNAPSHOT, "-f", PLAN], more, last].concat());
        let ran = call(&["-o", "json", "--reports", folder_name]);
        assert!(ran.json().is_object(), "{more:?}: {ran:?}");
        let mut names: Vec<String> = fs::read_dir(&folder)
            .into_iter()
            .flatten()
            .map(|file| file.expect("it can be read").file_name().into_string().expect("text"))
            .collect();
        names.sort();
        assert_eq!(names, files, "{more:?}: {ran:?}");
        let written = |name: &str| fs::read_to_string(folder.join(name)).expect("it is there");
        if files.is_empty() {
            assert!(ran.stderr.contains("a sweep has neither page, Markdown nor annotations"), "{ran:?}");
            continue;
        }
        assert_eq!(written("annotations.txt"), call(&["-o", "github"]).stdout, "{more:?}");
        let page = scratch("reports.html", "");
        call(&["-o", "json", "--html", &page]);
        assert_eq!(written("report.html"), fs::read_to_string(page).expect("it was written"), "{more:?}");
        let is_whole = files.contains(&"report.md");
        let left_out = "report.md is not written to ";
        assert_eq!(ran.stderr.contains(left_out), !is_whole, "{more:?}: {ran:?}");
        if is_whole {
            let timeless = |text: &str| -> Vec<String> {
                text.lines().filter(|line| !line.contains(" events in ")).map(str::to_owned).collect()
            };
            assert_eq!(timeless(&written("report.md")), timeless(&call(&["-o", "markdown"]).stdout));
        }
    }
}

#[test]
fn a_page_tells_of_a_rollback_what_the_text_does() {
    let page = scratch("page-back.html", "");
    let example = |file: &str| format!("examples/bad-ami/{file}");
    let [snapshot, plan, script] = ["snapshot.yaml", "plan.yaml", "script.txt"].map(example);
    let ran = replank(&["rehearse", &snapshot, "-f", &plan, "--script", &script, "--html", &page]);
    let words = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    let (_, told) = words.split_once("Rolled back: ").expect("it is rolled back");
    let (told, _) = told.split_once(" Blocked by:").expect("and says why");
    let page = fs::read_to_string(page).expect("it was written");
    assert!(page.contains(&format!("<p class=\"sentence\">Rolled back: {told}</p>")), "{told}");
}

#[test]
fn many_seeds_as_text_have_a_row_each() {
    let ran = replank(&["rehearse", SNAPSHOT, "-f", PLAN, "--seeds", "3"]);
    assert!(ran.stdout.starts_with("Rehearsals  3 seeds"), "{}", ran.stdout);
    assert!(ran.stdout.contains("(min / median / max)"), "{}", ran.stdout);
    assert_eq!(ran.stdout.lines().filter(|line| line.contains("findings ")).count(), 4, "{}", ran.stdout);
    let many = ["rehearse", SNAPSHOT, "-f", PLAN, "--seeds", "24"];
    let rows =
        |text: &str| text.lines().filter(|line| line.len() > 40 && line.contains("  findings ")).count();
    let ran = replank(&many);
    assert_eq!(rows(&ran.stdout), 20, "{}", ran.stdout);
    assert!(ran.stdout.contains("and 4 more: --all-seeds lists them"), "{}", ran.stdout);
    let worst = ran.stdout.lines().nth(2).and_then(|line| line.split_whitespace().next()).expect("a row");
    assert!(ran.stdout.contains(&format!("Show it with --seed {worst}.")), "{}", ran.stdout);
    assert_eq!(rows(&replank(&[&many[..], &["--all-seeds"]].concat()).stdout), 24);
    assert!(replank(&["rehearse", "--all-seeds"]).usage_error().contains("--seeds"));
}

/// In this rehearsal a new node gets the name of one that has gone, as AWS gives an address to another instance.
#[test]
fn a_name_may_come_back() {
    let result = rehearse(SNAPSHOT, &["--seed", "1206"]);
    let names: Vec<&str> = result["timeline"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|one| one["node"].as_str())
        .collect();
    let mut once = names.clone();
    once.sort_unstable();
    once.dedup();
    assert!(once.len() < names.len(), "another seed is needed: no name comes back in {names:?}");
    assert_eq!(result["ending"], "done", "{}", result["blockers"]);
    assert_eq!(result["nodes"]["replaced"], result["nodes"]["total"]);
}
