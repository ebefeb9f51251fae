//! Which files are scanned, and scanning them on several threads.

mod gitignore;
#[cfg(test)]
mod tests;
mod text;
mod walk;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

pub(crate) use gitignore::{is_below, matches_name as glob};
pub use text::from_bytes;
pub use walk::{Ignore, Walk, WalkError, walk};

use crate::judge::Measure;
use crate::scan::{self, Hint, Report};
use crate::source::{Place, Unread};

/// A file to be scanned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Where it is.
    pub path: PathBuf,
    /// What messages call it: its path from what was named.
    pub name: Arc<str>,
    /// What is known of it.
    pub hint: Hint,
}

/// Scans files with so many threads. Each holds one file at a time, so that memory is bounded by the largest ones; what is
/// found does not depend on the number.
pub fn scan_files(measure: &Measure, files: &[File], threads: usize) -> Report {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut reports = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(file) = files.get(index) else { return reports };
            reports.push((index, scan_file(measure, file)));
        }
    };
    let mut reports: Vec<(usize, Report)> = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads.clamp(1, files.len().max(1))).map(|_| scope.spawn(work)).collect();
        let mut reports = work();
        for other in others {
            // A thread that panicked took its findings with it: so does this one.
            reports.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        reports
    });
    reports.sort_by_key(|(index, _)| *index);
    let mut all = Report::default();
    for (_, report) in reports {
        all.append(report);
    }
    all
}

fn scan_file(measure: &Measure, file: &File) -> Report {
    let text = std::fs::read(&file.path).map_err(|error| error.to_string()).and_then(from_bytes);
    match text {
        Ok(text) => scan::scan(measure, &file.name, &text, &file.hint),
        Err(why) => {
            let place = Place { source: file.name.clone(), line: 1, column: 1 };
            Report::of_unread(Unread { place, why })
        }
    }
}
