//! Rehearsals carried out on a real control plane, and a table of what agrees.

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result, bail, ensure};
use replank_judge::replay::{Means, Outcome, Scene, clean, of_dump, replay, scenes};

use crate::judged::{assets, replank};
use crate::root;

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
        None => choose(&args.clusters)?,
    };
    let assets = assets()?;
    let replank = replank(args.replank.as_deref())?;
    let folder = root().join(&args.folder);
    clean(&folder)?;
    std::fs::create_dir_all(&folder)?;
    let means = Means { assets, replank, folder };
    let outcomes = all(&means, &chosen, args.jobs.max(1));

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

/// Every outcome, in the order of the scenes.
fn all(means: &Means, scenes: &[Scene], jobs: usize) -> Vec<Result<Outcome>> {
    let next = AtomicUsize::new(0);
    let done: Vec<Mutex<Option<Result<Outcome>>>> = scenes.iter().map(|_| Mutex::default()).collect();
    std::thread::scope(|scope| {
        for _ in 0..jobs.min(scenes.len()) {
            scope.spawn(|| {
                while let Some(scene) = scenes.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let outcome = replay(means, scene);
                    match &outcome {
                        Ok(outcome) => eprintln!("{outcome}"),
                        Err(error) => eprintln!("{}: {error:#}", scene.name),
                    }
                    let index =
                        scenes.iter().position(|other| std::ptr::eq(other, scene)).unwrap_or_default();
                    *done[index].lock().expect("no replay panicked") = Some(outcome);
                }
            });
        }
    });
    let outcomes = done.into_iter().map(|cell| cell.into_inner().expect("no replay panicked"));
    outcomes.map(|outcome| outcome.unwrap_or_else(|| bail!("it was not replayed"))).collect()
}

fn choose(names: &[String]) -> Result<Vec<Scene>> {
    let all = scenes();
    if names.is_empty() {
        return Ok(all);
    }
    let known: Vec<&str> = all.iter().map(|scene| scene.name.as_str()).collect();
    let known = known.join(", ");
    names
        .iter()
        .map(|name| {
            let found = all.iter().find(|scene| scene.name == *name).cloned();
            found.with_context(|| format!("there is no cluster {name:?}: there are {known}"))
        })
        .collect()
}
