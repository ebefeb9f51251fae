//! What was found before the start.

use std::collections::{BTreeMap, BTreeSet};

use replank_facts::finding::Severity;
use replank_rehearse::FindingEntry;

use super::page::{Lean, Page, Tone};
use super::words::{count, grouped};

/// How a severity is shown.
fn tone(severity: Severity) -> Tone {
    match severity {
        Severity::Blocking => Tone::Bad,
        Severity::Warning => Tone::Warning,
        Severity::Info => Tone::Note,
    }
}

/// Objects that are named where one thing is found of many.
const OBJECTS_MAX: usize = 12;
/// Entries of one rule and severity. What blocks has to be known whole before anything can go on.
const ENTRIES_MAX: usize = 10;
const BLOCKING_MAX: usize = 40;

/// Writes all findings, the worst first. What is found of several objects in the same words is one entry.
pub(crate) fn write(page: &mut Page, findings: &[FindingEntry]) {
    page.heading("Findings", &summary(findings));
    write_all(page, findings);
}

/// The same without a heading.
pub(crate) fn write_all(page: &mut Page, findings: &[FindingEntry]) {
    let entries = entries(findings);
    let mut shown: BTreeMap<(Severity, &str), usize> = BTreeMap::new();
    let mut left: BTreeMap<(Severity, &str), usize> = BTreeMap::new();
    for entry in &entries {
        let key = (entry[0].severity, entry[0].id);
        let max = if key.0 == Severity::Blocking { BLOCKING_MAX } else { ENTRIES_MAX };
        let shown = shown.entry(key).or_default();
        if *shown == max {
            *left.entry(key).or_default() += entry.len();
            continue;
        }
        *shown += 1;
        write_entry(page, entry);
    }
    for ((_, id), number) in left {
        page.gap();
        page.wrapped(
            2,
            &format!("and {} more of [{id}]: -o json has them all", count(number, "finding")),
            Tone::Faint,
        );
    }
}

/// Entries above which a person sees a table and the worst of them.
const MANY: usize = 40;
/// The worst of many.
const WORST: usize = 10;

/// The same; of many only the worst, with a table of all rules, unless all are asked for.
pub(crate) fn write_worst(page: &mut Page, findings: &[FindingEntry], all: bool) {
    let entries = entries(findings);
    if all || entries.len() <= MANY {
        write_all(page, findings);
        return;
    }
    let mut rules: BTreeMap<(Severity, &str), (usize, usize)> = BTreeMap::new();
    for entry in &entries {
        let rule = rules.entry((entry[0].severity, entry[0].id)).or_default();
        *rule = (rule.0 + entry.len(), rule.1 + 1);
    }
    page.gap();
    let titles = ["severity", "findings", "different", "rule"];
    let mut rows = vec![titles.map(|title| (title.to_owned(), Tone::Faint)).to_vec()];
    rows.extend(rules.into_iter().map(|((severity, id), (findings, different))| {
        vec![
            (severity.to_string(), tone(severity)),
            (grouped(findings), Tone::Plain),
            (grouped(different), Tone::Plain),
            (id.to_owned(), Tone::Plain),
        ]
    }));
    page.table(&[Lean::Left, Lean::Right, Lean::Right, Lean::Left], &rows);
    for entry in entries.iter().take(WORST) {
        write_entry(page, entry);
    }
    page.gap();
    let more = format!("and {} more: --all shows them", grouped(entries.len() - WORST));
    page.wrapped(2, &more, Tone::Faint);
}

/// Findings that differ in their objects only, in the order of the first of each.
pub(crate) fn entries(findings: &[FindingEntry]) -> Vec<Vec<&FindingEntry>> {
    let mut sorted: Vec<&FindingEntry> = findings.iter().collect();
    sorted.sort_by_key(|finding| finding.severity);
    alike(sorted, |finding| (finding.severity, finding.id, &finding.reason, finding.withheld.is_some()))
}

/// Things that differ in nothing of a key, in the order of the first of each.
pub(crate) fn alike<T: Copy, K: Ord>(all: impl IntoIterator<Item = T>, key: impl Fn(T) -> K) -> Vec<Vec<T>> {
    let mut entries: Vec<Vec<T>> = Vec::new();
    let mut known: BTreeMap<K, usize> = BTreeMap::new();
    for one in all {
        let at = *known.entry(key(one)).or_insert(entries.len());
        if at == entries.len() {
            entries.push(Vec::new());
        }
        entries[at].push(one);
    }
    entries
}

