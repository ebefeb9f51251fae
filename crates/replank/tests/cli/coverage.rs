//! Green means that everything was seen: what could not be is said, and decides the exit code.

use std::io::Write;

use serde_json::{Value, json};

use super::common::{replank, scratch};

/// One node, one Deployment of two pods with a budget, and nothing to find.
fn cluster() -> Vec<Value> {
    let zone = |n: usize| ["a", "b"][n % 2];
    let node = |n: usize| {
        json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": format!("n{n}"), "uid": format!("n{n}"),
                "labels": {"eks.amazonaws.com/nodegroup": "web", "kubernetes.io/hostname": format!("n{n}"),
                    "topology.kubernetes.io/zone": format!("eu-west-1{}", zone(n))}},
            "spec": {"providerID": format!("aws:///eu-west-1{}/i-{n}", zone(n))},
            "status": {"allocatable": {"cpu": "4", "memory": "16Gi", "pods": "58"}, "nodeInfo": {"kubeletVersion": "v1.36.0"},
                "conditions": [{"type": "Ready", "status": "True", "lastHeartbeatTime": "2026-11-20T09:00:00Z"}]}})
    };
    let labels = json!({"app": "web"});
    let spec = json!({"terminationGracePeriodSeconds": 30, "containers": [{"name": "c", "image": "c",
        "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}}}]});
    let pod = |n: usize| {
        let mut spec = spec.clone();
        spec["nodeName"] = json!(format!("n{n}"));
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": format!("web-{n}"), "namespace": "shop", "uid": format!("p{n}"),
                "labels": labels, "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-1",
                    "uid": "rs", "controller": true}]},
            "spec": spec, "status": {"phase": "Running", "startTime": "2026-11-20T08:00:00Z",
                "conditions": [{"type": "Ready", "status": "True"}]}})
    };
    let template = json!({"metadata": {"labels": labels}, "spec": spec});
    vec![
        node(0),
        node(1),
        node(2),
        pod(0),
        pod(1),
        json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "web-1", "namespace": "shop", "uid": "rs",
                "ownerReferences": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "d", "controller": true}]},
            "spec": {"replicas": 2, "selector": {"matchLabels": labels}, "template": template}, "status": {"replicas": 2, "readyReplicas": 2, "availableReplicas": 2}}),
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop", "uid": "d"},
            "spec": {"replicas": 2, "selector": {"matchLabels": labels}, "template": template}, "status": {"replicas": 2, "readyReplicas": 2, "availableReplicas": 2}}),
        json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "web", "namespace": "shop", "uid": "b"},
            "spec": {"maxUnavailable": 1, "selector": {"matchLabels": labels}}}),
    ]
}

fn saved(name: &str, objects: &[Value]) -> String {
    scratch(name, json!({"apiVersion": "v1", "kind": "List", "items": objects}).to_string())
}

/// Exit codes of `check` and of a rehearsal, and what the latter could see.
fn both(file: &str, more: &[&str]) -> (Option<i32>, Option<i32>, Value) {
    let check = replank(&[&["check", file, "--roll", "web"][..], more].concat());
    let rehearsal = replank(&[&["rehearse", file, "--roll", "web", "-o", "json"][..], more].concat());
    (check.code, rehearsal.code, rehearsal.json())
}

fn missing(result: &Value) -> String {
    result["coverage"]["missing"].to_string()
}

fn is_green(code: Option<i32>) -> bool {
    matches!(code, Some(0 | 3))
}

#[test]
fn a_whole_snapshot_is_complete() {
    let (check, rehearsal, result) = both(&saved("coverage/whole.json", &cluster()), &[]);
    assert!(is_green(check) && is_green(rehearsal), "{check:?} {rehearsal:?} {result}");
    assert_eq!(result["coverage"]["complete"], true);
    assert_eq!(result["coverage"]["present"]["Node"], 3);
}

#[test]
fn a_gzip_that_is_cut_off_is_no_whole_snapshot() {
    let text = json!({"apiVersion": "v1", "kind": "List", "items": cluster()}).to_string();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
    gzip.write_all(text.as_bytes()).expect("memory");
    let whole = gzip.finish().expect("memory");
    let file = scratch("coverage/cut.json.gz", &whole[..whole.len() - 600]);
    let (check, rehearsal, result) = both(&file, &[]);
    assert_eq!((check, rehearsal), (Some(6), Some(6)), "{result}");
    assert!(missing(&result).contains("could not be read"), "{result}");
}

