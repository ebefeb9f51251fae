//! A served cluster beside a real control plane: the same load on both, one after the other, and a table of what it took.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use replank_judge::ControlPlane;
use serde_json::Value;

use crate::memory::peak_of;
use crate::root;

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ClusterArgs {
    /// Measures a served cluster beside a real control plane instead, by a script that loads both: by default `shared/transcripts/load.py` beside the
    /// checkout.
    #[arg(long, value_name = "LOAD.PY", num_args = 0..=1)]
    pub(crate) cluster: Option<Option<PathBuf>>,
}

/// What a row of the table is about: its name, where the figure stands in what the script says, and whether less is better.
#[derive(Debug)]
struct Figure {
    name: &'static str,
    at: &'static str,
    unit: &'static str,
    is_less_better: bool,
}

const fn rate(name: &'static str, at: &'static str) -> Figure {
    Figure { name, at, unit: "/s", is_less_better: false }
}

const fn time(name: &'static str, at: &'static str) -> Figure {
    Figure { name, at, unit: "s", is_less_better: true }
}

const fn millis(name: &'static str, at: &'static str) -> Figure {
    Figure { name, at, unit: "ms", is_less_better: true }
}

const FIGURES: [Figure; 21] = [
    rate("create nodes", "/create_nodes/per_second"),
    rate("create pods", "/create_pods/per_second"),
    millis("create a pod, median", "/create_pods/p50_ms"),
    millis("create a pod, 99th percentile", "/create_pods/p99_ms"),
    time("list all pods, resourceVersion=0", "/list_full_rv0_json/seconds"),
    time("list all pods", "/list_full_quorum_json/seconds"),
    time("list all pods as a Table", "/list_full_rv0_table/seconds"),
    time("list all pods, metadata only", "/list_full_rv0_metadata/seconds"),
    time("list all pods, 500 a page", "/list_paged_500/seconds"),
    rate("updates while watched", "/watch_fanout/write/per_second"),
    millis("an update while watched, median", "/watch_fanout/write/p50_ms"),
    millis("an update while watched, 99th percentile", "/watch_fanout/write/p99_ms"),
    millis("until a watcher has an update, median", "/watch_fanout/latency_p50_ms"),
    millis("until a watcher has an update, 99th percentile", "/watch_fanout/latency_p99_ms"),
    time("until every watcher has every update", "/watch_fanout/all_delivered_s"),
    rate("list the pods of a node", "/list_one_node_fieldselector/per_second"),
    rate("get a pod", "/get_pod/per_second"),
    millis("get a pod, median", "/get_pod/p50_ms"),
    millis("get a pod, 99th percentile", "/get_pod/p99_ms"),
    time("delete all pods at once", "/deletecollection_pods/seconds"),
    rate("delete nodes", "/delete_nodes/per_second"),
];

/// Loads both, and prints what it took.
pub(crate) fn run(binary: &Path, script: Option<&Path>) -> Result<()> {
    let beside = root().parent().map(|parent| parent.join("shared/transcripts/load.py"));
    let script = script.map(Path::to_owned).or(beside).context("there is no script: name one")?;
    if !script.is_file() {
        bail!("there is no {}: name the script that loads a cluster", script.display());
    }
    let folder = root().join("target").join("bench-cluster");
    drop(fs::remove_dir_all(&folder));
    fs::create_dir_all(&folder)?;
    let real = real(&script, &folder)?;
    let ours = ours(binary, &script, &folder)?;
    table(&real, &ours);
    println!();
    starts(binary, &folder)
}

/// The load on a real control plane.
fn real(script: &Path, folder: &Path) -> Result<Value> {
    let assets = replank_judge::find_assets(&root(), &root().join("target/control-plane"))?;
    let began = Instant::now();
    let plane = ControlPlane::up(&assets, &folder.join("real"))?;
    println!("1.36.2, an empty cluster: served after {:.2} s", began.elapsed().as_secs_f64());
    let processes = plane.processes().map(|(name, id)| format!("{name}={id}")).collect();
    load(script, &plane.kubeconfig(), processes, &folder.join("real.json"))
}

/// As on the real one: pods get no account.
const WITHOUT_ACCOUNTS: &str = "--disable-admission-plugins=ServiceAccount";

/// The load on a served cluster.
fn ours(binary: &Path, script: &Path, folder: &Path) -> Result<Value> {
    let began = Instant::now();
    let (mut child, kubeconfig) =
        up(binary, &["--nodes", "0", WITHOUT_ACCOUNTS], &folder.join("kubeconfig"))?;
    println!("replank, an empty cluster: served after {:.2} s", began.elapsed().as_secs_f64());
    let figures =
        load(script, &kubeconfig, vec![format!("replank={}", child.id())], &folder.join("ours.json"));
    child.kill()?;
    child.wait()?;
    figures
}

