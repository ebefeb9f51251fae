//! What was found before the start.

use replank_sim::rehearse::FindingEntry;

use super::page::{Page, Tone};
use super::words::count;

/// How a severity is shown, the worst first.
fn rank(severity: &str) -> (u8, Tone) {
    match severity {
        "blocking" => (0, Tone::Bad),
        "warning" => (1, Tone::Warning),
        _ => (2, Tone::Note),
    }
}

pub(super) fn write(page: &mut Page, findings: &[FindingEntry]) {
    page.heading("Findings", &summary(findings));
    let mut sorted: Vec<&FindingEntry> = findings.iter().collect();
    sorted.sort_by_key(|finding| rank(finding.severity).0);
    for finding in sorted {
        page.gap();
        let id = format!("[{}]", finding.id);
        let severity = (finding.severity, rank(finding.severity).1);
        page.beside(2, &[severity, (&finding.object, Tone::Strong), (&id, Tone::Faint)]);
        page.wrapped(4, &finding.reason, Tone::Plain);
        if !finding.remedy.is_empty() {
            page.line("    what to do:");
            remedy(page, &finding.remedy);
        }
    }
}

/// A command is to be pasted and never broken; everything else (words, YAML) may be.
fn remedy(page: &mut Page, text: &str) {
    const INDENT: usize = 6;
    for line in text.lines() {
        match line.starts_with("kubectl ") {
            true => page.verbatim(INDENT, line, Tone::Note),
            false => page.wrapped(INDENT, line, Tone::Note),
        }
    }
}

/// `1 blocking, 2 warnings`, or that there are none.
fn summary(findings: &[FindingEntry]) -> String {
    if findings.is_empty() {
        return "none".to_owned();
    }
    let mut kinds: Vec<&str> = findings.iter().map(|finding| finding.severity).collect();
    kinds.sort_by_key(|kind| (rank(kind).0, *kind));
    kinds.dedup();
    let of = |kind: &str| {
        let number = findings.iter().filter(|finding| finding.severity == kind).count();
        // Only one of the words has a plural.
        if kind == "warning" { count(number, kind) } else { format!("{number} {kind}") }
    };
    kinds.into_iter().map(of).collect::<Vec<_>>().join(", ")
}
