//! Pods placed per second, every node scored, on one core: the workload that kube-scheduler was measured with.
//!
//! Rates are per second of this process' CPU time, which other jobs on the machine disturb less than the clock; p50 and
//! p99 are by the clock. `times` compares with the recorded rate over the same first pods.
//!
//! `cargo run --release -p replank-testkit --example bench_sched [-- NODES…]`

use std::time::Instant;

use replank_core::schedule::Scheduler;
use replank_model::delta::Delta;
use replank_model::view::View;
use replank_testkit::sched_load::{Mix, Pods, node, scatter};

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
    for nodes in sizes {
        for mix in [Mix::Simple, Mix::Mixed] {
            if std::env::var_os("ONLY_MIXED").is_some() && mix == Mix::Simple {
                continue;
            }
            let recorded = RECORDED.iter().find(|(n, m, _, _)| *n == nodes && *m == mix);
            // As many pods per node as upstream's runs had planned: 10 at 1,000 nodes, 4 at 5,000.
            let pods = if nodes < 1000 {
                nodes * 10
            } else if nodes < 5000 {
                10_000
            } else {
                nodes * 4
            };
            run(nodes, mix, pods, recorded.map(|(_, _, rate, first)| (*rate, *first)));
        }
    }
    println!("peak memory of all runs: {}", peak_memory());
}

fn run(nodes: u64, mix: Mix, pods: u64, recorded: Option<(f64, u64)>) {
    let mut view = View::default();
    for index in 0..nodes {
        view.apply(Delta::from(node(index, mix)));
    }
    let mut maker = Pods::default();
    let pods: Vec<_> = (0..pods).map(|index| maker.pod(index, mix)).collect();
    let mut scheduler = Scheduler::load(&view);
    let mut times = Vec::with_capacity(pods.len());
    let mut at_first = None;
    let cpu_at_start = cpu_seconds();
    let mut last = Instant::now();
    for (index, pod) in (0..).zip(&pods) {
        let placed = scheduler.place(&view, pod, scatter(index)).expect("everything fits");
        scheduler.assume(&view, pod, &placed.node, &placed.volumes);
        let now = Instant::now();
        times.push(now - last);
        last = now;
        if recorded.is_some_and(|(_, first)| index + 1 == first) {
            at_first = Some(cpu_seconds() - cpu_at_start);
        }
    }
    let all = cpu_seconds() - cpu_at_start;
    if std::env::var_os("BY_KIND").is_some() {
        for kind in 0..20 {
            let of: Vec<f64> =
                times.iter().skip(kind).step_by(20).map(|time| time.as_secs_f64() * 1e6).collect();
            println!("  kind {kind:>2}: mean {:.2} us", of.iter().sum::<f64>() / of.len() as f64);
        }
    }
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
        "{nodes:>7} {:>7} {:>7} {rate:>11.0} {:>10.2} {:>10.2} {:>10.2} {theirs:>9} {ratio:>8}",
        format!("{mix:?}").to_lowercase(),
        pods.len(),
        1e6 / rate,
        micros(times.len() / 2),
        micros(times.len() * 99 / 100),
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
