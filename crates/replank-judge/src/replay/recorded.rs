//! A rehearsal as the program prints it: the members that a replay reads.

use std::path::Path;
use std::process::Command;

use super::moment::Moment;
use anyhow::{Context, Result, ensure};
use serde::Deserialize;

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Rehearsal {
    pub(super) verdict: String,
    pub(super) start: Moment,
    pub(super) virtual_duration_ms: u64,
    pub(super) nodes: Nodes,
    pub(super) evictions: Vec<Eviction>,
    pub(super) workloads: Vec<Workload>,
    pub(super) blockers: Vec<Blocker>,
    pub(super) timeline: Vec<NodeLine>,
    pub(super) script_events: Vec<ScriptEvent>,
}

impl Rehearsal {
    /// Names of nodes that joined, in the order in which they were Ready.
    pub(super) fn new_nodes(&self) -> Vec<String> {
        let ready = |line: &NodeLine| line.phases.iter().find(|one| one.phase == "ready").map(|one| one.at);
        let new = self.timeline.iter().filter(|line| !line.old);
        let mut all: Vec<(Moment, String)> =
            new.filter_map(|line| Some((ready(line)?, line.node.clone()?))).collect();
        all.sort();
        all.into_iter().map(|(_, name)| name).collect()
    }
}

/// Something that a script had happen.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct ScriptEvent {
    pub(super) at: Moment,
    pub(super) what: String,
    pub(super) refused: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Nodes {
    pub(super) total: usize,
    pub(super) replaced: usize,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Eviction {
    pub(super) at: Moment,
    pub(super) namespace: String,
    pub(super) pod: String,
    pub(super) workload: Option<String>,
    pub(super) refused: Option<String>,
    pub(super) gone: Option<Moment>,
    pub(super) successor: Option<Successor>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Successor {
    pub(super) pod: String,
    pub(super) node: Option<String>,
    pub(super) ready: Option<Moment>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Workload {
    pub(super) kind: String,
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) desired: i32,
    pub(super) min_ready: i32,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Blocker {
    pub(super) what: String,
    pub(super) reason: String,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct NodeLine {
    pub(super) node: Option<String>,
    pub(super) zone: String,
    pub(super) old: bool,
    pub(super) shape: Option<Shape>,
    pub(super) phases: Vec<Phase>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Shape {
    pub(super) labels: Vec<String>,
    pub(super) taints: Vec<String>,
    pub(super) allocatable: Vec<String>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Phase {
    pub(super) phase: String,
    pub(super) at: Moment,
}

/// Rehearsals of one roll with several seeds: kube-scheduler draws among nodes that are equally good, and so does each of them.
#[derive(Debug, Deserialize)]
struct Seeds {
    rehearsals: Vec<Rehearsal>,
}

/// How many ways are looked at in which a draw may fall.
const SEEDS: &str = "20";

/// Has a roll rehearsed with several seeds.
pub(super) fn rehearse_often(
    replank: &Path,
    snapshot: &Path,
    arguments: &[String],
) -> Result<Vec<Rehearsal>> {
    let mut all: Vec<String> = arguments.to_vec();
    if let Some(seed) = all.iter().position(|argument| argument == "--seed") {
        all.drain(seed..seed + 2);
    }
    all.extend(["--seeds".to_owned(), SEEDS.to_owned()]);
    let output = print(replank, snapshot, &all)?;
    let seeds: Seeds =
        serde_json::from_slice(&output).context("replank rehearse --seeds printed no result")?;
    Ok(seeds.rehearsals)
}

/// Has a roll rehearsed; what is printed is kept in a file.
pub(super) fn rehearse(
    replank: &Path,
    snapshot: &Path,
    arguments: &[String],
    kept: &Path,
) -> Result<Rehearsal> {
    let output = print(replank, snapshot, arguments)?;
    std::fs::write(kept, &output)?;
    serde_json::from_slice(&output).context("replank rehearse printed no result")
}

fn print(replank: &Path, snapshot: &Path, arguments: &[String]) -> Result<Vec<u8>> {
    let output = Command::new(replank)
        .arg("rehearse")
        .arg(snapshot)
        .args(arguments)
        .args(["-o", "json"])
        .output()
        .with_context(|| format!("cannot run {}", replank.display()))?;
    ensure!(!output.stdout.is_empty(), "replank rehearse: {}", String::from_utf8_lossy(&output.stderr));
    Ok(output.stdout)
}
