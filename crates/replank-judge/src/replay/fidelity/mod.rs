//! Fidelity: the program rehearses a roll from its own snapshot of a real control plane, then rolls it there. Somebody else replaces the drained nodes, in
//! times that both know. What came of it is compared with the rehearsal, and with what people do by hand on a cluster like it: `kubectl drain`, node by node.

mod audit;
mod by_hand;
mod case;
mod compare;
mod journal;
mod live;
mod outcome;
mod person;
mod proof;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::Means;
use super::recorded::Rehearsal;
use super::stage;

pub use audit::{Asked, Floor, log_of};
pub use case::{Case, cases};
pub use outcome::Outcome;
pub use proof::{Proof, Row, Size, prove};

/// Compares one case; with kubectl, too, if it is to be tried `by_hand`.
///
/// # Errors
/// The cluster cannot be built, or the program fails.
pub fn compare(means: &Means, case: &Case, by_hand: bool) -> Result<Outcome> {
    let folder = means.folder.join(&case.scene.name);
    let (mut rehearsed, real) = {
        let stage = stage::build_audited(&means.assets, &folder, &case.scene)
            .with_context(|| format!("building {}", case.scene.name))?;
        live::rolled(means, case, &stage, &folder)?
    };
    if !compare::is_in_order(&rehearsed, &real) {
        rehearsed.others = live::other_seeds(means, case, &folder)?;
    }
    let hand = by_hand.then(|| {
        let folder = folder.join("by-hand");
        let stage = stage::build_audited(&means.assets, &folder, &case.scene)
            .with_context(|| format!("building {} once more", case.scene.name))?;
        by_hand::drained(case, &stage, &rehearsed, &folder)
    });
    Ok(compare::outcome(case, &rehearsed, &real, hand.transpose()?.as_ref()))
}

/// A rehearsal, and the journal of it.
#[derive(Debug)]
struct Rehearsed {
    result: Rehearsal,
    journal: journal::Journal,
    /// The journals of other seeds: kube-scheduler draws among equally good nodes, and so does each of them.
    others: Vec<journal::Journal>,
}

/// Runs the program; returns what it printed and its exit code.
fn run(replank: &Path, arguments: &[String]) -> Result<(Vec<u8>, String, i32)> {
    let output = Command::new(replank)
        .args(arguments)
        .output()
        .with_context(|| format!("cannot run {}", replank.display()))?;
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    let code = output.status.code().context("the program was ended")?;
    ensure!(code != 1 && code != 2, "replank {}: {words}", arguments.join(" "));
    Ok((output.stdout, words, code))
}

fn texts(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// A file of a case, new.
fn fresh(folder: &Path, name: &str) -> Result<PathBuf> {
    let path = folder.join(name);
    if path.exists() {
        std::fs::remove_file(&path)?;
    }
    Ok(path)
}
