//! Shows what was found, in the form that was asked for.

use replank_lifecycle::Measure;
use replank_lifecycle::scan::Unrendered;
use replank_lifecycle::waiver::Waivers;

use super::args::ScanArgs;
use super::found::{Scanned, scanned};
use super::{csv, github, json, markdown, sarif, table};
use crate::coverage;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::ScanFormat;
use crate::printer::Printer;
use crate::report::words::{count, grouped};
use crate::zone::times_of_markdown;

/// Scans, and prints what was found.
pub(super) fn show(
    args: &ScanArgs,
    measure: &Measure,
    waivers: &Waivers,
    printer: &mut Printer,
) -> Result<Exit, Failure> {
    let scanned = scanned(args, measure, waivers, printer)?;
    print(args, &scanned, printer)
}

/// Prints what was found.
pub(super) fn print(args: &ScanArgs, scanned: &Scanned, printer: &mut Printer) -> Result<Exit, Failure> {
    tell(scanned, printer);
    let text = match args.output {
        ScanFormat::Text => {
            table::table(scanned, args.all, printer.look())
                + &coverage::section(&scanned.coverage, printer.look())
        }
        ScanFormat::Json => json::json(scanned)?,
        ScanFormat::Csv => csv::csv(scanned),
        ScanFormat::Markdown => times_of_markdown(&markdown::markdown(scanned)),
        ScanFormat::Sarif => sarif::sarif(scanned)?,
        ScanFormat::Github => github::github(scanned),
    };
    printer.data(&text)?;
    Ok(scanned.exit())
}

/// Lines of one sort on standard error: more are in the JSON.
pub(super) const TOLD_MAX: usize = 10;

/// Warns of the first few of one sort.
pub(super) fn tell_lines(all: &[String], what: &str, printer: &mut Printer) {
    for line in all.iter().take(TOLD_MAX) {
        printer.warning(line);
    }
    if all.len() > TOLD_MAX {
        printer.warning(&format!("{} more {what}: all are in -o json", grouped(all.len() - TOLD_MAX)));
    }
}

/// An object that no rendering shows, and what to set for it.
fn disabled(of: &Unrendered) -> String {
    let by = if of.values.is_empty() { String::new() } else { format!(": {}", of.values.join(", ")) };
    format!("{}:{}: {} was not rendered: {}{by}", of.place.source, of.place.line, of.what, of.why)
}

/// What was not looked at.
pub(super) fn tell(scanned: &Scanned, printer: &mut Printer) {
    let unread: Vec<String> = scanned
        .unread
        .iter()
        .map(|unread| format!("{}:{}: {}", unread.place.source, unread.place.line, unread.why))
        .collect();
    tell_lines(&unread, "that cannot be read", printer);
    let unrendered: Vec<String> = scanned
        .unrendered
        .iter()
        .map(|of| format!("{}:{}: not scanned: {} ({})", of.place.source, of.place.line, of.what, of.why))
        .collect();
    tell_lines(&unrendered, "that were not scanned", printer);
    let disabled: Vec<String> = scanned.disabled.iter().map(disabled).collect();
    tell_lines(&disabled, "that charts' own values leave out", printer);
    if scanned.left_out > 0 {
        let left_out = usize::try_from(scanned.left_out).unwrap_or(usize::MAX);
        printer
            .story(&format!("{} excluded by .gitignore (--no-gitignore scans all)", count(left_out, "path")));
    }
    if scanned.counts.releases_past > 0 {
        let past = usize::try_from(scanned.counts.releases_past).unwrap_or(usize::MAX);
        printer.story(&format!(
            "{} of the past skipped: upgrades do not read them",
            count(past, "Helm revision")
        ));
    }
}
