//! What others would have done: `replank rehearse --as`.

use serde_json::{Value, json};

use super::common::{PLAN, Ran, SNAPSHOT, replank, scratch};
use super::managed::three;

/// Compares ways on three nodes of a group with a plan whose `nodeGroups` say so of it.
fn compared(name: &str, cluster: &Value, managed_by: &str, ways: &str, words: &[&str]) -> Ran {
    let plan = format!(
        "apiVersion: replank.dev/v1alpha1\nkind: NodeRoll\nmetadata: {{name: p}}\nspec: {{groups: [web], target: {{kubernetesVersion: \"1.36\"}}, \
         progressDeadline: 30m, nodeGroups: [{{name: web, managedBy: {managed_by}}}]}}\n"
    );
    let plan = scratch(&format!("compare-{name}.yaml"), plan);
    let snapshot = scratch(&format!("compare-{name}.json"), cluster.to_string());
    replank(&[&["rehearse", &snapshot, "-f", &plan, "--as", ways], words].concat())
}

fn json_of(name: &str, cluster: &Value, managed_by: &str, ways: &str, words: &[&str]) -> Value {
    compared(name, cluster, managed_by, ways, &[words, &["-o", "json"]].concat()).json()
}

fn way<'v>(told: &'v Value, way: &str) -> &'v Value {
    let ways = told["ways"].as_array().expect("they are listed");
    ways.iter().find(|one| one["way"] == way).unwrap_or_else(|| panic!("{way} is not there: {told}"))
}

/// Nodes at which the update gives up, and the reasons.
fn given_up(told: &Value) -> Vec<(String, String)> {
    let drains = way(told, "eks")["drains"].as_array().expect("they are listed");
    let given_up = drains.iter().filter(|one| one["givesUp"] == true);
    given_up
        .map(|one| {
            let whys = one["why"].as_array().expect("they are listed").iter();
            let reasons = whys.map(|why| format!("{}: {}", why["pod"], why["reason"]));
            (one["node"].as_str().unwrap_or_default().to_owned(), reasons.collect::<Vec<_>>().join("; "))
        })
        .collect()
}

#[test]
fn the_same_nodes_are_replaced_in_four_ways_on_the_same_seed() {
    let ask = || {
        replank(&["rehearse", SNAPSHOT, "-f", PLAN, "--as", "eks,eks-force,kubectl,replank", "-o", "json"])
    };
    let (told, again) = (ask(), ask());
    assert_eq!(told.code, Some(0), "Replank replaces all of them: {told:?}");
    assert_eq!(told.stdout, again.stdout, "the same seed is the same comparison");
    let told = told.json();
    assert_eq!(told["version"], "replank.dev/comparison/v1alpha1");
    let eks = way(&told, "eks");
    assert_eq!((&eks["outcome"], &eks["code"]), (&json!("failed"), &json!("PodEvictionFailure")), "{eks}");
    // What it has done stays: sizes, and the cordon.
    assert!(!eks["figures"]["remains"]["sizes"].as_array().expect("a list").is_empty(), "{eks}");
    assert!(!eks["figures"]["remains"]["cordoned"].as_array().expect("a list").is_empty(), "{eks}");
    let killed = |name: &str| way(&told, name)["figures"]["batchKilled"].as_u64().expect("a number");
    assert_eq!(killed("replank"), 0);
    assert!(killed("eks-force") > killed("eks") && killed("kubectl") > 0, "{told}");
    let refused = |name: &str| way(&told, name)["figures"]["evictionsRefused"].as_u64().expect("a number");
    assert_eq!(refused("replank"), 0);
    assert!(refused("kubectl") > 0 && refused("eks") > 0, "{told}");
    for name in ["eks-force", "kubectl", "replank"] {
        assert_eq!(way(&told, name)["outcome"], "done", "{told}");
    }
    // Replank's own figures are those of its rehearsal.
    let own = replank(&["rehearse", SNAPSHOT, "-f", PLAN, "-o", "json"]).json();
    let figures = &way(&told, "replank")["figures"];
    assert_eq!(figures["virtualDurationMs"], own["virtualDurationMs"]);
    assert_eq!(figures["moved"], own["pods"]["moved"]);
    assert_eq!(figures["evictions"], own["evictions"]);
    assert_eq!(figures["nodes"]["replaced"], own["nodes"]["replaced"]);
}

