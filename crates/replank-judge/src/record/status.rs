//! What the recorder's kubelets write of a pod.

use serde_json::{Value, json};

use crate::kubelets::now;

/// Where the containers of a pod stand.
#[derive(Clone, Copy, Debug)]
pub(super) enum Containers {
    /// They run, and may be Ready.
    Run {
        /// Whether they are Ready.
        ready: bool,
    },
    /// They have ended and are going to be started again.
    Between(i32),
    /// They have ended for good.
    Over(i32),
}

/// A strategic merge patch of the status.
pub(super) fn patch(pod: &Value, containers: Containers, restarts: u32) -> Value {
    let at = now();
    let ended = |code: i32| {
        let reason = if code == 0 { "Completed" } else { "Error" };
        json!({"running": null, "terminated": {"exitCode": code, "reason": reason, "startedAt": at, "finishedAt": at}})
    };
    let (phase, is_ready, state) = match containers {
        Containers::Run { ready } => {
            ("Running", ready, json!({"running": {"startedAt": at}, "terminated": null}))
        }
        Containers::Between(code) => ("Running", false, ended(code)),
        Containers::Over(code) => (if code == 0 { "Succeeded" } else { "Failed" }, false, ended(code)),
    };
    let condition = |kind: &str| {
        let reason = if is_ready { Value::Null } else { Value::from("ContainersNotReady") };
        json!({"type": kind, "status": if is_ready { "True" } else { "False" }, "reason": reason,
            "lastTransitionTime": at})
    };
    let all = pod["spec"]["containers"].as_array().into_iter().flatten();
    let statuses: Vec<Value> = all
        .map(|container| {
            json!({"name": container["name"], "image": container["image"], "imageID": "none", "containerID": "none://c",
                "ready": is_ready, "restartCount": restarts, "state": state})
        })
        .collect();
    json!({"metadata": {"uid": pod["metadata"]["uid"]}, "status": {"phase": phase, "startTime":
        pod["status"]["startTime"].as_str().unwrap_or(&at), "observedGeneration": pod["metadata"]["generation"],
        "conditions": [condition("Ready"), condition("ContainersReady")], "containerStatuses": statuses}})
}
