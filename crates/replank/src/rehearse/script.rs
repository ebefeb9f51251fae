//! The script: what happens in a rehearsal besides the plan.

use std::ffi::OsStr;
use std::path::Path;

use anyhow::Context;
use replank_sim::script::Script;

use crate::failure::Failure;

/// Reads a script from a file, or from standard input (`-`).
pub(super) fn from_file(path: &Path) -> Result<Script, Failure> {
    let is_stdin = path.as_os_str() == OsStr::new("-");
    let name = if is_stdin { "standard input".to_owned() } else { path.display().to_string() };
    let read =
        if is_stdin { std::io::read_to_string(std::io::stdin()) } else { std::fs::read_to_string(path) };
    let text = read.with_context(|| format!("the script {name} cannot be read")).map_err(|error| {
        Failure::usage(error).next("pass the path of a text file; docs/script.md has examples")
    })?;
    Script::read(&text).map_err(|flaws| {
        Failure::usage(anyhow::Error::new(flaws).context(format!("the script {name} is invalid")))
            .next("correct the script and run again; docs/script.md lists all events")
    })
}
