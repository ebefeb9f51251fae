//! Rolls rehearsed and carried out by the program itself on a real control plane, beside `kubectl drain`; and a table of both.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use replank_judge::replay::fidelity::{Outcome, cases, compare};
use replank_judge::replay::{Means, clean};

use crate::judged::{assets, replank};
use crate::root;
use crate::several::{named, tried};

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
    let chosen = named(cases(), &args.clusters, |case| &case.scene.name)?;
    let assets = assets()?;
    let replank = replank(args.replank.as_deref())?;
    let folder = root().join(&args.folder);
    clean(&folder)?;
    std::fs::create_dir_all(&folder)?;
    let means = Means { assets, replank, folder };
    let outcomes = tried(&chosen, args.jobs, |case| {
        let outcome = compare(&means, case, !args.no_kubectl);
        match &outcome {
            Ok(outcome) => eprintln!("{outcome}"),
            Err(error) => eprintln!("{}: {error:#}", case.scene.name),
        }
        outcome
    });

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
