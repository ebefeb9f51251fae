//! Every JSON that these tests have the program print is held to its schema of docs/schemas, and each schema is met by something that was printed.

use std::collections::BTreeSet;
use std::fs;

use serde_json::{Value, json};

use super::cluster::Served;
use super::common::{PLAN, SNAPSHOT, replank, root, scratch};
use super::json_schema::violations;

/// How documents lie in what is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    /// All of it is one document.
    Whole,
    /// Each line is one.
    Lines,
}

/// The schema of what a call prints with `-o json`. A form that nobody has written down is none that a test lets pass.
fn form(words: &[&str], stdout: &str) -> (&'static str, Layout) {
    let has = |flag: &str| words.contains(&flag);
    let version = || -> String {
        let value: Value = serde_json::from_str(stdout).unwrap_or_default();
        value["version"].as_str().unwrap_or_default().to_owned()
    };
    let lines = |name| (name, Layout::Lines);
    let name = match words {
        ["rehearse", ..] if has("--start-sweep") => "start-sweep",
        ["rehearse", ..] => match version().as_str() {
            "replank.dev/rehearsal/v1alpha1" => "rehearsal",
            "replank.dev/rehearsals/v1alpha1" => "rehearsals",
            "replank.dev/comparison/v1alpha1" => "comparison",
            "replank.dev/upgrade-rehearsal/v1alpha1" => "upgrade-rehearsal",
            other => panic!("a form of rehearse that nobody has written down: {other:?}"),
        },
        ["check", ..] if has("--fix-preview") => "fix-preview",
        ["check", ..] => "check",
        ["leftover", ..] => "leftover",
        ["report", ..] => "report",
        ["diff", ..] if stdout.contains("\"figures\"") => "diff-rehearsals",
        ["diff", ..] => "diff",
        ["place", ..] if has("--audit") => "placement-audit",
        ["place", ..] => "placement",
        ["scan", ..] => "scan",
        ["scale", "simulate", ..] => "scale",
        ["hpa", "explain", ..] => "hpa-explanation",
        ["hpa", "simulate", ..] => "hpa-simulation",
        ["explain", ..] => "explanations",
        ["data", ..] if has("calendar") => "data-calendar",
        ["data", ..] if has("images") => "data-images",
        ["data", ..] => "data-lifecycle",
        ["migrate", ..] => "migration",
        ["upgrade", "plan", ..] => "upgrade-plan",
        ["upgrade", "calendar", ..] => "calendar",
        ["upgrade", "watch", ..] => "upgrade-watch",
        ["upgrade", "status" | "cancel", ..] => return lines("upgrade-status"),
        ["upgrade", "run" | "resume" | "rollback", ..] => return lines("upgrade-events"),
        ["drain" | "cordon" | "uncordon", ..] => return lines("drain-events"),
        ["roll", "status" | "watch", ..] => return lines("roll-status"),
        ["roll", ..] => return lines("roll-events"),
        ["handle", ..] => return lines("handle-events"),
        ["autoscale", ..] if has("--dry-run") => "scale",
        ["autoscale", ..] => return lines("autoscale-events"),
        ["cluster", "status" | "advance", ..] => "cluster-status",
        ["cluster", "faults", ..] => "cluster-faults",
        _ => panic!("{words:?} prints JSON that has no schema in docs/schemas"),
    };
    (name, Layout::Whole)
}

fn schema(name: &str) -> Value {
    let path = root().join(format!("docs/schemas/{name}.json"));
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).expect("a schema is JSON")
}

/// Whether a call asks for JSON; of `snapshot`, `-o` names a file.
fn is_json(words: &[&str]) -> bool {
    let is_pair = |pair: &[&str]| ["-o", "--output"].contains(&pair[0]) && pair[1] == "json";
    let is_one = |word: &&str| ["-ojson", "-o=json", "--output=json"].contains(word);
    words.first() != Some(&"snapshot") && (words.windows(2).any(is_pair) || words.iter().any(is_one))
}

/// Without what stands before the command.
fn from_command<'w>(mut words: &'w [&'w str]) -> &'w [&'w str] {
    loop {
        words = match words {
            ["--color", _, rest @ ..] | ["-q" | "--quiet", rest @ ..] => rest,
            _ => return words,
        }
    }
}

/// Holds what a call has printed, and the journal that it has written, to their schemas; which the first was, if it is JSON.
pub(crate) fn hold(words: &[&str], stdout: &str) -> Option<&'static str> {
    let words = from_command(words);
    let journal = words.windows(2).find(|pair| pair[0] == "--journal").map(|pair| root().join(pair[1]));
    // A file that was there before is none of its own.
    let journal = journal.and_then(|path| fs::read_to_string(path).ok());
    if let Some(text) = journal.filter(|text| text.starts_with("{\"at\":")) {
        hold_to("journal", Layout::Lines, words, &text);
    }
    if !is_json(words) || stdout.is_empty() {
        return None;
    }
    let (name, layout) = form(words, stdout);
    hold_to(name, layout, words, stdout);
    Some(name)
}

