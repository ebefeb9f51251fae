//! Findings for a ticket or a pull request.

use replank_rehearse::FindingEntry;

use super::{Checked, scope};
use crate::report::findings;
use crate::report::markdown::{escape, remedy};
use crate::report::words::grouped;

pub(super) fn markdown(checked: &Checked) -> String {
    let mut text = format!("# Check of {}\n\n", escape(&checked.name));
    let summary = match checked.gated.findings.as_slice() {
        [] => "nothing found".to_owned(),
        some => findings::summary(some),
    };
    text.push_str(&format!("{}: **{summary}**. Snapshot of {}.\n", escape(&scope(checked)), checked.now));
    for entry in findings::entries(&checked.gated.findings) {
        text.push_str(&section(&entry));
    }
    text.push_str(&crate::coverage::markdown(&checked.coverage));
    text
}

/// What is found of several objects in the same words is one section.
fn section(entry: &[&FindingEntry]) -> String {
    let first = entry[0];
    let of = match entry {
        [only] => escape(&only.object),
        many => format!("{} objects", grouped(many.len())),
    };
    let mut text = format!("\n## {}: {of} (`{}`)\n\n", first.severity, first.id);
    if entry.len() > 1 {
        for finding in entry {
            text.push_str(&format!("- {}\n", escape(&finding.object)));
        }
        text.push('\n');
    }
    text.push_str(&format!("{}\n", escape(&first.told())));
    let mut remedies: Vec<String> = entry.iter().map(|finding| finding.to_do()).collect();
    remedies.dedup();
    text.push_str(&remedy(&remedies.join("\n")));
    text
}
