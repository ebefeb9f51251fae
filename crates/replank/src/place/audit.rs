//! `replank place --audit`.

use std::collections::{BTreeMap, BTreeSet};

use replank_advice::audit::{self, Finding, Options, Rule, Severity};
use replank_facts::coverage::Coverage;
use replank_facts::remedy::{Addons, Installed};
use replank_model::time::Time;
use replank_model::view::View;
use replank_rehearse::proof::{Ground, Trials, prove};
use replank_rehearse::{FindingEntry, count_budgets};
use serde_json::json;

use super::PlaceArgs;
use crate::check::helm_release;
use crate::coverage;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::PlaceFormat;
use crate::printer::Printer;
use crate::report::findings::alike;
use crate::report::words::{count, grouped};
use crate::report::{Look, Page, Tone};

/// The version of the JSON.
const VERSION: &str = "replank.dev/audit/v1alpha1";

/// Objects that are named, and remedies that are shown, where one thing is found of many.
const OBJECTS_MAX: usize = 12;
/// Entries of one rule and severity. What blocks has to be known whole.
const ENTRIES_MAX: usize = 10;
const BLOCKING_MAX: usize = 40;

pub(super) fn run(
    args: &PlaceArgs,
    view: View,
    now: Option<Time>,
    coverage: &Coverage,
    printer: &mut Printer,
) -> Result<Exit, Failure> {
    let options =
        Options { group_by: super::group_by(args), autoscaled: args.autoscaled.iter().cloned().collect() };
    let known = audit::groups(&view, &options.group_by);
    if let Some(unknown) = options.autoscaled.iter().find(|group| !known.contains(*group)) {
        let names: Vec<String> = known.iter().map(ToString::to_string).collect();
        return Err(Failure::usage_message(format!(
            "--autoscaled names the group {unknown}, which has no nodes"
        ))
        .next(format!("there are {}", names.join(", "))));
    }
    let nodes = view.nodes.len();
    let found = audited(view, now, &options, coverage);
    let text = match args.output {
        PlaceFormat::Text | PlaceFormat::Wide => {
            text(&found, nodes, printer.look()) + &coverage::section(coverage, printer.look())
        }
        PlaceFormat::Json => json(&found, nodes, coverage)?,
        PlaceFormat::Name => names(&found),
    };
    printer.data(&text)?;
    Ok(coverage::end(coverage, if found.is_empty() { Exit::Passes } else { Exit::Findings }))
}

/// A finding, with what was proved of its remedy.
struct Audited {
    finding: Finding,
    entry: FindingEntry,
}

/// Audits, and proves the remedies on a copy.
fn audited(mut view: View, now: Option<Time>, options: &Options, coverage: &Coverage) -> Vec<Audited> {
    let now = now.unwrap_or(Time::from_millis(0));
    count_budgets(&mut view, now);
    let ground = Ground { view, groups: Vec::new(), now, facts: Vec::new(), plan: None };
    let find = |ground: &Ground| audit::run(&ground.view, options);
    let findings = find(&ground);
    let proofs = prove(&ground, &findings, &find, None, Trials::of(&ground));
    let addons = Addons::default();
    let mut installed = Installed::new(&ground.view, &addons, &helm_release::unpacked);
    let proved = findings.into_iter().zip(&proofs);
    proved
        .map(|(finding, proofs)| Audited {
            entry: FindingEntry::proved(finding.rule.id(), &finding, proofs, &mut installed)
                .seeing(coverage, finding.rule.reads()),
            finding,
        })
        .collect()
}

/// Objects of findings, each once, the worst first.
fn names(all: &[Audited]) -> String {
    let mut seen = BTreeSet::new();
    let findings: Vec<&Finding> = all.iter().map(|one| &one.finding).collect();
    let once = findings.iter().filter(|finding| seen.insert(&finding.object));
    once.map(|finding| format!("{}\n", finding.object)).collect()
}

