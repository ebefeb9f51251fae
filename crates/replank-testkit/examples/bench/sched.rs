//! Pods placed per second, every node scored, on one core: the workload that kube-scheduler was measured with.
//!
//! Each row is a process of its own, so that its peak memory is its own. Times are by the clock, in the fastest of
//! three rounds. `times` compares with the recorded rate over the same first pods: `all` with kube-scheduler scoring every
//! node, `sampled` with its own default.
//!
//! `cargo run --release -p replank-testkit --example bench -- sched [NODES…]`

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use replank_model::delta::Delta;
use replank_model::object::pod::{Container, Pod, PodSpec};
use replank_model::object::resources::ResourceRequirements;
use replank_model::text::NodeName;
use replank_model::view::View;
use replank_oracle::sched_load::{Fleet, Mix, Pods, node, scatter};
use replank_schedule::Scheduler;

/// What kube-scheduler 1.36.2 was recorded with, in process, with one thread.
struct Recorded {
    nodes: u64,
    mix: Mix,
    /// Every node scored: the faster run's pods per second, and how many pods it placed.
    all: (f64, u64),
    /// Nodes sampled as by default: the faster run's pods per second, and how many pods it placed.
    sampled: (f64, u64),
}

const RECORDED: [Recorded; 4] = [
    Recorded { nodes: 1000, mix: Mix::Simple, all: (615.0, 10_000), sampled: (1417.0, 10_000) },
    Recorded { nodes: 1000, mix: Mix::Mixed, all: (305.0, 10_000), sampled: (582.0, 10_000) },
    Recorded { nodes: 5000, mix: Mix::Simple, all: (118.0, 8_881), sampled: (697.0, 20_000) },
    Recorded { nodes: 5000, mix: Mix::Mixed, all: (88.0, 6_618), sampled: (264.0, 19_834) },
];

pub(crate) fn run(arguments: &[String]) {
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["row", kind, nodes] => row(kind, nodes.parse().expect("a number of nodes")),
        ref asked => {
            let asked: Vec<u64> =
                asked.iter().map(|nodes| nodes.parse().expect("numbers of nodes")).collect();
            all(if asked.is_empty() { &[500, 1000, 5000, 15_000] } else { &asked });
        }
    }
}

/// Prints the tables, each row by a process of its own.
fn all(sizes: &[u64]) {
    let this = std::env::current_exe().expect("a program knows where it is");
    let row = |kind: &str, nodes: u64| {
        let mut row = std::process::Command::new(&this);
        let ended =
            row.args(["sched", "row", kind, &nodes.to_string()]).status().expect("a row's process starts");
        assert!(ended.success(), "the row {kind} {nodes} failed");
    };
    println!(
        "|  nodes | pods of kind |   pods |  pods/s | mean us | p50 us | p99 us | peak MB | times all | times sampled |"
    );
    println!(
        "|-------:|--------------|-------:|--------:|--------:|-------:|-------:|--------:|----------:|--------------:|"
    );
    for kind in ["simple", "mixed", "fleet"] {
        for nodes in sizes {
            row(kind, *nodes);
        }
    }
    println!();
    for nodes in sizes {
        row("trial", *nodes);
    }
}

fn row(kind: &str, nodes: u64) {
    match kind {
        "simple" => workload(nodes, Mix::Simple, kind),
        "mixed" => workload(nodes, Mix::Mixed, kind),
        "fleet" => {
            let (view, pods) = fleet(nodes);
            measure(&view, &pods, kind, None);
        }
        "trial" => trial(nodes),
        other => panic!("there is no row {other}"),
    }
}

/// The workload of the recordings.
fn workload(nodes: u64, mix: Mix, name: &str) {
    let recorded = RECORDED.iter().find(|recorded| recorded.nodes == nodes && recorded.mix == mix);
    // As many pods per node as upstream's runs had planned: 10 at 1,000 nodes, 4 at 5,000.
    let pods = match nodes {
        0..1000 => nodes * 10,
        1000..5000 => 10_000,
        _ => nodes * 4,
    };
    let mut view = View::default();
    for index in 0..nodes {
        view.apply(Delta::from(node(index, mix)));
    }
    let mut factory = Pods::default();
    let pods: Vec<_> = (0..pods).map(|index| factory.pod(index, mix)).collect();
    measure(&view, &pods, name, recorded);
}

/// Rounds of each row, of which the fastest is shown, as the faster of upstream's runs is: the first also pays for
/// memory that the machine has not given yet.
const ROUNDS: usize = 3;

/// One round's times.
struct Round {
    /// All pods together, in seconds.
    all: f64,
    /// Seconds up to the pods that the recordings stopped at.
    marks: BTreeMap<u64, f64>,
    /// Pod by pod, the shortest first.
    times: Vec<Duration>,
}

