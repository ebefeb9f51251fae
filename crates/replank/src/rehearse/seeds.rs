//! Many rehearsals of one plan, with a seed each.

use std::ops::ControlFlow;

use replank_rehearse::RehearsalResult;
use serde::Serialize;

use super::args::RehearseArgs;
use super::document::{Among, Document};
use super::github;
use super::html;
use super::reports::{self, Form};
use super::run::{self, Remedies};
use super::scene::{Scene, json};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output::RehearseFormat;
use crate::printer::Printer;
use crate::progress;
use crate::report::{self, Rows, Run, Summary, Tally};
use crate::snapshot::Places;

/// The version of the form of many rehearsals.
const SEEDS_VERSION: &str = "replank.dev/rehearsals/v1alpha1";

/// What a change request says where many are asked for.
pub(super) fn one_rehearsal_only() -> Failure {
    Failure::usage_message("a change request covers one rehearsal")
        .next("omit --seeds, or use -o text for the spread")
}

/// Rehearses with the seeds from 1 on, and reports the spread.
///
/// # Errors
/// Where the report cannot be written, or is one of a single rehearsal.
pub(super) fn many(
    args: &RehearseArgs,
    (scene, places): (&Scene, &Places),
    seeds: u64,
    printer: &mut Printer,
    interrupt: &Interrupt,
) -> Result<Exit, Failure> {
    let is_asked = |form| reports::is_asked(args, form);
    let (is_text, is_github) = match args.output {
        RehearseFormat::Text => (true, false),
        RehearseFormat::Json => (false, false),
        RehearseFormat::Github => (false, true),
        RehearseFormat::Markdown => return Err(one_rehearsal_only()),
    };
    reports::left_out(&[Form::Markdown], "a change request covers one rehearsal", args, printer);
    if args.output == RehearseFormat::Json && printer.is_terminal() {
        // What is printed meanwhile and a line that is drawn again and again do not go together.
        progress::silence();
    }
    // What each form keeps of a result. A row is a line: a hundred thousand of them fit.
    let mut tally = Tally::default();
    let is_page = is_asked(Form::Page);
    let mut rows: Option<Vec<Run>> = (is_text || is_page).then(Vec::new);
    let mut found = (is_github || is_asked(Form::Annotations)).then(github::Found::default);
    let is_worst_shown = is_page || found.is_some();
    let mut worst: Option<RehearsalResult> = None;
    let mut growing = (args.output == RehearseFormat::Json).then(|| Growing::new(printer));
    let remedies = match is_text && !is_worst_shown {
        true => Remedies::Untried,
        false => Remedies::Proved,
    };
    run::many(scene, 1..=seeds, args.limit, remedies, interrupt, |result| {
        tally.add(&result);
        if is_worst_shown && tally.worst_seed() == Some(result.seed) {
            worst = Some(result.clone());
        }
        rows.iter_mut().for_each(|rows| rows.push(Run::of(&result)));
        found.iter_mut().for_each(|found| found.add(&result));
        match &mut growing {
            Some(growing) => growing.add(&Document::of(&result, &html::about(scene), Among::Seeds).0),
            None => ControlFlow::Continue(()),
        }
    });
    let summary = tally.summary();
    let reader = growing.map(|growing| growing.end(&summary)).transpose()?.unwrap_or(Reader::Reads);
    if summary.seeds == 0 {
        printer.warning("interrupted by Ctrl-C before the first rehearsal finished");
        return Ok(Exit::Interrupted);
    }
    if is_text && let Some(rows) = &rows {
        let look = printer.look();
        printer.data(&report::seeds(rows, &summary, Rows::of(args.all_seeds), look))?;
    }
    let annotations = found.map(|found| github::many(&summary, found, worst.as_ref(), places));
    if is_github && let Some(annotations) = &annotations {
        printer.data(annotations)?;
    }
    if is_page && let (Some(rows), Some(worst)) = (&rows, &worst) {
        reports::write(args, Form::Page, &html::spread(worst, rows, scene)?, printer)?;
    }
    if is_asked(Form::Annotations)
        && let Some(annotations) = &annotations
    {
        reports::write(args, Form::Annotations, annotations, printer)?;
    }
    if interrupt.is_pressed() {
        printer.warning(&format!("interrupted by Ctrl-C after {} of {seeds} seeds", summary.seeds));
        return Ok(Exit::Interrupted);
    }
    if reader == Reader::Gone && (summary.seeds as u64) < seeds {
        printer.warning(&format!(
            "standard output was closed: stopped after {} of {seeds} seeds",
            summary.seeds
        ));
        return Ok(Exit::Interrupted);
    }
    Ok(Exit::of(summary.verdict))
}

