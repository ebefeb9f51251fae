//! Holds `docs/plan.md` against what is really read.

use std::collections::BTreeSet;

use replank_facts::plan::Plan;
use replank_intake::source::Source;
use replank_sim::script::{Script, forms};
use serde_json::{Value, json};

use super::plan::from_source;

const PAGE: &str = include_str!("../../../../docs/plan.md");
const SCRIPTS: &str = include_str!("../../../../docs/script.md");

/// The code blocks of a language.
fn blocks(page: &'static str, language: &str) -> Vec<&'static str> {
    let open = format!("```{language}\n");
    page.split(&open).skip(1).filter_map(|rest| rest.split_once("\n```").map(|(block, _)| block)).collect()
}

/// A plan of which the page shows a part: `spec` and some of its fields.
fn whole(plan: &str) -> String {
    if !plan.starts_with("spec:") {
        return plan.to_owned();
    }
    let head = "apiVersion: replank.dev/v1alpha1\nkind: NodeRoll\nmetadata: {name: part}";
    let groups = if plan.contains("\n  groups:") { "" } else { "\n  groups: [web]" };
    format!("{head}\n{plan}{groups}\n")
}

#[test]
fn every_plan_on_the_page_is_right() {
    let plans = blocks(PAGE, "yaml");
    assert!(plans.len() >= 3, "{}", plans.len());
    for plan in plans.into_iter().map(whole) {
        if let Err(failure) = from_source(Source::bytes("docs/plan.md", plan.as_str()), "docs/plan.md") {
            panic!("{:#}\n{plan}", failure.error);
        }
    }
}

#[test]
fn every_line_of_a_script_is_documented_and_no_other() {
    let rows = SCRIPTS.lines().filter_map(|line| line.strip_prefix("| `"));
    let documented: Vec<(String, String)> = rows
        .filter_map(|row| row.split_once("` | "))
        .map(|(pattern, meaning)| (pattern.to_owned(), meaning.trim_end_matches(" |").to_owned()))
        .collect();
    let read: Vec<(String, String)> =
        forms().map(|form| (form.pattern.to_owned(), form.meaning.to_owned())).collect();
    for form in &read {
        assert!(documented.contains(form), "docs/script.md lacks | `{}` | {} |", form.0, form.1);
    }
    for row in &documented {
        assert!(
            read.contains(row),
            "docs/script.md has {row:?}, which cannot be read or means something else"
        );
    }
}

#[test]
fn every_script_on_the_page_is_right() {
    let scripts = blocks(SCRIPTS, "text");
    assert!(scripts.len() >= 3, "{}", scripts.len());
    for script in scripts {
        if let Err(flaws) = Script::read(script) {
            panic!("{flaws}\n{script}");
        }
    }
}

/// The fields of an object, as the reader names them when it meets one that it does not know.
fn fields_of(path: &str, value: Value) -> BTreeSet<String> {
    let mut plan = json!({"apiVersion": "replank.dev/v1alpha1", "kind": "NodeRoll", "metadata": {"name": "p"},
        "spec": {"groups": ["web"]}});
    let pointer = format!("/{}", path.replace('.', "/"));
    match pointer.as_str() {
        "/" => plan["unknown-field"] = value,
        "/spec" => plan["spec"]["unknown-field"] = value,
        "/spec/windows[]" => plan["spec"]["windows"] = json!([{"unknown-field": value}]),
        "/spec/nodeGroups[]" => plan["spec"]["nodeGroups"] = json!([{"unknown-field": value}]),
        _ => plan["spec"][path.trim_start_matches("spec.")] = json!({"unknown-field": value}),
    }
    let errors = Plan::read(&plan).expect_err("the field is unknown").0;
    let error = errors.iter().find(|error| error.path.ends_with("unknown-field")).expect("it is reported");
    let names = error.expected.replace(" or ", ", ");
    let prefix = if path.is_empty() { String::new() } else { format!("{path}.") };
    names.split(", ").map(|name| format!("{prefix}{name}")).collect()
}

#[test]
fn every_field_is_documented_and_no_other() {
    let mut read = fields_of("", json!(1));
    let groups = ["target", "budget", "canary", "pace", "batch", "health", "windows[]", "retain"];
    let more = ["external", "stuckTerminating", "deadNodes", "loadBalancer", "nodeGroups[]"];
    let paths = groups.iter().chain(&more).map(|group| format!("spec.{group}"));
    for path in paths.chain(["spec".to_owned()]) {
        let path = path.as_str();
        read.extend(fields_of(path, json!(1)));
    }
    read.extend(["metadata.name", "metadata.namespace"].map(str::to_owned));
    let (_, fields) = PAGE.split_once("\n## Fields\n").expect("the page has a section for the fields");
    let fields = fields.split_once("\n## ").map_or(fields, |(fields, _)| fields);
    let rows = fields.lines().filter_map(|line| line.strip_prefix("| `"));
    let documented: BTreeSet<String> =
        rows.map(|row| row.split_once('`').expect("a field's name ends").0.to_owned()).collect();
    let unexplained: Vec<_> = read.difference(&documented).collect();
    let unread: Vec<_> = documented.difference(&read).collect();
    assert!(
        unexplained.is_empty() && unread.is_empty(),
        "not documented: {unexplained:?}; not read: {unread:?}"
    );
}
