//! Rehearsals carried out on a real control plane, and a table of what agrees.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use replank_judge::replay::{Means, Outcome, clean, of_dump, replay, scenes};

use crate::judged::{assets, replank};
use crate::root;
use crate::several::{named, tried};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The clusters to replay; all of them if none is named.
    clusters: Vec<String>,
    /// A cluster of your own: a List such as `kubectl get … -o json` prints. What nothing owns is made anew; the arguments after `--` are those of
    /// `replank rehearse`.
    #[arg(long, value_name = "FILE", conflicts_with = "clusters")]
    dump: Option<PathBuf>,
    /// Arguments of the rehearsal of `--dump`.
    #[arg(last = true, requires = "dump", value_name = "ARGUMENT")]
    arguments: Vec<String>,
    /// How many at a time.
    #[arg(long, default_value_t = 3)]
    jobs: usize,
    /// The program that rehearses; built if it is not given.
    #[arg(long)]
    replank: Option<PathBuf>,
    /// Where clusters live, and what was dumped and rehearsed is kept.
    #[arg(long, default_value = "target/replay")]
    folder: PathBuf,
    /// How far the time to Ready may differ.
    #[arg(long, default_value_t = 0.05)]
    tolerance: f64,
    /// Prints the table only, whatever differs.
    #[arg(long)]
    report_only: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let chosen = match &args.dump {
        Some(file) => vec![of_dump(file, &args.arguments)?],
        None => named(scenes(), &args.clusters, |scene| &scene.name)?,
    };
    let assets = assets()?;
    let replank = replank(args.replank.as_deref())?;
    let folder = root().join(&args.folder);
    clean(&folder)?;
    std::fs::create_dir_all(&folder)?;
    let means = Means { assets, replank, folder };
    let outcomes = tried(&chosen, args.jobs, |scene| {
        let outcome = replay(&means, scene);
        match &outcome {
            Ok(outcome) => eprintln!("{outcome}"),
            Err(error) => eprintln!("{}: {error:#}", scene.name),
        }
        outcome
    });

    println!("{}", Outcome::heading());
    let mut wrong = Vec::new();
    for (scene, outcome) in chosen.iter().zip(outcomes) {
        match outcome {
            Ok(outcome) => {
                println!("{outcome}");
                for difference in &outcome.differences {
                    println!("  {difference}");
                }
                if !outcome.agrees(args.tolerance) {
                    wrong.push(scene.name.as_str());
                }
            }
            Err(error) => {
                println!("{:<18} could not be replayed: {error:#}", scene.name);
                wrong.push(scene.name.as_str());
            }
        }
    }
    println!("{} clusters, {} as rehearsed", chosen.len(), chosen.len() - wrong.len());
    ensure!(args.report_only || wrong.is_empty(), "not as rehearsed: {}", wrong.join(", "));
    Ok(())
}
