//! The tests of stories: plays every scenario of a directory and compares its story with the one in the file.

use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::time::Instant;
use std::{env, fs};

use anyhow::{Context, anyhow};
use replank_oracle::tell::tell;

use super::difference::difference;
use super::file::Scenario;
use super::play::play;

/// Names another directory than the repository's `scenarios`.
const DIRECTORY_VARIABLE: &str = "REPLANK_SCENARIOS";
/// If set, the expected stories are written anew.
const UPDATE_VARIABLE: &str = "UPDATE_GOLDEN";
/// If set, only files with one of its words in their names are played.
const WORDS_VARIABLE: &str = "REPLANK_SCENARIO";

/// Files of one form, and how they are played.
pub(crate) struct Suite {
    /// Directory below the repository's `scenarios`.
    pub(crate) directory: &'static str,
    /// The test.
    pub(crate) test: &'static str,
    /// Fewer files than this mean that the directory was not found whole.
    pub(crate) least: usize,
    /// Plays a file: the expected story, the one that is found, and the file's text with that one.
    pub(crate) play: fn(&Path, &str) -> anyhow::Result<Played>,
}

/// The outcome of playing a file.
pub(crate) struct Played {
    pub(crate) expected: String,
    pub(crate) found: String,
    pub(crate) renewed: String,
}

/// Plays the scenarios.
///
/// # Panics
/// Where a story differs from what its file expects.
pub fn check() {
    check_suite(&Suite { directory: "", test: "stories::scenarios", least: 25, play: scenario });
}

fn scenario(path: &Path, text: &str) -> anyhow::Result<Played> {
    let scenario = Scenario::read(path, text)?;
    let found = play(&scenario)?;
    let renewed = scenario.renewed(&found);
    Ok(Played { expected: scenario.expected, found, renewed })
}

/// Plays the files of a suite; all must be as expected.
pub(crate) fn check_suite(suite: &Suite) {
    match run(suite) {
        Ok(failed) => assert_eq!(failed, 0, "stories differ, see above"),
        Err(error) => panic!("{error:#}"),
    }
}

/// The outcome of one file.
enum Outcome {
    Same,
    Renewed,
    Different(String),
}

fn run(suite: &Suite) -> anyhow::Result<usize> {
    let words = env::var(WORDS_VARIABLE).unwrap_or_default();
    let words: Vec<&str> = words.split_whitespace().collect();
    let given = env::var_os(DIRECTORY_VARIABLE).map(PathBuf::from);
    let is_own = given.is_none();
    let directory = given.unwrap_or_else(|| {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios").join(suite.directory)
    });
    let all = files(&directory)?;
    if is_own && all.len() < suite.least {
        return Err(anyhow!(
            "{} has {} scenarios, expected at least {}",
            directory.display(),
            all.len(),
            suite.least
        ));
    }
    let name =
        |path: &Path| path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let is_chosen = |path: &PathBuf| words.is_empty() || words.iter().any(|word| name(path).contains(word));
    let chosen: Vec<&PathBuf> = all.iter().filter(|path| is_chosen(path)).collect();
    let mut failed = 0;
    for path in &chosen {
        let begun = Instant::now();
        let outcome = one(suite, path);
        let took = begun.elapsed().as_millis();
        match outcome {
            Ok(Outcome::Same) => tell(format!("ok       {} ({took} ms)", name(path))),
            Ok(Outcome::Renewed) => tell(format!("renewed  {} ({took} ms)", name(path))),
            Ok(Outcome::Different(text)) => {
                failed += 1;
                tell(format!("DIFFERS  {} (- expected, + found)\n{text}", name(path)));
            }
            Err(error) => {
                failed += 1;
                tell(format!("FAILS    {}\n  {error:#}", name(path)));
            }
        }
    }
    tell(format!("{} of {} scenarios as expected", chosen.len() - failed, chosen.len()));
    if chosen.len() < all.len() {
        tell(format!("{} were not asked for", all.len() - chosen.len()));
    }
    if failed > 0 {
        tell(format!(
            "if the stories found are right: {UPDATE_VARIABLE}=1 cargo test -p replank-testkit --test suite {}",
            suite.test
        ));
    }
    Ok(failed)
}

/// The scenarios of a directory, in order.
///
/// # Errors
/// Where the directory cannot be read.
pub fn files(directory: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries =
        fs::read_dir(directory).with_context(|| format!("{} cannot be read", directory.display()))?;
    let mut files = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "txt") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn one(suite: &Suite, path: &Path) -> anyhow::Result<Outcome> {
    let text = fs::read_to_string(path)?;
    let played = panic::catch_unwind(AssertUnwindSafe(|| (suite.play)(path, &text)));
    let played = played.map_err(|_| anyhow!("it panicked"))?.with_context(|| path.display().to_string())?;
    if played.found == played.expected {
        return Ok(Outcome::Same);
    }
    if env::var_os(UPDATE_VARIABLE).is_some() {
        fs::write(path, played.renewed)?;
        return Ok(Outcome::Renewed);
    }
    Ok(Outcome::Different(difference(&played.expected, &played.found)))
}
