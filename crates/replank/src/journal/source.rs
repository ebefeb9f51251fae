//! A journal that is read, and what to call it.

use std::fs;
use std::path::Path;

use replank_journal::{Journal, Tale};

use crate::failure::Failure;
use crate::printer::Printer;

/// Reads a journal, and says what is missing at its end.
pub(super) fn read(path: &Path, printer: &mut Printer) -> Result<Journal, Failure> {
    let name = path.display();
    let text = fs::read_to_string(path)
        .map_err(|error| Failure::usage_message(format!("cannot read journal {name}: {error}")))?;
    let journal = replank_journal::read(&text).map_err(|error| {
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
    format!("{} of {} on {}", beginning.verb, beginning.of, beginning.on)
}
