//! Journals: kept (`--journal`), told (`replank report`), and laid side by side (`replank diff`).

mod args;
mod diff;
mod file;
mod rehearsed;
mod report;
mod source;

pub(crate) use args::{DiffArgs, ReportArgs};
pub(crate) use diff::run as diff;
pub(crate) use file::JournalFile;
pub(crate) use report::run as report;
