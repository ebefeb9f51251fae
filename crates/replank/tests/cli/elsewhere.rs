//! What others do to nodes while `replank drain` and `replank roll` are at work: noticed, said, and counted right; on a cluster that is served and on a real control plane.

use std::process::{Child, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use super::common::{Ran, command, plan, replank};
use super::drive::ground::Ground;
use super::roll_live::{NEW, Person, RECORDS, SPEC, marked, upgraded};

const BUDGET: &str = "/apis/policy/v1/namespaces/default/poddisruptionbudgets/web";

const WEB: &str = "/apis/apps/v1/namespaces/default/deployments/web";

fn begin(ground: &Ground, arguments: &[&str]) -> Child {
    let file = ground.kubeconfig().to_str().expect("it is text");
    let mut command = command(&[arguments, &["--kubeconfig", file]].concat());
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary can be run")
}

fn ends(child: Child) -> Ran {
    child.wait_with_output().expect("it ends").into()
}

fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn allows(ground: &Ground, pods: usize) {
    ground.merge(BUDGET, &json!({"spec": {"maxUnavailable": pods}}));
    ground.wait("the budget is counted", |ground| {
        let status = &ground.get(BUDGET)["status"]["disruptionsAllowed"];
        if pods == 0 { *status == 0 } else { status.as_u64() > Some(0) }
    });
}

fn node(name: &str) -> String {
    format!("/api/v1/nodes/{name}")
}

fn taint(ground: &Ground, name: &str, key: &str) {
    let taints = ground.get(&node(name))["spec"]["taints"].as_array().cloned().unwrap_or_default();
    let mut taints: Vec<Value> = taints;
    taints.push(json!({"key": key, "value": "1", "effect": "NoSchedule"}));
    ground.merge(&node(name), &json!({"spec": {"taints": taints}}));
}

/// A node that is being drained is deleted by somebody, and another is uncordoned: both are said, and the third is drained.
fn a_node_goes_while_it_is_drained(ground: &Ground) {
    ground.workload("web", 6);
    allows(ground, 0);
    let child = begin(ground, &["drain", "node-1", "node-2", "--parallel", "2"]);
    ground.wait("both are cordoned", |ground| marked(ground).len() == 2);
    ground.delete(&node("node-1"));
    ground.merge(&node("node-2"), &json!({"spec": {"unschedulable": null}}));
    std::thread::sleep(Duration::from_secs(3));
    allows(ground, 1);
    let ran = ends(child);
    let told = flat(&format!("{} {}", ran.stdout, ran.stderr));
    assert_eq!(ran.code, Some(4), "one is not drained: {ran:?}");
    assert!(told.contains("\"node-1\" due to error: it no longer exists"), "{told}");
    assert!(told.contains("\"node-2\" due to error: it was uncordoned by another actor"), "{told}");
    assert!(!ground.pods_on("node-2").is_empty(), "{told}");
}

/// An autoscaler takes a node away that a run would replace, and somebody deletes another: the run leaves them, and goes on with the rest.
fn nodes_that_others_take_are_left(ground: &Ground) {
    ground.workload("web", 4);
    taint(ground, "node-1", "ToBeDeletedByClusterAutoscaler");
    let folder = ground.folder.file_name().expect("a name").display().to_string();
    let file = plan(
        &format!("{folder}/plan.yaml"),
        &format!("{SPEC}, external: {{wait: 1m}}, progressDeadline: 2m"),
    );
    let person = Person::begins(ground);
    let child = begin(ground, &["roll", "-f", &file, "--yes"]);
    ground.wait("the others are replaced", |ground| upgraded(ground) >= 2);
    let before = ground.pods_on("node-1");
    assert_ne!(ground.get(&node("node-1"))["status"]["nodeInfo"]["kubeletVersion"], NEW);
    // It goes, as its taint has said.
    ground.delete(&node("node-1"));
    let ran = ends(child);
    let told = flat(&format!("{} {}", ran.stdout, ran.stderr));
    assert!(told.contains("node-1") && told.contains("ToBeDeletedByClusterAutoscaler"), "{told}");
    assert!(!told.contains("node/node-1 draining"), "the run leaves it alone: {told}");
    assert!(
        before.iter().all(|pod| !told.contains(&format!("evicting pod default/{pod}"))),
        "{before:?}: {told}"
    );
    assert!([Some(0), Some(4)].contains(&ran.code), "{ran:?}");
    assert!(marked(ground).is_empty() || ran.code == Some(4), "{ran:?}");
    assert!(ran.code == Some(4) || ground.get(RECORDS)["items"] == json!([]), "{ran:?}");
    drop(person);
}

/// A Deployment whose pods leave a node that is lost after five seconds instead of five minutes, and its budget.
fn impatient(ground: &Ground, replicas: usize) {
    ground.workload("web", replicas);
    let lost = |key: &str| json!({"key": format!("node.kubernetes.io/{key}"), "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5});
    let tolerations = json!([lost("not-ready"), lost("unreachable")]);
    ground.merge(WEB, &json!({"spec": {"template": {"spec": {"tolerations": tolerations}}}}));
    ground.wait("its pods are of the new template", |ground| {
        let status = &ground.get(WEB)["status"];
        let is_new = status["updatedReplicas"] == replicas && status["replicas"] == replicas;
        is_new && status["observedGeneration"] == 2 && ground.is_whole("web", replicas)
    });
}

/// A node's role in the run, as its mark says.
fn role(ground: &Ground, name: &str) -> Option<String> {
    let node = ground.get(&node(name));
    node["metadata"]["annotations"]["replank.dev/role"].as_str().map(str::to_owned)
}

fn is_lost(ground: &Ground, name: &str) -> bool {
    let conditions = ground.get(&node(name))["status"]["conditions"].clone();
    let is_unknown = |one: &Value| one["type"] == "Ready" && one["status"] == "Unknown";
    conditions.as_array().is_some_and(|all| all.iter().any(is_unknown))
}

/// While one node is waited for, the kubelet of another falls silent for good. The run says so, takes the node for the one that may be missing, begins no third one, hands the dead one
/// out once only pods are left on it that do not end.
fn a_node_that_stays_silent(ground: &Ground) {
    impatient(ground, 3);
    let folder = ground.folder.file_name().expect("a name").display().to_string();
    let dead = "deadNodes: {after: 20s, action: replace}, stuckTerminating: {after: 10s}";
    let file = plan(&format!("{folder}/plan.yaml"), &format!("{SPEC}, external: {{wait: 30m}}, {dead}"));
    let child = begin(ground, &["roll", "-f", &file, "--yes"]);
    let names = ["node-1", "node-2", "node-3"];
    let with_role = |ground: &Ground, wanted: &str| {
        names.into_iter().find(|name| role(ground, name).as_deref() == Some(wanted))
    };
    ground.wait("one is drained", |ground| with_role(ground, "drained").is_some());
    let first = with_role(ground, "drained").expect("one is");
    let [lost, kept] = names.into_iter().filter(|name| *name != first).collect::<Vec<_>>()[..] else {
        panic!("three less one are two")
    };
    ground.silence(lost);
    ground.wait("it is not Ready", |ground| is_lost(ground, lost));
    ground
        .merge(&format!("{}/status", node(first)), &json!({"status": {"nodeInfo": {"kubeletVersion": NEW}}}));
    ground.wait("the first one is upgraded", |ground| role(ground, first).is_none());
    ground.wait("the dead one is to be replaced", |ground| role(ground, lost).as_deref() == Some("drained"));
    let file = ground.kubeconfig().to_str().expect("it is text");
    let cancelled = replank(&["roll", "cancel", "--kubeconfig", file]);
    assert_eq!(cancelled.code, Some(0), "{cancelled:?}");
    let ran = ends(child);
    let told = flat(&format!("{} {}", ran.stdout, ran.stderr));
    assert_eq!(ran.code, Some(4), "nobody replaces it: {ran:?}");
    assert!(told.contains(&format!("node {lost} stopped being Ready")), "{told}");
    assert!(!told.contains(&format!("node/{kept} draining")), "{told}");
    assert_eq!(upgraded(ground), 1, "{told}");
    assert!(ground.get(&node(kept))["spec"]["unschedulable"].is_null(), "{told}");
}

macro_rules! on_both {
    ($($of:ident: $served:ident $real:ident;)*) => { $(
        #[test]
        fn $served() {
            $of(&Ground::served(stringify!($served)));
        }

        #[test]
        fn $real() {
            if let Some(ground) = Ground::real(stringify!($served)) {
                $of(&ground);
            }
        }
    )* };
}

on_both! {
    a_node_that_stays_silent: a_node_that_stays_silent_served a_node_that_stays_silent_real;
    a_node_goes_while_it_is_drained: a_node_goes_while_it_is_drained_served a_node_goes_while_it_is_drained_real;
    nodes_that_others_take_are_left: nodes_that_others_take_are_left_served nodes_that_others_take_are_left_real;
}
