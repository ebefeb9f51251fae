//! The test target: plays every story of `scenarios/scale`.

use std::path::Path;
use std::process::ExitCode;

use super::file::Story;
use super::play::play;
use crate::scenario::{Played, Suite, run_suite};

/// Plays all stories, or those whose name contains one of the words on the command line.
pub fn main() -> ExitCode {
    run_suite(&Suite { directory: "scale", target: "scale", least: 60, play: story })
}

fn story(path: &Path, text: &str) -> anyhow::Result<Played> {
    let story = Story::read(text)?;
    let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let found = play(&name, &story)?;
    let renewed = story.renewed(&found);
    Ok(Played { expected: story.expected, found, renewed })
}
