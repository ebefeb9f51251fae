//! What can happen in a script, and what is wrong with a line.

use std::fmt;

use replank_model::time::Time;

use super::time::When;
use super::what::What;

/// What happens, in order of time; what has one moment in the order of its lines.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Script {
    /// All of it.
    pub events: Vec<ScriptEvent>,
}

/// Which file says that something happens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Origin {
    /// A script.
    #[default]
    Script,
    /// A table of interruptions: see [`interruptions`].
    Interruptions,
    /// Interruptions at a rate: see [`rates`].
    Rates,
}

/// One thing that happens.
#[derive(Clone, Debug, PartialEq)]
pub struct ScriptEvent {
    /// In which file.
    pub origin: Origin,
    /// The line that says so, from 1.
    pub line: usize,
    /// When.
    pub when: When,
    /// The words behind the moment.
    pub text: String,
    /// What.
    pub what: What,
}

/// Characters of a message: it may quote a line without end.
const MESSAGE_MAX: usize = 400;

/// What is wrong in a line of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flaw {
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1, in characters.
    pub column: usize,
    /// What was expected, what was found.
    pub message: String,
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = self.message.char_indices().nth(MESSAGE_MAX).is_none();
        let message: String = self.message.chars().take(MESSAGE_MAX).collect();
        let rest = if whole { "" } else { "…" };
        write!(f, "line {}, column {}: {message}{rest}", self.line, self.column)
    }
}

impl Script {
    /// This script, and then what another file says: what has one moment happens in this order.
    #[must_use]
    pub fn and(mut self, more: Vec<ScriptEvent>) -> Self {
        self.events.extend(more);
        self
    }

    /// The events of a run that begins at a moment, with their moments, in order.
    #[must_use]
    pub fn from(&self, start: Time) -> Vec<(Time, &ScriptEvent)> {
        let mut all: Vec<(Time, &ScriptEvent)> =
            self.events.iter().map(|event| (event.when.at(start), event)).collect();
        all.sort_by_key(|(at, _)| *at);
        all
    }
}
