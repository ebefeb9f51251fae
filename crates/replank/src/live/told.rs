//! How a live command tells what happens: a table that renews itself, lines, or events.

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};

use crate::output::EventsFormat;
use console::Term;
use replank_model::time::{Span, Time};
use replank_protocol::command::{Answer, Refusal};
use replank_protocol::waiting::{Subject, Waiting};
use serde_json::Value;

use crate::zone::times;

/// How often a table renews itself.
pub(crate) const RENEWED_EVERY: Span = Span::from_secs(1);
/// Lines that a table has at most: what is beyond is counted.
const ROWS_MAX: usize = 32;

/// How long something that may pass is waited for before it is told in a line.
const TOLD_AFTER: Span = Span::from_secs(10);

/// What a [`EventsFormat`] is where it is told.
pub(crate) enum Form {
    Json,
    Lines,
    Table(Table),
}

impl Form {
    /// `may_renew` unless there is nothing that changes.
    pub(crate) fn new(format: EventsFormat, may_renew: bool) -> Self {
        match format {
            EventsFormat::Json => Self::Json,
            EventsFormat::Text if may_renew && std::io::stdout().is_terminal() => {
                Self::Table(Table { term: Term::stdout(), lines: 0 })
            }
            EventsFormat::Text => Self::Lines,
        }
    }

    /// Whether lines are told, and not events.
    pub(crate) fn is_text(&self) -> bool {
        match self {
            Self::Json => false,
            Self::Lines | Self::Table(_) => true,
        }
    }

    /// The table stays as it was drawn last.
    pub(crate) fn finish(&mut self) {
        match self {
            Self::Table(table) => table.lines = 0,
            Self::Json | Self::Lines => {}
        }
    }
}

/// A table on a terminal. Nobody is left to tell where the terminal is gone.
pub(crate) struct Table {
    term: Term,
    /// Those that are drawn now.
    lines: usize,
}

impl Table {
    /// Lines and columns that a table may take: what is longer cannot be drawn over.
    pub(crate) fn room(&self) -> (usize, usize) {
        let (lines, columns) = self.term.size();
        (usize::from(lines).saturating_sub(1).clamp(3, ROWS_MAX), usize::from(columns).clamp(20, 200))
    }

    /// Draws it anew.
    pub(crate) fn draw(&mut self, rows: &[String]) {
        self.clear();
        let rows = &rows[..rows.len().min(self.room().0)];
        rows.iter().for_each(|row| drop(self.term.write_line(row)));
        self.lines = rows.len();
    }

    /// Tells something above it.
    pub(crate) fn say(&mut self, text: &str) {
        self.clear();
        times(text).lines().for_each(|line| drop(self.term.write_line(line)));
    }

    fn clear(&mut self) {
        if self.lines > 0 {
            drop(self.term.clear_last_lines(self.lines));
            self.lines = 0;
        }
    }
}

/// Rows of a table, those first that come first if not all find room; each has one line or more, and a rank. What finds none is counted.
pub(crate) fn fitting(mut rows: Vec<(u8, Vec<String>)>, room: usize) -> Vec<String> {
    let lines = |rows: &[(u8, Vec<String>)]| rows.iter().map(|(_, lines)| lines.len()).sum::<usize>();
    if lines(&rows) <= room {
        return rows.into_iter().flat_map(|(_, lines)| lines).collect();
    }
    rows.sort_by_key(|(rank, _)| *rank);
    let (count, mut all) = (rows.len(), Vec::new());
    let mut shown = 0;
    for (_, lines) in rows {
        if all.len() + lines.len() + 1 > room {
            break;
        }
        all.extend(lines);
        shown += 1;
    }
    all.push(format!("and {} more", count - shown));
    all
}

/// A line of standard output for a person. A reader that stops early (`| head`) is no error.
pub(crate) fn line(text: &str) {
    print(&times(text));
}

/// An event: a line of JSON, on standard output.
pub(crate) fn event_line(event: &Value) {
    print(&event.to_string());
}

fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    drop(writeln!(out, "{text}").and_then(|()| out.flush()));
}

/// A line of standard error.
pub(crate) fn error_line(text: &str) {
    drop(writeln!(std::io::stderr().lock(), "{}", times(text)));
}

/// What is waited for: each is told once, when it has been waited for for a while; again when it changes in kind.
#[derive(Default)]
pub(crate) struct Waits(BTreeMap<Subject, Told>);

struct Told {
    kind: &'static str,
    since: Time,
    is_told: bool,
}

impl Waits {
    /// It was told already that something will be waited for.
    pub(crate) fn foretold(&mut self, at: Time, waiting: &Waiting) {
        self.0.insert(waiting.what.clone(), Told { kind: waiting.on.kind(), since: at, is_told: true });
    }

    /// What is to be told now, and when to look next, where something is still to be. What does not pass (`passes`) is told at once.
    pub(crate) fn due<'w>(
        &mut self,
        now: Time,
        waiting: impl Iterator<Item = &'w Waiting>,
        passes: impl Fn(&Waiting) -> bool,
    ) -> (Vec<&'w Waiting>, Option<Time>) {
        let (mut due, mut next) = (Vec::new(), None);
        let waiting: Vec<&Waiting> = waiting.collect();
        self.0.retain(|what, told| told.is_told || waiting.iter().any(|one| one.what == *what));
        for one in waiting {
            let kind = one.on.kind();
            let known = self.0.get(&one.what).filter(|told| told.kind == kind);
            let since = known.map_or(now, |told| told.since);
            let is_told = known.is_some_and(|told| told.is_told);
            let at = since + if passes(one) { TOLD_AFTER } else { Span::ZERO };
            let is_due = !is_told && at <= now;
            if !is_told && !is_due {
                next = next.into_iter().chain([at]).min();
            }
            self.0.insert(one.what.clone(), Told { kind, since, is_told: is_told || is_due });
            if is_due {
                due.push(one);
            }
        }
        (due, next)
    }
}

/// What a person should hear of an answer: why nothing was done, unless it is decided anew from what is seen.
pub(crate) fn refused(answer: &Answer) -> Option<String> {
    match answer {
        Answer::Refused(refusal) => match refusal {
            Refusal::Budget { .. } | Refusal::Denied { .. } | Refusal::Failed { .. } => {
                Some(refusal.to_string())
            }
            Refusal::Conflict { .. } | Refusal::Gone { .. } | Refusal::Mismatch { .. } | Refusal::Late => {
                None
            }
        },
        Answer::Done => None,
        Answer::Unknown { message } => Some(message.to_string()),
    }
}