#[test]
fn the_table_has_a_column_for_each_way_and_says_what_stopped_it() {
    let told = replank(&[
        "rehearse",
        SNAPSHOT,
        "-f",
        PLAN,
        "--as",
        "eks,replank",
        "--connections",
        "site/web=50/s,20s",
    ]);
    let lines: Vec<Vec<&str>> = told.stdout.lines().map(|line| line.split_whitespace().collect()).collect();
    assert!(lines.contains(&vec!["eks", "replank"]), "{told:?}");
    assert!(lines.contains(&vec!["outcome", "failed", "done"]), "{told:?}");
    let words = told.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("the update failed with PodEvictionFailure"), "{words}");
    assert!(words.contains("Not empty within the 15m that EKS waits: 1 of 10 nodes"), "{words}");
    assert!(words.contains("which disruption budget pipelines/salary-model"), "{words}");
    assert!(words.contains("connections cut") && words.contains("connections refused"), "{words}");
}

#[test]
fn eks_has_no_update_for_a_self_managed_group() {
    let alone = compared("self-alone", &three(2, 1, 30), "self", "eks", &[]);
    assert_eq!(alone.code, Some(4), "{alone:?}");
    let words = alone.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("not for self-managed groups: EKS has no update for web"), "{words}");
    assert!(words.contains("nodes replaced -"), "nothing is invented: {words}");
    let told = json_of("self-both", &three(2, 1, 30), "self", "eks,replank", &[]);
    assert_eq!(way(&told, "eks")["outcome"], "not-applicable");
    assert_eq!(way(&told, "eks")["figures"], Value::Null);
    assert_eq!(way(&told, "replank")["outcome"], "done", "{told}");
}

#[test]
fn the_nodes_at_which_the_update_of_eks_would_fail_are_named_with_their_budget() {
    // One may go at a time, and takes 22 minutes: the first is gone at once, and the second waits for its place until EKS gives up.
    let told = json_of("slow", &three(22, 1, 30), "eks", "eks", &[]);
    assert_eq!(way(&told, "eks")["code"], "PodEvictionFailure", "{told}");
    let nodes = given_up(&told);
    assert!(!nodes.is_empty() && nodes.len() < 3, "the first node is emptied: {nodes:?}");
    assert!(nodes.iter().all(|(_, why)| why.contains("shop/db lets 1 go at a time")), "{nodes:?}");
    // As fast as EKS waits: nothing is named, and the update ends.
    let told = json_of("in-time", &three(12, 1, 30), "eks", "eks", &[]);
    assert_eq!((&way(&told, "eks")["outcome"], given_up(&told)), (&json!("done"), Vec::new()), "{told}");
}

#[test]
fn a_budget_without_room_fails_it_at_every_node() {
    let told = json_of("no-room", &three(2, 0, 30), "eks", "eks", &[]);
    let nodes = given_up(&told);
    let names: Vec<&str> = nodes.iter().map(|(node, _)| node.as_str()).collect();
    assert_eq!(names, ["n0", "n1", "n2"], "{told}");
    let says = "shop/db never allows an eviction (3 of 3 pods must stay)";
    assert!(nodes.iter().all(|(_, why)| why.contains(says)), "{nodes:?}");
}

#[test]
fn grace_periods_beyond_15_minutes_are_told_though_pods_stopped_sooner() {
    let of = |name: &str, grace: u32| json_of(name, &three(2, 1, grace), "eks", "eks", &[]);
    let drains_of = |told: &Value| way(told, "eks")["drains"].as_array().expect("they are listed").clone();
    let long = of("grace-long", 901);
    assert_eq!(given_up(&long), Vec::new(), "they stop sooner in the rehearsal");
    let is_told = |one: &Value| one["atWorstMs"] == 901_000 && one["why"] != json!([]);
    assert!(drains_of(&long).iter().all(is_told), "{long}");
    let just = of("grace-just", 900);
    assert!(
        drains_of(&just).iter().all(|one| one["why"] == json!([])),
        "as long as EKS waits, and no longer: {just}"
    );
}

/// The same cluster with a pod of a Job on the first node, 35 minutes old, beside another that took an hour and one that took 40 minutes; a budget keeps it, and cannot
/// count it.
fn with_a_kept_job() -> Value {
    let mut cluster = three(2, 1, 30);
    let pod = |name: &str, phase: &str, state: Value| {
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "shop", "uid": name, "labels": {"app": "train"},
                "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "train", "controller": true}]},
            "spec": {"nodeName": "n0", "restartPolicy": "Never", "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "100m"}}}]},
            "status": {"phase": phase, "startTime": "2026-01-01T10:00:00Z", "containerStatuses": [{"name": "c", "state": state}]}})
    };
    let done = |end: &str| json!({"terminated": {"exitCode": 0, "startedAt": "2026-01-01T10:00:00Z", "finishedAt": end}});
    let mut running = pod("train-2", "Running", json!({"running": {"startedAt": "2026-01-01T11:25:00Z"}}));
    running["status"]["conditions"] =
        json!([{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T11:25:00Z"}]);
    let items = cluster["items"].as_array_mut().expect("a list");
    items.extend([
        json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "train", "namespace": "shop", "uid": "train"},
            "spec": {"completions": 3, "parallelism": 1, "backoffLimit": 6,
                "template": {"metadata": {"labels": {"app": "train"}}, "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}},
            "status": {"startTime": "2026-01-01T10:00:00Z", "active": 1, "succeeded": 2}}),
        pod("train-0", "Succeeded", done("2026-01-01T11:00:00Z")),
        pod("train-1", "Succeeded", done("2026-01-01T10:40:00Z")),
        running,
        json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "train", "namespace": "shop", "uid": "t"},
            "spec": {"maxUnavailable": 0, "selector": {"matchLabels": {"app": "train"}}},
            "status": {"conditions": [{"type": "DisruptionAllowed", "status": "False", "reason": "SyncFailed",
                "message": "jobs.batch does not implement the scale subresource"}]}}),
    ]);
    cluster
}

