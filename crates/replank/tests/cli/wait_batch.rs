//! `replank drain --wait-batch`, with a Job that ends in time and one that does not, on a cluster that is served and on a real control plane: no test knows which.

use serde_json::{Value, json};

use super::common::replank;
use super::drive::ground::Ground;

fn job(name: &str, node: &str, seconds: u32) -> Value {
    json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": {"backoffLimit": 6, "template": {
        "metadata": {"labels": {"app": name}, "annotations": {"judge.replank.dev/run-seconds": seconds.to_string(),
            "judge.replank.dev/stop-seconds": "1"}},
        "spec": {"restartPolicy": "Never", "nodeSelector": {"kubernetes.io/hostname": node}, "terminationGracePeriodSeconds": 2,
            // The annotation is for kubelets that are played; a served cluster, twenty times as fast, looks at the command.
            "containers": [{"name": "c", "image": "i", "command": ["sleep", (seconds * 20).to_string()]}]}}}})
}

fn a_job_is_waited_for_and_one_that_takes_too_long_is_evicted(ground: &Ground) {
    for (name, node, seconds) in [("short", "node-1", 12), ("long", "node-2", 3_000)] {
        ground.create("/apis/batch/v1/namespaces/default/jobs", &job(name, node, seconds));
        ground.wait("it runs", |ground| ground.pods_on(node).iter().any(|pod| pod.starts_with(name)));
    }
    let file = ground.kubeconfig().to_str().expect("it is text");
    let drain =
        |node: &str, wait: &str| replank(&["drain", node, "--wait-batch", wait, "--kubeconfig", file]);
    let short = drain("node-1", "10m");
    assert_eq!(short.code, Some(0), "{short:?}");
    // What is left of a pod that has ended goes with the others, as by kubectl.
    ground.wait("the Job is complete", |ground| {
        ground.get("/apis/batch/v1/namespaces/default/jobs/short")["status"]["succeeded"] == 1
    });
    let status = ground.get("/apis/batch/v1/namespaces/default/jobs/short")["status"].clone();
    assert!(status["failed"].as_u64().unwrap_or(0) == 0, "nothing of it is lost: {status}");

    let long = drain("node-2", "4s");
    assert_eq!(long.code, Some(0), "{long:?}");
    assert_eq!(long.stdout.matches("evicting pod default/long-").count(), 1, "{long:?}");
    assert!(!ground.pods_on("node-2").iter().any(|pod| pod.starts_with("long")), "{long:?}");
}

#[test]
fn a_job_is_waited_for_on_a_served_cluster() {
    a_job_is_waited_for_and_one_that_takes_too_long_is_evicted(&Ground::served("wait-batch"));
}

#[test]
fn a_job_is_waited_for_on_a_real_control_plane() {
    if let Some(ground) = Ground::real("wait-batch") {
        a_job_is_waited_for_and_one_that_takes_too_long_is_evicted(&ground);
    }
}
