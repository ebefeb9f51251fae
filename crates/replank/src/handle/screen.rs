//! Where it is told what is done about messages: lines, or events.

use replank_model::time::Time;
use replank_protocol::wait_list::WaitList;
use replank_protocol::waiting::{InterruptionEnd, InterruptionWait, WaitingOn};
use serde_json::{Value, json};

use crate::drain::remedy::remedy;
use crate::live::{Form, Waits, error_line, event_line, line as print};
use crate::output::EventsFormat;

/// See the module's page.
pub(crate) struct Screen {
    form: Form,
    waits: Waits,
    is_dry_run: bool,
}

impl Screen {
    pub(crate) fn new(format: EventsFormat, is_dry_run: bool) -> Self {
        Self { form: Form::new(format, false), waits: Waits::default(), is_dry_run }
    }

    /// Whether lines are told, and not events.
    pub(crate) fn is_text(&self) -> bool {
        self.form.is_text()
    }

    /// Tells what is being done; or would be.
    pub(crate) fn does(&self, at: Time, line: &str, mut event: Value) {
        if self.is_dry_run {
            event["dryRun"] = true.into();
            self.say(at, &format!("{line} (dry run)"), event);
        } else {
            self.say(at, line, event);
        }
    }

    /// Tells something that happened: a line, and an event with its members.
    pub(crate) fn say(&self, at: Time, line: &str, mut event: Value) {
        if self.is_text() {
            print(&format!("{} {line}", at.floor_seconds()));
        } else {
            event["time"] = at.floor_seconds().to_string().into();
            event_line(&event);
        }
    }

    /// Tells what is to be looked at.
    pub(crate) fn warn(&self, at: Time, kind: &str, text: &str) {
        if self.is_text() {
            error_line(&format!("{} {text}", at.floor_seconds()));
        } else {
            self.say(at, text, json!({"event": kind, "message": text}));
        }
    }

    /// Tells what has been waited for long enough; when to look next.
    pub(crate) fn waits(&mut self, now: Time, waiting: &WaitList) -> Option<Time> {
        let (due, next) = self.waits.due(now, waiting.iter().filter(|one| is_told(&one.on)), |_| true);
        for one in due {
            let step = remedy(&one.on);
            let line = step.as_ref().map_or_else(|| one.to_string(), |step| format!("{one}\n  next: {step}"));
            if self.is_text() {
                self.warn(now, "waits", &line);
            } else {
                let event = json!({"event": "waits", "what": one.what, "on": one.on, "message": one.to_string(), "remedy": step});
                self.say(now, "", event);
            }
        }
        next
    }
}

/// Most messages about instances are about none of the cluster: that their node does not appear is nothing to be told of. What cannot be read has been told when it was
/// received.
fn is_told(on: &WaitingOn) -> bool {
    match on {
        WaitingOn::Interruption(InterruptionWait::Unregistered { .. })
        | WaitingOn::InterruptionEnd(InterruptionEnd::Poison { .. }) => false,
        WaitingOn::Interruption(InterruptionWait::Interrupted { .. } | InterruptionWait::Volumes { .. })
        | WaitingOn::InterruptionEnd(InterruptionEnd::Release { .. })
        | WaitingOn::Pod(_)
        | WaitingOn::PodEnd(_)
        | WaitingOn::Run(_)
        | WaitingOn::RunEnd(_)
        | WaitingOn::Capacity(_)
        | WaitingOn::Roll(_)
        | WaitingOn::RollEnd(_)
        | WaitingOn::Migration(_)
        | WaitingOn::MigrationEnd(_)
        | WaitingOn::Scaling(_)
        | WaitingOn::ScalingEnd(_)
        | WaitingOn::DrainEnd(_)
        | WaitingOn::Drain(_) => true,
    }
}