#[test]
fn a_batch_pod_that_may_end_in_time_is_told_whether_it_does_or_not() {
    let known =
        "expected to finish by 2026-01-01T12:25:00Z, in 25m (2 other pods of its Job, which took 40m to 1h)";
    for seed in ["1", "2", "3", "4"] {
        let told = json_of("kept-job", &with_a_kept_job(), "eks", "eks", &["--seed", seed]);
        let drains = way(&told, "eks")["drains"].as_array().expect("they are listed");
        let first = drains.iter().find(|one| one["node"] == "n0").expect("it is listed");
        let why = first["why"].to_string();
        assert!(
            why.contains(known) && why.contains("begin the update after 2026-01-01T12:25:00Z"),
            "{first}"
        );
        assert_eq!(
            first["givesUp"] == true,
            why.contains("; did not finish in time with this seed"),
            "{first}"
        );
        assert_eq!(first["givesUp"] == false, why.contains("; finished in time with this seed"), "{first}");
    }
}

#[test]
fn without_a_target_nothing_is_said_of_nodes_and_a_target_is_asked_for() {
    let snapshot = scratch("compare-no-target.json", three(2, 1, 901).to_string());
    let told = |words: &[&str]| {
        let ran = replank(&[&["rehearse", &snapshot, "--roll", "web", "--as", "eks"], words].concat());
        ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let without = told(&[]);
    assert!(without.contains("not applicable") && without.contains("pass --to-version"), "{without}");
    assert!(!without.contains("that EKS waits"), "nothing was drained: {without}");
    let with = told(&["--to-version", "1.36"]);
    assert!(
        with.contains(
            "3 nodes: 0 sure to be empty within the 15m that EKS waits, 3 may not be; the slowest takes"
        ),
        "{with}"
    );
}

#[test]
fn a_drain_of_kubectl_never_gives_up_unless_it_is_told_to() {
    let cluster = three(2, 0, 30);
    let waits = json_of("kubectl-waits", &cluster, "self", "kubectl", &[]);
    let kubectl = way(&waits, "kubectl");
    let replaced = &kubectl["figures"]["nodes"]["replaced"];
    assert_eq!((&kubectl["outcome"], replaced), (&json!("blocked"), &json!(0)), "{kubectl}");
    assert!(
        kubectl["said"].as_str().is_some_and(|said| said.contains("2 nodes were not begun")),
        "{kubectl}"
    );
    let told = json_of("kubectl-told", &cluster, "self", "kubectl", &["--drain-timeout", "2m"]);
    let kubectl = way(&told, "kubectl");
    let took = &kubectl["figures"]["virtualDurationMs"];
    assert_eq!((&kubectl["outcome"], took), (&json!("partial"), &json!(360_000)), "{kubectl}");
    assert_eq!(kubectl["figures"]["remains"]["cordoned"], json!(["n0", "n1", "n2"]));
    // A try each 5 s, from 0 s to 115 s at least, for each node.
    let refused = kubectl["figures"]["evictionsRefused"].as_u64().expect("a number");
    assert!((72..=75).contains(&refused), "{kubectl}");
}

#[test]
fn what_cannot_be_compared_is_said() {
    let ask = |words: &[&str]| {
        replank(&[&["rehearse", SNAPSHOT, "-f", PLAN, "--as", "replank"], words].concat()).usage_error()
    };
    assert!(ask(&["-o", "markdown"]).contains("a change request is Replank's own"));
    assert!(ask(&["--drain-timeout", "2m"]).contains("--drain-timeout requires --as kubectl"));
    for words in [["--seeds", "3"], ["--html", "page.html"], ["--journal", "lines.jsonl"]] {
        assert!(ask(&words).contains("cannot be used with"), "{words:?}");
    }
    let unknown = replank(&["rehearse", SNAPSHOT, "-f", PLAN, "--as", "eksctl"]).usage_error();
    assert!(unknown.contains("eks-force") && unknown.contains("kubectl"), "{unknown}");
}
