//! The first way through all files: each is read once, scanned, and fixed as far as it can be told from itself.
//!
//! Where there are kustomizations it is known only at the end what may be written: until then the texts are held, as many as there is room for.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use replank_lifecycle::Measure;
use replank_lifecycle::files::{self, File};
use replank_lifecycle::finding::Finding;
use replank_lifecycle::fix::{Fixed, Head, ScannedText, Scanner};
use replank_lifecycle::scan::Report;
use replank_lifecycle::waiver::Waivers;

use super::args::ScanArgs;
use super::replacing::Replacing;
use super::rewritten::{Done, difference, of_fixed};
use super::written::Roots;
use crate::failure::Failure;

/// Bytes of fixed texts that are held until it is known what may be written; what goes beyond them is fixed again.
const HELD_BYTES_MAX: usize = 64 << 20;

/// What every file is scanned and fixed with.
pub(super) struct Pass<'p> {
    pub(super) args: &'p ScanArgs,
    pub(super) measure: &'p Measure,
    pub(super) scanner: &'p Scanner<'p>,
    pub(super) waivers: &'p Waivers,
    pub(super) today: &'p str,
    pub(super) roots: &'p Roots,
    pub(super) replacing: &'p Replacing,
    /// Whether nothing is written yet: kustomizations are decided as a whole.
    pub(super) holds: bool,
    pub(super) held: AtomicUsize,
}

/// One file after it.
pub(super) struct Passed {
    /// What was found in it.
    pub(super) report: Report,
    /// What would be found in it once it is fixed; nothing where it stays as it is.
    pub(super) after: Option<Report>,
    /// Its objects, where kustomizations may ask for them.
    pub(super) heads: Vec<Head>,
    pub(super) outcome: Outcome,
}

/// How far one file is.
pub(super) enum Outcome {
    /// Nothing was found in it that is to be fixed.
    Nothing,
    /// It is done, and written if it was to be.
    Done(Result<Done, Failure>),
    /// It is to be written.
    Held { done: Done, text: String },
    /// It is to be fixed: its text was not held.
    Again,
}

impl Pass<'_> {
    /// Scans a file and fixes it.
    pub(super) fn file(&self, file: &File) -> Passed {
        let quiet =
            |report: Report| Passed { report, after: None, heads: Vec::new(), outcome: Outcome::Nothing };
        let bytes = match std::fs::read(&file.path) {
            Ok(bytes) => bytes,
            Err(error) => return quiet(files::unread(&file.name, error.to_string())),
        };
        match as_written(bytes) {
            Ok(text) => self.text(file, text),
            Err((bytes, why)) => {
                let report = files::scan_stored(self.measure, file, bytes);
                let is_concerned = report.findings.iter().any(|finding| !self.lets_be(finding));
                let refused = || Outcome::Done(Ok(Done::refused(why.to_owned())));
                let outcome = if is_concerned { refused() } else { Outcome::Nothing };
                Passed { outcome, ..quiet(report) }
            }
        }
    }

    fn lets_be(&self, finding: &Finding) -> bool {
        self.waivers.let_be(finding, self.today)
    }

    fn text(&self, file: &File, text: String) -> Passed {
        let lets_be = |finding: &Finding| self.lets_be(finding);
        let ScannedText { report, fixed, after, heads } =
            self.scanner.text(&file.name, &text, &file.hint, &lets_be);
        let heads = if self.holds { heads } else { Vec::new() };
        let is_concerned = report.findings.iter().any(|finding| !self.lets_be(finding));
        let (outcome, after) = match fixed.filter(|_| is_concerned) {
            Some(fixed) => self.fixed(file, text, fixed, after),
            None => (Outcome::Nothing, None),
        };
        Passed { report, after, heads, outcome }
    }

    fn fixed(
        &self,
        file: &File,
        before: String,
        fixed: Fixed,
        after: Option<Report>,
    ) -> (Outcome, Option<Report>) {
        let mut of = of_fixed(&file.name, before, fixed);
        let difference = if self.args.diff { difference(&file.name, &of) } else { String::new() };
        let is_written = !self.args.diff && !of.hunks.is_empty();
        if is_written && let Some(why) = self.roots.refuses(file) {
            return (Outcome::Done(Ok(Done::refused(why))), None);
        }
        let text = std::mem::take(&mut of.after);
        let done = Done::of(of, difference);
        let outcome = if !self.holds {
            let written = if is_written { self.replacing.put(&file.real, &text, false) } else { Ok(()) };
            Outcome::Done(written.map(|()| done))
        } else if !is_written {
            Outcome::Held { done, text: String::new() }
        } else if self.held.fetch_add(text.len(), Ordering::Relaxed) + text.len() > HELD_BYTES_MAX {
            Outcome::Again
        } else {
            Outcome::Held { done, text }
        };
        (outcome, after)
    }
}

/// Bytes as the text that they are, or why nobody can write such a one.
pub(super) fn as_written(bytes: Vec<u8>) -> Result<String, (Vec<u8>, &'static str)> {
    if bytes.starts_with(&[0x1f, 0x8b]) {
        return Err((bytes, "it is compressed: decompress it first"));
    }
    String::from_utf8(bytes).map_err(|error| (error.into_bytes(), "it is not UTF-8"))
}

/// The objects of files, by their real paths.
pub(super) fn heads(files: &[File], all: &mut [Passed]) -> Vec<(PathBuf, Vec<Head>)> {
    let pairs = files.iter().zip(all);
    pairs.map(|(file, passed)| (file.real.clone(), std::mem::take(&mut passed.heads))).collect()
}
