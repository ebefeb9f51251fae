//! What `replank drain` takes in memory on a cluster of many pods.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use replank_judge::{Feeder, Served};

use crate::judged::replank;
use crate::memory::watch;
use crate::root;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Pods.
    #[arg(long, default_value_t = 150_000)]
    pods: usize,
    /// Pods on each node.
    #[arg(long, default_value_t = 30)]
    on_a_node: usize,
    /// Fails where the most memory that it ever held is more than this.
    #[arg(long, value_name = "MIB", default_value_t = 300)]
    most: u64,
    /// The program; a debug build if it is not given.
    #[arg(long)]
    replank: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let program = replank(args.replank.as_deref())?;
    let folder = root().join("target/feed");
    std::fs::create_dir_all(&folder)?;
    let served = Served::up(&program, &["--nodes", "1"], &folder)?;
    // The first is the served cluster's own; the others are names on pods.
    let count = args.pods.div_ceil(args.on_a_node.max(1)).max(1);
    let nodes: Vec<String> = (1..=count).map(|number| format!("node-{number}")).collect();
    let mut rows = Vec::new();
    for pods in [0, args.pods] {
        let feeder = Feeder::begin(served.kubeconfig(), &folder, pods, nodes.clone())?;
        let begun = Instant::now();
        let words = folder.join("stderr.txt");
        let mut child = Command::new(&program)
            .args(["drain", "node-1", "--dry-run=client", "--kubeconfig"])
            .arg(feeder.kubeconfig())
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(&words)?)
            .spawn()
            .with_context(|| format!("cannot run {}", program.display()))?;
        let peak = watch(&mut child)?;
        let status = child.wait()?;
        ensure!(status.success(), "{status}: {}", std::fs::read_to_string(&words)?);
        println!("{pods} pods: {} MiB at the most, {} s", peak / 1024, begun.elapsed().as_secs());
        rows.push(peak / 1024);
    }
    ensure!(rows[1] <= args.most, "{} MiB are more than {}", rows[1], args.most);
    Ok(())
}
