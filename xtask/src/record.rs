//! Recordings of scenarios on a real control plane.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use anyhow::{Context, Result, ensure};
use replank_judge::record::{record, scenarios};
use serde_json::Value;

use crate::root;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Files of scenarios, one JSON object each line; recordings are scenarios, too.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Where the recordings go: `GROUP.own.jsonl` each.
    #[arg(short, long)]
    out: PathBuf,
    /// Records these scenarios only.
    #[arg(long)]
    only: Vec<String>,
    /// How many runs at a time.
    #[arg(long, default_value_t = 6)]
    jobs: usize,
    /// Where the control plane lives.
    #[arg(long, default_value = "target/record")]
    folder: PathBuf,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let mut all = Vec::new();
    for file in &args.files {
        all.extend(scenarios(file)?);
    }
    all.retain(|scenario| args.only.is_empty() || args.only.iter().any(|id| scenario["id"] == id.as_str()));
    ensure!(!all.is_empty(), "there is no such scenario");
    let assets = replank_judge::find_assets(&root(), &root().join("target/control-plane"))?;
    let folder = root().join(&args.folder);
    replank_judge::replay::clean(&folder)?;
    std::fs::create_dir_all(&args.out)?;
    let failed = Mutex::new(Vec::new());
    record(&assets, &folder, &all, args.jobs.max(1), &|scenario, recorded| {
        let written = recorded.and_then(|recording| write(&args.out, &recording));
        match written {
            Ok(()) => println!("{}", scenario["id"]),
            Err(error) => {
                println!("{}: {error:#}", scenario["id"]);
                failed.lock().expect("no recording panicked").push(scenario["id"].to_string());
            }
        }
    })?;
    let failed = failed.into_inner().expect("no recording panicked");
    ensure!(failed.is_empty(), "not recorded: {}", failed.join(", "));
    Ok(())
}

/// Adds a recording to the file of its group.
fn write(folder: &Path, recording: &Value) -> Result<()> {
    let group = recording["group"].as_str().context("a recording has a group")?;
    let path = folder.join(format!("{group}.own.jsonl"));
    let mut file = OpenOptions::new().create(true).append(true).open(&path)?;
    writeln!(file, "{recording}").with_context(|| format!("cannot write {}", path.display()))
}
