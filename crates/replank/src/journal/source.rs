//! A journal that is read, and what to call it.

use std::fs;
use std::path::Path;

use replank_html::{Document, Rehearsal};
use replank_journal::{Journal, Tale};
use serde::Deserialize;

use crate::failure::Failure;
use crate::printer::Printer;

/// What can be told, or compared.
pub(super) enum Told {
    /// A journal.
    Journal(Journal),
    /// What `rehearse -o json` printed.
    Rehearsed(Box<Rehearsal>),
    /// The same with several seeds.
    Seeds(Vec<Rehearsal>),
}

/// Reads a journal, or the JSON of a rehearsal. The text of the one is never taken for the other: a document is one JSON value with a version.
pub(super) fn either(path: &Path, printer: &mut Printer) -> Result<Told, Failure> {
    let name = path.display();
    let text = fs::read_to_string(path)
        .map_err(|error| Failure::usage_message(format!("cannot read {name}: {error}")))?;
    if !is_document(&text) {
        return journal(path, &text, printer).map(Told::Journal);
    }
    match replank_html::read(&text) {
        Ok(Document::One(rehearsal)) => Ok(Told::Rehearsed(rehearsal)),
        Ok(Document::Many(rehearsals)) => Ok(Told::Seeds(rehearsals)),
        Err(error) => Err(Failure::usage_message(format!("{name}: {error}"))
            .next("pass a journal, or what `replank rehearse -o json` printed")),
    }
}

/// Whether a text is one JSON value with the version of a rehearsal. A journal has one value a line, and its first line is soon read.
fn is_document(text: &str) -> bool {
    #[derive(Deserialize)]
    struct Versioned {
        version: String,
    }
    let read = serde_json::from_str::<Versioned>(text);
    read.is_ok_and(|Versioned { version }| version.starts_with("replank.dev/rehearsal"))
}

/// Takes a text for a journal, and says what is missing at its end.
fn journal(path: &Path, text: &str, printer: &mut Printer) -> Result<Journal, Failure> {
    let name = path.display();
    let journal = replank_journal::read(text).map_err(|error| {
        Failure::usage_message(format!("{name}: {error}"))
            .next("pass a file written with --journal, as by `replank rehearse --journal FILE`")
    })?;
    if journal.is_torn {
        printer.warning(&format!(
            "{name}: the last line is incomplete and was left out: its writer was stopped"
        ));
    }
    Ok(journal)
}

/// `drain of nodes a, b on context prod`
pub(super) fn title(tale: &Tale) -> String {
    let beginning = &tale.beginning;
    format!("{} of {} on {}", tale.deed(), beginning.of, beginning.on)
}
