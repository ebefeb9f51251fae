//! What is printed where, and how it ends.

use std::collections::BTreeSet;

use super::common::{PLAN, Ran, SNAPSHOT, members, plan, replank, root, scratch};

/// The bundled example, without any argument.
fn example(arguments: &[&str]) -> Ran {
    let mut all = vec!["rehearse"];
    all.extend(arguments);
    replank(&all)
}

#[test]
fn the_example_explains_itself_and_ends_with_findings() {
    let ran = example(&[]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(ran.stderr.contains("the bundled example"), "{}", ran.stderr);
    assert!(ran.stdout.starts_with("Findings"), "the report is data: {}", ran.stdout);
    assert!(!ran.stdout.contains("bundled example, a job site"), "the story is not");
    for section in ["\nThe roll ", "\nWaited for", "\nDurations ", "\nVerdict  findings", "  Next:"] {
        assert!(ran.stdout.contains(section), "{section:?} is missing: {}", ran.stdout);
    }
}

#[test]
fn in_the_example_no_batch_is_killed_and_no_budget_violated() {
    let result = example(&["-o", "json"]).json();
    assert_eq!(result["verdict"], "findings");
    assert_eq!(result["nodes"]["replaced"], result["nodes"]["total"]);
    assert!(result["batch"]["waited"].as_u64() >= Some(3), "{}", result["batch"]);
    assert_eq!(result["batch"]["killed"], 0);
    assert_eq!(result["pods"]["movedMoreThanOnce"], 0);
    let budgets = result["budgets"].as_array().expect("a list");
    assert!(!budgets.is_empty() && budgets.iter().all(|budget| budget["violations"] == 0), "{budgets:?}");
}

#[test]
fn every_eviction_is_listed_with_its_successor() {
    let result = example(&["-o", "json"]).json();
    let evictions = result["evictions"].as_array().expect("a list");
    let (refused, granted): (Vec<_>, Vec<_>) = evictions.iter().partition(|one| one["refused"].is_string());
    assert_eq!(result["pods"]["moved"].as_u64(), Some(granted.len() as u64));
    assert_eq!(result["pods"]["evictionsRefused"].as_u64(), Some(refused.len() as u64));
    assert!(granted.iter().all(|one| one["gone"].is_string() && one["node"].is_string()), "{granted:?}");
    let with_workload: Vec<_> = granted.iter().filter(|one| one["workload"].is_string()).collect();
    assert!(!with_workload.is_empty());
    for one in with_workload {
        let successor = &one["successor"];
        let (at, ready) = (one["at"].as_str(), successor["ready"].as_str());
        assert!(ready.is_some() && ready >= at && successor["node"] != one["node"], "{one}");
    }
    let history: Vec<_> =
        result["budgets"].as_array().expect("a list").iter().map(|one| &one["history"]).collect();
    assert!(
        history.iter().all(|one| one.as_array().is_some_and(|changes| !changes.is_empty())),
        "{history:?}"
    );
}

#[test]
fn the_same_files_give_the_same_rehearsal() {
    let bundled = example(&["-o", "json"]).json();
    let named = replank(&["rehearse", SNAPSHOT, "-f", PLAN, "-o", "json"]).json();
    assert_eq!(bundled["traceHash"], named["traceHash"]);
}

#[test]
fn json_is_all_that_standard_output_gets() {
    let ran = example(&["-o", "json", "--timeline"]);
    assert_eq!(ran.code, Some(3));
    assert_eq!(ran.json()["version"], "replank.dev/rehearsal/v1alpha1");
    assert!(ran.stderr.contains("read "), "{}", ran.stderr);
}

#[test]
fn every_member_that_is_printed_is_documented() {
    let page = std::fs::read_to_string(root().join("docs/rehearsal-json.md")).expect("the page is there");
    let mut all = BTreeSet::new();
    members(&example(&["-o", "json"]).json(), "", &mut all);
    members(&example(&["--limit", "1m", "-o", "json"]).json(), "", &mut all);
    members(&example(&["--seeds", "2", "-o", "json"]).json()["summary"], "summary", &mut all);
    // docs/coverage.md has those.
    all.retain(|member| !member.starts_with("coverage."));
    // Requests to the API: docs/check.md has their form.
    all.retain(|member| !member.starts_with("findings[].changes[]."));
    let missing: Vec<&String> =
        all.iter().filter(|member| !page.contains(&format!("| `{member}` |"))).collect();
    assert!(missing.is_empty(), "not in docs/rehearsal-json.md: {missing:?}");
    assert!(all.contains("blockers[].reason") && all.contains("findings[].remedy"), "{all:?}");
}

#[test]
fn what_cannot_end_is_blocked_and_says_by_what() {
    let ran = example(&["--limit", "1m"]);
    assert_eq!(ran.code, Some(4), "{ran:?}");
    assert!(ran.stdout.contains("Verdict  blocked") && ran.stdout.contains("--limit"), "{}", ran.stdout);
    let result = example(&["--limit", "1m", "-o", "json"]).json();
    assert_eq!(result["verdict"], "blocked");
    assert_eq!(result["virtualDurationMs"], 60_000);
}

#[test]
fn text_and_page_tell_what_blocks_in_the_same_order() {
    let page = scratch("what-blocks.html", "");
    let [cluster, plan, script] =
        ["cluster.yaml", "plan.yaml", "restarts.txt"].map(|name| format!("examples/questions/image/{name}"));
    let ran = replank(&["rehearse", &cluster, "-f", &plan, "--script", &script, "--html", &page]);
    let page = std::fs::read_to_string(&page).expect("it was written");
    for (told, from) in [(&ran.stdout, "Blocked by:"), (&page, "What blocks")] {
        let (_, told) = told.split_once(from).expect("it is blocked");
        let place = |what: &str| told.find(what).unwrap_or_else(|| panic!("{what} is told: {told}"));
        assert!(place("un halted at") < place(" shop/cart"), "{told}");
    }
}

#[test]
fn a_plan_for_nodes_that_are_new_already_passes_at_once() {
    let plan = plan("nothing-to-do.yaml", "groups: [web], kubeletVersion: \"<1.30\"");
    let result = replank(&["rehearse", SNAPSHOT, "-f", &plan, "-o", "json"]).json();
    assert_eq!(result["nodes"]["replaced"], 0);
    assert_ne!(result["verdict"], "blocked");
}

#[test]
fn colours_are_for_terminals_unless_asked_for() {
    let plain = example(&[]);
    assert!(!plain.stdout.contains('\u{1b}') && !plain.stderr.contains('\u{1b}'));
    let coloured = example(&["--color", "always"]);
    assert!(coloured.stdout.contains("\u{1b}["));
    assert!(!example(&["--color", "always", "-o", "json"]).stdout.contains('\u{1b}'));
    assert!(!example(&["--color", "never"]).stdout.contains('\u{1b}'));
}

#[test]
fn the_timeline_has_a_line_for_every_node() {
    let result = example(&["-o", "json"]).json();
    let text = example(&["--timeline"]).stdout;
    for node in result["timeline"].as_array().expect("a list") {
        let name = node["node"].as_str().or(node["instance"].as_str()).expect("a name");
        let short = name.split('.').next().expect("a name has a first part");
        let short: String = short.chars().take(20).collect();
        assert!(text.contains(&short), "{name} is not in the timeline: {text}");
    }
    assert!(!example(&[]).stdout.contains("\nTimeline"));
}

#[test]
fn help_has_every_exit_code() {
    for arguments in [&["--help"] as &[&str], &["rehearse", "--help"]] {
        let ran = replank(arguments);
        assert_eq!(ran.code, Some(0));
        for code in ["  0  ", "  1  ", "  2  ", "  3  ", "  4  ", "  5  ", "130  "] {
            assert!(ran.stdout.contains(code), "{code:?}: {}", ran.stdout);
        }
    }
}

#[test]
fn nobody_has_to_read_to_the_end() {
    use std::process::Stdio;
    let mut child = super::common::command(&["rehearse", "-o", "json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary can be run");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("the binary ends");
    assert_eq!(output.status.code(), Some(3), "{output:?}");
}

#[test]
fn a_run_that_is_refused_is_advised_what_helps() {
    let plan = "apiVersion: replank.dev/v1alpha1\nkind: NodeRoll\nmetadata: {name: p}\nspec: {groups: [web], target: {kubernetesVersion: \"1.20\"}, \
                blockingFindings: refuse}\n";
    let plan = scratch("refused.yaml", plan);
    let ran = replank(&["rehearse", "examples/hpa/snapshot.yaml", "-f", &plan]);
    let (_, verdict) = ran.stdout.split_once("Verdict  refused").expect("it is refused");
    assert!(
        verdict.contains("Not started, because of these findings:\n  - NodeGroup web: version-skew: "),
        "{verdict}"
    );
    let next: Vec<&str> = verdict
        .split_once("Next:")
        .expect("what to do")
        .1
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    // No timeline: nothing has happened.
    assert_eq!(
        next,
        [
            "1. resolve the findings from the top; each has its remedy",
            "2. take a new snapshot and rehearse again"
        ]
    );
}
