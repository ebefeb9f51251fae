//! Scripts: what happens in a rehearsal besides the plan, line by line. Intents of the operator, what external actors do to
//! the cluster meanwhile, and what goes wrong.
//!
//! ```text
//! # after ten minutes somebody is called away
//! at 10m: pause
//! at 40m: resume
//! at 2026-01-05T10:00:00Z: somebody cordons ip-10-0-1-7.ec2.internal
//! ```
//!
//! docs/script.md describes every line for people who write them; a test holds the page against [`forms`].

mod args;
mod event;
mod form;
mod happen;
mod interruptions;
mod names;
mod rates;
mod read;
mod send;
mod time;
mod what;

use std::fmt;

pub use crate::cloud::{Capacity, Delivery, Hazard, Rate, SpotEvent};
pub use crate::timing::Lasting;
pub use form::{Form, forms};
pub use happen::happen;
pub use interruptions::{TableError, Target, interruptions};
pub use names::{AsGiven, Launched, Names};
pub use rates::{RateError, rates};
pub use read::{moment_and_words, what_of};
pub use send::{NotPossible, send};
pub use time::{When, span};
pub use what::{Act, Befalls, CloudSays, Hand, Meta, PodDoes, Protection, Side, Supply, Way, What};

pub use event::{Flaw, Origin, Script, ScriptEvent};

/// Lines that a message names: a file of thousands of wrong lines is no script.
const FLAWS_MAX: usize = 10;

/// Everything that is wrong in a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flaws(pub Vec<Flaw>);

impl fmt::Display for Flaws {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, flaw) in self.0.iter().take(FLAWS_MAX).enumerate() {
            write!(f, "{}{flaw}", if at == 0 { "" } else { "\n" })?;
        }
        match self.0.len().saturating_sub(FLAWS_MAX) {
            0 => Ok(()),
            more => write!(f, "\nand {more} more lines like these"),
        }
    }
}

impl std::error::Error for Flaws {}

impl Script {
    /// Reads a script: one event a line; empty lines and lines that begin with `#` say nothing.
    ///
    /// # Errors
    /// Everything that is wrong in it.
    pub fn read(text: &str) -> Result<Self, Flaws> {
        let (mut events, mut flaws) = (Vec::new(), Vec::new());
        for (at, line) in text.lines().enumerate() {
            let meant = line.trim_end();
            if meant.trim_start().is_empty() || meant.trim_start().starts_with('#') {
                continue;
            }
            match one(at + 1, meant) {
                Ok(event) => events.push(event),
                Err(flaw) => flaws.push(flaw),
            }
        }
        if flaws.is_empty() { Ok(Self { events }) } else { Err(Flaws(flaws)) }
    }
}

fn one(line: usize, text: &str) -> Result<ScriptEvent, Flaw> {
    let (when, rest, column) = moment_and_words(line, text)?;
    let what = what_of(line, column, rest)?;
    Ok(ScriptEvent { origin: Origin::Script, line, when, text: rest.to_owned(), what })
}

#[cfg(test)]
mod play_tests;
#[cfg(test)]
mod tests;
