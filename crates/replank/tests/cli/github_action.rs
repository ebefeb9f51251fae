//! The script of the GitHub Action, run as a runner runs it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::common::{Ran, root};

struct Step {
    ran: Ran,
    folder: PathBuf,
}

impl Step {
    fn of(name: &str, called: &str, arguments: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("action").join(name);
        drop(fs::remove_dir_all(&folder));
        fs::create_dir_all(&folder).expect("it can be made");
        // Writes down how often it is called.
        let program = folder.join("bin/replank");
        fs::create_dir_all(folder.join("bin")).expect("it can be made");
        let calls = folder.join("calls");
        let real = env!("CARGO_BIN_EXE_replank");
        let text = format!("#!/bin/sh\necho \"$@\" >>'{}'\nexec '{real}' \"$@\"\n", calls.display());
        fs::write(&program, text).expect("it can be written");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("it can be run");
        let path = format!("{}/bin:{}", folder.display(), std::env::var("PATH").unwrap_or_default());
        let output = Command::new(root().join("action/run.sh"))
            .current_dir(root())
            .env("PATH", path)
            .env("REPLANK_COMMAND", called)
            .env("REPLANK_ARGUMENTS", arguments)
            .env("RUNNER_TEMP", &folder)
            .env("GITHUB_STEP_SUMMARY", folder.join("summary"))
            .env("GITHUB_OUTPUT", folder.join("output"))
            .env_remove("KUBECONFIG")
            .stdin(Stdio::null())
            .output();
        Self { ran: output.expect("bash is there").into(), folder }
    }

    fn file(&self, name: &str) -> String {
        fs::read_to_string(self.folder.join(name)).unwrap_or_default()
    }
}

#[test]
fn a_check_annotates_sums_up_and_keeps_its_report() {
    let step = Step::of("check", "check", "examples/job-site/snapshot.yaml --roll 'web'");
    assert_eq!(step.ran.code, Some(3), "{:?}", step.ran);
    assert!(step.ran.stdout.contains("::warning file=examples/job-site/snapshot.yaml"), "{:?}", step.ran);
    assert_eq!(step.file("output"), "exit-code=3\n");
    assert!(step.file("summary").contains("no-budget"), "{}", step.file("summary"));
    assert_eq!(step.file("summary"), step.file("replank/report.md"));
    let report: serde_json::Value = serde_json::from_str(&step.file("replank/report.json")).expect("JSON");
    assert!(report["findings"].as_array().is_some_and(|all| !all.is_empty()), "{report}");
}

#[test]
fn a_scan_and_a_rehearsal_do_so_too() {
    let scan = Step::of("scan", "scan", "examples/scan/web.yaml --target-version 1.36");
    assert_eq!(scan.ran.code, Some(3), "{:?}", scan.ran);
    assert!(scan.ran.stdout.contains("::error file=examples/scan/web.yaml"), "{:?}", scan.ran);
    let rehearsal = Step::of("rehearse", "rehearse", "examples/job-site/snapshot.yaml --roll web");
    assert_eq!(rehearsal.ran.code, Some(3), "{:?}", rehearsal.ran);
    assert!(rehearsal.file("summary").contains("6 of 6"), "{}", rehearsal.file("summary"));
}

#[test]
fn a_rehearsal_annotates_and_keeps_a_page() {
    let step = Step::of("rehearse-page", "rehearse", "examples/job-site/snapshot.yaml --roll web");
    let said = &step.ran.stdout;
    assert!(said.starts_with("::notice title=replank rehearse::findings: "), "{said}");
    assert!(said.contains("::warning file=examples/job-site/snapshot.yaml,line="), "{said}");
    assert!(
        step.file("replank/report.html").starts_with("<!doctype html>"),
        "{}",
        step.file("replank/report.html")
    );
    let checked = Step::of("check-lines", "check", "examples/job-site/snapshot.yaml --roll web");
    let placed = |step: &Step| -> Vec<String> {
        step.ran.stdout.lines().filter(|line| line.contains(" file=")).map(str::to_owned).collect()
    };
    assert_eq!(placed(&step), placed(&checked), "both say the same of the cluster");
    assert_eq!(checked.file("replank/report.html"), "", "a check has no page");
    assert!(!step.ran.stdout.contains("::error"), "nothing blocks: {said}");
}

#[test]
fn many_seeds_are_annotated_once_and_a_comparison_not_at_all() {
    let seeds = Step::of("seeds", "rehearse", "examples/job-site/snapshot.yaml --roll web --seeds 2");
    assert!(
        seeds.ran.stdout.starts_with("::notice title=replank rehearse::2 seeds: findings 2 of 2"),
        "{:?}",
        seeds.ran
    );
    let warnings = |step: &Step| step.ran.stdout.matches("::warning file=").count();
    let one = Step::of("one-seed", "rehearse", "examples/job-site/snapshot.yaml --roll web");
    assert!(warnings(&one) > 0 && warnings(&seeds) == warnings(&one), "{:?}", seeds.ran);
    assert!(seeds.file("replank/report.html").contains("Seeds"), "the spread");
    let compared =
        Step::of("compared", "rehearse", "examples/job-site/snapshot.yaml --roll web --as replank");
    assert_eq!((compared.ran.stdout.as_str(), compared.file("replank/report.html").as_str()), ("", ""));
    assert!(!compared.file("replank/report.json").is_empty(), "{:?}", compared.ran);
}

#[test]
fn all_forms_of_a_rehearsal_are_of_one() {
    let page = Path::new(env!("CARGO_TARGET_TMPDIR")).join("action-page.html");
    let page = format!(" --html '{}'", page.display());
    for (name, more) in
        [("once", ""), ("once-seeds", " --seeds 2"), ("once-as", " --as replank"), ("once-page", &*page)]
    {
        let step = Step::of(name, "rehearse", &format!("examples/job-site/snapshot.yaml --roll web{more}"));
        assert_eq!(step.file("calls").lines().count(), 1, "{more}: {}", step.file("calls"));
        assert!(!step.file("replank/report.json").is_empty(), "{more}: {:?}", step.ran);
        assert_eq!(step.file("replank/annotations.txt"), "", "they are in the log");
    }
}

#[test]
fn what_cannot_be_done_ends_the_step_with_the_message() {
    let unknown = Step::of("unknown", "drain", "node-1");
    assert_eq!(unknown.ran.code, Some(2));
    assert!(unknown.ran.stdout.contains("it must be scan, check or rehearse"), "{:?}", unknown.ran);
    let missing = Step::of("missing", "check", "nosuch.json");
    assert_eq!((missing.ran.code, missing.file("replank/report.json").as_str()), (Some(2), ""));
    assert!(missing.ran.stderr.contains("nosuch.json"), "{:?}", missing.ran);
    let quotes = Step::of("quotes", "check", "'cluster.json");
    assert_eq!(quotes.ran.code, Some(2));
    assert!(quotes.ran.stdout.contains("the input arguments cannot be read"), "{:?}", quotes.ran);
}

#[test]
fn the_action_runs_that_script() {
    let action = fs::read_to_string(root().join("action.yml")).expect("it is there");
    assert!(action.contains("\"$GITHUB_ACTION_PATH/action/run.sh\""), "{action}");
}
