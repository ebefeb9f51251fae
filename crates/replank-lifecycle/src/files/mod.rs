//! Which files are scanned, and scanning them on several threads.

mod archive;
mod file;
mod gitignore;

pub use file::File;
#[cfg(test)]
mod tests;
mod text;
mod walk;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

pub(crate) use gitignore::is_below;
pub use gitignore::matches_name as glob;
pub use text::{Decoded, Wrong, from_bytes};
pub use walk::{Ignore, Walk, WalkError, walk};

use crate::judge::Measure;
use crate::scan::{self, Hint, Report, Values};
use crate::source::{Place, Unread};

/// Scans files with so many threads. Each holds one file at a time, so that memory is bounded by the largest ones; what is
/// found does not depend on the number. `read` is told of every file that is done.
pub fn scan_files(measure: &Measure, files: &[File], threads: usize, read: &(dyn Fn() + Sync)) -> Report {
    let reports = on_threads(files, threads, &|file| {
        let report = scan_file(measure, file);
        read();
        report
    });
    let mut all = Report::default();
    reports.into_iter().for_each(|report| all.append(report));
    all
}

/// Does the same with each of many things on so many threads, each of which takes the next one when it is done with one. What comes of them is in
/// their order.
pub fn on_threads<T: Sync, R: Send>(things: &[T], threads: usize, work: &(dyn Fn(&T) -> R + Sync)) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let turn = || {
        let mut done = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(thing) = things.get(index) else { return done };
            done.push((index, work(thing)));
        }
    };
    let mut done: Vec<(usize, R)> = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads.clamp(1, things.len().max(1))).map(|_| scope.spawn(turn)).collect();
        let mut done = turn();
        for other in others {
            // A thread that panicked took what it had with it: so does this one.
            done.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        done
    });
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, of)| of).collect()
}

fn scan_file(measure: &Measure, file: &File) -> Report {
    match std::fs::read(&file.path) {
        Ok(bytes) => scan_stored(measure, file, bytes),
        Err(error) => unread(&file.name, error.to_string()),
    }
}

/// Scans what is stored in a file: a text in any encoding, or a packed chart.
pub fn scan_stored(measure: &Measure, file: &File, bytes: Vec<u8>) -> Report {
    match archive::unpacked(&bytes) {
        Some(archive) => scan_archive(measure, &file.name, &archive, ARCHIVES_MAX),
        None => scan_bytes(measure, &file.name, bytes, &file.hint),
    }
}

/// Of a file that cannot be read.
pub fn unread(name: &Arc<str>, why: String) -> Report {
    let place = Place { source: name.clone(), line: 1, column: 1 };
    Report::of_unread(Unread { place, why })
}

fn scan_bytes(measure: &Measure, name: &Arc<str>, bytes: Vec<u8>, hint: &Hint) -> Report {
    match from_bytes(bytes) {
        Ok(decoded) => scan_decoded(measure, name, &decoded, hint),
        Err(why) => unread(name, why),
    }
}

/// Scans a text, and tells what is wrong with it.
pub fn scan_decoded(measure: &Measure, name: &Arc<str>, decoded: &Decoded, hint: &Hint) -> Report {
    let mut report = scan::scan(measure, name, &decoded.text, hint);
    if let Some(Wrong { line, why }) = &decoded.wrong {
        let place = Place { source: name.clone(), line: *line, column: 1 };
        report.unread.push(Unread { place, why: why.clone() });
    }
    report
}

/// Charts within packed charts that are followed.
const ARCHIVES_MAX: u32 = 4;

/// A packed chart: its files, as if it lay there unpacked.
fn scan_archive(measure: &Measure, name: &Arc<str>, archive: &[u8], depth: u32) -> Report {
    let mut report = Report::default();
    let members = archive::members(archive);
    let values: BTreeMap<&str, Arc<Values>> = members
        .iter()
        .filter_map(|(path, content)| {
            let chart = path.strip_suffix("values.yaml")?;
            Some((chart, Arc::new(Values::read(std::str::from_utf8(content).ok()?))))
        })
        .collect();
    for (path, content) in &members {
        let name: Arc<str> = format!("{name}/{path}").into();
        let chart = path.split_once("/templates/").map(|(chart, _)| format!("{chart}/"));
        let in_chart = chart.is_some();
        let file = path.rsplit('/').next().unwrap_or_default();
        match archive::unpacked(content) {
            Some(inner) if depth > 0 => report.append(scan_archive(measure, &name, &inner, depth - 1)),
            Some(_) => report.append(unread(&name, "charts are nested too deeply".to_owned())),
            None if walk::is_manifest(file, in_chart) => {
                let values = chart.and_then(|chart| values.get(&*chart)).cloned().unwrap_or_default();
                let hint = Hint { rendered_by: None, in_chart, values };
                report.append(scan_bytes(measure, &name, content.to_vec(), &hint));
            }
            None => {}
        }
    }
    report
}