fn json(all: &[Audited], nodes: usize, coverage: &Coverage) -> Result<String, Failure> {
    let entries: Vec<&FindingEntry> = all.iter().map(|one| &one.entry).collect();
    let all = json!({"version": VERSION, "nodes": nodes, "coverage": coverage, "findings": entries});
    let text = serde_json::to_string_pretty(&all).map_err(Failure::internal)?;
    Ok(text + "\n")
}

/// By rule, the worst first.
fn text(findings: &[Audited], nodes: usize, look: Look) -> String {
    let mut page = Page::new(look);
    page.heading("Audit", &summary(findings, nodes));
    let mut order: Vec<Rule> = Vec::new();
    for Audited { finding, .. } in findings {
        if !order.contains(&finding.rule) {
            order.push(finding.rule);
        }
    }
    for rule in order {
        let title = page.paint(rule.title(), Tone::Faint);
        page.heading(rule.id(), &title);
        let of_rule: Vec<&Audited> = findings.iter().filter(|one| one.finding.rule == rule).collect();
        write_rule(&mut page, &of_rule);
    }
    page.into_text()
}

fn summary(findings: &[Audited], nodes: usize) -> String {
    let of = |severity: Severity| findings.iter().filter(|one| one.finding.severity == severity).count();
    let over = count(nodes, "node");
    let told: Vec<String> = [Severity::Blocking, Severity::Warning, Severity::Info]
        .into_iter()
        .filter(|severity| of(*severity) > 0)
        .map(|severity| match severity {
            // Only one of the words has a plural.
            Severity::Warning => count(of(severity), severity.as_str()),
            Severity::Blocking | Severity::Info => format!("{} {severity}", grouped(of(severity))),
        })
        .collect();
    match told.as_slice() {
        [] => format!("nothing found on {over}: {}", count(Rule::ALL.len(), "rule")),
        _ => format!("{} on {over}", told.join(", ")),
    }
}

fn tone(severity: Severity) -> Tone {
    match severity {
        Severity::Blocking => Tone::Bad,
        Severity::Warning => Tone::Warning,
        Severity::Info => Tone::Note,
    }
}

/// The findings of one rule; what is found of several objects in the same words is one entry.
fn write_rule(page: &mut Page, findings: &[&Audited]) {
    let entries = alike(findings.iter().copied(), |Audited { finding, entry }| {
        (finding.severity, &finding.reason, entry.withheld.is_some())
    });
    let mut shown: BTreeMap<Severity, usize> = BTreeMap::new();
    let mut left = 0;
    for entry in &entries {
        let severity = entry[0].finding.severity;
        let max = if severity == Severity::Blocking { BLOCKING_MAX } else { ENTRIES_MAX };
        let number = shown.entry(severity).or_default();
        if *number == max {
            left += entry.len();
        } else {
            *number += 1;
            write_entry(page, entry);
        }
    }
    if left > 0 {
        page.gap();
        page.wrapped(2, &format!("and {} more: -o json has them all", count(left, "finding")), Tone::Faint);
    }
}

fn write_entry(page: &mut Page, entry: &[&Audited]) {
    page.gap();
    let first = &entry[0].finding;
    let severity = (first.severity.as_str(), tone(first.severity));
    if let [only] = entry {
        page.beside(2, &[severity, (&only.finding.object.to_string(), Tone::Strong)]);
    } else {
        page.beside(2, &[severity, (&count(entry.len(), "object"), Tone::Strong)]);
        let names: Vec<String> =
            entry.iter().take(OBJECTS_MAX).map(|one| one.finding.object.to_string()).collect();
        let more = entry.len().saturating_sub(OBJECTS_MAX);
        let more = if more > 0 { format!(", and {} more", grouped(more)) } else { String::new() };
        page.wrapped(4, &format!("{}{more}", names.join(", ")), Tone::Strong);
    }
    page.wrapped(4, &first.reason, Tone::Plain);
    if let Some(not_seen) = entry[0].entry.not_seen() {
        page.wrapped(4, &not_seen, Tone::Faint);
    }
    let mut remedies: Vec<String> = entry.iter().map(|one| one.entry.to_do()).collect();
    remedies.dedup();
    page.line(if entry[0].entry.withheld.is_some() { "    what to look at:" } else { "    what to do:" });
    for text in remedies.iter().take(OBJECTS_MAX) {
        write_remedy(page, text);
    }
    let more = remedies.len().saturating_sub(OBJECTS_MAX);
    if more > 0 {
        page.wrapped(6, &format!("and {} more like these: -o json has them all", grouped(more)), Tone::Faint);
    }
}

