//! Proof by the server's own log, on a larger cluster: what a dry run, a drain by the program and one by `kubectl` ask of it.

use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::super::means::Means;
use super::super::scene::nodes;
use super::audit::{Asked, Floor, log_of};
use super::program::shown;
use crate::kubelets::Kubelets;
use crate::plane::ControlPlane;

/// How large the cluster is.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// Nodes.
    pub nodes: usize,
    /// Pods on each of them.
    pub pods: usize,
    /// Nodes that are drained by each.
    pub drained: usize,
}

/// What one command asked for.
#[derive(Clone, Debug)]
pub struct Row {
    /// The command.
    pub command: String,
    /// What it asked of the server.
    pub asked: Asked,
    /// How long it took.
    pub took: Duration,
    /// The most memory that it held, in KiB.
    pub memory: u64,
}

impl Row {
    /// Requests for each pod that was evicted.
    #[must_use]
    pub fn per_pod(&self) -> Option<f64> {
        let count = |number: usize| f64::from(u32::try_from(number).unwrap_or(u32::MAX));
        (self.asked.granted > 0).then(|| count(self.asked.all()) / count(self.asked.granted))
    }
}

/// All commands, and what must hold of them.
#[derive(Clone, Debug)]
pub struct Proof {
    /// One for each command.
    pub rows: Vec<Row>,
    /// KiB for 1,000 pods.
    pub per_thousand: u64,
    /// What must hold.
    pub floors: Vec<Floor>,
}

const PATIENCE: Duration = Duration::from_secs(420);
/// How many evictions may be asked for where so many hundred are granted.
const ASKED_PER_HUNDRED: usize = 105;
/// What is asked once: what may be done, first lists, and their watches.
const ASKED_ONCE: usize = 100;
/// Requests about a node: its marks, as they change.
const ASKED_OF_NODE: usize = 4;
/// KiB for 1,000 pods at the peak, which is while lists are read.
const MEMORY: u64 = 64 * 1024;

/// Builds the cluster, and has it drained.
///
/// # Errors
/// It cannot be built, or a command fails.
pub fn prove(means: &Means, size: Size) -> Result<Proof> {
    let plane = ControlPlane::up_audited(&means.assets, &means.folder.join("audit"))?;
    let kubelets = Kubelets::begin(plane.client());
    for mut node in nodes("web", size.nodes, 3, "16") {
        node.capacity.insert("pods".to_owned(), "110".to_owned());
        kubelets.register(&node)?;
    }
    let ours = shown(&plane.kubeconfig_of("replank")?);
    let theirs = shown(&plane.kubeconfig_of("kubectl")?);
    let log = plane.audit_log();
    let names = |from: usize| (from..from + size.drained).map(|number| format!("web-{number}"));
    let drain = |program: &Path, kubeconfig: &str, from: usize, more: &[&str]| -> Result<Row> {
        let arguments: Vec<String> = std::iter::once("drain".to_owned())
            .chain(names(from))
            .chain(["--ignore-daemonsets", "--kubeconfig", kubeconfig].map(str::to_owned))
            .chain(more.iter().map(|&word| word.to_owned()))
            .collect();
        let user = if kubeconfig == ours { "replank" } else { "kubectl" };
        let command = [&[user, "drain"], more].concat().join(" ");
        let before = std::fs::metadata(&log).map_or(0, |file| file.len());
        let (took, memory) = watched(program, &arguments, &means.folder).with_context(|| command.clone())?;
        Ok(Row { command, asked: log_of(&log, user, before)?, took, memory })
    };
    let empty = drain(&means.replank, &ours, 0, &["--dry-run=client"])?;
    fill(&plane, size)?;
    let kubectl = plane.program("kubectl");
    let rows = vec![
        drain(&means.replank, &ours, 0, &["--dry-run=client"])?,
        drain(&means.replank, &ours, 0, &["--dry-run=server"])?,
        drain(&means.replank, &ours, 0, &[])?,
        drain(&kubectl, &theirs, size.drained, &[])?,
    ];
    let pods = u64::try_from(size.nodes * size.pods)?.max(1);
    let per_thousand = rows[2].memory.saturating_sub(empty.memory) * 1000 / pods;
    let floors = floors(&rows, per_thousand, size);
    Ok(Proof { rows, per_thousand, floors })
}

