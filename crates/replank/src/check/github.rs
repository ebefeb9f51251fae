//! Findings as annotations of a GitHub workflow (docs.github.com, workflow commands).

use super::{Checked, scope};
use crate::github::{data, property};
use crate::report::findings;

pub(super) fn github(checked: &Checked) -> String {
    let mut text = String::new();
    for finding in &checked.gated.findings {
        let level = match finding.severity {
            "blocking" => "error",
            "warning" => "warning",
            _ => "notice",
        };
        let at = match checked.places.get(&finding.object) {
            Some(place) => {
                let source = place.source.trim_start_matches("./");
                let line = place.line.map_or_else(String::new, |line| format!("line={line},"));
                format!("file={},{line}", property(source))
            }
            None => String::new(),
        };
        let title = property(&format!("{}: {}", finding.id, finding.object));
        let message = data(&format!("{}\nWhat to do:\n{}", finding.told(), finding.to_do()));
        text.push_str(&format!("::{level} {at}title={title}::{message}\n"));
    }
    let summary = match checked.gated.findings.as_slice() {
        [] => "nothing found".to_owned(),
        some => findings::summary(some),
    };
    text.push_str(&format!(
        "::notice title=replank check::{}\n",
        data(&format!("{summary}; {}", scope(checked)))
    ));
    for missing in &checked.coverage.missing {
        text.push_str(&format!("::error title=replank check is incomplete::{}\n", data(missing)));
    }
    text
}