/// Places pods one after the other; prints a line.
fn measure(view: &View, pods: &[Arc<Pod>], name: &str, recorded: Option<&Recorded>) {
    let rounds = (0..ROUNDS).map(|_| round(view, pods, recorded));
    let Round { all, marks, times } =
        rounds.min_by(|a, b| a.all.total_cmp(&b.all)).expect("there are rounds");
    let micros = |at: usize| times[at].as_secs_f64() * 1e6;
    let rate = pods.len() as f64 / all;
    let ratio = |(theirs, first): (f64, u64)| format!("{:.0}", first as f64 / marks[&first] / theirs);
    let (to_all, to_sampled) = match recorded {
        Some(recorded) => (ratio(recorded.all), ratio(recorded.sampled)),
        None => ("-".to_owned(), "-".to_owned()),
    };
    println!(
        "| {:>6} | {name:<12} | {:>6} | {rate:>7.0} | {:>7.2} | {:>6.2} | {:>6.2} | {:>7} | {to_all:>9} | {to_sampled:>13} |",
        view.nodes.len(),
        pods.len(),
        1e6 / rate,
        micros(times.len() / 2),
        micros(times.len() * 99 / 100),
        peak_megabytes(),
    );
}

fn round(view: &View, pods: &[Arc<Pod>], recorded: Option<&Recorded>) -> Round {
    let mut scheduler = Scheduler::load(view);
    let mut times = Vec::with_capacity(pods.len());
    let mut marks = BTreeMap::new();
    let start = Instant::now();
    let mut last = start;
    for (index, pod) in (0..).zip(pods) {
        let placed = scheduler.place(view, pod, scatter(index)).expect("everything fits");
        scheduler.assume(view, pod, &placed.node, &placed.volumes);
        let now = Instant::now();
        times.push(now - last);
        last = now;
        if recorded.is_some_and(|recorded| [recorded.all.1, recorded.sampled.1].contains(&(index + 1))) {
            marks.insert(index + 1, (last - start).as_secs_f64());
        }
    }
    let all = (last - start).as_secs_f64();
    times.sort();
    Round { all, marks, times }
}

/// Many workloads on a cluster of some size, about as many pods as fill half of the room.
fn fleet(nodes: u64) -> (View, Vec<Arc<Pod>>) {
    let mut view = View::default();
    for index in 0..nodes {
        view.apply(Delta::from(node(index, Mix::Simple)));
    }
    let Fleet { sets, pods } = Fleet::new(nodes / 5);
    for set in sets {
        view.apply(Delta::Put(set.into()));
    }
    (view, pods)
}

/// What replacing nodes asks of a scheduler: loading, pods that move while their node is left out, pods that do not fit.
fn trial(nodes: u64) {
    let (mut view, pods) = fleet(nodes);
    // The same as observed from a cluster.
    let mut on_nodes: BTreeMap<NodeName, Vec<Arc<Pod>>> = BTreeMap::new();
    let mut scheduler = Scheduler::load(&view);
    for (index, pod) in (0..).zip(&pods) {
        let placed = scheduler.place(&view, pod, scatter(index)).expect("everything fits");
        let mut bound = (**pod).clone();
        bound.node = Some(placed.node.clone());
        let bound = Arc::new(bound);
        on_nodes.entry(placed.node).or_default().push(bound.clone());
        let change = view.apply(Delta::Put(bound.into()));
        scheduler.observe(&view, &change);
    }
    let from = Instant::now();
    let loaded = Scheduler::load(&view);
    let loading = from.elapsed().as_secs_f64();
    drop(loaded);
    let from = Instant::now();
    let mut moved = 0_u64;
    let leaving: Vec<_> = on_nodes.iter().step_by(on_nodes.len() / 200 + 1).collect();
    for (name, pods) in &leaving {
        let mut trial = scheduler.trial();
        trial.exclude(name);
        for pod in *pods {
            trial.take_away(&view, &pod.meta.key());
        }
        for pod in *pods {
            let mut waiting = (**pod).clone();
            waiting.node = None;
            let waiting = Arc::new(waiting);
            let placed = trial.place(&view, &waiting, moved).expect("there is room");
            trial.assume(&view, &waiting, &placed.node, &placed.volumes);
            moved += 1;
        }
    }
    let trying = from.elapsed().as_secs_f64();
    let mut large = PodSpec::default();
    let requests = [("cpu", "500"), ("memory", "1Gi")].into_iter();
    let container = Container {
        resources: ResourceRequirements {
            requests: requests.map(|(name, amount)| (name, amount.parse().expect("a quantity"))).collect(),
            ..Default::default()
        },
        ..Default::default()
    };
    large.containers = vec![container];
    let large = Arc::new(large);
    let from = Instant::now();
    let tries = 1000_u64;
    for index in 0..tries {
        let mut pod = Pod { spec: large.clone(), ..Default::default() };
        pod.meta.name = format!("large-{index}").as_str().into();
        let refused = scheduler.place(&view, &Arc::new(pod), index);
        assert!(refused.is_err(), "nothing is so large");
    }
    let refusing = from.elapsed().as_secs_f64();
    println!(
        "{nodes:>7} nodes: loading {loading:.2} s; {} nodes left on trial with {moved} pods, {:.1} us each; a pod that \
         does not fit {:.1} us",
        leaving.len(),
        trying / moved as f64 * 1e6,
        refusing / tries as f64 * 1e6,
    );
}

/// Most memory that this process has had.
fn peak_megabytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|peak| peak.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kilobytes.expect("the kernel tells a process' peak memory") / 1024
}