#[test]
fn pods_that_cannot_be_read_are_no_pods_that_are_not_there() {
    let mut objects = cluster();
    for pod in objects.iter_mut().filter(|object| object["kind"] == "Pod") {
        pod["spec"]["containers"] = json!("none");
    }
    let file = saved("coverage/unread.json", &objects);
    let (check, rehearsal, result) = both(&file, &[]);
    assert_eq!((check, rehearsal), (Some(6), Some(6)), "{result}");
    assert_eq!(result["verdict"], "incomplete");
    assert_eq!(result["coverage"]["skipped"]["parts"], 2);
    let (check, rehearsal, _) = both(&file, &["--allow-incomplete", "read,pods"]);
    assert!(is_green(check) && is_green(rehearsal), "{check:?} {rehearsal:?}");
}

#[test]
fn pods_on_a_node_that_is_not_in_the_snapshot_are_not_moved_unseen() {
    let mut objects = cluster();
    for pod in objects.iter_mut().filter(|object| object["kind"] == "Pod") {
        pod["spec"]["nodeName"] = json!("gone");
    }
    let file = saved("coverage/absent-node.json", &objects);
    let (check, rehearsal, result) = both(&file, &[]);
    assert_eq!((check, rehearsal), (Some(6), Some(6)), "{result}");
    assert!(missing(&result).contains("names Node gone"), "{result}");
    let (check, rehearsal, _) = both(&file, &["--allow-incomplete", "nodes"]);
    assert!(is_green(check) && is_green(rehearsal), "{check:?} {rehearsal:?}");
}

#[test]
fn a_dump_without_its_budgets_is_incomplete_and_an_empty_list_of_them_is_not() {
    let objects: Vec<Value> =
        cluster().into_iter().filter(|object| object["kind"] != "PodDisruptionBudget").collect();
    let file = saved("coverage/no-budgets.json", &objects);
    let (check, rehearsal, result) = both(&file, &[]);
    assert_eq!((check, rehearsal), (Some(6), Some(6)), "{result}");
    assert!(missing(&result).contains("--allow-incomplete poddisruptionbudgets"), "{result}");
    let (check, rehearsal, _) = both(&file, &["--allow-incomplete", "pdb"]);
    assert!(is_green(check) && is_green(rehearsal), "{check:?} {rehearsal:?}");
    let list =
        json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudgetList", "metadata": {}, "items": []});
    let list = scratch("coverage/budgets.json", list.to_string());
    let ran = replank(&["rehearse", &file, &list, "--roll", "web"]);
    assert!(is_green(ran.code), "{ran:?}");
    let text = replank(&["check", &file, "--roll", "web"]);
    assert!(text.stdout.contains("Coverage  incomplete"), "{}", text.stdout);
}

#[test]
fn a_scan_that_could_not_read_its_input_is_incomplete() {
    let file = scratch("coverage/broken.yaml", "apiVersion: apps/v1\nkind: [\n");
    let ran = replank(&["scan", &file, "-o", "json"]);
    assert_eq!(ran.code, Some(6), "{ran:?}");
    assert_eq!(ran.json()["coverage"]["skipped"]["parts"], 1);
    assert_eq!(replank(&["scan", &file, "--allow-incomplete", "read"]).code, Some(0));
}