fn write_entry(page: &mut Page, entry: &[&FindingEntry]) {
    page.gap();
    let first = entry[0];
    let id = format!("[{}]", first.id);
    let severity = (first.severity.as_str(), tone(first.severity));
    match entry {
        [only] => page.beside(2, &[severity, (&only.object, Tone::Strong), (&id, Tone::Faint)]),
        many => {
            page.beside(2, &[severity, (&count(many.len(), "object"), Tone::Strong), (&id, Tone::Faint)]);
            let names: Vec<&str> = many.iter().take(OBJECTS_MAX).map(|finding| &*finding.object).collect();
            page.wrapped(4, &format!("{}{}", names.join(", "), more(many.len(), OBJECTS_MAX)), Tone::Strong);
        }
    }
    page.wrapped(4, &first.reason, Tone::Plain);
    if let Some(not_seen) = first.not_seen() {
        page.wrapped(4, &not_seen, Tone::Faint);
    }
    let mut remedies: Vec<String> =
        entry.iter().filter(|finding| !finding.remedy.is_empty()).map(|finding| finding.to_do()).collect();
    remedies.dedup();
    if remedies.is_empty() {
        return;
    }
    page.line(if first.withheld.is_some() { "    what to look at:" } else { "    what to do:" });
    for text in remedies.iter().take(OBJECTS_MAX) {
        remedy(page, text);
    }
    if remedies.len() > OBJECTS_MAX {
        page.wrapped(
            6,
            &format!("and so on{}: -o json has them all", more(remedies.len(), OBJECTS_MAX)),
            Tone::Faint,
        );
    }
}

/// `, and 190 more`, or nothing.
fn more(all: usize, shown: usize) -> String {
    match all.saturating_sub(shown) {
        0 => String::new(),
        rest => format!(", and {} more", grouped(rest)),
    }
}

/// A command is to be pasted and never broken, and indented lines of a file keep their indentation; everything else may be broken.
fn remedy(page: &mut Page, text: &str) {
    const INDENT: usize = 6;
    for line in text.lines() {
        // What is pasted stays on its line.
        match ["kubectl ", "aws ", "# ", "- patch: ", "{", " "].iter().any(|start| line.starts_with(start)) {
            true => page.verbatim(INDENT, line, Tone::Note),
            false => page.wrapped(INDENT, line, Tone::Note),
        }
    }
}

/// `1 blocking, 2 warnings`, or that there are none.
pub(crate) fn summary(findings: &[FindingEntry]) -> String {
    if findings.is_empty() {
        return "none".to_owned();
    }
    let kinds: BTreeSet<Severity> = findings.iter().map(|finding| finding.severity).collect();
    let of = |kind: Severity| {
        let number = findings.iter().filter(|finding| finding.severity == kind).count();
        // Only one of the words has a plural.
        match kind {
            Severity::Warning => count(number, kind.as_str()),
            Severity::Blocking | Severity::Info => format!("{} {kind}", grouped(number)),
        }
    };
    kinds.into_iter().map(of).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use replank_rehearse::Proof;

    use super::super::page::{Color, Look};
    use super::*;

    fn finding(severity: Severity, object: &str, reason: &str) -> FindingEntry {
        FindingEntry {
            id: "singleton",
            severity,
            object: format!("Deployment shop/{object}"),
            reason: reason.to_owned(),
            unseen: Vec::new(),
            remedy: format!("kubectl -n shop scale deployment/{object} --replicas=2"),
            remedy_blocks: Vec::new(),
            proof: Proof::Checked,
            withheld: None,
            changes: Vec::new(),
            commits: Vec::new(),
        }
    }

    fn shown(findings: &[FindingEntry]) -> String {
        let mut page = Page::new(Look { width: 90, color: Color::None });
        write(&mut page, findings);
        page.into_text()
    }

    #[test]
    fn one_thing_found_of_several_objects_is_one_entry_with_every_remedy() {
        let all = ["a", "b"].map(|name| finding(Severity::Warning, name, "1 replica"));
        assert_eq!(
            shown(&all),
            "Findings  2 warnings\n\n  warning  2 objects  [singleton]\n    Deployment shop/a, Deployment shop/b\n    1 replica\n    what to \
             do:\n      kubectl -n shop scale deployment/a --replicas=2\n      kubectl -n shop scale deployment/b --replicas=2\n"
        );
    }

    #[test]
    fn thousands_are_told_in_a_few_lines_and_counted() {
        let alike: Vec<_> =
            (0..8_000).map(|n| finding(Severity::Warning, &format!("w{n}"), "1 replica")).collect();
        let text = shown(&alike);
        assert!(text.starts_with("Findings  8,000 warnings\n"), "{text}");
        assert!(text.contains("and 7,988 more") && text.lines().count() < 30, "{text}");
        let mut page = Page::new(Look { width: 90, color: Color::None });
        let many: Vec<_> =
            (0..100).map(|n| finding(Severity::Warning, "w", &format!("{n} replicas"))).collect();
        write_worst(&mut page, &many, false);
        let text = page.into_text();
        assert!(text.contains("warning        100        100  singleton"), "{text}");
        assert!(text.contains("and 90 more: --all shows them"), "{text}");
        let unlike: Vec<_> =
            (0..100).map(|n| finding(Severity::Info, "w", &format!("{n} replicas"))).collect();
        let text = shown(&unlike);
        assert!(text.contains("and 90 findings more of [singleton]"), "{text}");
    }
}
