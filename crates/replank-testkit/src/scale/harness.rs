//! The test of the autoscaler's stories: plays every story of `scenarios/scale`.

use std::path::Path;

use super::file::Story;
use super::play::play;
use crate::scenario::{Played, Suite, check_suite};

/// Plays the stories.
///
/// # Panics
/// Where a decision differs from what its file expects.
pub fn check() {
    check_suite(&Suite { directory: "scale", test: "stories::autoscaler", least: 60, play: story });
}

fn story(path: &Path, text: &str) -> anyhow::Result<Played> {
    let story = Story::read(text)?;
    let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let found = play(&name, &story)?;
    let renewed = story.renewed(&found);
    Ok(Played { expected: story.expected, found, renewed })
}
