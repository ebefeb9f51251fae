//! Findings and text in the commands of a GitHub workflow (docs.github.com, workflow commands).

use replank_facts::coverage::Coverage;
use replank_facts::finding::Severity;
use replank_rehearse::FindingEntry;

use crate::snapshot::Places;

/// The message of a command.
pub(crate) fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// A property of a command.
pub(crate) fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

/// Each finding as an annotation.
pub(crate) fn findings(findings: &[FindingEntry], places: &Places) -> String {
    findings.iter().map(|entry| finding(entry, places, "")).collect()
}

/// A finding as an annotation, in the file and line where its object was read; `among` stands before what is wrong.
pub(crate) fn finding(finding: &FindingEntry, places: &Places, among: &str) -> String {
    let level = match finding.severity {
        Severity::Blocking => "error",
        Severity::Warning => "warning",
        Severity::Info => "notice",
    };
    let at = match places.get(&finding.object) {
        Some(place) => {
            let source = place.source.trim_start_matches("./");
            let line = place.line.map_or_else(String::new, |line| format!("line={line},"));
            format!("file={},{line}", property(source))
        }
        None => String::new(),
    };
    let title = property(&format!("{}: {}", finding.id, finding.object));
    let message = data(&format!("{among}{}\nWhat to do:\n{}", finding.told(), finding.to_do()));
    format!("::{level} {at}title={title}::{message}\n")
}

/// What could not be seen, as errors of a command.
pub(crate) fn missing(coverage: &Coverage, command: &str) -> String {
    let all = coverage.missing.iter();
    all.map(|missing| format!("::error title=replank {command} is incomplete::{}\n", data(missing))).collect()
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
