//! A cluster from a dump: what people made is made again, the rest follows.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::form::{Scene, USUAL};
use crate::kubelets::NodeSpec;

/// Kinds that the control plane and the kubelets make themselves.
const MADE: [&str; 6] = ["Lease", "Event", "Endpoints", "EndpointSlice", "CSINode", "ControllerRevision"];

/// Members of metadata that the API server writes.
const WRITTEN: [&str; 7] = [
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "managedFields",
    "selfLink",
    "generateName",
];

/// Reads a List, such as `kubectl get … -o json` prints. The rehearsal's arguments are the caller's.
///
/// # Errors
/// It cannot be read, or holds no node.
pub fn of_dump(file: &Path, arguments: &[String]) -> Result<Scene> {
    let text = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    let list: Value =
        serde_json::from_slice(&text).with_context(|| format!("{} is not JSON", file.display()))?;
    let items = list["items"].as_array().with_context(|| format!("{} is no List", file.display()))?;
    let (nodes, others): (Vec<&Value>, Vec<&Value>) =
        items.iter().partition(|object| object["kind"] == "Node");
    ensure!(!nodes.is_empty(), "{} holds no Node", file.display());
    let mut objects: Vec<Value> =
        others.into_iter().filter(|object| is_of_people(object)).map(anew).collect();
    // Namespaces and classes before what names them.
    objects.sort_by_key(|object| match object["kind"].as_str() {
        Some("Namespace") => 0,
        Some("PriorityClass" | "StorageClass") => 1,
        Some("PersistentVolume" | "PersistentVolumeClaim") => 2,
        Some("PodDisruptionBudget") => 4,
        _ => 3,
    });
    let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let mut scene = Scene::new(&name, nodes.into_iter().map(node).collect(), Vec::new());
    scene.objects = objects;
    scene.arguments = arguments.to_vec();
    // Pods that are not Ready by then are not starting any more.
    scene.age = Duration::from_secs(45);
    Ok(scene)
}

/// Whether somebody made an object: nothing owns it, and a new cluster does not have it.
fn is_of_people(object: &Value) -> bool {
    let metadata = &object["metadata"];
    let (kind, name) =
        (object["kind"].as_str().unwrap_or_default(), metadata["name"].as_str().unwrap_or_default());
    let is_owned = metadata["ownerReferences"].as_array().is_some_and(|owners| !owners.is_empty());
    let is_there = match kind {
        "Namespace" => matches!(name, "default") || name.starts_with("kube-"),
        "PriorityClass" => name.starts_with("system-"),
        "Service" => name == "kubernetes" && metadata["namespace"] == "default",
        _ => false,
    };
    !is_owned && !is_there && !MADE.contains(&kind)
}

/// An object as it was applied, with pods that start as the usual ones do.
fn anew(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(members) = object.as_object_mut() {
        members.remove("status");
    }
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.retain(|key, _| !WRITTEN.contains(&key.as_str()));
    }
    match object["kind"].as_str() {
        Some("Service") => {
            for assigned in ["clusterIP", "clusterIPs", "healthCheckNodePort"] {
                if let Some(spec) = object["spec"].as_object_mut() {
                    spec.remove(assigned);
                }
            }
        }
        Some("Job") => {
            // The server chooses the selector, and refuses one that is there.
            if let Some(spec) = object["spec"].as_object_mut() {
                spec.remove("selector");
            }
            if let Some(labels) = object["spec"]["template"]["metadata"]["labels"].as_object_mut() {
                labels.retain(|key, _| !key.contains("controller-uid") && !key.contains("job-name"));
            }
        }
        Some("Namespace") => {
            if let Some(members) = object.as_object_mut() {
                members.remove("spec");
            }
        }
        Some(_) | None => {}
    }
    if object["spec"]["template"]["spec"].is_object() {
        let annotations = &mut object["spec"]["template"]["metadata"]["annotations"];
        if !annotations.is_object() {
            *annotations = json!({});
        }
        for (key, value) in USUAL {
            let key = format!("judge.replank.dev/{key}");
            if annotations[&key].is_null() {
                annotations[&key] = (*value).into();
            }
        }
    }
    object
}

fn node(node: &Value) -> NodeSpec {
    let texts = |value: &Value| -> BTreeMap<String, String> {
        let members = value.as_object().into_iter().flatten();
        members.map(|(key, value)| (key.clone(), value.as_str().unwrap_or_default().to_owned())).collect()
    };
    let taints = node["spec"]["taints"].as_array().cloned().unwrap_or_default();
    NodeSpec {
        name: node["metadata"]["name"].as_str().unwrap_or_default().to_owned(),
        labels: texts(&node["metadata"]["labels"]),
        taints: taints
            .into_iter()
            .filter(|taint| !taint["key"].as_str().unwrap_or_default().starts_with("node.kubernetes.io/"))
            .collect(),
        capacity: texts(&node["status"]["allocatable"]),
        version: node["status"]["nodeInfo"]["kubeletVersion"].as_str().unwrap_or("v1.36.2").to_owned(),
    }
}
