//! Findings as annotations of a GitHub workflow.

use super::{Checked, scope};
use crate::github::{self, data};
use crate::report::findings;

pub(super) fn github(checked: &Checked) -> String {
    let mut text = github::findings(&checked.gated.findings, &checked.places);
    let summary = match checked.gated.findings.as_slice() {
        [] => "nothing found".to_owned(),
        some => findings::summary(some),
    };
    text.push_str(&format!(
        "::notice title=replank check::{}\n",
        data(&format!("{summary}; {}", scope(checked)))
    ));
    text.push_str(&github::missing(&checked.coverage, "check"));
    text
}
