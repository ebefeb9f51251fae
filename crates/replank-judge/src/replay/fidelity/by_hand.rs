//! What people do without this program: `kubectl drain`, one node after the other; a node that is not empty in time is left as it is.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::Value;

use super::super::means::Means;
use super::super::observed::{Count, Observed, Workload};
use super::super::recorded::{Eviction, Nodes, Workload as Foreseen};
use super::super::stage::Stage;
use super::audit::{Asked, log_of};
use super::case::Case;
use super::person::Person;
use super::program::{run, shown, texts};
use crate::kubelets::controller;

/// What it came to.
#[derive(Debug)]
pub(super) struct ByHand {
    /// What `rehearse --as kubectl` came to on a snapshot of this cluster.
    pub(super) rehearsed: Figures,
    pub(super) took: Duration,
    pub(super) replaced: usize,
    pub(super) total: usize,
    pub(super) counts: BTreeMap<Workload, Count>,
    pub(super) asked: Asked,
}

/// How long people wait for one node.
const PATIENCE: &str = "--timeout=2m";

/// Figures of a comparison that are held against what happened.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Figures {
    #[serde(rename = "virtualDurationMs")]
    pub(super) took: u64,
    pub(super) nodes: Nodes,
    pub(super) evictions_refused: usize,
    evictions: Vec<Eviction>,
    pub(super) workloads: Vec<Foreseen>,
}

#[derive(Debug, Deserialize)]
struct Comparison {
    ways: Vec<Way>,
}

#[derive(Debug, Deserialize)]
struct Way {
    figures: Figures,
}

/// Rehearses what the person is about to do, from a snapshot of the cluster as it is.
fn rehearse(means: &Means, case: &Case, stage: &Stage, folder: &Path) -> Result<Figures> {
    let file = |name: &str| shown(&folder.join(name));
    std::fs::write(folder.join("plan.yaml"), case.plan())?;
    std::fs::write(folder.join("script.txt"), Case::script())?;
    let kubeconfig = shown(&stage.plane.kubeconfig_of("replank")?);
    let snapshot = file("snapshot.json.gz");
    run(&means.replank, &texts(&["snapshot", "--kubeconfig", &kubeconfig, "-o", &snapshot]))?;
    let mut arguments = texts(&["rehearse", &snapshot, "-f", &file("plan.yaml"), "-o", "json"]);
    arguments.extend(texts(&["--script", &file("script.txt"), "--as", "kubectl", "--drain-timeout", "2m"]));
    let (printed, _, _) = run(&means.replank, &arguments)?;
    std::fs::write(folder.join("rehearsal.json"), &printed)?;
    let compared: Comparison =
        serde_json::from_slice(&printed).context("replank rehearse --as printed no comparison")?;
    compared.ways.into_iter().next().map(|way| way.figures).context("a comparison has a way")
}

/// Has pods take as long to stop as in the rehearsal: those that are there by name, their successors in turn.
fn tell_stops(stage: &Stage, foreseen: &Figures) -> Result<()> {
    let pods = stage.plane.client().get("/api/v1/pods")?;
    let text =
        |object: &Value, member: &str| object["metadata"][member].as_str().unwrap_or_default().to_owned();
    let mut owners: BTreeMap<(String, String), String> = BTreeMap::new();
    for pod in pods["items"].as_array().into_iter().flatten() {
        owners.extend(controller(pod).map(|owner| ((text(pod, "namespace"), text(pod, "name")), owner)));
    }
    let granted = foreseen.evictions.iter().filter(|one| one.refused.is_none());
    let (first, later): (Vec<&Eviction>, Vec<&Eviction>) =
        granted.partition(|one| owners.contains_key(&(one.namespace.clone(), one.pod.clone())));
    let span = |one: &Eviction| Some(one.gone?.since(one.at));
    let mut of_workload: BTreeMap<(String, Option<String>), String> = BTreeMap::new();
    for eviction in first {
        let key = (eviction.namespace.clone(), eviction.pod.clone());
        of_workload.insert((key.0.clone(), eviction.workload.clone()), owners[&key].clone());
        if let Some(span) = span(eviction) {
            stage.kubelets.stops_after(&key.0, &key.1, span);
        }
    }
    let mut turns: BTreeMap<(String, String), VecDeque<Duration>> = BTreeMap::new();
    for eviction in later {
        let workload = (eviction.namespace.clone(), eviction.workload.clone());
        if let (Some(owner), Some(span)) = (of_workload.get(&workload), span(eviction)) {
            turns.entry((workload.0, owner.clone())).or_default().push_back(span);
        }
    }
    for ((namespace, owner), spans) in turns {
        stage.kubelets.stop_in_turn(&namespace, &owner, spans);
    }
    Ok(())
}

pub(super) fn drained(means: &Means, case: &Case, stage: &Stage, folder: &Path) -> Result<ByHand> {
    let foreseen = rehearse(means, case, stage, folder)?;
    tell_stops(stage, &foreseen)?;
    let kubeconfig = shown(&stage.plane.kubeconfig_of("kubectl")?);
    let observed = Observed::begin(stage.plane.client())?;
    let person = Person::of(stage, &case.scene, Vec::new());
    let chosen = case.scene.nodes.iter().map(|node| &node.name).filter(|name| name.starts_with("web-"));
    let (begun, mut replaced, mut total, mut said) = (Instant::now(), 0, 0, String::new());
    for node in chosen {
        total += 1;
        let output = Command::new(stage.plane.program("kubectl"))
            .args(["--kubeconfig", &kubeconfig, "drain", node, "--ignore-daemonsets"])
            .args(["--delete-emptydir-data", PATIENCE])
            .output()?;
        said.push_str(&String::from_utf8_lossy(&output.stderr));
        if output.status.success() {
            person.replaces(node, usize::MAX)?;
            replaced += 1;
        }
    }
    let took = begun.elapsed();
    std::fs::write(folder.join("kubectl.txt"), said)?;
    let counts = observed.lock().counts.clone();
    Ok(ByHand {
        rehearsed: foreseen,
        took,
        replaced,
        total,
        counts,
        asked: log_of(&stage.plane.audit_log(), "kubectl", 0)?,
    })
}
