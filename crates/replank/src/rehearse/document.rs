//! A rehearsal as `-o json` prints it, and as pages are made of it: its result, and what a report says beside it.

use replank_rehearse::RehearsalResult;
use serde::Serialize;

use crate::report::{self, About, Timeline};

/// Whether it stands alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Among {
    /// Nothing else was rehearsed.
    Alone,
    /// It is one of many with different seeds.
    Seeds,
}

/// The result, then the names and words of a report. What was rehearsed is read from a file, and has no name of its own.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Document<'a> {
    #[serde(flatten)]
    result: &'a RehearsalResult,
    /// The plan's name.
    plan: &'a str,
    /// What was read, in a few words.
    snapshot: &'a str,
    /// The verdict in a sentence.
    sentence: String,
    /// What to do next.
    next: Vec<String>,
}

impl<'a> Document<'a> {
    /// Of a result, and the verdict in one word.
    pub(crate) fn of(result: &'a RehearsalResult, about: &About<'a>, among: Among) -> (Self, &'static str) {
        // Each node's history is in the document.
        let about = About { timeline: Timeline::Shown, ..*about };
        let (word, sentence, mut next) = report::in_words(result, &about);
        match among {
            Among::Alone => {}
            // More seeds are what it has.
            Among::Seeds => next.retain(|step| !step.contains("--seeds")),
        }
        let (plan, snapshot) = (about.plan, about.snapshot);
        (Self { result, plan, snapshot, sentence, next }, word)
    }
}