/// Many rehearsals as JSON without one of them: what a pod tells of a rehearsal is a line of a table, and no document.
///
/// # Errors
/// Where standard output cannot be written.
pub(super) fn without_any(summary: &Summary, printer: &mut Printer) -> Result<(), Failure> {
    let mut growing = Growing::new(printer);
    growing.begin();
    growing.end(summary).map(drop)
}

/// Whether anybody reads what is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reader {
    Reads,
    Gone,
}

/// Many rehearsals as `-o json` prints them, written as they come: all of them at once would take a gigabyte for every few thousand. What they have in common
/// is known last, and stands last.
struct Growing<'p> {
    printer: &'p mut Printer,
    state: State,
}

/// How far it is.
enum State {
    /// Nothing is written.
    Empty,
    /// No rehearsal is.
    Begun,
    /// Some are.
    Grown,
    /// Nobody reads it any more.
    Unread,
    /// It cannot be written, or a rehearsal is none of JSON.
    Failed(Failure),
}

impl<'p> Growing<'p> {
    fn new(printer: &'p mut Printer) -> Self {
        Self { printer, state: State::Empty }
    }

    fn begin(&mut self) {
        if matches!(self.state, State::Empty) {
            self.state = State::Begun;
            self.piece(&format!("{{\n  \"version\": \"{SEEDS_VERSION}\",\n  \"rehearsals\": ["));
        }
    }

    fn add(&mut self, one: &impl Serialize) -> ControlFlow<()> {
        self.begin();
        let between = if matches!(self.state, State::Begun) { "\n    " } else { ",\n    " };
        match json(one) {
            Ok(text) => {
                self.piece(&format!("{between}{}", indented(&text, "\n    ")));
                if matches!(self.state, State::Begun) {
                    self.state = State::Grown;
                }
            }
            Err(failure) => self.state = State::Failed(failure),
        }
        match self.state {
            State::Empty | State::Begun | State::Grown => ControlFlow::Continue(()),
            State::Unread | State::Failed(_) => ControlFlow::Break(()),
        }
    }

    fn end(mut self, summary: &Summary) -> Result<Reader, Failure> {
        let close = match self.state {
            State::Empty => return Ok(Reader::Reads),
            State::Unread => return Ok(Reader::Gone),
            State::Failed(failure) => return Err(failure),
            State::Begun => "]",
            State::Grown => "\n  ]",
        };
        let summary = indented(&json(summary)?, "\n  ");
        self.piece(&format!("{close},\n  \"summary\": {summary}\n}}\n"));
        match self.state {
            State::Failed(failure) => Err(failure),
            State::Empty | State::Begun | State::Grown | State::Unread => {
                self.printer.data("").map(|()| Reader::Reads)
            }
        }
    }

    fn piece(&mut self, text: &str) {
        match self.printer.piece(text) {
            Ok(ControlFlow::Continue(())) => {}
            Ok(ControlFlow::Break(())) => self.state = State::Unread,
            Err(failure) => self.state = State::Failed(failure),
        }
    }
}

/// JSON deeper within other JSON. No text in it has a line break of its own.
fn indented(json: &str, line: &str) -> String {
    json.trim_end().replace('\n', line)
}
