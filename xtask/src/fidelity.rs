//! Rolls rehearsed and carried out by the program itself on a real control plane, beside `kubectl drain`; and a table of both.

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result, bail, ensure};
use replank_judge::replay::fidelity::{Case, Outcome, cases, compare};
use replank_judge::replay::{Means, clean};

use crate::judged::{assets, replank};
use crate::root;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The clusters; all of them if none is named.
    clusters: Vec<String>,
    /// How many at a time.
    #[arg(long, default_value_t = 3)]
    jobs: usize,
    /// Writes the table to a file, too, as Markdown.
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// The program; built if it is not given.
    #[arg(long)]
    replank: Option<PathBuf>,
    /// Where clusters live, and what was rehearsed and rolled is kept.
    #[arg(long, default_value = "target/fidelity")]
    folder: PathBuf,
    /// How far the total time may differ.
    #[arg(long, default_value_t = 0.05)]
    tolerance: f64,
    /// Does without `kubectl drain`.
    #[arg(long)]
    no_kubectl: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let chosen = choose(&args.clusters)?;
    let assets = assets()?;
    let replank = replank(args.replank.as_deref())?;
    let folder = root().join(&args.folder);
    clean(&folder)?;
    std::fs::create_dir_all(&folder)?;
    let means = Means { assets, replank, folder };
    let outcomes = all(&means, &chosen, args);

    let (mut rows, mut wrong, mut notes) = (vec![heading()], Vec::new(), Vec::new());
    for (case, outcome) in chosen.iter().zip(outcomes) {
        match outcome {
            Ok(outcome) => {
                rows.push(outcome.cells());
                notes.extend(outcome.differences.iter().map(|line| format!("{}: {line}", outcome.cluster)));
                if !outcome.agrees(args.tolerance) {
                    wrong.push(case.scene.name.as_str());
                }
            }
            Err(error) => {
                notes.push(format!("{}: {error:#}", case.scene.name));
                wrong.push(case.scene.name.as_str());
            }
        }
    }
    print!("{}", aligned(&rows));
    notes.iter().for_each(|line| println!("  {line}"));
    println!("{} clusters, {} as rehearsed", chosen.len(), chosen.len() - wrong.len());
    if let Some(file) = &args.markdown {
        std::fs::write(file, markdown(&rows)).with_context(|| format!("cannot write {}", file.display()))?;
    }
    ensure!(wrong.is_empty(), "not as rehearsed: {}", wrong.join(", "));
    Ok(())
}

fn heading() -> Vec<String> {
    Outcome::heading().into_iter().map(str::to_owned).collect()
}

/// Every outcome, in the order of the cases.
fn all(means: &Means, cases: &[Case], args: &Args) -> Vec<Result<Outcome>> {
    let next = AtomicUsize::new(0);
    let done: Vec<Mutex<Option<Result<Outcome>>>> = cases.iter().map(|_| Mutex::default()).collect();
    std::thread::scope(|scope| {
        for _ in 0..args.jobs.clamp(1, cases.len()) {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(case) = cases.get(index) else { return };
                    let outcome = compare(means, case, !args.no_kubectl);
                    match &outcome {
                        Ok(outcome) => eprintln!("{outcome}"),
                        Err(error) => eprintln!("{}: {error:#}", case.scene.name),
                    }
                    *done[index].lock().expect("no case panicked") = Some(outcome);
                }
            });
        }
    });
    let outcomes = done.into_iter().map(|cell| cell.into_inner().expect("no case panicked"));
    outcomes.map(|outcome| outcome.unwrap_or_else(|| bail!("it was not tried"))).collect()
}

fn choose(names: &[String]) -> Result<Vec<Case>> {
    let all = cases();
    if names.is_empty() {
        return Ok(all);
    }
    let known: Vec<&str> = all.iter().map(|case| case.scene.name.as_str()).collect();
    let known = known.join(", ");
    names
        .iter()
        .map(|name| {
            let found = all.iter().find(|case| case.scene.name == *name).cloned();
            found.with_context(|| format!("there is no cluster {name:?}: there are {known}"))
        })
        .collect()
}

/// A table for a terminal.
pub(crate) fn aligned(rows: &[Vec<String>]) -> String {
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(String::len).max();
    let mut text = String::new();
    for row in rows {
        let cells = row.iter().enumerate().map(|(column, cell)| {
            let width = width(column).unwrap_or_default();
            if column < 2 { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
        });
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}

/// The same as Markdown.
pub(crate) fn markdown(rows: &[Vec<String>]) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let mut text = String::new();
    for (index, row) in rows.iter().enumerate() {
        text.push_str(&line(row));
        if index == 0 {
            text.push_str(&format!("|{}\n", "---|".repeat(row.len())));
        }
    }
    text
}
