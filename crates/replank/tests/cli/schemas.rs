//! Every JSON that these tests have the program print is held to its schema of docs/schemas, and each schema is met by something that was printed.

use std::collections::BTreeSet;
use std::fs;

use serde_json::{Value, json};

use super::common::{PLAN, SNAPSHOT, replank, root, scratch};
use super::json_schema::violations;

/// The schema of what a call prints; none where docs/schemas has none.
fn name(words: &[&str], value: &Value) -> Option<&'static str> {
    let has = |flag: &str| words.contains(&flag);
    match words {
        ["rehearse", ..] if has("--start-sweep") => Some("start-sweep"),
        ["rehearse", ..] => match value["version"].as_str() {
            Some("replank.dev/rehearsal/v1alpha1") => Some("rehearsal"),
            Some("replank.dev/rehearsals/v1alpha1") => Some("rehearsals"),
            // Neither has a schema yet.
            Some("replank.dev/comparison/v1alpha1" | "replank.dev/upgrade-rehearsal/v1alpha1") => None,
            other => panic!("a form of rehearse that nobody has written down: {other:?}"),
        },
        // A preview of fixes is another document, which has none yet.
        ["check", ..] if has("--fix-preview") => None,
        ["check", ..] => Some("check"),
        ["leftover", ..] => Some("leftover"),
        ["report", ..] => Some("report"),
        ["diff", ..] if value.get("figures").is_some() => Some("diff-rehearsals"),
        ["diff", ..] => Some("diff"),
        _ => None,
    }
}

fn schema(name: &str) -> Value {
    let path = root().join(format!("docs/schemas/{name}.json"));
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).expect("a schema is JSON")
}

/// Holds what a call has printed to its schema; which that was, if it is JSON that has one.
pub(crate) fn hold(words: &[&str], stdout: &str) -> Option<&'static str> {
    let is_json = words.windows(2).any(|pair| ["-o", "--output"].contains(&pair[0]) && pair[1] == "json");
    if !is_json {
        return None;
    }
    let value: Value = serde_json::from_str(stdout).ok()?;
    let name = name(words, &value)?;
    let found = violations(&schema(name), &value);
    assert!(
        found.is_empty(),
        "{words:?} prints what docs/schemas/{name}.json does not have:\n{}",
        found.join("\n")
    );
    Some(name)
}

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
    assert!(compared.contains("\"resolved\""), "{compared}");
    assert!(page(&html).contains("Two rehearsals compared"));
    let files = fs::read_dir(root().join("docs/schemas")).expect("the directory is there");
    let names = files.map(|file| file.expect("an entry").file_name().into_string().expect("UTF-8"));
    let all: BTreeSet<String> =
        names.filter_map(|name| Some(name.strip_suffix(".json")?.to_owned())).collect();
    assert_eq!(met.into_iter().map(str::to_owned).collect::<BTreeSet<_>>(), all);

    let told = replank(&["report", &journal, "--html", &html]);
    assert_eq!(told.code, Some(0), "{}", told.stderr);
    assert!(page(&html).contains("Journal by Replank"));
    let told = replank(&["report", &first, "--html", &html]);
    assert_eq!(told.code, Some(0), "{}", told.stderr);
    assert!(replank(&["report", &first]).usage_error().contains("pass --html FILE"));
    assert!(replank(&["diff", &first, &journal]).usage_error().contains("not of one kind"));
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