/// Commands and YAML are to be pasted and never broken; words may be.
fn write_remedy(page: &mut Page, text: &str) {
    const INDENT: usize = 6;
    for line in text.lines() {
        let is_code = ["kubectl ", "aws ", "  "].iter().any(|start| line.starts_with(start));
        if is_code {
            page.verbatim(INDENT, line, Tone::Note);
        } else {
            page.wrapped(INDENT, line, Tone::Note);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use replank_facts::finding::ObjectName;
    use replank_model::object::meta::Key;
    use serde_json::Value;

    use super::*;
    use crate::report::Color;

    const PAGE: &str = include_str!("../../../../docs/audit.md");

    /// The rows of the table below a heading: first and second column.
    fn rows(heading: &str) -> Vec<(&'static str, &'static str)> {
        let (_, section) = PAGE.split_once(heading).expect("the page has the heading");
        let section = section.split_once("\n## ").map_or(section, |(section, _)| section);
        let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
        rows.map(|row| {
            let (id, rest) = row.split_once("` | ").expect("a row has a second column");
            (id, rest.trim_end_matches(" |"))
        })
        .collect()
    }

    fn finding(severity: Severity, name: &str, reason: &str) -> Audited {
        let finding = Finding {
            rule: Rule::OnSpot,
            severity,
            object: ObjectName { kind: "Deployment".into(), key: Key::new("shop", name) },
            reason: reason.to_owned(),
            remedy: format!("do this:\nkubectl -n shop edit deployment/{name}\n  yaml: [1]").into(),
        };
        Audited { entry: FindingEntry::untried(finding.rule.id(), &finding), finding }
    }

    #[test]
    fn the_page_has_every_rule_and_no_other() {
        let known: Vec<_> = Rule::ALL.iter().map(|rule| (rule.id(), rule.title())).collect();
        assert_eq!(rows("## Rules"), known);
    }

    #[test]
    fn the_page_has_every_member_of_the_json_and_no_other() {
        let text = json(&[finding(Severity::Info, "a", "why")], 3, &Coverage::default()).expect("it is JSON");
        let value: Value = serde_json::from_str(&text).expect("it is JSON");
        let object = |value: &Value| -> Vec<String> {
            value.as_object().expect("an object").keys().cloned().collect()
        };
        let mut members: BTreeSet<String> = object(&value).into_iter().collect();
        members.extend(object(&value["findings"][0]).into_iter().map(|key| format!("findings[].{key}")));
        let documented: BTreeSet<String> =
            rows("## As JSON").into_iter().map(|(member, _)| member.to_owned()).collect();
        assert_eq!(documented, members);
    }

    #[test]
    fn alike_findings_are_one_entry_and_commands_are_not_broken() {
        let all = ["a", "b"].map(|name| finding(Severity::Warning, name, "why"));
        let look = Look { width: 30, color: Color::None };
        let shown = text(&all, 3, look);
        assert!(shown.starts_with("Audit  2 warnings on 3 nodes\n\non-spot  "), "{shown}");
        assert!(shown.contains("warning  2 objects"), "{shown}");
        assert!(shown.contains("\n      kubectl -n shop edit deployment/a\n        yaml: [1]\n"), "{shown}");
        let many: Vec<_> = (0..500).map(|n| finding(Severity::Info, "a", &n.to_string())).collect();
        assert!(text(&many, 3, look).contains("and 490 findings more"));
        assert_eq!(
            text(&[], 3, look),
            format!("Audit  nothing found on 3 nodes: {} rules\n", Rule::ALL.len())
        );
    }
}