fn hold_to(name: &str, layout: Layout, words: &[&str], text: &str) {
    let schema = schema(name);
    let documents = match layout {
        Layout::Whole => vec![text],
        Layout::Lines => text.lines().collect(),
    };
    for document in documents {
        let value: Value = serde_json::from_str(document)
            .unwrap_or_else(|error| panic!("{words:?} prints what is no JSON ({error}): {document}"));
        let found = violations(&schema, &value);
        assert!(
            found.is_empty(),
            "{words:?} prints what docs/schemas/{name}.json does not have:\n{}\n{document:.2000}",
            found.join("\n")
        );
    }
}

/// Calls of which each prints a form of its own.
const CALLS: [&str; 17] = [
    "rehearse --as eks,kubectl,replank",
    "rehearse examples/upgrade/cluster.yaml --upgrade-to 1.34 --eks examples/upgrade/eks/cluster.json",
    "check --fix-preview",
    "place -n site deployment/apply --replicas 400 examples/job-site/snapshot.yaml",
    "place --all-pending examples/job-site/snapshot.yaml",
    "place --audit examples/job-site/snapshot.yaml",
    "scan examples/upgrade/deploy --target-version 1.36",
    "scale simulate",
    "hpa explain shop/web examples/hpa/snapshot.yaml --now 2026-11-20T10:01:00Z",
    "hpa simulate -f examples/hpa/hpa.yaml --load examples/hpa/load.csv --try examples/hpa/calm.yaml",
    "upgrade plan examples/upgrade/cluster.yaml --no-rehearsal --to 1.36 --eks examples/upgrade/eks/cluster.json",
    "upgrade calendar --all --fail-within 90d",
    "upgrade watch examples/upgrade/cluster.yaml --eks examples/upgrade/eks/cluster.json",
    "explain",
    "data --table lifecycle",
    "data --table calendar",
    "data --table images",
];

/// Forms that a live cluster's commands print: the tests of `drain`, `roll_live`, `undo_refused`, `handle_aws`, `autoscale_aws`, `upgrade_run` and `cluster` hold
/// them, with the migration of `migrate`.
const SERVED: [&str; 10] = [
    "autoscale-events",
    "cluster-faults",
    "cluster-status",
    "drain-events",
    "handle-events",
    "migration",
    "roll-events",
    "roll-status",
    "upgrade-events",
    "upgrade-status",
];

/// A path of the test's own.
fn path(name: &str) -> String {
    let path = scratch(&format!("schemas-{name}"), "");
    fs::remove_file(&path).expect("the scratch file was just made");
    path
}

