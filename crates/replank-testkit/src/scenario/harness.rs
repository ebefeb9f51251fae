//! The test target: plays every scenario of a directory and compares its story with the one in the file.

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
/// Fewer scenarios than this in the repository's directory mean that it was not found whole.
const LEAST: usize = 25;

/// What came of one file.
enum Outcome {
    Same,
    Renewed,
    Different(String),
}

/// Plays all scenarios, or those whose name contains one of the words on the command line.
pub fn main() -> ExitCode {
    match run() {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            println!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> anyhow::Result<usize> {
    // Flags are those of other test harnesses.
    let words: Vec<String> = env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let given = env::var_os(DIRECTORY_VARIABLE).map(PathBuf::from);
    let is_own = given.is_none();
    let directory = given.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios"));
    let all = files(&directory)?;
    if is_own && all.len() < LEAST {
        return Err(anyhow!(
            "{} has {} scenarios, expected at least {LEAST}",
            directory.display(),
            all.len()
        ));
    }
    let name =
        |path: &Path| path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let is_chosen = |path: &PathBuf| words.is_empty() || words.iter().any(|word| name(path).contains(word));
    let chosen: Vec<&PathBuf> = all.iter().filter(|path| is_chosen(path)).collect();
    let mut failed = 0;
    for path in &chosen {
        let begun = Instant::now();
        let outcome = one(path);
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
            "if the stories found are right: {UPDATE_VARIABLE}=1 cargo test -p replank-testkit --test scenarios"
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

fn one(path: &Path) -> anyhow::Result<Outcome> {
    let text = fs::read_to_string(path)?;
    let scenario = Scenario::read(path, &text)?;
    let played = panic::catch_unwind(AssertUnwindSafe(|| play(&scenario)));
    let story = played.map_err(|_| anyhow!("it panicked"))?.with_context(|| path.display().to_string())?;
    if story == scenario.expected {
        return Ok(Outcome::Same);
    }
    if env::var_os(UPDATE_VARIABLE).is_some() {
        fs::write(path, scenario.renewed(&story))?;
        return Ok(Outcome::Renewed);
    }
    Ok(Outcome::Different(difference(&scenario.expected, &story)))
}
