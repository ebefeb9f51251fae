//! Whether a step that failed lets the flow go on.

use serde_json::Value;

/// Whether what follows a step does so, too, where it ended badly (`continueOn`).
pub(super) fn goes_on(step: &Value) -> bool {
    let of = |key: &str| step.pointer(&format!("/continueOn/{key}")) == Some(&Value::Bool(true));
    of("failed") || of("error")
}
