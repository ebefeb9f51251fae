//! Findings as annotations of a GitHub workflow (docs.github.com, workflow commands).

use replank_lifecycle::finding::{Confidence, Severity};

use super::found::Scanned;
use super::sarif::message;
use crate::github::{data, property};

pub(super) fn github(scanned: &Scanned) -> String {
    let mut text = String::new();
    for finding in &scanned.findings {
        let level = match (finding.severity, finding.confidence) {
            (_, Confidence::Low) => "notice",
            (Severity::Gone | Severity::Removed, _) => "error",
            (Severity::Deprecated, _) => "warning",
        };
        text.push_str(&format!(
            "::{level} file={},line={},col={},title={}::{}\n",
            property(finding.place.source.trim_start_matches("./")),
            finding.place.line,
            finding.place.column,
            property(&format!("{} is {}", finding.used, finding.severity.word())),
            data(&message(finding))
        ));
    }
    let level = if scanned.coverage.complete { "warning" } else { "error" };
    for unread in &scanned.unread {
        text.push_str(&format!(
            "::{level} file={},line={},col={},title=not scanned::{}\n",
            property(unread.place.source.trim_start_matches("./")),
            unread.place.line,
            unread.place.column,
            data(&format!("it cannot be read: {}", unread.why))
        ));
    }
    text.push_str(&format!(
        "::notice title=replank scan::{}\n",
        data(&format!("{}; {}", scanned.summary(), scanned.scope()))
    ));
    text
}
