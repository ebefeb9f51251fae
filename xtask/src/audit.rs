//! What `replank drain` and `kubectl drain` ask of a real API server, by its own audit log.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use replank_judge::replay::fidelity::{Size, prove};
use replank_judge::replay::{Means, clean};

use crate::fidelity::{aligned, markdown};
use crate::judged::{assets, replank};
use crate::root;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Nodes.
    #[arg(long, default_value_t = 50)]
    nodes: usize,
    /// Pods on each node.
    #[arg(long, default_value_t = 30)]
    pods: usize,
    /// Nodes that each of the two drains.
    #[arg(long, default_value_t = 5)]
    drained: usize,
    /// Writes the table to a file, too, as Markdown.
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// The program; built if it is not given.
    #[arg(long)]
    replank: Option<PathBuf>,
    /// Where the cluster lives.
    #[arg(long, default_value = "target/audit")]
    folder: PathBuf,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let folder = root().join(&args.folder);
    clean(&folder)?;
    std::fs::create_dir_all(&folder)?;
    let means = Means { assets: assets()?, replank: replank(args.replank.as_deref())?, folder };
    let proof = prove(&means, Size { nodes: args.nodes, pods: args.pods, drained: args.drained })?;
    let heading = [
        "command",
        "took",
        "requests",
        "evictions",
        "granted",
        "refused",
        "without uid",
        "pods deleted",
        "writes",
        "requests a pod",
        "memory",
    ];
    let mut rows = vec![heading.map(str::to_owned).to_vec()];
    for row in &proof.rows {
        let asked = &row.asked;
        rows.push(vec![
            row.command.clone(),
            format!("{} s", row.took.as_secs()),
            asked.all().to_string(),
            asked.evictions().to_string(),
            asked.granted.to_string(),
            asked.refused.to_string(),
            asked.without_uid.to_string(),
            asked.deleted_pods.to_string(),
            asked.writes.to_string(),
            row.per_pod().map_or_else(|| "-".to_owned(), |requests| format!("{requests:.2}")),
            format!("{} MiB", row.memory / 1024),
        ]);
    }
    print!("{}", aligned(&rows));
    println!("memory for 1,000 pods: {:.1} MiB", f64::from(u32::try_from(proof.per_thousand)?) / 1024.0);
    for row in &proof.rows {
        println!("{}: {:?}", row.command, row.asked.requests);
    }
    for floor in &proof.floors {
        println!("{} {}", if floor.holds { "holds:" } else { "FAILS:" }, floor.what);
    }
    if let Some(file) = &args.markdown {
        std::fs::write(file, markdown(&rows)).with_context(|| format!("cannot write {}", file.display()))?;
    }
    ensure!(proof.floors.iter().all(|floor| floor.holds), "not what is promised");
    Ok(())
}
