//! The program as it is run, and what it has rehearsed.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::super::recorded::Rehearsal;
use super::journal::Journal;

/// A rehearsal, and the journal of it.
#[derive(Debug)]
pub(super) struct Rehearsed {
    pub(super) result: Rehearsal,
    pub(super) journal: Journal,
    /// The journals of other seeds: kube-scheduler draws among equally good nodes, and so does each of them.
    pub(super) others: Vec<Journal>,
}

/// Runs the program; returns what it printed and its exit code.
pub(super) fn run(replank: &Path, arguments: &[String]) -> Result<(Vec<u8>, String, i32)> {
    let output = Command::new(replank)
        .args(arguments)
        .output()
        .with_context(|| format!("cannot run {}", replank.display()))?;
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    let code = output.status.code().context("the program was ended")?;
    ensure!(code != 1 && code != 2, "replank {}: {words}", arguments.join(" "));
    Ok((output.stdout, words, code))
}

pub(super) fn texts(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

pub(super) fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// A file of a case, new.
pub(super) fn fresh(folder: &Path, name: &str) -> Result<PathBuf> {
    let path = folder.join(name);
    if path.exists() {
        std::fs::remove_file(&path)?;
    }
    Ok(path)
}