#[test]
fn a_target_beyond_the_data_is_said() {
    let file = scratch("coverage/web.yaml", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n");
    let ran = replank(&["scan", &file, "--target-version", "1.50"]);
    assert_eq!(ran.code, Some(6), "{ran:?}");
    assert!(ran.stdout.contains("--allow-incomplete data"), "{}", ran.stdout);
    assert_eq!(
        replank(&["scan", &file, "--target-version", "1.50", "--allow-incomplete", "data"]).code,
        Some(0)
    );
    let snapshot = saved("coverage/upgrade.json", &cluster());
    let plan = replank(&[
        "upgrade",
        "plan",
        &snapshot,
        "--to",
        "1.40",
        "--from",
        "1.36",
        "--no-rehearsal",
        "-o",
        "json",
    ]);
    assert_eq!(plan.json()["coverage"]["data"][0]["asked"], "1.40");
    assert!(matches!(plan.code, Some(4 | 6)), "{plan:?}");
}

#[test]
fn a_name_that_cannot_be_accepted_is_refused() {
    let told = replank(&["rehearse", "--allow-incomplete", "budgets"]).usage_error();
    assert!(told.contains("poddisruptionbudgets"), "{told}");
}

/// What the findings of a rule could not see, as a check tells it in JSON and in words.
fn unseen(file: &str, rule: &str) -> (Value, String) {
    let check = replank(&["check", file, "--roll", "web", "--only", rule, "-o", "json"]).json();
    let text = replank(&["check", file, "--roll", "web", "--only", rule]).stdout;
    (check["findings"][0]["unseen"].clone(), text.split_whitespace().collect::<Vec<_>>().join(" "))
}

#[test]
fn a_finding_says_what_it_could_not_see() {
    let without = |kind: &str| -> Vec<Value> {
        cluster().into_iter().filter(|object| object["kind"] != kind).collect()
    };
    let no_budgets = saved("coverage/unseen-budgets.json", &without("PodDisruptionBudget"));
    let (json, text) = unseen(&no_budgets, "no-budget");
    assert_eq!(json, json!([{"kind": "PodDisruptionBudget", "why": "absent", "count": 0}]));
    assert!(text.contains("not seen: no PodDisruptionBudget in the input"), "{text}");

    let mut no_sets = without("PodDisruptionBudget");
    no_sets.retain(|object| object["kind"] != "ReplicaSet");
    let (json, _) = unseen(&saved("coverage/unseen-sets.json", &no_sets), "no-budget");
    assert_eq!(json[1], json!({"kind": "ReplicaSet", "why": "dangling", "count": 1}), "{json}");

    // A budget that cannot be read may be the one that the workload lacks; a broken Service is none of it.
    let mut unread = cluster();
    for object in unread.iter_mut().filter(|object| object["kind"] == "PodDisruptionBudget") {
        object["spec"]["selector"] = json!("none");
    }
    unread.push(json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "namespace": "shop"}, "spec": {"ports": "none"}}));
    let (json, text) = unseen(&saved("coverage/unseen-unread.json", &unread), "no-budget");
    let unread = json!({"kind": "PodDisruptionBudget", "why": "unread", "count": 1});
    assert!(json.as_array().is_some_and(|all| all.contains(&unread) && all.len() == 2), "{json}");
    assert!(text.contains("1 PodDisruptionBudget that could not be read"), "{text}");

    let rehearsal = replank(&["rehearse", &no_budgets, "--roll", "web", "-o", "json"]).json();
    let finding =
        rehearsal["findings"].as_array().and_then(|all| all.iter().find(|one| one["id"] == "no-budget"));
    assert_eq!(finding.map(|one| one["unseen"][0]["kind"].clone()), Some(json!("PodDisruptionBudget")));
    let page = scratch("coverage/unseen.html", "");
    let ran = replank(&["rehearse", &no_budgets, "--roll", "web", "--html", &page]);
    assert_eq!(ran.code, Some(6), "{ran:?}");
    let page = std::fs::read_to_string(page).expect("the page is written");
    assert!(page.contains("Not seen, and it rests on it: no PodDisruptionBudget in the input."), "{page}");
}

#[test]
fn a_finding_of_a_whole_snapshot_has_nothing_unseen() {
    let mut objects = cluster();
    objects.retain(|object| object["kind"] != "PodDisruptionBudget");
    objects.push(json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "other", "namespace": "other", "uid": "o"},
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"app": "other"}}}}));
    let (json, text) = unseen(&saved("coverage/seen.json", &objects), "no-budget");
    assert_eq!(json, json!([]), "{text}");
    assert!(!text.contains("not seen"), "{text}");
}

#[test]
fn a_remote_base_that_was_not_fetched_was_not_seen() {
    let file = scratch(
        "coverage/remote/kustomization.yaml",
        "resources:\n- https://github.com/example/all//base?ref=v1\n",
    );
    let directory = std::path::Path::new(&file).parent().expect("a directory").to_string_lossy().into_owned();
    let scan = |more: &[&str]| replank(&[&["scan", &directory][..], more].concat());
    let told = scan(&[]);
    assert_eq!(told.code, Some(6), "{told:?}");
    assert!(!told.stdout.starts_with("nothing found"), "{}", told.stdout);
    let json = scan(&["-o", "json"]).json();
    assert_eq!(json["coverage"]["skipped"]["parts"], 1, "{json}");
    let first = json["coverage"]["skipped"]["first"][0].as_str().expect("a text");
    assert!(
        first.contains("https://github.com/example/all//base@v1: a remote base, which is not fetched"),
        "{first}"
    );
    assert_eq!(scan(&["--allow-incomplete", "read"]).code, Some(0));
}
