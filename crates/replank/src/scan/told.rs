//! What `--fix` tells: line by line where that is little, else in numbers and by the worst files.

use std::collections::BTreeMap;

use replank_lifecycle::fix::Left;

use crate::printer::Printer;
use crate::report::words::{count, grouped};

/// Changes that are told one by one.
const CHANGES_MAX: usize = 40;
/// What was left, one by one.
const LEFT_MAX: usize = 40;
/// Rows of one sort in numbers.
const ROWS_MAX: usize = 10;

/// What became of one file, in words.
pub(super) struct Told<'t> {
    pub(super) file: &'t str,
    /// A line for each change and each note.
    pub(super) lines: &'t [String],
    /// What each change is, without its place.
    pub(super) changes: &'t [String],
    /// Lines of the file that changed.
    pub(super) numbers: &'t str,
}

/// Tells of the files that changed. `what` is `changed` or `would be changed`.
pub(super) fn changes(told: &[Told<'_>], what: &str, all: bool, printer: &mut Printer) {
    let number: usize = told.iter().map(|told| told.changes.len()).sum();
    if all || number <= CHANGES_MAX {
        for Told { file, lines, numbers, .. } in told {
            lines.iter().for_each(|line| printer.story(line));
            printer.story(&format!("{file}: lines {what}: {numbers}"));
        }
        return;
    }
    let mut sorts: BTreeMap<&str, Rows<'_>> = BTreeMap::new();
    let mut files = Rows::default();
    for told in told {
        for change in told.changes {
            sorts.entry(change).or_default().add(told.file);
            files.add(told.file);
        }
    }
    for (change, rows) in sorts {
        printer.story(&format!("{change}: {}", rows.numbers("object")));
    }
    for (file, number) in files.worst() {
        printer.story(&format!("{file}: {}", count(number, "change")));
    }
    files.rest(printer);
}

/// Tells what was not changed, and why.
pub(super) fn left<'l>(left: impl Iterator<Item = &'l Left>, all: bool, printer: &mut Printer) {
    let left: Vec<&Left> = left.collect();
    if all || left.len() <= LEFT_MAX {
        for Left { place, used, why } in left {
            printer.warning(&format!("{}:{}: {used} was not changed: {why}", place.source, place.line));
        }
        return;
    }
    let mut sorts: BTreeMap<String, Rows<'_>> = BTreeMap::new();
    let mut files = Rows::default();
    for Left { place, used, why } in left {
        sorts.entry(format!("{used} was not changed: {why}")).or_default().add(&place.source);
        files.add(&place.source);
    }
    let mut sorts: Vec<(String, Rows<'_>)> = sorts.into_iter().collect();
    sorts.sort_by_key(|(_, rows)| std::cmp::Reverse(rows.number()));
    for (sort, rows) in sorts.iter().take(ROWS_MAX) {
        let first = rows.by_file.keys().next().copied().unwrap_or_default();
        printer.warning(&format!("{}, such as {first}: {sort}", rows.numbers("object")));
    }
    if sorts.len() > ROWS_MAX {
        let more = sorts[ROWS_MAX..].iter().map(|(_, rows)| rows.number()).sum();
        printer.warning(&format!("{} were not changed for other reasons: --all names them", objects(more)));
    }
    for (file, number) in files.worst() {
        printer.warning(&format!("{file}: {} not changed", objects(number)));
    }
    files.rest(printer);
}

fn objects(number: usize) -> String {
    count(number, "object")
}

/// How often something is in each file.
#[derive(Default)]
struct Rows<'r> {
    by_file: BTreeMap<&'r str, usize>,
}

impl<'r> Rows<'r> {
    fn add(&mut self, file: &'r str) {
        *self.by_file.entry(file).or_default() += 1;
    }

    fn number(&self) -> usize {
        self.by_file.values().sum()
    }

    /// `12 objects in 3 files`
    fn numbers(&self, noun: &str) -> String {
        format!("{} in {}", count(self.number(), noun), count(self.by_file.len(), "file"))
    }

    /// The files that have the most.
    fn worst(&self) -> Vec<(&'r str, usize)> {
        let mut files: Vec<(&str, usize)> =
            self.by_file.iter().map(|(file, number)| (*file, *number)).collect();
        files.sort_by_key(|(_, number)| std::cmp::Reverse(*number));
        files.truncate(ROWS_MAX);
        files
    }

    fn rest(&self, printer: &mut Printer) {
        if self.by_file.len() > ROWS_MAX {
            let more = grouped(self.by_file.len() - ROWS_MAX);
            printer.story(&format!("and {more} more files: --all shows every place"));
        }
    }
}
