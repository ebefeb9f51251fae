//! The form of what an answer could see, and the judgement whether that is enough.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::allowed::Allowed;
use crate::finding::counted;

/// What was read, as the reader of the input tells it.
#[derive(Clone, Debug, Default)]
pub struct Read {
    /// Objects by kind; a kind that is not typed has its group behind it, as in `Workflow.argoproj.io`.
    pub objects: BTreeMap<String, u64>,
    /// Kinds of which there was a list, perhaps an empty one: `PodDisruptionBudgetList`.
    pub listed: BTreeSet<String>,
    /// Parts that could not be read.
    pub skipped: Skipped,
}

/// Parts of the input that could not be read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Skipped {
    /// How many: documents, items of lists, rests of files.
    pub parts: u64,
    /// Those of them whose kind is known, by kind: objects with a value that the API does not have.
    pub kinds: BTreeMap<String, u64>,
    /// The first of them: where, why, and what to do.
    pub first: Vec<String>,
}

/// What an answer could see.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Coverage {
    /// Whether the answer saw everything that it needs, or the user accepted what is missing.
    pub complete: bool,
    /// Objects by kind.
    pub present: BTreeMap<String, u64>,
    /// Kinds of which the input has no object, though the answer would look at them.
    pub absent: Vec<AbsentKind>,
    /// Objects that others name and that are not in the input.
    pub dangling: Vec<Dangling>,
    /// What could not be read.
    pub skipped: Skipped,
    /// Where what was asked for goes beyond the program's own data.
    pub data: Vec<DataEnd>,
    /// What was asked of an account, and no file of it answers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub aws: Vec<Unanswered>,
    /// What makes the answer incomplete, in words.
    pub missing: Vec<String>,
    /// What would make it incomplete, and was accepted by name.
    pub accepted: Vec<String>,
}

/// A kind of which there is nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AbsentKind {
    /// The kind.
    pub kind: String,
    /// What is accepted with `--allow-incomplete`.
    pub resource: String,
    /// What could not be seen without it.
    pub unseen: &'static str,
    /// Whether the answer needs it.
    pub needed: bool,
}

/// Objects that are named and not there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Dangling {
    /// Kind of what is missing.
    pub kind: String,
    /// What is accepted with `--allow-incomplete`.
    pub resource: String,
    /// How many objects are missing.
    pub objects: usize,
    /// How many objects name them.
    pub references: usize,
    /// One of them.
    pub example: String,
}

/// Where the program's own data ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DataEnd {
    /// Which data.
    pub what: &'static str,
    /// The last version that it knows.
    pub until: String,
    /// What was asked for.
    pub asked: String,
}

/// Something that is judged by what AWS says, and no file has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Unanswered {
    /// What no file has, and what is not judged without it.
    pub unseen: String,
    /// The call of AWS's command line that prints it.
    pub command: String,
}

/// Nothing was looked for, and nothing is missing.
impl Default for Coverage {
    fn default() -> Self {
        Self {
            complete: true,
            present: BTreeMap::new(),
            absent: Vec::new(),
            dangling: Vec::new(),
            skipped: Skipped::default(),
            data: Vec::new(),
            aws: Vec::new(),
            missing: Vec::new(),
            accepted: Vec::new(),
        }
    }
}

impl Coverage {
    /// What an answer could see that reads files one by one, and no cluster.
    #[must_use]
    pub fn of_files(skipped: Skipped, data: Vec<DataEnd>, allowed: &Allowed) -> Self {
        let mut coverage = Self { skipped, data, ..Self::default() };
        coverage.judge(allowed);
        coverage
    }

    /// The same where what was asked for goes beyond the program's data.
    #[must_use]
    pub fn beyond(mut self, data: impl IntoIterator<Item = DataEnd>, allowed: &Allowed) -> Self {
        self.data.extend(data);
        self.judge(allowed);
        self
    }

    /// The same where an account was asked about, and its files do not answer everything.
    #[must_use]
    pub fn without_answers(mut self, aws: impl IntoIterator<Item = Unanswered>, allowed: &Allowed) -> Self {
        self.aws.extend(aws);
        self.judge(allowed);
        self
    }

    pub(super) fn judge(&mut self, allowed: &Allowed) {
        let mut missing = Vec::new();
        let mut accepted = Vec::new();
        let mut say = |is_allowed: bool, text: String| {
            if is_allowed { accepted.push(text) } else { missing.push(text) }
        };
        if self.skipped.parts > 0 {
            let parts = counted(usize::try_from(self.skipped.parts).unwrap_or(usize::MAX), "part");
            say(allowed.read, format!("{parts} of the input could not be read (--allow-incomplete read)"));
        }
        for absent in self.absent.iter().filter(|absent| absent.needed) {
            let AbsentKind { kind, resource, unseen, .. } = absent;
            let text = format!(
                "there is no {kind} in the input: {unseen} (if there is none in the cluster: --allow-incomplete {resource})"
            );
            say(allowed.allows(kind), text);
        }
        for Dangling { kind, resource, objects, references, example } in &self.dangling {
            let what = counted(*objects, kind);
            let are = if *objects == 1 { "is" } else { "are" };
            let others = match references - 1 {
                0 => String::new(),
                more => format!(", and {more} more"),
            };
            let text = format!(
                "{what} {are} named and not in the input: {example}{others} (--allow-incomplete {resource})"
            );
            say(allowed.allows(kind), text);
        }
        for DataEnd { what, until, asked } in &self.data {
            let text = format!(
                "the built-in data on {what} ends with {until}, and {asked} was asked for (--allow-incomplete data)"
            );
            say(allowed.data, text);
        }
        for Unanswered { unseen, command } in &self.aws {
            let text = format!("no file of --aws has {unseen}: {command} (or --allow-incomplete aws)");
            say(allowed.aws, text);
        }
        self.complete = missing.is_empty();
        (self.missing, self.accepted) = (missing, accepted);
    }
}
