//! What a rehearsal takes: rolls of generated clusters, each row in a process of its own.
//!
//! What is measured is the product: the release binary reads a gzip file and rolls every node of it. The peak of memory is the
//! kernel's (`VmHWM`), read until the process ends.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use replank_model::time::Span;
use replank_testkit::big::BigCluster;
use serde_json::Value;

use crate::bench_cluster::ClusterArgs;
use crate::bench_dump::DumpArgs;
use crate::bench_files::{Files, files};

pub(crate) use super::memory::watch;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Nodes of each row; each node has 30 pods.
    #[arg(long, value_delimiter = ',', default_values_t = [100, 1_000, 5_000])]
    nodes: Vec<usize>,
    /// Runs of each row, of which the fastest is shown.
    #[arg(long, default_value_t = 1)]
    runs: usize,
    /// Measures how nodes are chosen for tens of thousands of pods, and nothing else.
    #[arg(long)]
    scale: bool,
    /// Measures this binary instead of building one, so that two can be compared.
    #[arg(long)]
    binary: Option<PathBuf>,
    /// Measures scans of a generated tree of manifests and of a dump of Helm's releases instead.
    #[arg(long)]
    scan: bool,
    #[command(flatten)]
    dump: DumpArgs,
    #[command(flatten)]
    cluster: ClusterArgs,
}

/// What a row may take, and what it should.
#[derive(Clone, Copy, Debug)]
struct Budget {
    nodes: usize,
    counts: Counts,
    floor: Duration,
    aim: Duration,
}

/// The time that a budget is for.
#[derive(Clone, Copy, Debug)]
enum Counts {
    /// The rehearsal alone.
    Rehearsal,
    /// The whole command: of a dump, people wait for the reading and checking, too.
    Command,
}

const GENERATED: &[Budget] = &[
    Budget::of(1_000, Counts::Rehearsal, 3_000, 1_000),
    Budget::of(5_000, Counts::Rehearsal, 25_000, 10_000),
];
const DUMPED: &[Budget] = &[Budget::of(400, Counts::Command, 1_000, 500)];

impl Budget {
    const fn of(nodes: usize, counts: Counts, floor_ms: u64, aim_ms: u64) -> Self {
        Self { nodes, counts, floor: Duration::from_millis(floor_ms), aim: Duration::from_millis(aim_ms) }
    }
}

/// One row.
#[derive(Debug)]
struct Row {
    nodes: usize,
    pods: usize,
    verdict: String,
    virtual_duration: Span,
    rehearsed: Duration,
    whole: Duration,
    events: u64,
    peak_kib: u64,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    if args.scale {
        println!("{}", machine());
        println!("load before: {}", load());
        scale(args.runs)?;
        println!("\nload after: {}", load());
        return Ok(());
    }
    let binary = match &args.binary {
        Some(binary) => binary.clone(),
        None => build()?,
    };
    if let Some(script) = &args.cluster.cluster {
        println!("{}", machine());
        println!("load before: {}\n", load());
        crate::bench_cluster::run(&binary, script.as_deref())?;
        println!("\nload after: {}", load());
        return Ok(());
    }
    if args.scan {
        println!("{}", machine());
        println!("load before: {}\n", load());
        crate::bench_scan::run(&binary)?;
        return crate::bench_helm::run(&binary);
    }
    let dir = crate::root().join("target").join("bench");
    std::fs::create_dir_all(&dir)?;
    println!("{}", machine());
    println!("load before: {}\n", load());
    println!("{HEADER}");
    if let Some(files) = args.dump.files(&dir)? {
        println!("{}", line(&best(&binary, &files, args.runs)?, DUMPED));
        println!("\nload after: {}", load());
        return Ok(());
    }
    for nodes in &args.nodes {
        let files = files(&dir, BigCluster::of_nodes(*nodes))?;
        println!("{}", line(&best(&binary, &files, args.runs)?, GENERATED));
    }
    println!("\nload after: {}", load());
    scale(args.runs)?;
    println!();
    example(&["hpa".to_owned()])
}

/// The fastest of some runs.
fn best(binary: &Path, files: &Files, runs: usize) -> Result<Row> {
    let mut best = measure(binary, files)?;
    for _ in 1..runs {
        let row = measure(binary, files)?;
        if row.rehearsed < best.rehearsed {
            best = row;
        }
    }
    Ok(best)
}

/// Nodes chosen for pods that wait: core alone, in one process.
fn scale(runs: usize) -> Result<()> {
    println!();
    example(&["scale".to_owned(), runs.to_string()])
}

/// What no process of its own does is measured by the example `bench` of testkit.
fn example(arguments: &[String]) -> Result<()> {
    let run =
        ["run", "--release", "--quiet", "--locked", "--package", "replank-testkit", "--example", "bench"];
    let ran = crate::workspace::cargo()
        .args(run)
        .arg("--")
        .args(arguments)
        .current_dir(crate::root())
        .status()
        .context("cannot run cargo")?;
    if !ran.success() {
        bail!("the example bench failed: {}", arguments.join(" "));
    }
    Ok(())
}

