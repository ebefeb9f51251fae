//! Reading a journal.

use crate::entry::{Beginning, Entry, VERSION, What};

/// A journal that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Journal {
    /// What it is of.
    pub beginning: Beginning,
    /// All lines, the first as well.
    pub entries: Vec<Entry>,
    /// Whether the last line was cut off in the middle of being written, and is left out.
    pub is_torn: bool,
}

/// Why a text is no journal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// It is empty.
    #[error("the journal is empty")]
    Empty,
    /// It does not begin as a journal does.
    #[error("line 1 does not say what this is a journal of: is it a journal that replank wrote?")]
    NoBeginning,
    /// A newer Replank wrote it.
    #[error(
        "written by a newer Replank (version {version} of journals, this one reads {VERSION}): upgrade Replank"
    )]
    Newer {
        /// Its version.
        version: u64,
    },
    /// A line is none of a journal.
    #[error("line {line} cannot be read: {why}")]
    Line {
        /// Which, from 1.
        line: usize,
        /// What is wrong with it.
        why: String,
    },
}

/// Reads a journal. The last line may be torn, as by a process that was killed while it wrote; any other must be whole.
///
/// # Errors
/// Where it is none, or a newer one, or damaged.
pub fn read(text: &str) -> Result<Journal, ReadError> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut is_torn = false;
    let is_whole = text.ends_with('\n');
    let lines: Vec<&str> = text.lines().collect();
    let first = *lines.first().ok_or(ReadError::Empty)?;
    newer(first)?;
    for (index, line) in lines.iter().enumerate() {
        match serde_json::from_str(line) {
            Ok(entry) => entries.push(entry),
            Err(_) if index == 0 => return Err(ReadError::NoBeginning),
            Err(_) if index + 1 == lines.len() && !is_whole => is_torn = true,
            Err(error) => return Err(ReadError::Line { line: index + 1, why: error.to_string() }),
        }
    }
    match entries.first().map(|entry| &entry.what) {
        Some(What::Began(beginning)) => Ok(Journal { beginning: beginning.clone(), entries, is_torn }),
        Some(_) | None => Err(ReadError::NoBeginning),
    }
}

/// The version is looked at before anything else: what a newer one wrote is not guessed at.
fn newer(first: &str) -> Result<(), ReadError> {
    let value: serde_json::Value = serde_json::from_str(first).unwrap_or_default();
    match value.pointer("/what/began/version").and_then(serde_json::Value::as_u64) {
        Some(version) if version > u64::from(VERSION) => Err(ReadError::Newer { version }),
        Some(_) | None => Ok(()),
    }
}
