//! Where a run is told: a table that renews itself, lines, or events.

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};

use console::Term;
use replank_model::text::NodeName;
use replank_model::time::{Span, Time};
use replank_protocol::waiting::{Hope, Subject, Waiting};
use serde_json::{Value, json};

use super::args::Format;
use super::nodes::Row;
use crate::drain::remedy::remedy;
use crate::report::words;

/// How long something that may pass is waited for before it is told in a line.
const TOLD_AFTER: Span = Span::from_secs(10);
/// How often a table renews itself.
const RENEWED_EVERY: Span = Span::from_secs(1);
/// Rows that a table has at most: what is beyond is counted.
const ROWS_MAX: usize = 30;

/// See the module's page.
pub(super) struct Screen {
    form: Form,
    begun: Option<Time>,
    /// When each node is done, as it was rehearsed: from the beginning.
    rehearsed: BTreeMap<NodeName, Span>,
    /// What is waited for: its kind, since when, and whether it was told.
    waits: BTreeMap<Subject, (&'static str, Time, bool)>,
}

enum Form {
    Json,
    Lines,
    Table { term: Term, lines: usize },
}

impl Screen {
    pub(super) fn new(format: Format, rehearsed: BTreeMap<NodeName, Span>) -> Self {
        let form = match format {
            Format::Json => Form::Json,
            Format::Text if std::io::stdout().is_terminal() => Form::Table { term: Term::stdout(), lines: 0 },
            Format::Text => Form::Lines,
        };
        Self { form, begun: None, rehearsed, waits: BTreeMap::new() }
    }

    /// Whether lines are told, and not events.
    pub(super) fn is_text(&self) -> bool {
        !matches!(self.form, Form::Json)
    }

    /// Tells something that happened: a line, and an event with its members.
    pub(super) fn say(&mut self, at: Time, line: &str, mut event: Value) {
        match &mut self.form {
            Form::Json => {
                event["time"] = at.floor_seconds().to_string().into();
                out(&event.to_string());
            }
            Form::Lines => out(line),
            Form::Table { term, lines } => {
                clear(term, lines);
                // Nobody is left to tell if that fails.
                line.lines().for_each(|one| drop(term.write_line(one)));
            }
        }
    }

    /// Tells what is to be looked at.
    pub(super) fn warn(&mut self, at: Time, kind: &str, text: &str) {
        match &mut self.form {
            Form::Json => self.say(at, text, json!({"event": kind, "message": text})),
            Form::Lines => drop(writeln!(std::io::stderr().lock(), "{text}")),
            Form::Table { .. } => self.say(at, text, Value::Null),
        }
    }

    /// Shows how far everything is; when it is to be shown again, whatever happens.
    pub(super) fn show(&mut self, now: Time, rows: &[Row], waiting: &[Waiting]) -> Option<Time> {
        let begun = *self.begun.get_or_insert(now);
        match &mut self.form {
            Form::Json | Form::Lines => self.tell_waits(now, waiting),
            Form::Table { term, lines } => {
                clear(term, lines);
                let width = usize::from(term.size().1).clamp(60, 200);
                let table = table(rows, waiting, (begun, now), &self.rehearsed, width);
                table.iter().for_each(|row| drop(term.write_line(row)));
                *lines = table.len();
                Some(now + RENEWED_EVERY)
            }
        }
    }

    /// The table stays as it was drawn last.
    pub(super) fn finish(&mut self) {
        match &mut self.form {
            Form::Table { lines, .. } => *lines = 0,
            Form::Json | Form::Lines => {}
        }
    }

    /// Each thing that is waited for is told once, when it has been waited for for a while; again when it changes in kind.
    fn tell_waits(&mut self, now: Time, waiting: &[Waiting]) -> Option<Time> {
        let mut next = None;
        self.waits.retain(|what, _| waiting.iter().any(|one| one.what == *what));
        for one in waiting.iter().filter(|one| one.on.hope() != Hope::Moving) {
            let kind = one.on.kind();
            let known = self.waits.get(&one.what).filter(|(known, _, _)| *known == kind);
            let (since, is_told) = known.map_or((now, false), |(_, since, is_told)| (*since, *is_told));
            let at = since + TOLD_AFTER;
            let is_due = !is_told && at <= now;
            if !is_told && !is_due {
                next = next.into_iter().chain([at]).min();
            }
            self.waits.insert(one.what.clone(), (kind, since, is_told || is_due));
            if is_due {
                let step = remedy(&one.on);
                let line =
                    step.as_ref().map_or_else(|| one.to_string(), |step| format!("{one}\n  next: {step}"));
                match self.form {
                    Form::Json => self.say(
                        now,
                        "",
                        json!({"event": "waits", "what": one.what, "on": one.on, "message": one.to_string(), "remedy": step}),
                    ),
                    Form::Lines | Form::Table { .. } => self.warn(now, "waits", &line),
                }
            }
        }
        next
    }
}

fn table(
    rows: &[Row],
    waiting: &[Waiting],
    (begun, now): (Time, Time),
    rehearsed: &BTreeMap<NodeName, Span>,
    width: usize,
) -> Vec<String> {
    let name = rows.iter().map(|row| row.node.as_str().len()).max().unwrap_or(4).clamp(4, 40);
    let done = rows.iter().filter(|row| row.phase.is_done()).count();
    let mut all = vec![
        format!("{done}/{} nodes replaced, {} elapsed", rows.len(), words::span(now - begun)),
        format!("{:name$}  {:<10} {:>4}  ETA     WAITS FOR", "NODE", "PHASE", "PODS"),
    ];
    for row in rows.iter().take(ROWS_MAX) {
        let own = Subject::Node(row.node.clone());
        let on = waiting.iter().find(|one| one.what == own || row.subjects.contains(&one.what));
        let eta = match rehearsed.get(&row.node) {
            _ if row.phase.is_done() => "-".to_owned(),
            Some(at) => words::span((begun + *at - now).max(Span::ZERO)),
            None => "?".to_owned(),
        };
        let on = on.map_or_else(String::new, |one| match one.what == own {
            true => one.on.reason().to_string(),
            false => one.to_string(),
        });
        let line =
            format!("{:name$}  {:<10} {:>4}  {eta:<8}{on}", row.node.as_str(), row.phase.as_str(), row.pods);
        all.push(cut(line.trim_end(), width));
    }
    if let Some(more) = rows.len().checked_sub(ROWS_MAX).filter(|more| *more > 0) {
        all.push(format!("and {more} more"));
    }
    all
}

fn cut(row: &str, width: usize) -> String {
    if row.chars().count() <= width {
        return row.to_owned();
    }
    row.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}

fn clear(term: &Term, lines: &mut usize) {
    if *lines > 0 {
        drop(term.clear_last_lines(*lines));
        *lines = 0;
    }
}

/// A line of standard output. A reader that stops early (`| head`) is no error.
fn out(text: &str) {
    let mut out = std::io::stdout().lock();
    drop(writeln!(out, "{text}").and_then(|()| out.flush()));
}
