//! A scene on a real control plane.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::scene::Scene;
use crate::assets::Assets;
use crate::client::Client;
use crate::kubelets::Kubelets;
use crate::plane::ControlPlane;

/// The kinds that README.md's command reads.
const KINDS: &str = "nodes,csinodes,leases,namespaces,pods,deployments,replicasets,statefulsets,daemonsets,replicationcontrollers,jobs,cronjobs,pdb,hpa,\
services,endpointslices,pv,pvc,storageclasses,priorityclasses,resourcequotas,validatingwebhookconfigurations,mutatingwebhookconfigurations";

/// How long pods may change before the cluster is looked at as it is.
const PATIENCE: Duration = Duration::from_secs(180);

/// How long nothing may have changed for a cluster to be at rest.
const REST: Duration = Duration::from_secs(4);

/// A cluster that was built.
pub(super) struct Stage {
    /// Silent before the control plane ends.
    pub(super) kubelets: Kubelets,
    pub(super) plane: ControlPlane,
    /// Zones of nodes.
    pub(super) zones: BTreeMap<String, String>,
}

/// Builds a scene and waits until it is at rest.
pub(super) fn build(assets: &Assets, folder: &Path, scene: &Scene) -> Result<Stage> {
    on(ControlPlane::up(assets, &folder.join("plane"))?, scene)
}

/// Builds it on a control plane that keeps an audit log.
pub(super) fn build_audited(assets: &Assets, folder: &Path, scene: &Scene) -> Result<Stage> {
    on(ControlPlane::up_audited(assets, &folder.join("plane"))?, scene)
}

fn on(plane: ControlPlane, scene: &Scene) -> Result<Stage> {
    let kubelets = Kubelets::begin(plane.client());
    for node in &scene.nodes {
        kubelets.register(node).with_context(|| format!("node {}", node.name))?;
    }
    for object in &scene.objects {
        plane.client().create(&collection(object)?, object)?;
    }
    settle(plane.client(), scene.age)?;
    let zone = |labels: &BTreeMap<String, String>| {
        labels.get("topology.kubernetes.io/zone").cloned().unwrap_or_default()
    };
    let zones = scene.nodes.iter().map(|node| (node.name.clone(), zone(&node.labels))).collect();
    Ok(Stage { kubelets, plane, zones })
}

impl Stage {
    /// Dumps the cluster as a user would.
    pub(super) fn dump(&self, file: &Path) -> Result<PathBuf> {
        std::fs::write(file, self.plane.kubectl(&["get", KINDS, "-A", "-o", "json"])?)?;
        Ok(file.to_owned())
    }
}

/// Waits until no pod changes any more, and the cluster is as old as it should be.
fn settle(client: &Client, age: Duration) -> Result<()> {
    let begun = Instant::now();
    let mut last = (String::new(), Instant::now());
    while begun.elapsed() < PATIENCE {
        let pods = client.get("/api/v1/pods")?;
        let items = pods["items"].as_array().context("a list has items")?;
        let all: Vec<&str> =
            items.iter().filter_map(|pod| pod["metadata"]["resourceVersion"].as_str()).collect();
        let now = all.join(",");
        if now != last.0 || items.iter().any(is_starting) {
            last = (now, Instant::now());
        } else if last.1.elapsed() > REST && !items.is_empty() && begun.elapsed() >= age {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(250));
    }
    bail!("the cluster was not at rest after {} s", PATIENCE.as_secs())
}

/// Whether a pod is on a node, and not yet what it will be.
fn is_starting(pod: &Value) -> bool {
    let conditions = pod["status"]["conditions"].as_array();
    let is_ready =
        conditions.into_iter().flatten().any(|one| one["type"] == "Ready" && one["status"] == "True");
    let told = |name: &str| &pod["metadata"]["annotations"][format!("judge.replank.dev/{name}")];
    let stays_unready = told("ready-after") == "never" && pod["status"]["phase"] == "Running";
    let ends = told("run-seconds").is_string() && pod["status"]["phase"] != "Pending";
    pod["spec"]["nodeName"].is_string() && !is_ready && !stays_unready && !ends
}

/// Where an object of a kind is created.
fn collection(object: &Value) -> Result<String> {
    let kind = object["kind"].as_str().context("an object has a kind")?;
    let version = object["apiVersion"].as_str().context("an object has a version")?;
    let root = if version.contains('/') { format!("/apis/{version}") } else { format!("/api/{version}") };
    let plural = match kind {
        "PriorityClass" => "priorityclasses".to_owned(),
        "StorageClass" => "storageclasses".to_owned(),
        other => format!("{}s", other.to_lowercase()),
    };
    Ok(match object["metadata"]["namespace"].as_str() {
        Some(namespace) => format!("{root}/namespaces/{namespace}/{plural}"),
        None => format!("{root}/{plural}"),
    })
}
