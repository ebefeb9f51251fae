//! Findings as annotations of a GitHub workflow (docs.github.com, workflow commands).

use replank_lifecycle::finding::{Confidence, Severity};

use super::found::Scanned;
use super::sarif::message;

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
    text.push_str(&format!(
        "::notice title=replank scan::{}\n",
        data(&format!("{}; {}", scanned.summary(), scanned.scope()))
    ));
    text
}

fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_end_a_command_is_escaped() {
        assert_eq!(property("a:b,c%\n"), "a%3Ab%2Cc%25%0A");
        assert_eq!(data("a:b,c\r\n"), "a:b,c%0D%0A");
    }
}
