//! Findings for a ticket or a pull request.

use super::found::Scanned;
use super::table::{chapters, how, step, who};
use crate::report::markdown::escape;
use crate::report::words::count;

pub(super) fn markdown(scanned: &Scanned) -> String {
    let mut text = format!("# API versions: {}\n\n{}.\n", scanned.summary(), escape(&scanned.scope()));
    for (chapter, of) in chapters(&scanned.findings) {
        text.push_str(&format!("\n## {}\n", escape(&chapter.title())));
        for findings in of.values() {
            text.push_str(&format!("\n### {}\n\n", escape(&step(findings[0]))));
            for change in &findings[0].changes {
                text.push_str(&format!("- also: {}\n", escape(change)));
            }
            if !findings[0].changes.is_empty() {
                text.push('\n');
            }
            text.push_str("| place | object | how it was seen | confidence |\n|---|---|---|---|\n");
            for finding in findings {
                let place = format!("{}:{}", finding.place.source, finding.place.line);
                let seen = match how(finding) {
                    seen if seen.is_empty() => "manifest".to_owned(),
                    seen => seen,
                };
                text.push_str(&format!(
                    "| {} | {} | {} | {} |\n",
                    escape(&place),
                    escape(&who(finding)),
                    escape(&seen),
                    finding.confidence.word()
                ));
            }
        }
    }
    if !scanned.waived.is_empty() {
        text.push_str(&format!("\n## Let be: {}\n\n", count(scanned.waived.len(), "finding")));
        for (finding, reason) in &scanned.waived {
            let place = format!("{}:{}", finding.place.source, finding.place.line);
            let used = escape(&finding.used.to_string());
            text.push_str(&format!("- {} {used}: {}\n", escape(&place), escape(reason)));
        }
    }
    text
}
