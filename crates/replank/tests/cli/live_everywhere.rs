//! Where a command takes a SNAPSHOT and none is given, it reads the live cluster, and comes to what it comes to with a snapshot of it.

use replank_judge::Endpoint;

use super::common::{Ran, replank};
use super::drive::ground::Ground;

#[test]
fn each_command_that_takes_a_snapshot_takes_a_live_cluster_instead() {
    let ground = Ground::served("live-everywhere");
    ground.workload("web", 3);
    ground.create(
        "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers",
        &serde_json::json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "web"},
            "spec": {"minReplicas": 3, "maxReplicas": 5, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}}),
    );
    let file = ground.kubeconfig().to_str().expect("it is text");
    let snapshot = ground.folder.join("all.json");
    let snapshot = snapshot.to_str().expect("it is text");
    let taken = replank(&["snapshot", "-o", snapshot, "--kubeconfig", file]);
    assert_eq!(taken.code, Some(0), "{taken:?}");
    assert!(Endpoint::of_kubeconfig(ground.kubeconfig()).is_ok());
    let commands: [(&[&str], &[&str]); 7] = [
        (&["check"], &["-o", "json"]),
        (&["place"], &["deployment/web", "-n", "default", "-o", "json"]),
        (&["place"], &["--audit", "-o", "json"]),
        (&["hpa", "explain"], &["web", "-n", "default"]),
        (&["leftover"], &["-o", "json"]),
        (&["rehearse"], &["--roll", "default", "-o", "json"]),
        (&["migrate"], &["deployment/web", "-n", "default", "--selector", "app=web", "-o", "json"]),
    ];
    for (command, more) in commands {
        let live = replank(&[command, more, &["--kubeconfig", file]].concat());
        let saved = match (command, more) {
            (["place"], [what, rest @ ..]) if !what.starts_with("--") => {
                replank(&[command, &[*what, snapshot], rest].concat())
            }
            (["hpa", ..] | ["migrate"], [what, rest @ ..]) => {
                replank(&[command, &[*what, snapshot], rest].concat())
            }
            (_, _) => replank(&[command, &[snapshot], more].concat()),
        };
        let is_known = |ran: &Ran| matches!(ran.code, Some(0 | 3 | 4 | 6));
        assert!(is_known(&live), "{command:?}: {live:?}");
        assert_eq!(live.code, saved.code, "{command:?}: {live:?} {saved:?}");
    }
}
