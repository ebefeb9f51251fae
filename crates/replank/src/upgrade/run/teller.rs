//! What is told while an upgrade is carried out: lines, or one JSON object per event.

use replank_model::time::Time;
use serde_json::{Value, json};

use crate::live::{error_line, event_line, line};
use crate::output::EventsFormat;

/// Tells in one form.
#[derive(Clone, Copy, Debug)]
pub(super) struct Teller {
    format: EventsFormat,
}

impl Teller {
    pub(super) const fn new(format: EventsFormat) -> Self {
        Self { format }
    }

    /// Something that has happened.
    pub(super) fn say(self, at: Time, text: &str, event: Value) {
        match self.format {
            EventsFormat::Text => line(text),
            EventsFormat::Json => {
                let mut event = event;
                event["time"] = json!(at.floor_seconds().to_string());
                event["message"] = json!(text.trim());
                event_line(&event);
            }
        }
    }

    /// Something that somebody should look at.
    pub(super) fn warn(self, at: Time, text: &str) {
        match self.format {
            EventsFormat::Text => error_line(&format!("warning: {text}")),
            EventsFormat::Json => self.say(at, text, json!({"event": "warning"})),
        }
    }
}
