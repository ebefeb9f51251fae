//! What names a command.

use std::fmt;

use replank_model::text::Text;
use serde::{Deserialize, Serialize};

/// Idempotency key: derived from the run, the effect and the incarnations it touches, never from a counter.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CommandKey(pub Text);

impl fmt::Display for CommandKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}
