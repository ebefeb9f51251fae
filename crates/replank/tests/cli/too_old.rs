//! Clusters that are older than what is supported: each command says so and ends with 2, and nothing is changed. The oldest that is supported is drained like any other.

use replank_judge::{Fault, Proxy};

use super::common::{plan, replank};
use super::drive::ground::Ground;
use super::roll_live::SPEC;

#[test]
fn a_cluster_older_than_1_22_is_refused_by_every_command() {
    let ground = Ground::older("too-old", "1.21");
    let proxy =
        Proxy::begin(ground.kubeconfig(), &ground.folder, Box::new(|_| Fault::Nothing)).expect("it begins");
    let file = plan("too-old.yaml", SPEC);
    let commands: [&[&str]; 13] = [
        &["snapshot"],
        &["check"],
        &["rehearse", "-f", &file],
        &["cordon", "node-1"],
        &["uncordon", "node-1"],
        &["drain", "node-1"],
        &["drain", "node-1", "--dry-run=server"],
        &["roll", "-f", &file, "--yes"],
        &["roll", "status"],
        &["roll", "pause"],
        &["roll", "resume"],
        &["roll", "undo"],
        &["migrate", "deployment/web", "--selector", "app=web", "--apply", "--yes"],
    ];
    for command in commands {
        let through = ["--kubeconfig", proxy.kubeconfig().to_str().expect("it is text")];
        let told = replank(&[command, &through].concat()).usage_error();
        assert!(told.contains("the cluster is of Kubernetes v1.21"), "{command:?}: {told}");
        assert!(told.contains("1.22 is the oldest that is supported"), "{command:?}: {told}");
    }
    let passed = proxy.passed();
    let others: Vec<_> = passed.iter().filter(|one| one.asked.path != "/version").collect();
    assert!(
        passed.len() == commands.len() && others.is_empty(),
        "the version is asked for, and no more: {others:?}"
    );
}

#[test]
fn a_cluster_of_1_22_is_drained() {
    let ground = Ground::older("oldest", "1.22");
    ground.workload("web", 3);
    let file = ground.kubeconfig().to_str().expect("it is text");
    let drained = replank(&["drain", "node-1", "--kubeconfig", file]);
    assert_eq!(drained.code, Some(0), "{drained:?}");
    assert!(ground.pods_on("node-1").is_empty(), "{drained:?}");
}
