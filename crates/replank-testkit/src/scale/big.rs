//! Pods that wait by the ten thousands: what choosing nodes for them takes.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use replank_core::scale::{
    self, Given, Groups, InFlight, Options, Prices, Priorities, State, Up, read_facts,
};
use replank_facts::groups::GroupBy;
use replank_model::delta::Delta;
use replank_model::object::pod::Pod;
use replank_model::object::{Object, Projector};
use replank_model::text::{Name, Uid};
use replank_model::time::Time;
use replank_model::view::View;
use replank_schedule::Scheduler;
use serde_json::{Value, json};

use crate::on_core::ran;

const MIB: i64 = 1 << 20;

/// What is measured, in words; docs/benchmarks.md has the same.
pub const WORKLOADS: &str = "\
51,000 pods, 10 shapes, 20 groups: pod i (0-50,999) has shape s = i mod 10: cpu 50*(s+1)m, memory 64*(1 + 7s mod 10)Mi.
  Group g (0-19) has c = 4*(1 + g mod 5) cores, c*[2, 4, 8, 4][g div 5] GiB, 110 pods, and is in zone [a, b, c][g mod 3].
20,000 diverse pods, 400 groups: pod i (0-19,999) is of kind i div 4,000: plain; spread over zones; spread over nodes (both maxSkew 1,
  DoNotSchedule, over pods of its label); drawn to pods of its label in a zone; apart from all of its kind on a node. Its cpu {100, 250, 500,
  1000, 1500}m, memory {100, 256, 512, 1024, 2048, 4096}Mi and label {a..g} are three draws of SplitMix64, seed 42, in this order, modulo
  how many there are. Group i (0-399) has i+1 cores, 2(i+1) GiB, 10(i+1) pods, and is in three zones.";

/// A workload.
#[derive(Debug)]
pub struct Big {
    /// What it is called.
    pub name: &'static str,
    view: View,
    groups: Groups,
    options: Options,
}

/// What it took.
#[derive(Debug)]
pub struct Took {
    /// Nodes that are added.
    pub nodes: usize,
    /// Groups that grow.
    pub groups: usize,
    /// Pods that go on waiting.
    pub stay: usize,
    /// Reading pods into the engine.
    pub loading: Duration,
    /// Deciding.
    pub deciding: Duration,
    /// What of that this thread was running, where the kernel tells: others may have had the core in between.
    pub running: Option<Duration>,
}

impl Took {
    /// What the decision took of one core; where the kernel does not tell, what it took by the clock.
    fn on_core(&self) -> Duration {
        self.running.unwrap_or(self.deciding)
    }
}

impl Big {
    /// 51,000 pods in 10 shapes, 20 groups.
    ///
    /// Pod i has shape s = i mod 10: cpu 50·(s+1)m, memory 64·(1 + 7s mod 10) Mi. Group g has 4·(1 + g mod 5) cores and 2, 4, 8 or 4 GiB
    /// (by ⌊g/5⌋) for each core.
    ///
    /// # Errors
    /// Where an object cannot be made.
    pub fn shapes() -> Result<Self> {
        let (mut view, mut projector) = (View::default(), Projector::default());
        for shape in 0..10 {
            let memory = 64 * (1 + 7 * shape % 10);
            let spec = spec(50 * (shape + 1), memory * MIB, &json!({}));
            put(
                &mut view,
                &mut projector,
                &spec,
                &json!({"app": "x"}),
                (0..5_100).map(|at| at * 10 + shape),
            )?;
        }
        let group = |g: i64| {
            let cores = 4 * (1 + g % 5);
            let gib = cores * [2, 4, 8, 4][usize::try_from(g / 5).unwrap_or(0)];
            asg(&format!("g{g}"), &[["a", "b", "c"][usize::try_from(g % 3).unwrap_or(0)]], cores, gib, 110)
        };
        Self::new("51,000 pods, 10 shapes, 20 groups", view, &(0..20).map(group).collect::<Vec<_>>(), &[])
    }

