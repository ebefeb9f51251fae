//! Which deprecated versions have been asked for: what the API server counts.

use crate::connect::Connection;
use crate::error::LiveError;

/// The one metric that is read.
const METRIC: &str = "apiserver_requested_deprecated_apis";

impl Connection {
    /// The API server's count of requests at deprecated versions, as it writes it; nothing where that may not be read. It is one server's, since it began.
    ///
    /// # Errors
    /// Where no answer comes.
    pub async fn requested_deprecated(&self) -> Result<Option<String>, LiveError> {
        let answer = self.get("/metrics", "text/plain").await?;
        if answer.code != 200 {
            return Ok(None);
        }
        let text = String::from_utf8_lossy(&answer.body);
        let lines = text.lines().filter(|line| line.contains(METRIC));
        Ok(Some(lines.flat_map(|line| [line, "\n"]).collect()))
    }
}
