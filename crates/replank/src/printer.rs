//! Everything that is printed goes through here: data to standard output, the story to standard error.

use std::io::{self, BufWriter, Write};
use std::ops::ControlFlow;

use anstream::{AutoStream, ColorChoice};
use serde::Serialize;

use crate::cli::When;
use crate::failure::Failure;
use crate::report::{Color, Look, Page, Tone, wrap};
use crate::zone;

/// Width where nobody says any: of a file or a pipe.
const WIDTH_DEFAULT: usize = 100;
/// Narrower than this, tables fall apart.
const WIDTH_MIN: usize = 60;
/// Longer lines are hard to read.
const WIDTH_MAX: usize = 160;

/// Bytes of JSON that are handed over at once.
const JSON_BUFFER: usize = 64 * 1024;

/// The two streams and how they look.
#[derive(Debug)]
pub(crate) struct Printer {
    data: AutoStream<io::Stdout>,
    story: AutoStream<io::Stderr>,
    look: Look,
    /// Whether data goes to a terminal.
    is_terminal: bool,
    /// Where the story is broken into lines: not in a file or a pipe, where people search for a message.
    story_width: Option<usize>,
    /// Whether only results, warnings and errors are wanted.
    quiet: bool,
}

impl Printer {
    /// Standard output and error, with colours as wanted, and with what happens in between unless it is to be quiet.
    pub(crate) fn new(when: When, quiet: bool) -> Self {
        let choice = match when {
            When::Auto => ColorChoice::Auto,
            When::Always => ColorChoice::Always,
            When::Never => ColorChoice::Never,
        };
        let data = AutoStream::new(io::stdout(), choice);
        let story = AutoStream::new(io::stderr(), choice);
        let color = match data.current_choice() {
            ColorChoice::Never => Color::None,
            ColorChoice::Auto | ColorChoice::Always | ColorChoice::AlwaysAnsi => Color::Ansi,
        };
        let story_width = terminal(&console::Term::stderr()).or_else(given).map(within);
        let is_terminal = console::Term::stdout().is_term();
        Self { data, story, look: Look { width: width(), color }, is_terminal, story_width, quiet }
    }

    /// How data is to look.
    pub(crate) fn look(&self) -> Look {
        self.look
    }

    /// A page for it. In a file or a pipe, which people search and compare, no cell of its tables is cut, unless a width is given.
    pub(crate) fn page(&self) -> Page {
        let page = Page::new(self.look);
        if self.is_terminal || given().is_some() { page } else { page.with_whole_cells() }
    }

    /// Writes data. A reader that stops early (`| head`) is not an error.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub(crate) fn data(&mut self, text: &str) -> Result<(), Failure> {
        let written = match is_plain(text) {
            // Nothing is to be taken out of it: JSON of some megabytes need not be looked through letter by letter.
            true => self.data.as_inner().lock().write_all(text.as_bytes()),
            false => self.data.write_all(text.as_bytes()),
        };
        handed_over(written.and_then(|()| self.data.flush()))
    }

    /// Writes data as JSON. It goes out while it is made: that of a large rehearsal has more than a hundred megabytes.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub(crate) fn json(&mut self, value: &impl Serialize) -> Result<(), Failure> {
        // JSON has no control characters but ends of lines: nothing is to be taken out of it.
        let mut out = BufWriter::with_capacity(JSON_BUFFER, self.data.as_inner().lock());
        match serde_json::to_writer_pretty(&mut out, value) {
            Err(error) if !error.is_io() => Err(Failure::internal(error)),
            written => {
                let written = written.map_err(io::Error::from);
                handed_over(written.and_then(|()| out.write_all(b"\n")).and_then(|()| out.flush()))
            }
        }
    }

    /// Writes a piece of data that goes on; whether anybody still reads it.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub(crate) fn piece(&mut self, text: &str) -> Result<ControlFlow<()>, Failure> {
        match self.data.write_all(text.as_bytes()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(ControlFlow::Break(())),
            Err(error) => Err(unwritten(error)),
            Ok(()) => Ok(ControlFlow::Continue(())),
        }
    }

    /// Whether data goes to a terminal.
    pub(crate) fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// Writes data that a person reads, with its times by the chosen clock.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub(crate) fn told(&mut self, text: &str) -> Result<(), Failure> {
        self.data(&zone::times(text))
    }

    /// Tells what happens, unless it is to be quiet.
    pub(crate) fn story(&mut self, text: &str) {
        if !self.quiet {
            self.tell("", Tone::Plain, text);
        }
    }

    /// Tells what a question that follows is about: whoever is asked must see it.
    pub(crate) fn asked(&mut self, text: &str) {
        self.tell("", Tone::Plain, text);
    }

    /// Tells something that should be looked at.
    pub(crate) fn warning(&mut self, text: &str) {
        self.tell("warning: ", Tone::Warning, text);
    }

    /// Tells why it ends, what caused that, and what to do next.
    pub(crate) fn failure(&mut self, failure: &Failure) {
        let mut causes = failure.error.chain().map(ToString::to_string);
        self.tell("error: ", Tone::Bad, &causes.next().unwrap_or_default());
        for cause in causes {
            self.tell("  cause: ", Tone::Faint, &cause);
        }
        if let Some(next) = &failure.next {
            self.tell("  next: ", Tone::Note, next);
        }
    }

    /// A line with a label; its continuation lines stand below its text. What begins with a blank is to be pasted, and
    /// is never changed or broken.
    fn tell(&mut self, label: &str, tone: Tone, text: &str) {
        let style = tone.style();
        let indent = label.len();
        let lines = text.lines().flat_map(|line| match self.story_width {
            _ if line.starts_with(' ') => vec![line.to_owned()],
            Some(width) => wrap(&zone::times(line), width.saturating_sub(indent)),
            None => vec![zone::times(line).into_owned()],
        });
        for (number, line) in lines.enumerate() {
            let told = if number == 0 {
                writeln!(self.story, "{style}{label}{style:#}{line}")
            } else {
                writeln!(self.story, "{:indent$}{line}", "")
            };
            if told.is_err() {
                // There is nobody left to tell.
                return;
            }
        }
    }
}

/// What became of writing data: a reader that stops early wants no more of it.
fn handed_over(written: io::Result<()>) -> Result<(), Failure> {
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(unwritten(error)),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Whether a text has neither colours nor any other control characters but those that part lines and words.
fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b'\n' | b'\r' | b'\t') || !byte.is_ascii_control())
}

fn unwritten(error: io::Error) -> Failure {
    Failure::internal(anyhow::Error::new(error).context("standard output cannot be written"))
}

/// The width of the terminal that standard output is, or the one that is given.
fn width() -> usize {
    within(terminal(&console::Term::stdout()).or_else(given).unwrap_or(WIDTH_DEFAULT))
}

fn terminal(term: &console::Term) -> Option<usize> {
    let (_, columns) = term.size_checked()?;
    term.is_term().then_some(usize::from(columns))
}

fn given() -> Option<usize> {
    std::env::var("COLUMNS").ok()?.parse().ok()
}

fn within(width: usize) -> usize {
    width.clamp(WIDTH_MIN, WIDTH_MAX)
}
