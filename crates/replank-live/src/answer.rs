//! What an API server has answered.

use replank_model::time::Time;
use serde_json::Value;

/// An answer, whole.
#[derive(Clone, Debug)]
pub struct Answer {
    /// HTTP status code.
    pub code: u16,
    /// Its body.
    pub body: Vec<u8>,
    /// The server's clock, to the second (`Date`).
    pub date: Option<Time>,
}

/// What is shown of a body that is no Status.
const SHOWN: usize = 200;

impl Answer {
    /// The message of its Status, or the beginning of its body.
    #[must_use]
    pub fn message(&self) -> String {
        let status: Option<Value> = serde_json::from_slice(&self.body).ok();
        let message = status.as_ref().and_then(|status| status["message"].as_str());
        message.map_or_else(
            || String::from_utf8_lossy(&self.body).chars().take(SHOWN).collect::<String>().trim().to_owned(),
            str::to_owned,
        )
    }
}
