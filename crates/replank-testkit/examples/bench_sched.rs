//! Pods placed per second, every node scored, on one core: the workload that kube-scheduler was measured with.
//!
//! Rates are per second of this process' CPU time, which other jobs on the machine disturb less than the clock; p50 and
//! p99 are by the clock. `times` compares with the recorded rate over the same first pods.
//!
//! `cargo run --release -p replank-testkit --example bench_sched [-- NODES…]`

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use replank_core::schedule::Scheduler;
use replank_model::delta::Delta;
use replank_model::object::pod::{Container, Pod, PodSpec};
use replank_model::object::resources::ResourceRequirements;
use replank_model::text::NodeName;
use replank_model::view::View;
use replank_testkit::sched_load::{Fleet, Mix, Pods, node, scatter};

/// What kube-scheduler 1.36.2 was recorded with, in process, GOMAXPROCS 1, every node scored: nodes, mix, the faster
/// run's pods per second, and how many pods it placed.
const RECORDED: [(u64, Mix, f64, u64); 4] = [
    (1000, Mix::Simple, 615.0, 10_000),
    (1000, Mix::Mixed, 305.0, 10_000),
    (5000, Mix::Simple, 118.0, 8_881),
    (5000, Mix::Mixed, 88.0, 6_618),
];

fn main() {
    let asked: Vec<u64> = std::env::args().skip(1).filter_map(|argument| argument.parse().ok()).collect();
    let sizes = if asked.is_empty() { vec![500, 1000, 5000, 15_000] } else { asked };
    println!(
        "{:>7} {:>7} {:>7} {:>11} {:>10} {:>10} {:>10} {:>9} {:>8}",
        "nodes", "mix", "pods", "pods/s", "mean us", "p50 us", "p99 us", "recorded", "times"
    );
    for nodes in &sizes {
        for mix in [Mix::Simple, Mix::Mixed] {
            let recorded = RECORDED.iter().find(|(n, m, _, _)| n == nodes && *m == mix);
            // As many pods per node as upstream's runs had planned: 10 at 1,000 nodes, 4 at 5,000.
            let pods = if *nodes < 1000 {
                nodes * 10
            } else if *nodes < 5000 {
                10_000
            } else {
                nodes * 4
            };
            let mut view = View::default();
            for index in 0..*nodes {
                view.apply(Delta::from(node(index, mix)));
            }
            let mut maker = Pods::default();
            let pods: Vec<_> = (0..pods).map(|index| maker.pod(index, mix)).collect();
            let name = format!("{mix:?}").to_lowercase();
            run(&view, &pods, &name, recorded.map(|(_, _, rate, first)| (*rate, *first)));
        }
    }
    println!();
    for nodes in &sizes {
        fleet(*nodes);
    }
    println!("peak memory of all runs: {}", peak_memory());
}

/// Places pods one after the other; prints a line.
fn run(view: &View, pods: &[Arc<Pod>], name: &str, recorded: Option<(f64, u64)>) -> Scheduler {
    let mut scheduler = Scheduler::load(view);
    let mut times = Vec::with_capacity(pods.len());
    let mut at_first = None;
    let cpu_at_start = cpu_seconds();
    let mut last = Instant::now();
    for (index, pod) in (0..).zip(pods) {
        let placed = scheduler.place(view, pod, scatter(index)).expect("everything fits");
        scheduler.assume(view, pod, &placed.node, &placed.volumes);
        let now = Instant::now();
        times.push(now - last);
        last = now;
        if recorded.is_some_and(|(_, first)| index + 1 == first) {
            at_first = Some(cpu_seconds() - cpu_at_start);
        }
    }
    let all = cpu_seconds() - cpu_at_start;
    times.sort();
    let micros = |at: usize| times[at].as_secs_f64() * 1e6;
    let rate = pods.len() as f64 / all;
    let (theirs, ratio) = match (recorded, at_first) {
        (Some((theirs, first)), Some(time)) => {
            let ours = first as f64 / time;
            (format!("{theirs:.0}"), format!("{:.0}x", ours / theirs))
        }
        _ => ("-".to_owned(), "-".to_owned()),
    };
    println!(
        "{:>7} {name:>7} {:>7} {rate:>11.0} {:>10.2} {:>10.2} {:>10.2} {theirs:>9} {ratio:>8}",
        view.nodes.len(),
        pods.len(),
        1e6 / rate,
        micros(times.len() / 2),
        micros(times.len() * 99 / 100),
    );
    scheduler
}

/// Many workloads on a cluster of some size; then what replacing nodes asks of a scheduler.
fn fleet(nodes: u64) {
    let mut view = View::default();
    for index in 0..nodes {
        view.apply(Delta::from(node(index, Mix::Simple)));
    }
    // About as many as fill half of the room.
    let Fleet { sets, pods } = Fleet::new(nodes / 5);
    for set in sets {
        view.apply(Delta::Put(set.into()));
    }
    let scheduler = run(&view, &pods, "fleet", None);
    // The same as observed from a cluster.
    let mut on_nodes: BTreeMap<NodeName, Vec<Arc<Pod>>> = BTreeMap::new();
    let mut placing = scheduler;
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
    let from = cpu_seconds();
    placing = {
        drop(placing);
        Scheduler::load(&view)
    };
    let loading = cpu_seconds() - from;
    drop(placing);
    let from = cpu_seconds();
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
    let trying = cpu_seconds() - from;
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
    let from = cpu_seconds();
    let tries = 1000_u64;
    for index in 0..tries {
        let mut pod = Pod { spec: large.clone(), ..Default::default() };
        pod.meta.name = format!("large-{index}").as_str().into();
        let refused = scheduler.place(&view, &Arc::new(pod), index);
        assert!(refused.is_err(), "nothing is so large");
    }
    let refusing = cpu_seconds() - from;
    println!(
        "{nodes:>7} nodes: loading {loading:.2} s; {} nodes left on trial with {moved} pods, {:.1} us each; a pod that \
         does not fit {:.1} us",
        leaving.len(),
        trying / moved as f64 * 1e6,
        refusing / tries as f64 * 1e6,
    );
}

/// CPU time of this process' only thread.
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let nanos = text.split(' ').next().and_then(|first| first.parse::<f64>().ok());
    nanos.expect("the kernel tells CPU times") / 1e9
}

fn peak_memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.map_or_else(|| "unknown".to_owned(), |peak| peak.trim().to_owned())
}
