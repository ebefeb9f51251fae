//! The kind that the operator looks after.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is wanted of a fleet.
#[derive(Clone, CustomResource, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[kube(
    group = "clients.example.com",
    version = "v1",
    kind = "Fleet",
    namespaced,
    status = "FleetStatus",
    shortname = "fl",
    category = "all",
    scale(spec_replicas_path = ".spec.replicas", status_replicas_path = ".status.replicas"),
    selectable = ".spec.image",
    printcolumn(name = "Wanted", type_ = "integer", json_path = ".spec.replicas"),
    validation = "self.spec.replicas <= 10"
)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FleetSpec {
    /// How many pods.
    #[schemars(range(min = 0))]
    pub(crate) replicas: i32,
    /// What they would run.
    #[serde(default = "pause")]
    pub(crate) image: String,
}

fn pause() -> String {
    "registry.k8s.io/pause:3.10".to_owned()
}

/// What was seen of it.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FleetStatus {
    /// Pods that are there.
    pub(crate) replicas: i32,
    /// Pods that are Ready.
    pub(crate) ready: i32,
    /// The generation that this tells of.
    pub(crate) observed_generation: i64,
}