fn floors(rows: &[Row], per_thousand: u64, size: Size) -> Vec<Floor> {
    let floor = |what: &str, holds: bool| Floor { what: what.to_owned(), holds };
    let ours = &rows[..3];
    let drained = &rows[2];
    let mut floors = vec![
        floor("a dry run writes nothing", rows[..2].iter().all(|row| row.asked.writes == 0)),
        floor("a dry run on the server's side asks for each eviction", rows[1].asked.dry >= size.drained),
        floor("every eviction names the pod's uid", ours.iter().all(|row| row.asked.without_uid == 0)),
        floor("no pod is deleted", ours.iter().all(|row| row.asked.deleted_pods == 0)),
        floor("all pods of the nodes are evicted", drained.asked.granted >= size.drained * size.pods / 2),
        floor("no eviction is refused", drained.asked.refused == 0),
        floor(
            "one request for each pod",
            drained.asked.evictions() * 100 <= drained.asked.granted * ASKED_PER_HUNDRED,
        ),
        floor(
            &format!("at most {ASKED_ONCE} requests besides, and {ASKED_OF_NODE} for each node"),
            drained.asked.all() - drained.asked.evictions() <= ASKED_ONCE + ASKED_OF_NODE * size.drained,
        ),
    ];
    // With a few pods it is the lists' own noise that is measured.
    if size.nodes * size.pods >= 1000 {
        let what = format!("at most {} MiB for 1,000 pods", MEMORY / 1024);
        floors.push(floor(&what, per_thousand <= MEMORY));
    }
    floors
}

/// Runs a program to its end; returns how long it took, and the most memory that it held.
fn watched(program: &Path, arguments: &[String], folder: &Path) -> Result<(Duration, u64)> {
    let words = folder.join("stderr.txt");
    let mut child = Command::new(program)
        .args(arguments)
        .stdout(Stdio::null())
        .stderr(std::fs::File::create(&words)?)
        .spawn()
        .with_context(|| format!("cannot run {}", program.display()))?;
    let (begun, mut memory) = (Instant::now(), 0);
    let status = loop {
        // The high-water mark only grows: the last one that is read counts.
        memory = peak(child.id()).unwrap_or(memory);
        if let Some(status) = child.try_wait()? {
            break status;
        }
        sleep(Duration::from_millis(10));
    };
    ensure!(status.success(), "{status}: {}", std::fs::read_to_string(&words)?);
    Ok((begun.elapsed(), memory))
}

/// `VmHWM` of a process, in KiB.
fn peak(id: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// As many workloads as nodes have pods, each with a pod for every node and a budget.
fn fill(plane: &ControlPlane, size: Size) -> Result<()> {
    let client = plane.client();
    for number in 0..size.pods {
        let (name, labels) = (format!("app-{number}"), json!({"app": format!("app-{number}")}));
        let spread = json!([{"maxSkew": 1, "topologyKey": "kubernetes.io/hostname",
            "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": {"matchLabels": labels}}]);
        let container = json!({"name": "main", "image": "main:1",
            "resources": {"requests": {"cpu": "100m", "memory": "16Mi"}}});
        let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name},
            "spec": {"replicas": size.nodes, "selector": {"matchLabels": labels}, "template": {
                "metadata": {"labels": labels, "annotations": {"judge.replank.dev/stop-seconds": "1"}},
                "spec": {"containers": [container], "topologySpreadConstraints": spread}}}});
        let budget = json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": name},
            "spec": {"maxUnavailable": 1, "selector": {"matchLabels": labels}}});
        client.create("/apis/policy/v1/namespaces/default/poddisruptionbudgets", &budget)?;
        client.create("/apis/apps/v1/namespaces/default/deployments", &deployment)?;
    }
    let begun = Instant::now();
    let allows = |budget: &Value| budget["status"]["disruptionsAllowed"] == 1;
    loop {
        let budgets = client.get("/apis/policy/v1/namespaces/default/poddisruptionbudgets")?;
        let all = budgets["items"].as_array().context("a list has items")?;
        if all.len() == size.pods && all.iter().all(allows) {
            return Ok(());
        }
        ensure!(begun.elapsed() < PATIENCE, "not all pods were Ready after {} s", PATIENCE.as_secs());
        sleep(Duration::from_millis(500));
    }
}
