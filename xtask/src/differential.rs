//! Generated requests to a real control plane and to the served cluster, and a table of how far their answers agree.

use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use replank_judge::differential::{Report, Wanted, run as compare};
use replank_judge::{ControlPlane, Endpoint, Served};

use crate::judged::{assets, replank};
use crate::root;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// How many requests each server gets.
    #[arg(long, default_value_t = 10_000)]
    requests: usize,
    /// Another seed gives other requests.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Only resources with this in `group/version/resource`, such as `apps/v1/deploy`.
    #[arg(long)]
    only: Option<String>,
    /// How many walks at a time.
    #[arg(long, default_value_t = 4)]
    jobs: usize,
    /// The least agreement, in percent.
    #[arg(long, default_value_t = 99.0)]
    floor: f64,
    /// The kubeconfig of a real control plane that runs already.
    #[arg(long, value_name = "FILE")]
    real: Option<PathBuf>,
    /// The kubeconfig of a served cluster that runs already.
    #[arg(long, value_name = "FILE")]
    served: Option<PathBuf>,
    /// The program that serves; built if it is not given.
    #[arg(long)]
    replank: Option<PathBuf>,
    /// Where every difference is written.
    #[arg(long, default_value = "target/differential")]
    folder: PathBuf,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let folder = root().join(&args.folder);
    replank_judge::replay::clean(&folder)?;
    std::fs::create_dir_all(&folder)?;
    // Each lives as long as its handle.
    let (plane, served);
    let reference = if let Some(file) = &args.real {
        Endpoint::of_kubeconfig(file)?
    } else {
        plane = ControlPlane::up(&assets()?, &folder.join("real"))?;
        Endpoint::of_kubeconfig(&plane.kubeconfig())?
    };
    let judged = if let Some(file) = &args.served {
        Endpoint::of_kubeconfig(file)?
    } else {
        // The control plane runs without it as well: no pod waits for its account. And it has no nodes.
        let flags = ["--disable-admission-plugins=ServiceAccount", "--nodes=0"];
        served = Served::up(&replank(args.replank.as_deref())?, &flags, &folder.join("served"))?;
        served.endpoint()?
    };
    let wanted =
        Wanted { requests: args.requests, seed: args.seed, jobs: args.jobs, only: args.only.clone() };
    let report = compare(&reference, &judged, &wanted)?;
    write(&report, &folder)?;
    print!("{report}");
    println!("what differs, by frequency: {}", folder.join("summary.txt").display());
    let agreement = report.agreement() * 100.0;
    ensure!(
        agreement >= args.floor,
        "only {agreement:.2}% are answered alike: at least {}% must be",
        args.floor
    );
    Ok(())
}

fn write(report: &Report, folder: &std::path::Path) -> Result<()> {
    let mut lines = String::new();
    for difference in &report.differences {
        writeln!(lines, "{}", difference.line())?;
    }
    let mut summary = String::new();
    for (signature, count, one) in report.by_signature() {
        writeln!(summary, "{count:>5}  {signature}")?;
        writeln!(summary, "       such as {} {} ({})", one.sent.method, one.sent.path, one.resource)?;
    }
    std::fs::write(folder.join("differences.jsonl"), lines)
        .and_then(|()| std::fs::write(folder.join("summary.txt"), summary))
        .with_context(|| format!("cannot write to {}", folder.display()))
}