/// Starts a served cluster, and waits until it is served.
fn up(binary: &Path, arguments: &[&str], kubeconfig: &Path) -> Result<(Child, PathBuf)> {
    let mut child = Command::new(binary)
        .args(["cluster", "up", "--kubeconfig"])
        .arg(kubeconfig)
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .with_context(|| format!("cannot start {}", binary.display()))?;
    let mut line = String::new();
    BufReader::new(child.stdout.take().context("it has an output")?).read_line(&mut line)?;
    if line.is_empty() {
        bail!("{} cluster up {} ended at once", binary.display(), arguments.join(" "));
    }
    Ok((child, kubeconfig.to_owned()))
}

fn load(script: &Path, kubeconfig: &Path, processes: Vec<String>, out: &Path) -> Result<Value> {
    let mut command = Command::new("python3");
    command.arg(script).arg("--kubeconfig").arg(kubeconfig).arg("--out").arg(out);
    for process in processes {
        command.args(["--rss", &process]);
    }
    let ran = command.stdout(Stdio::null()).status().context("python3 is needed to load a cluster")?;
    if !ran.success() {
        bail!("{} failed", script.display());
    }
    Ok(serde_json::from_slice(&fs::read(out)?)?)
}

/// What both were loaded with.
fn workload(real: &Value, ours: &Value) {
    let of = |at: &str| ours.pointer(at).map(ToString::to_string).unwrap_or_default();
    println!(
        "{} nodes, {} pods, {} connections; {} watches of all pods while {} statuses are patched; {} processors",
        of("/nodes"),
        of("/pods"),
        of("/workers"),
        of("/watch_fanout/watchers"),
        of("/watch_fanout/updates"),
        of("/cpus")
    );
    let load = |figures: &Value, at: &str| {
        figures
            .pointer(at)
            .and_then(Value::as_f64)
            .map_or_else(|| "?".to_owned(), |load| format!("{load:.1}"))
    };
    for (name, figures) in [("1.36.2", real), ("replank", ours)] {
        let (start, end) = (load(figures, "/loadavg_start/0"), load(figures, "/loadavg_end/0"));
        println!("load average of the machine, {name}: {start} before, {end} after");
    }
}

fn table(real: &Value, ours: &Value) {
    workload(real, ours);
    println!("{:<40} {:>12} {:>12} {:>8}", "", "1.36.2", "replank", "times");
    for figure in &FIGURES {
        let (real, ours) = (number(real, figure.at), number(ours, figure.at));
        let (Some(real), Some(ours)) = (real, ours) else {
            println!("{:<40} {:>12} {:>12}", figure.name, "-", "-");
            continue;
        };
        let times = if figure.is_less_better { real / ours } else { ours / real };
        let of = |value: f64| format!("{value:.3} {}", figure.unit);
        println!("{:<40} {:>12} {:>12} {:>8.1}", figure.name, of(real), of(ours), times);
    }
    for (name, at) in [
        ("memory, idle", "/rss_idle"),
        ("memory with all pods", "/rss_after_create"),
        ("memory at the end", "/rss_after_node_lists"),
    ] {
        let (real, ours) = (sum(real, at, "rss_mib"), sum(ours, at, "rss_mib"));
        println!("{name:<40} {real:>8.0} MiB {ours:>8.0} MiB {:>8.1}", real / ours.max(1.0));
    }
    let (real, ours) =
        (sum(real, "/rss_after_node_lists", "cpu_s"), sum(ours, "/rss_after_node_lists", "cpu_s"));
    println!(
        "{:<40} {real:>10.1} s {ours:>10.1} s {:>8.1}",
        "processor time until then",
        real / ours.max(0.1)
    );
}

/// A figure; of several, the best.
fn number(figures: &Value, at: &str) -> Option<f64> {
    let found = figures.pointer(at)?;
    let Value::Array(runs) = found else { return found.as_f64() };
    runs.iter().filter_map(Value::as_f64).min_by(f64::total_cmp)
}

/// Of all processes together.
fn sum(figures: &Value, at: &str, member: &str) -> f64 {
    let processes = figures.pointer(at).and_then(Value::as_object).into_iter().flatten();
    processes.filter_map(|(_, process)| process.get(member).and_then(Value::as_f64)).sum()
}

/// How long it takes until a cluster is served, and what it has in memory then.
fn starts(binary: &Path, folder: &Path) -> Result<()> {
    use replank_testkit::big::BigCluster;
    let snapshot = crate::bench_files::files(folder, BigCluster::of_nodes(5_000))?.snapshot;
    let snapshot = snapshot.display().to_string();
    for (name, arguments) in [
        ("--nodes 5000", vec!["--nodes", "5000"]),
        ("a snapshot of 5,000 nodes and 150,000 pods", vec![snapshot.as_str()]),
    ] {
        let began = Instant::now();
        let (mut child, _) = up(binary, &arguments, &folder.join("kubeconfig"))?;
        let took = began.elapsed();
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        println!(
            "{name}: served after {:.2} s, {} MiB at the most until then",
            took.as_secs_f64(),
            peak_of(&status) / 1024
        );
        child.kill()?;
        child.wait()?;
    }
    Ok(())
}
