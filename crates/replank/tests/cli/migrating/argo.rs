//! Argo Rollouts, as far as a hand-over needs it: a served cluster plays it itself; beside a real control plane it is played here. A Rollout that refers to a Deployment gets a ReplicaSet of
//! its template and size, says how far it is, and scales the Deployment down where it is asked to.

use std::time::Duration;

use replank_judge::{Endpoint, Sent};
use serde_json::{Value, json};

use crate::drive::ground::Ground;
use crate::drive::worker::Worker;

const ROLLOUTS: &str = "/apis/argoproj.io/v1alpha1/rollouts";

/// What an administrator installs first.
pub(super) fn define(ground: &Ground) {
    let free = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let text = json!({"type": "string"});
    let reference = json!({"type": "object", "properties": {"apiVersion": text, "kind": text, "name": text, "scaleDown": text}});
    let mut spec = free.clone();
    spec["properties"] =
        json!({"workloadRef": reference, "replicas": {"type": "integer", "format": "int32"}});
    let mut schema = free;
    schema["properties"] = json!({"spec": spec});
    ground.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", &json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "rollouts.argoproj.io"},
        "spec": {"group": "argoproj.io", "scope": "Namespaced",
            "names": {"kind": "Rollout", "listKind": "RolloutList", "plural": "rollouts", "singular": "rollout"},
            "versions": [{"name": "v1alpha1", "served": true, "storage": true,
                "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.replicas",
                    "statusReplicasPath": ".status.HPAReplicas", "labelSelectorPath": ".status.selector"}},
                "schema": {"openAPIV3Schema": schema}}]}}));
    let server = Endpoint::of_kubeconfig(ground.kubeconfig()).expect("it names a server");
    ground.wait("Rollouts are served", |_| {
        server.exchange(&Sent::new("GET", ROLLOUTS)).is_ok_and(|answer| answer.status == 200)
    });
}

/// Its controller, until it is dropped.
pub(super) struct Argo(#[expect(dead_code, reason = "it works until it is dropped")] Worker);

impl Argo {
    pub(super) fn begins(ground: &Ground) -> Self {
        let endpoint = Endpoint::of_kubeconfig(ground.kubeconfig()).expect("it names a server");
        Self(Worker::begins(Duration::from_millis(300), move || {
            let all = get(&endpoint, ROLLOUTS);
            all["items"].as_array().into_iter().flatten().for_each(|one| look(&endpoint, one));
        }))
    }
}

fn get(endpoint: &Endpoint, path: &str) -> Value {
    endpoint.exchange(&Sent::new("GET", path)).expect("it answers").json()
}

/// Somebody may have changed or deleted it meanwhile: the next look sees that.
fn merge(endpoint: &Endpoint, path: &str, change: &Value) {
    let sent =
        Sent::new("PATCH", path).typed("application/merge-patch+json", change.to_string().into_bytes());
    drop(endpoint.exchange(&sent));
}

fn look(endpoint: &Endpoint, rollout: &Value) {
    let meta = &rollout["metadata"];
    let (Some(namespace), Some(name)) = (meta["namespace"].as_str(), meta["name"].as_str()) else { return };
    if meta["deletionTimestamp"].is_string() {
        return;
    }
    let apps = format!("/apis/apps/v1/namespaces/{namespace}");
    let of = rollout["spec"]["workloadRef"]["name"].as_str().unwrap_or_default();
    let path = format!("{apps}/deployments/{of}");
    let deployment = get(endpoint, &path);
    if deployment["kind"] != "Deployment" {
        return;
    }
    let wanted = rollout["spec"]["replicas"].as_i64().unwrap_or(1);
    let template = &deployment["spec"]["template"];
    let hash =
        template.to_string().bytes().fold(7_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
    let hash = format!("r{hash:08x}");
    let sets = get(endpoint, &format!("{apps}/replicasets"));
    let owned = |set: &&Value| set["metadata"]["ownerReferences"][0]["uid"] == meta["uid"];
    let sets: Vec<&Value> = sets["items"].as_array().into_iter().flatten().filter(owned).collect();
    let mine = format!("{name}-{hash}");
    let Some(present) = sets.iter().find(|set| set["metadata"]["name"] == *mine) else {
        let mut selector = deployment["spec"]["selector"].clone();
        selector["matchLabels"]["rollouts-pod-template-hash"] = hash.as_str().into();
        let mut template = template.clone();
        template["metadata"]["labels"]["rollouts-pod-template-hash"] = hash.as_str().into();
        let set = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": mine,
                "labels": template["metadata"]["labels"], "ownerReferences": [{"apiVersion": "argoproj.io/v1alpha1",
                    "kind": "Rollout", "name": name, "uid": meta["uid"], "controller": true, "blockOwnerDeletion": true}]},
            "spec": {"replicas": wanted, "selector": selector, "template": template}});
        drop(endpoint.exchange(&Sent::new("POST", format!("{apps}/replicasets")).json(&set)));
        return;
    };
    let count = |name: &str| present["status"][name].as_i64().unwrap_or(0);
    let (available, is_sized) = (count("availableReplicas"), present["spec"]["replicas"] == wanted);
    if !is_sized {
        merge(endpoint, &format!("{apps}/replicasets/{mine}"), &json!({"spec": {"replicas": wanted}}));
    }
    let is_healthy = is_sized && available >= wanted;
    for other in sets.iter().filter(|set| set["metadata"]["name"] != *mine && set["spec"]["replicas"] != 0) {
        if is_healthy {
            let path =
                format!("{apps}/replicasets/{}", other["metadata"]["name"].as_str().unwrap_or_default());
            merge(endpoint, &path, &json!({"spec": {"replicas": 0}}));
        }
    }
    let left = match rollout["spec"]["workloadRef"]["scaleDown"].as_str() {
        Some("onsuccess") if is_healthy => Some(0),
        Some("progressively") => Some((wanted - available).max(0)),
        Some(_) | None => None,
    };
    if let Some(left) = left.filter(|left| deployment["spec"]["replicas"].as_i64() > Some(*left)) {
        merge(endpoint, &path, &json!({"spec": {"replicas": left}}));
    }
    let status = json!({"phase": if is_healthy { "Healthy" } else { "Progressing" },
        "observedGeneration": meta["generation"].to_string(), "replicas": count("replicas"), "HPAReplicas": count("replicas"),
        "readyReplicas": count("readyReplicas"), "availableReplicas": available});
    if status != rollout["status"] {
        let path = format!("/apis/argoproj.io/v1alpha1/namespaces/{namespace}/rollouts/{name}/status");
        merge(endpoint, &path, &json!({"status": status}));
    }
}
