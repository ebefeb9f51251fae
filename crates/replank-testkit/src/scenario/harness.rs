//! The test targets: plays every scenario of a directory and compares its story with the one in the file.

use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;
use std::{env, fs};

use anyhow::{Context, anyhow};

use super::difference::difference;
use super::file::Scenario;
use super::play::play;

/// Names another directory than the repository's `scenarios`.
const DIRECTORY_VARIABLE: &str = "REPLANK_SCENARIOS";
/// If set, the expected stories are written anew.
const UPDATE_VARIABLE: &str = "UPDATE_GOLDEN";

/// Files of one form, and how they are played.
pub(crate) struct Suite {
    /// Directory below the repository's `scenarios`.
    pub(crate) directory: &'static str,
    /// The test target.
    pub(crate) target: &'static str,
    /// Fewer files than this mean that the directory was not found whole.
    pub(crate) least: usize,
    /// Plays a file: the expected story, the one that is found, and the file's text with that one.
    pub(crate) play: fn(&Path, &str) -> anyhow::Result<Played>,
}

/// What came of playing a file.
pub(crate) struct Played {
    pub(crate) expected: String,
    pub(crate) found: String,
    pub(crate) renewed: String,
}

/// Plays all scenarios, or those whose name contains one of the words on the command line.
pub fn main() -> ExitCode {
    run_suite(&Suite { directory: "", target: "scenarios", least: 25, play: scenario })
}

fn scenario(path: &Path, text: &str) -> anyhow::Result<Played> {
    let scenario = Scenario::read(path, text)?;
    let found = play(&scenario)?;
    let renewed = scenario.renewed(&found);
    Ok(Played { expected: scenario.expected, found, renewed })
}

/// Plays the files of a suite.
pub(crate) fn run_suite(suite: &Suite) -> ExitCode {
    match run(suite) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            println!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

/// What came of one file.
enum Outcome {
    Same,
    Renewed,
    Different(String),
}

fn run(suite: &Suite) -> anyhow::Result<usize> {
    // Flags are those of other test harnesses.
    let words: Vec<String> = env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
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
            Ok(Outcome::Same) => println!("ok       {} ({took} ms)", name(path)),
            Ok(Outcome::Renewed) => println!("renewed  {} ({took} ms)", name(path)),
            Ok(Outcome::Different(text)) => {
                failed += 1;
                println!("DIFFERS  {} (- expected, + found)\n{text}", name(path));
            }
            Err(error) => {
                failed += 1;
                println!("FAILS    {}\n  {error:#}", name(path));
            }
        }
    }
    println!("{} of {} scenarios as expected", chosen.len() - failed, chosen.len());
    if chosen.len() < all.len() {
        println!("{} were not asked for", all.len() - chosen.len());
    }
    if failed > 0 {
        println!(
            "if the stories found are right: {UPDATE_VARIABLE}=1 cargo test -p replank-testkit --test {}",
            suite.target
        );
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
