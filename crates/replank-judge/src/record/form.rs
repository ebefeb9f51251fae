//! What steps and drains share: the cluster, and what is noted of evictions.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::kubelet::Kubelets;
use super::tape::Tape;
use crate::client::{Answer, Client};

/// The cluster on which runs are played.
#[derive(Clone)]
pub(super) struct Cluster {
    pub(super) client: Client,
    pub(super) kubelets: Kubelets,
    pub(super) tape: Tape,
}

/// An eviction that was answered, or a drain that is done.
#[derive(Clone, Debug)]
pub(super) struct Note {
    pub(super) at_ms: i64,
    pub(super) kind: &'static str,
    /// Uid of the pod, or name of the node.
    pub(super) of: String,
    pub(super) change: String,
    pub(super) value: Value,
}

/// Notes, which drains write beside the steps.
pub(super) type Notes = Arc<Mutex<Vec<Note>>>;

/// The answer as a recording has it.
pub(super) fn result(answer: &Answer) -> Value {
    let mut result = json!({"code": answer.status});
    if answer.status >= 400 {
        result["reason"] = answer.body["reason"].clone();
        let causes = list(&answer.body["details"]["causes"]);
        let causes: Vec<Value> = causes.map(|cause| cause["reason"].clone()).collect();
        if !causes.is_empty() {
            result["causes"] = causes.into();
        }
        result["message"] = answer.words().into();
    }
    result
}

/// The elements of a list.
pub(super) fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}
