//! A real control plane by hand: its programs brought, one started, and stopped again.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use clap::Subcommand;
use replank_judge::conformance::Suite;
use replank_judge::{ControlPlane, Kubelets, build_assets, build_suite};

use crate::judged::{assets, built, cache, worker};
use crate::root;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Prints where the programs and the conformance suite are; builds what is nowhere.
    Build,
    /// Prints where the programs are; fails if they are nowhere.
    Where,
    /// Starts a control plane, prints its kubeconfig, and keeps it up until `down` or Ctrl-C.
    Up(UpArgs),
    /// Stops the one that `up` keeps.
    Down(FolderArgs),
}

#[derive(Debug, clap::Args)]
struct UpArgs {
    /// How many nodes have kubelets that play pods without containers.
    #[arg(long, default_value_t = 0)]
    nodes: u8,
    #[command(flatten)]
    place: FolderArgs,
}

#[derive(Debug, clap::Args)]
struct FolderArgs {
    /// Where it lives.
    #[arg(long, default_value = "target/control-plane/run")]
    folder: PathBuf,
}

/// What `down` writes, and `up` looks for.
const STOP: &str = "stop";

pub(crate) fn run(args: &Args) -> Result<()> {
    match &args.command {
        What::Where => assets().map(|assets| println!("{}", assets.folder().display())),
        What::Build => {
            if assets().is_err() {
                build_assets(&root(), &built())?;
            }
            if Suite::find(&root(), &cache()).is_err() {
                build_suite(&root(), &built())?;
            }
            println!("{}", assets()?.folder().display());
            println!("{}", Suite::find(&root(), &cache())?.program().display());
            Ok(())
        }
        What::Up(args) => up(args),
        What::Down(args) => down(&root().join(&args.folder)),
    }
}

fn up(args: &UpArgs) -> Result<()> {
    let folder = root().join(&args.place.folder);
    replank_judge::replay::clean(&folder)?;
    let plane = ControlPlane::up(&assets()?, &folder)?;
    let kubelets = Kubelets::begin(plane.client());
    for number in 0..args.nodes {
        kubelets.register(&worker(number))?;
    }
    println!("export KUBECONFIG={}", plane.kubeconfig().display());
    eprintln!(
        "a Kubernetes control plane with {} nodes; cargo xtask control-plane down, or Ctrl-C, ends it",
        args.nodes
    );
    let stop = folder.join(STOP);
    while !stop.exists() {
        std::thread::sleep(Duration::from_millis(200));
    }
    drop(kubelets);
    drop(plane);
    std::fs::remove_file(&stop).with_context(|| format!("cannot remove {}", stop.display()))
}

fn down(folder: &Path) -> Result<()> {
    ensure!(folder.join("kubeconfig").exists(), "no control plane lives in {}", folder.display());
    let stop = folder.join(STOP);
    std::fs::write(&stop, "").with_context(|| format!("cannot write {}", stop.display()))?;
    for _ in 0..150 {
        if !stop.exists() {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(200));
    }
    bail!("nobody keeps a control plane in {}: it was ended before", folder.display())
}