const HEADER: &str = "| nodes | pods | virtual time | rehearsed | with reading | events | events per s | peak memory | verdict | floor | aim |\n\
                      |---|---|---|---|---|---|---|---|---|---|---|";

fn line(row: &Row, budgets: &[Budget]) -> String {
    let seconds = row.rehearsed.as_secs_f64();
    let (floor, aim) = match budgets.iter().find(|budget| budget.nodes == row.nodes) {
        None => ("–".to_owned(), "–".to_owned()),
        Some(budget) => {
            let (took, of) = match budget.counts {
                Counts::Rehearsal => (row.rehearsed, ""),
                Counts::Command => (row.whole, " with reading"),
            };
            let met = |limit: Duration| {
                let met = if took <= limit { "met" } else { "missed" };
                format!("{} s{of}: {met}", limit.as_secs_f64())
            };
            (met(budget.floor), met(budget.aim))
        }
    };
    format!(
        "| {} | {} | {} | {seconds:.2} s | {:.2} s | {} | {:.0} | {} MB | {} | {floor} | {aim} |",
        row.nodes,
        row.pods,
        row.virtual_duration,
        row.whole.as_secs_f64(),
        row.events,
        row.events as f64 / seconds.max(0.001),
        row.peak_kib / 1_024,
        row.verdict
    )
}

fn build() -> Result<PathBuf> {
    let built = crate::workspace::cargo()
        .args(["build", "--release", "--package", "replank", "--locked"])
        .current_dir(crate::root())
        .status()
        .context("cannot run cargo")?;
    if !built.success() {
        bail!("the release build failed");
    }
    Ok(crate::root().join("target").join("release").join("replank"))
}

fn measure(binary: &Path, files: &Files) -> Result<Row> {
    let Files { snapshot, plan, nodes, pods } = files;
    let result = plan.with_extension("result.json");
    let begun = Instant::now();
    let mut child = Command::new(binary)
        .arg("rehearse")
        .args([snapshot.as_os_str(), "-f".as_ref(), plan.as_os_str(), "-o".as_ref(), "json".as_ref()])
        .stdin(Stdio::null())
        .stdout(File::create(&result)?)
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("{} cannot be run", binary.display()))?;
    let peak_kib = watch(&mut child)?;
    let whole = begun.elapsed();
    let output = child.wait_with_output()?;
    // 3 and 4 are verdicts; everything else printed no result.
    if !matches!(output.status.code(), Some(0 | 3 | 4)) {
        bail!("{}: {}\n{}", binary.display(), output.status, String::from_utf8_lossy(&output.stderr));
    }
    let value: Value = serde_json::from_slice(&std::fs::read(&result)?).context("the result is no JSON")?;
    let number = |name: &str| value[name].as_u64().with_context(|| format!("the result has no {name}"));
    Ok(Row {
        nodes: *nodes,
        pods: *pods,
        verdict: value["verdict"].as_str().context("the result has no verdict")?.to_owned(),
        virtual_duration: Span::from_secs(i64::try_from(number("virtualDurationMs")? / 1_000)?),
        rehearsed: Duration::from_millis(number("wallMs")?),
        whole,
        events: number("events")?,
        peak_kib,
    })
}

fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": ").map(|(_, model)| model));
    format!("{cores} cores, {}", model.unwrap_or("processor unknown"))
}

/// The load averages of 1, 5 and 15 minutes: above the number of cores, others were at work.
fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_else(|_| "unknown".to_owned());
    text.split_whitespace().take(3).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::peak_of;

    #[test]
    fn the_peak_is_read_from_the_kernel_s_own_words() {
        assert_eq!(peak_of("Name:\treplank\nVmPeak:\t  9 kB\nVmHWM:\t  103244 kB\nVmRSS:\t 1 kB\n"), 103_244);
        assert_eq!(peak_of("Name:\treplank\n"), 0);
    }

    #[test]
    fn a_row_says_whether_the_budget_is_met() {
        let row = Row {
            nodes: 1_000,
            pods: 30_000,
            verdict: "passes".to_owned(),
            virtual_duration: Span::from_minutes(90),
            rehearsed: Duration::from_millis(4_200),
            whole: Duration::from_millis(5_000),
            events: 420_000,
            peak_kib: 204_800,
        };
        assert_eq!(
            line(&row, GENERATED),
            "| 1000 | 30000 | 1h30m | 4.20 s | 5.00 s | 420000 | 100000 | 200 MB | passes | 3 s: missed | 1 s: missed |"
        );
        let row = Row {
            nodes: 400,
            rehearsed: Duration::from_millis(700),
            whole: Duration::from_millis(900),
            ..row
        };
        assert!(line(&row, DUMPED).ends_with("| 1 s with reading: met | 0.5 s with reading: missed |"));
        assert!(line(&row, GENERATED).ends_with("| – | – |"));
    }
}