#[test]
fn each_schema_is_of_what_is_printed_and_pages_are_made_of_it() {
    let mut met = BTreeSet::new();
    let mut print = |arguments: &[&str]| {
        let ran = replank(arguments);
        let name = hold(arguments, &ran.stdout);
        met.extend(name.or_else(|| panic!("{arguments:?} prints nothing that has a schema: {}", ran.stderr)));
        ran.stdout
    };
    let page = |path: &str| fs::read_to_string(path).expect("the page was written");
    let [journal, other, html] = ["a.jsonl", "b.jsonl", "page.html"].map(path);
    let first =
        print(&["rehearse", SNAPSHOT, "-f", PLAN, "-o", "json", "--journal", &journal, "--html", &html]);
    assert!(
        page(&html).contains("<h1>job-site-to-1-36</h1>") && page(&html).contains("Canary: watched from")
    );
    let arguments = ["-o", "json", "--with-remedies", "all", "--journal", &other];
    let second = print(&[&["rehearse", SNAPSHOT, "-f", PLAN][..], &arguments].concat());
    print(&["rehearse", SNAPSHOT, "-f", PLAN, "-o", "json", "--seeds", "2", "--html", &html]);
    assert!(page(&html).contains("The worst of 2 seeds, seed "));
    print(&["rehearse", SNAPSHOT, "-f", PLAN, "-o", "json", "--start-sweep", "6h"]);
    print(&["check", SNAPSHOT, "-o", "json"]);
    print(&["leftover", SNAPSHOT, "-o", "json"]);
    print(&["report", &journal, "-o", "json"]);
    print(&["diff", &journal, &other, "-o", "json"]);
    let [first, second] =
        [("a.json", first), ("b.json", second)].map(|(name, text)| scratch(&format!("schemas-{name}"), text));
    let compared = print(&["diff", &first, &second, "-o", "json", "--html", &html]);
    for call in CALLS {
        print(&call.split(' ').chain(["-o", "json"]).collect::<Vec<_>>());
    }
    assert!(compared.contains("\"resolved\""), "{compared}");
    let text = replank(&["diff", &first, &second]).stdout;
    assert!(
        text.contains("finding singleton, Deployment argo/workflow-controller "),
        "in a pipe nothing is cut: {text}"
    );
    assert!(page(&html).contains("Two rehearsals compared"));
    let files = fs::read_dir(root().join("docs/schemas")).expect("the directory is there");
    let names = files.map(|file| file.expect("an entry").file_name().into_string().expect("UTF-8"));
    let all: BTreeSet<String> =
        names.filter_map(|name| Some(name.strip_suffix(".json")?.to_owned())).collect();
    met.extend(SERVED);
    met.insert("journal");
    assert_eq!(met.into_iter().map(str::to_owned).collect::<BTreeSet<_>>(), all);

    let told = replank(&["report", &journal, "--html", &html]);
    assert_eq!(told.code, Some(0), "{}", told.stderr);
    assert!(page(&html).contains("Journal by Replank"));
    let told = replank(&["report", &first, "--html", &html]);
    assert_eq!(told.code, Some(0), "{}", told.stderr);
    let unprinted = replank(&["report", &first]).usage_error();
    assert!(
        unprinted.contains("prints only journals") && unprinted.contains("pass --html FILE for the page")
    );
    let help = replank(&["report", "-h"]).stdout;
    assert!(help.contains("of a rehearsal there is only the page"), "{help}");
    assert!(replank(&["diff", &first, &journal]).usage_error().contains("not of one kind"));
}

#[test]
fn a_served_cluster_answers_in_forms_that_are_written_down() {
    let served = Served::of(&["--nodes", "2", "--clock", "step"]);
    let file = served.file.to_str().expect("it is text");
    let print = |arguments: &[&str]| {
        let arguments = [arguments, &["--kubeconfig", file, "-o", "json"]].concat();
        let ran = replank(&arguments);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        hold(&arguments, &ran.stdout)
    };
    assert_eq!(print(&["cluster", "status"]), Some("cluster-status"));
    assert_eq!(print(&["cluster", "advance", "90s"]), Some("cluster-status"));
    assert_eq!(print(&["cluster", "faults", "list"]), Some("cluster-faults"));
    for words in ["start node node-1 falls silent", "clear"] {
        let all: Vec<&str> = ["cluster", "faults"].into_iter().chain(words.split(' ')).collect();
        assert_eq!(print(&all), Some("cluster-faults"));
    }
    // Nobody has begun a run: nothing is printed.
    assert_eq!(print(&["roll", "status"]), None);
}

#[test]
#[should_panic(expected = "has no schema in docs/schemas")]
fn a_form_that_nobody_has_written_down_does_not_pass() {
    hold(&["unheard", "-o", "json"], "{}");
}

#[test]
#[should_panic(expected = "prints what is no JSON")]
fn a_line_that_is_no_json_does_not_pass_among_events() {
    let event = r#"{"event":"ready","node":"a","time":"2026-11-20T09:52:00Z"}"#;
    hold(&["roll", "-o", "json"], &format!("{event}\nrun a is over\n"));
}

#[test]
fn a_member_that_a_schema_does_not_have_is_a_violation() {
    let printed = replank(&["rehearse", "-o", "json"]).json();
    assert_eq!(violations(&schema("rehearsal"), &printed), Vec::<String>::new());
    for pointer in ["", "/nodes", "/findings/0", "/workloads/0", "/timeline/0/phases/0", "/coverage"] {
        let mut more = printed.clone();
        more.pointer_mut(pointer).expect("it is there")["unheardOf"] = json!(1);
        let found = violations(&schema("rehearsal"), &more);
        assert!(found.iter().any(|line| line.contains("unheardOf")), "{pointer}: {found:?}");
    }
    let mut less = printed;
    less.as_object_mut().expect("an object").remove("workloads");
    assert_eq!(violations(&schema("rehearsal"), &less).len(), 1);
}
