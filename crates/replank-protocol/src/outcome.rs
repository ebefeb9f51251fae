//! Outcomes: what became of a command, as far as the driver knows.

use replank_model::text::Text;
use replank_model::time::Time;
use serde::{Deserialize, Serialize};

use crate::command::CommandKey;

/// What became of a command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Outcome {
    /// Which command.
    pub key: CommandKey,
    /// When it was known.
    pub at: Time,
    /// What is known.
    pub answer: Answer,
}

/// What is known of a command that was given to a driver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Answer {
    /// The effect is there.
    Done,
    /// It had no effect, for a known reason.
    Refused(Refusal),
    /// It was sent, no answer came, and reading back did not tell: the effect may be there, or may still come. It is never repeated blindly.
    Unknown {
        /// What the driver knows of it.
        message: Text,
    },
}

impl From<Result<(), Refusal>> for Answer {
    fn from(result: Result<(), Refusal>) -> Self {
        match result {
            Ok(()) => Self::Done,
            Err(refusal) => Self::Refused(refusal),
        }
    }
}

/// Why a command had no effect. Throttling is none of these: the driver tries again within the command's deadline, and no budget is charged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Refusal {
    /// A disruption budget does not allow the eviction (429, cause DisruptionBudget).
    #[error("{message}")]
    Budget {
        /// The API server's words; they name the budget, what it needs and what there is.
        message: Text,
        /// When to ask again, where the server says so: the budget's status lags behind its specification.
        retry_after_seconds: Option<i64>,
    },
    /// A precondition failed: the object changed or is another incarnation (409).
    #[error("conflict: {message}")]
    Conflict {
        /// The server's words.
        message: Text,
    },
    /// The object is gone (404).
    #[error("not found: {message}")]
    Gone {
        /// The server's words.
        message: Text,
    },
    /// An admission webhook denied the request, whatever its code.
    #[error("denied by admission webhook {webhook}: {message}")]
    Denied {
        /// The webhook.
        webhook: Text,
        /// Its words.
        message: Text,
    },
    /// What the driver read before it acted is not what the decision was taken on.
    #[error("{what} is {found}, expected {expected}")]
    Mismatch {
        /// What was looked at.
        what: Text,
        /// What the command says of it.
        expected: Text,
        /// What it is.
        found: Text,
    },
    /// The command's deadline passed before it could be sent.
    #[error("the command's deadline passed before it was sent")]
    Late,
    /// Anything else: the status code and the server's words.
    #[error("{code}: {message}")]
    Failed {
        /// HTTP status.
        code: u16,
        /// The server's words.
        message: Text,
    },
}

impl Refusal {
    /// The denial that the API server's words tell of, if they do: `admission webhook "NAME" denied the request: WORDS`, or
    /// `… without explanation` (apiserver `pkg/admission/plugin/webhook/errors`).
    #[must_use]
    pub fn denied(message: &str) -> Option<Self> {
        let (webhook, rest) = message.strip_prefix("admission webhook \"")?.split_once('"')?;
        let rest = rest.strip_prefix(" denied the request")?;
        let words = rest.strip_prefix(':').unwrap_or(rest).trim_start();
        Some(Self::Denied { webhook: webhook.into(), message: words.into() })
    }
}
