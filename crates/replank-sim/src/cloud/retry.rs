//! When a group tries again to launch.

use replank_model::time::{Span, Time};
use serde::{Deserialize, Serialize};

/// When a group whose launches have failed tries again.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Retry {
    pub(super) at: Time,
    pub(super) span: Span,
}
