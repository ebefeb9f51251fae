//! Texts scanned and fixed on one way through: what a scan finds in a document is what the fix starts from, and what the fix has made of it is
//! what a second scan would find.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use super::fixing::Fixing;
use super::made::{Converted, Made};
use super::outcome::Fixed;
use super::remembered::{Known, Remembered};
use super::suspect::Suspects;
use crate::finding::Finding;
use crate::judge::Measure;
use crate::scan::{self, Hint, Report};
use crate::schema::Schema;
use crate::source::{self, Ahead, Document, Found, Node, Way};
use crate::table::Gvk;

/// Scans and fixes.
pub struct Scanner<'s> {
    measure: &'s Measure,
    schema: &'s Schema,
    suspects: Suspects,
    remembered: Remembered,
}

/// A text that was scanned, and fixed as far as that goes.
#[derive(Clone, Debug)]
pub struct ScannedText {
    /// What was found in it as it was.
    pub report: Report,
    /// The fix; nothing where nothing was to be fixed.
    pub fixed: Option<Fixed>,
    /// What would be found in the text that was fixed; nothing where it stays as it was.
    pub after: Option<Report>,
    /// Its documents that are objects, in order.
    pub heads: Vec<Head>,
}

/// What a document of one object is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// Its name, or nothing.
    pub name: String,
    /// Version and kind as they were.
    pub old: Gvk,
    /// Version and kind once it is fixed.
    pub new: Gvk,
}

/// One part of a text.
struct Seen {
    report: Report,
    range: Option<Range<usize>>,
    line: u32,
    converted: Option<Converted>,
}

impl<'s> Scanner<'s> {
    /// Judges by a measure, and writes what is of the schema's types.
    pub fn new(measure: &'s Measure, schema: &'s Schema) -> Self {
        Self { measure, schema, suspects: Suspects::new(measure), remembered: Remembered::default() }
    }

    #[cfg(test)]
    pub(super) fn remembered(&self) -> &Remembered {
        &self.remembered
    }

    /// Scans a text and fixes it. What `lets_be` holds of a finding stays as it is.
    pub fn text(
        &self,
        name: &Arc<str>,
        text: &str,
        hint: &Hint,
        lets_be: &dyn Fn(&Finding) -> bool,
    ) -> ScannedText {
        if !scan::is_of_manifests(name, text, hint) {
            let report = scan::scan(self.measure, name, text, hint);
            return ScannedText { report, fixed: None, after: None, heads: Vec::new() };
        }
        let let_be: RefCell<BTreeSet<u32>> = RefCell::default();
        let is_let_be = |line: u32| let_be.borrow().contains(&line);
        let mut fixing = Fixing::new(self.measure, self.schema, name, text, &is_let_be);
        let (mut all, mut heads) = (Vec::new(), Vec::new());
        // With a mark of the byte order columns are other ones.
        let remembers = !text.starts_with('\u{feff}');
        let known: RefCell<Option<Arc<Known>>> = RefCell::default();
        let way = |ahead: &Ahead<'_>| {
            if !self.suspects.suspects(ahead.content) {
                return Way::Scan;
            }
            let found = if remembers { self.remembered.known(ahead.part) } else { None };
            let root = found.as_ref().map(|found| found.root(ahead.start, ahead.line));
            *known.borrow_mut() = found;
            root.map_or(Way::Grow, Way::Known)
        };
        source::read_ahead(name, text, &way, &mut |found, grown| {
            let known = known.take();
            let report = scan::scan_found(self.measure, name, text, &found, hint);
            let Found::Document(document) = &found else {
                return all.push(Seen { report, range: None, line: 1, converted: None });
            };
            let lines = report.findings.iter().filter(|finding| lets_be(finding));
            *let_be.borrow_mut() = lines.map(|finding| finding.place.line).collect();
            let made = match known.filter(|_| let_be.borrow().is_empty()) {
                // What is to be fixed is found first.
                _ if report.findings.is_empty() => Made::default(),
                Some(known) => known.made(document, name),
                None => {
                    let is_grown = grown.is_some();
                    let made = fixing.document(document, grown);
                    if is_grown && remembers && let_be.borrow().is_empty() {
                        self.remembered.remember(&text[document.range.clone()], document, &made);
                    }
                    made
                }
            };
            let converted = fixing.take_in(made);
            heads.extend(head(&document.root, converted.as_ref().map(|of| &of.root)));
            all.push(Seen { report, range: Some(document.range.clone()), line: document.line, converted });
        });
        let is_fixed = !(fixing.changes.is_empty() && fixing.left.is_empty());
        let fixed = is_fixed.then(|| fixing.done());
        let is_changed = fixed.as_ref().is_some_and(|fixed| !fixed.hunks.is_empty());
        let after =
            fixed.as_ref().filter(|_| is_changed).map(|fixed| self.after(name, &fixed.text, hint, &all));
        let mut report = Report::default();
        report.counts.texts = 1;
        report.counts.bytes = text.len() as u64;
        all.into_iter().for_each(|seen| report.append(seen.report));
        ScannedText { report, fixed, after, heads }
    }

    /// What would be found in a text once it is fixed: what has not changed is where it was, or further down.
    fn after(&self, name: &Arc<str>, text: &str, hint: &Hint, all: &[Seen]) -> Report {
        let mut report = Report::default();
        let (mut bytes, mut lines) = (0, 0);
        for Seen { report: before, range, line, converted } in all {
            match (range, converted) {
                (Some(range), Some(of)) => {
                    let moved = |at: usize, by: i64| usize::try_from(at as i64 + by).unwrap_or_default();
                    let range = moved(range.start, bytes)..moved(range.end, bytes + of.bytes);
                    let line = u32::try_from(i64::from(*line) + lines).unwrap_or(u32::MAX);
                    report.append(self.converted(name, text, hint, range, line, &of.root));
                    (bytes, lines) = (bytes + of.bytes, lines + of.lines);
                }
                (_, _) => report.append(before.clone().moved(lines)),
            }
        }
        report
    }

    /// What would be found in a document that was converted. Mostly that is nothing; only for the places of something its text is read.
    fn converted(
        &self,
        name: &Arc<str>,
        text: &str,
        hint: &Hint,
        range: Range<usize>,
        line: u32,
        root: &Node<'static>,
    ) -> Report {
        let document = Document { range: range.clone(), line, root: root.clone() };
        let report = scan::scan_found(self.measure, name, text, &Found::Document(document), hint);
        if report.is_quiet() {
            return report;
        }
        let mut report = Report::default();
        source::read_document(name, text, range, line, &mut |found| {
            report.append(scan::scan_found(self.measure, name, text, &found, hint));
        });
        report
    }
}

/// What a document is, if it is one object.
fn head(root: &Node<'_>, converted: Option<&Node<'_>>) -> Option<Head> {
    let of = |root: &Node<'_>| Some(Gvk::of(root.text_of("apiVersion")?, root.text_of("kind")?));
    let old = of(root)?;
    let new = converted.and_then(of);
    let name = root.path(&["metadata", "name"]).and_then(Node::text).unwrap_or_default().to_owned();
    Some(Head { name, new: new.unwrap_or_else(|| old.clone()), old })
}
