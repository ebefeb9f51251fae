//! What people do without this program: `kubectl drain`, one node after the other; a node that is not empty in time is left as it is.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::Result;

use super::super::observed::{Count, Observed, Workload};
use super::super::stage::Stage;
use super::audit::{Asked, log_of};
use super::case::Case;
use super::live::stops;
use super::person::Person;
use super::program::{Rehearsed, shown};

/// What it came to.
#[derive(Debug)]
pub(super) struct ByHand {
    pub(super) took: Duration,
    pub(super) replaced: usize,
    pub(super) total: usize,
    pub(super) counts: BTreeMap<Workload, Count>,
    pub(super) asked: Asked,
}

/// How long people wait for one node.
const PATIENCE: &str = "--timeout=2m";

pub(super) fn drained(case: &Case, stage: &Stage, rehearsed: &Rehearsed, folder: &Path) -> Result<ByHand> {
    for ((namespace, controller), spans) in stops(rehearsed) {
        stage.kubelets.stop_in_turn(&namespace, &controller, spans);
    }
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
    Ok(ByHand { took, replaced, total, counts, asked: log_of(&stage.plane.audit_log(), "kubectl", 0)? })
}
