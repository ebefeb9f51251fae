//! `-o github`: what a rehearsal came to, and its findings, as annotations of a GitHub workflow.
//!
//! The verdict and what blocks come first: GitHub shows ten annotations of a level for each step.

use replank_rehearse::{RehearsalResult, Verdict};

use crate::github::{data, findings, missing};
use crate::report::{self, About, Summary};
use crate::snapshot::Places;

const TITLE: &str = "title=replank rehearse";

/// One rehearsal.
pub(super) fn one(result: &RehearsalResult, about: &About<'_>, places: &Places) -> String {
    let (word, sentence, _) = report::in_words(result, about);
    let mut text = verdict(result.verdict, &format!("{word}: {}", sentence.trim_end_matches(':')));
    for blocker in &result.blockers {
        let what = data(&format!("{}: {}", blocker.what, blocker.reason));
        text.push_str(&format!("::{} {TITLE}::{what}\n", level(result.verdict)));
    }
    text.push_str(&findings(&result.findings, places));
    text.push_str(&missing(&result.coverage, "rehearse"));
    text
}

/// Many, of which each finds the same in the cluster before it begins.
pub(super) fn many(summary: &Summary, any: &RehearsalResult, places: &Places) -> String {
    let mut text = verdict(summary.verdict, &format!("{} seeds: {}", summary.seeds, summary.verdicts()));
    text.push_str(&findings(&any.findings, places));
    text.push_str(&missing(&any.coverage, "rehearse"));
    text
}

fn verdict(verdict: Verdict, text: &str) -> String {
    format!("::{} {TITLE}::{}\n", level(verdict), data(text))
}

fn level(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Passes | Verdict::Findings => "notice",
        Verdict::Partial => "warning",
        Verdict::Incomplete | Verdict::Blocked | Verdict::Refused => "error",
    }
}
