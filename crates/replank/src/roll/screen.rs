//! Where a run is told: a table that renews itself, lines, or events.

use std::collections::BTreeMap;

use replank_model::text::NodeName;
use replank_model::time::{Span, Time};
use replank_protocol::wait_list::WaitList;
use replank_protocol::waiting::{Hope, Subject};
use serde_json::{Value, json};

use super::nodes::{Phase, Row};
use crate::drain::eta::until;
use crate::drain::remedy::remedy;
use crate::live::{Form, RENEWED_EVERY, Waits, error_line, event_line, fitting, line as print};
use crate::output::EventsFormat;
use crate::report::{cut, words};
use crate::zone::times;

/// See the module's page.
pub(super) struct Screen {
    form: Form,
    begun: Option<Time>,
    /// When each node is done, as it was rehearsed: from the beginning.
    rehearsed: BTreeMap<NodeName, Span>,
    waits: Waits,
}

impl Screen {
    pub(super) fn new(format: EventsFormat, rehearsed: BTreeMap<NodeName, Span>) -> Self {
        let form = Form::new(format, true);
        Self { form, begun: None, rehearsed, waits: Waits::default() }
    }

    /// Whether lines are told, and not events.
    pub(super) fn is_text(&self) -> bool {
        self.form.is_text()
    }

    /// Tells something that happened: a line, and an event with its members.
    pub(super) fn say(&mut self, at: Time, line: &str, mut event: Value) {
        match &mut self.form {
            Form::Json => {
                event["time"] = at.floor_seconds().to_string().into();
                event_line(&event);
            }
            Form::Lines => print(line),
            Form::Table(table) => table.say(line),
        }
    }

    /// Tells what is to be looked at.
    pub(super) fn warn(&mut self, at: Time, kind: &str, text: &str) {
        match &mut self.form {
            Form::Json => self.say(at, text, json!({"event": kind, "message": text})),
            Form::Lines => error_line(text),
            Form::Table(_) => self.say(at, text, Value::Null),
        }
    }

    /// Shows how far everything is; when it is to be shown again, whatever happens.
    pub(super) fn show(&mut self, now: Time, rows: &[Row], waiting: &WaitList) -> Option<Time> {
        let begun = *self.begun.get_or_insert(now);
        match &mut self.form {
            Form::Json | Form::Lines => self.tell_waits(now, waiting),
            Form::Table(drawn) => {
                drawn.draw(&table(rows, waiting, (begun, now), &self.rehearsed, drawn.room()));
                Some(now + RENEWED_EVERY)
            }
        }
    }

    /// The table stays as it was drawn last.
    pub(super) fn finish(&mut self) {
        self.form.finish();
    }

    /// Tells what has been waited for long enough; when to look next.
    fn tell_waits(&mut self, now: Time, waiting: &WaitList) -> Option<Time> {
        let told = waiting.iter().filter(|one| one.on.hope() != Hope::Moving);
        let (due, next) = self.waits.due(now, told, |_| true);
        for one in due {
            let step = remedy(&one.on);
            let line = step.as_ref().map_or_else(|| one.to_string(), |step| format!("{one}\n  next: {step}"));
            match self.form {
                Form::Json => self.say(
                    now,
                    "",
                    json!({"event": "waits", "what": one.what, "on": one.on, "message": one.to_string(), "remedy": step}),
                ),
                Form::Lines | Form::Table(_) => self.warn(now, "waits", &line),
            }
        }
        next
    }
}

fn table(
    rows: &[Row],
    waiting: &WaitList,
    (begun, now): (Time, Time),
    rehearsed: &BTreeMap<NodeName, Span>,
    (lines, width): (usize, usize),
) -> Vec<String> {
    let name = rows.iter().map(|row| row.node.as_str().len()).max().unwrap_or(4).clamp(4, 40);
    let done = rows.iter().filter(|row| row.phase.is_done()).count();
    let source = if rehearsed.is_empty() { "not rehearsed to an end: no ETA" } else { "ETA as rehearsed" };
    let elapsed = words::span(now - begun);
    let mut all = vec![
        cut(&format!("{done}/{} nodes replaced, {elapsed} elapsed; {source}", rows.len()), width),
        cut(&format!("{:name$}  {:<10} {:>4}  ETA     WAITS FOR", "NODE", "PHASE", "PODS"), width),
    ];
    let mut shown = Vec::new();
    for row in rows {
        let own = Subject::Node(row.node.clone());
        let on = waiting.iter().find(|one| one.what == own || row.subjects.contains(&one.what));
        let eta = match rehearsed.get(&row.node) {
            _ if row.phase.is_done() => "-".to_owned(),
            Some(at) => until(begun + *at, now),
            None => "?".to_owned(),
        };
        // What is still to be seen of a node that is replaced is nobody's to wait for.
        let on = on.filter(|_| !row.phase.is_done());
        let on = on.map_or_else(String::new, |one| match one.what == own {
            true => one.on.reason().to_string(),
            false => one.to_string(),
        });
        let on = times(&on);
        let line =
            format!("{:name$}  {:<10} {:>4}  {eta:<8}{on}", row.node.as_str(), row.phase.as_str(), row.pods);
        shown.push((rank(row.phase), vec![cut(line.trim_end(), width)]));
    }
    all.extend(fitting(shown, lines.saturating_sub(all.len())));
    all
}

/// What is looked at first where not all nodes find room.
fn rank(phase: Phase) -> u8 {
    match phase {
        Phase::Draining => 0,
        Phase::Drained => 1,
        Phase::Cordoned => 2,
        Phase::Open => 3,
        Phase::Skipped => 4,
        Phase::Replaced => 5,
    }
}