    /// 20,000 pods, 4,000 each plain, spread over zones, spread over nodes, drawn together in a zone, one on a node; 400 groups over
    /// three zones, group i with i+1 cores, 2(i+1) GiB and 10(i+1) pods.
    ///
    /// # Errors
    /// Where an object cannot be made.
    pub fn diverse() -> Result<Self> {
        let (mut view, mut projector) = (View::default(), Projector::default());
        let mut draw = Draw(42);
        for number in 0..20_000i64 {
            let cpu = [100, 250, 500, 1000, 1500][draw.below(5)];
            let memory = [100, 256, 512, 1024, 2048, 4096][draw.below(6)];
            let label = ["a", "b", "c", "d", "e", "f", "g"][draw.below(7)];
            let own = json!({"matchLabels": {"my-label": label}});
            let spread = |key: &str| json!({"topologySpreadConstraints": [{"maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", "topologyKey": key, "labelSelector": own}]});
            let (labels, extra) = match number / 4_000 {
                0 => (json!({"my-label": label}), json!({})),
                1 => (json!({"my-label": label}), spread("topology.kubernetes.io/zone")),
                2 => (json!({"my-label": label}), spread("kubernetes.io/hostname")),
                3 => (
                    json!({"my-affinity": label}),
                    json!({"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
                        {"topologyKey": "topology.kubernetes.io/zone", "labelSelector": {"matchLabels": {"my-affinity": label}}}]}}}),
                ),
                _ => (
                    json!({"app": "nginx"}),
                    json!({"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
                        {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "nginx"}}}]}}}),
                ),
            };
            let spec = spec(cpu, memory * MIB, &extra);
            put(&mut view, &mut projector, &spec, &labels, std::iter::once(number))?;
        }
        let group = |i: i64| asg(&format!("type-{i}"), &["a", "b", "c"], i + 1, 2 * (i + 1), 10 * (i + 1));
        let flags = ["--max-nodes-per-scaleup=20000"];
        Self::new("20,000 diverse pods, 400 groups", view, &(0..400).map(group).collect::<Vec<_>>(), &flags)
    }

    fn new(name: &'static str, view: View, groups: &[Value], flags: &[&str]) -> Result<Self> {
        let mut options = Options::default();
        options.read(flags.iter().copied())?;
        let facts = read_facts(&json!({"AutoScalingGroups": groups}))?;
        let groups = Groups::of(&view, &GroupBy::default(), &facts, &options);
        if let Some((group, why)) = groups.left_out.first() {
            bail!("group {group}: {why}");
        }
        Ok(Self { name, view, groups, options })
    }

    /// Decides once, and checks that every pod has a place.
    ///
    /// # Errors
    /// Where a pod has none.
    pub fn run(&self) -> Result<Took> {
        let begun = Instant::now();
        let mut scheduler = Scheduler::load(&self.view);
        let loading = begun.elapsed();
        let ran_before = ran();
        let begun = Instant::now();
        let up = self.decide(&mut scheduler);
        let deciding = begun.elapsed();
        let running = ran().zip(ran_before).map(|(after, before)| after.saturating_sub(before));
        let took = Took {
            nodes: up.rounds.iter().map(|round| round.nodes.len()).sum(),
            groups: up.additions().len(),
            stay: up.stay_pending(),
            loading,
            deciding,
            running,
        };
        let opened = |up: &Up| up.rounds.iter().map(|round| round.opened.len()).sum::<usize>();
        let on_nodes = |up: &Up| {
            up.rounds.iter().flat_map(|round| &round.nodes).map(|node| node.pods.len()).sum::<usize>()
        };
        let placed = up.fits.len() + opened(&up) + on_nodes(&up);
        if placed + took.stay != self.view.pods.len() {
            bail!("{placed} pods have a place and {} wait, of {}", took.stay, self.view.pods.len());
        }
        Ok(took)
    }

    fn decide(&self, scheduler: &mut Scheduler) -> Up {
        let given = Given {
            view: &self.view,
            groups: &self.groups,
            options: &self.options,
            prices: &Prices::default(),
            priorities: &Priorities::default(),
            state: &State::default(),
            in_flight: &InFlight::default(),
            now: Time::from_millis(0),
        };
        scale::up(given, scheduler)
    }
}

/// SplitMix64: the workload is the same on every machine.
struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: u64) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((word ^ (word >> 31)) % bound).unwrap_or(0)
    }
}

fn spec(cpu_milli: i64, memory: i64, extra: &Value) -> Value {
    let mut spec = extra.clone();
    spec["containers"] = json!([{"name": "c", "image": "i", "resources": {"requests": {"cpu": format!("{cpu_milli}m"), "memory": memory.to_string()}}}]);
    spec
}

/// Pods of one spec, which is one for all that say the same, as where a snapshot is read.
fn put(
    view: &mut View,
    projector: &mut Projector,
    spec: &Value,
    labels: &Value,
    numbers: impl Iterator<Item = i64>,
) -> Result<()> {
    let object = projector.object(
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "default", "labels": labels},
        "spec": spec, "status": {"phase": "Pending"}}),
    )?;
    let Object::Pod(model) = object else { bail!("a Pod was written") };
    for number in numbers {
        let mut pod = Pod::clone(&model);
        pod.meta.name = Name::from(format!("p-{number:05}"));
        pod.meta.uid = Uid::from(format!("p-{number}"));
        view.apply(Delta::Put(Arc::new(pod).into()));
    }
    Ok(())
}

fn asg(name: &str, zones: &[&str], cores: i64, gib: i64, pods: i64) -> Value {
    let resource = |name: &str, value: String| json!({"Key": format!("k8s.io/cluster-autoscaler/node-template/resources/{name}"), "Value": value});
    json!({"AutoScalingGroupName": name, "MinSize": 0, "MaxSize": 100_000, "DesiredCapacity": 0, "AvailabilityZones": zones,
        "Tags": [resource("cpu", cores.to_string()), resource("memory", format!("{gib}Gi")), resource("pods", pods.to_string())]})
}

/// The table of both workloads, the fastest of so many runs each.
///
/// # Errors
/// Where a workload cannot be made, or a pod has no place.
pub fn table(runs: usize) -> Result<String> {
    let mut text = String::from(
        "| workload | nodes added | groups | loaded | decided | on the core | floor | aim |\n|---|---:|---:|---:|---:|---:|---|---|\n",
    );
    let limits = |floor, aim| (Duration::from_millis(floor), Duration::from_millis(aim));
    for (big, (floor, aim)) in [(Big::shapes()?, limits(1_000, 40)), (Big::diverse()?, limits(5_000, 1_000))]
    {
        let all: Result<Vec<Took>> = (0..runs.max(1)).map(|_| big.run()).collect();
        let best = all?.into_iter().min_by_key(Took::on_core).context("there is a run")?;
        if best.stay > 0 {
            bail!("{}: {} pods go on waiting", big.name, best.stay);
        }
        let millis = |span: Duration| format!("{:.1} ms", span.as_secs_f64() * 1e3);
        let held = |limit: Duration| {
            let met = if best.on_core() <= limit { "met" } else { "missed" };
            format!("{} ms: {met}", limit.as_millis())
        };
        text.push_str(&format!(
            "| {} | {} | {} | {} | {} | {} | {} | {} |\n",
            big.name,
            best.nodes,
            best.groups,
            millis(best.loading),
            millis(best.deciding),
            best.running.map_or_else(|| "not told".to_owned(), millis),
            held(floor),
            held(aim)
        ));
    }
    Ok(text)
}
