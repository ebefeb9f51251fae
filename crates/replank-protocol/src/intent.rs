//! What the operator asks of a run: an input of core beside observations and outcomes.
//!
//! An intent is a state, not an event: it holds until another is given. A process that is started anew has none of its own and
//! runs; its caller gives the intent again. Giving one that already holds changes nothing.

use serde::{Deserialize, Serialize};
use std::fmt;

/// What is wanted of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Intent {
    /// Go on as the plan says.
    #[default]
    Run,
    /// Begin nothing further until it is [`Intent::Run`] again.
    Paused,
    /// End here: begin nothing further, and leave nothing of the run's own behind.
    Cancelled,
    /// Put everything back as it was before the run.
    Undo,
}

impl Intent {
    /// As it is written.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Paused => "paused",
            Self::Cancelled => "cancelled",
            Self::Undo => "undo",
        }
    }

    /// As it is read; `None` for anything else.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        [Self::Run, Self::Paused, Self::Cancelled, Self::Undo]
            .into_iter()
            .find(|intent| intent.as_str() == text)
    }
}

impl fmt::Display for Intent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
