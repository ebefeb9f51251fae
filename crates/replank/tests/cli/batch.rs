//! Batch work: how long it is waited for, and what is said of it.

use serde_json::{Value, json};

use super::common::{replank, replank_reading, root, scratch};

/// The moment of the snapshots.
const NOW: &str = "2026-01-01T12:00:00Z";

fn node(name: &str, zone: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "uid": name, "creationTimestamp": "2025-12-01T00:00:00Z",
            "labels": {"eks.amazonaws.com/nodegroup": "web", "kubernetes.io/hostname": name, "topology.kubernetes.io/zone": zone}},
        "spec": {"providerID": format!("aws:///{zone}/i-{name}")},
        "status": {"allocatable": {"cpu": "4", "memory": "16Gi", "pods": "58"}, "nodeInfo": {"kubeletVersion": "v1.35.0-eks-1"},
            "conditions": [{"type": "Ready", "status": "True", "lastHeartbeatTime": NOW, "lastTransitionTime": "2025-12-01T00:01:00Z"}]}})
}

/// A pod on the second node that has run since `since`.
fn pod(name: &str, owner: &Value, since: &str) -> Value {
    let mut owner = owner.clone();
    owner["controller"] = json!(true);
    let finalizers =
        if owner["kind"] == "Job" { json!(["batch.kubernetes.io/job-tracking"]) } else { json!([]) };
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "ml", "uid": name, "creationTimestamp": since, "finalizers": finalizers,
            "annotations": {"workflows.argoproj.io/node-name": "etl-2.train(0)"}, "labels": {"of": owner["name"]}, "ownerReferences": [owner]},
        "spec": {"nodeName": "n2", "restartPolicy": "Never", "containers": [{"name": "main", "image": "i", "resources": {"requests": {"cpu": "1"}}}]},
        "status": {"phase": "Running", "startTime": since, "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": since}],
            "containerStatuses": [{"name": "main", "ready": true, "state": {"running": {"startedAt": since}}}]}})
}

fn snapshot(name: &str, objects: Vec<Value>) -> String {
    let nodes = vec![node("n1", "eu-west-1a"), node("n2", "eu-west-1b")];
    let items = [nodes, objects].concat();
    scratch(name, json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string())
}

/// A CronWorkflow's run of an hour and a half whose pods are gone, and one that has run for ten minutes under a budget that keeps it.
fn workflows(name: &str, keeps_nodes: bool) -> String {
    let workflow = |name: &str, status: &Value| {
        json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow",
            "metadata": {"name": name, "namespace": "ml", "uid": name, "labels": {"workflows.argoproj.io/cron-workflow": "etl"}},
            "spec": {"podGC": {"strategy": "OnPodCompletion"}}, "status": status})
    };
    let (from, to) = ("2025-12-31T10:00:00Z", "2025-12-31T11:30:00Z");
    let mut past = json!({"phase": "Succeeded", "startedAt": from, "finishedAt": to});
    if keeps_nodes {
        past["nodes"] = json!({"etl-1-a": {"id": "etl-1-a", "name": "etl-1.train(0)", "type": "Pod", "phase": "Succeeded", "startedAt": from, "finishedAt": to}});
    }
    let since = "2026-01-01T11:50:00Z";
    let owner =
        json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow", "name": "etl-2", "uid": "etl-2"});
    let budget = json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "etl-2", "namespace": "ml", "uid": "b"},
        "spec": {"minAvailable": 9999, "selector": {"matchLabels": {"of": "etl-2"}}},
        "status": {"currentHealthy": 1, "desiredHealthy": 9999, "expectedPods": 1, "disruptionsAllowed": 0}});
    let running = workflow("etl-2", &json!({"phase": "Running", "startedAt": since}));
    snapshot(name, vec![workflow("etl-1", &past), running, pod("etl-2-train", &owner, since), budget])
}

#[test]
fn a_workflow_whose_earlier_pods_are_gone_is_waited_for_as_long_as_the_finding_says() {
    for (name, keeps_nodes) in [("batch-nodes.json", true), ("batch-whole.json", false)] {
        let snapshot = workflows(name, keeps_nodes);
        let result = replank(&["rehearse", &snapshot, "--roll", "web", "-o", "json"]).json();
        let findings = result["findings"].to_string();
        assert!(
            findings.contains("an earlier run took 1h30m; expected to finish by 2026-01-01T13:20:00Z"),
            "{findings}"
        );
        let waits = result["waits"].as_array().expect("they are listed");
        let pod = waits.iter().find(|one| one["what"] == "pod ml/etl-2-train" && one["kind"] == "batch");
        let since = pod.expect("it is waited for")["since"].as_str().expect("a time");
        let waited = pod.expect("it is waited for")["waitedMs"].as_u64().expect("a number");
        // From minutes after noon to twenty past one.
        assert!(since.starts_with("2026-01-01T12:0"), "{since}");
        assert!((70 * 60_000..80 * 60_000).contains(&waited), "{waited}");
        assert_eq!(
            (result["batch"]["onNodes"].as_u64(), result["batch"]["waited"].as_u64()),
            (Some(1), Some(1))
        );
        let request = replank(&["rehearse", &snapshot, "--roll", "web", "-o", "markdown"]).stdout;
        assert!(
            request.contains("1 batch pod is waited for; none is terminated before it finishes"),
            "{request}"
        );
        assert!(!request.contains("No batch pod"), "{request}");
    }
}

#[test]
fn a_change_request_names_batch_pods_that_need_no_wait() {
    let since = "2026-01-01T11:59:00Z";
    let job = |name: &str, status: &Value| {
        json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "namespace": "ml", "uid": name,
                "ownerReferences": [{"apiVersion": "batch/v1", "kind": "CronJob", "name": "tick", "uid": "cj", "controller": true}]},
            "spec": {"backoffLimit": 3, "selector": {"matchLabels": {"of": name}},
                "template": {"metadata": {"labels": {"of": name}}, "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "i"}]}}},
            "status": status})
    };
    let past = json!({"succeeded": 1, "startTime": "2026-01-01T11:00:00Z", "completionTime": "2026-01-01T11:01:10Z",
        "conditions": [{"type": "Complete", "status": "True"}]});
    let owner = json!({"apiVersion": "batch/v1", "kind": "Job", "name": "tick-2", "uid": "tick-2"});
    let running = job("tick-2", &json!({"active": 1, "startTime": since}));
    let snapshot =
        snapshot("batch-short.json", vec![job("tick-1", &past), running, pod("tick-2-a", &owner, since)]);
    let result = replank(&["rehearse", &snapshot, "--roll", "web", "-o", "json"]).json();
    let batch = &result["batch"];
    assert_eq!((batch["onNodes"].as_u64(), batch["waited"].as_u64()), (Some(1), Some(0)), "{batch}");
    let request = replank(&["rehearse", &snapshot, "--roll", "web", "-o", "markdown"]).stdout;
    assert!(
        request.contains("1 batch pod runs on these nodes at the start; none has to be waited for"),
        "{request}"
    );
}

#[test]
fn what_becomes_of_a_job_whose_pod_somebody_deletes_is_said() {
    let since = "2026-01-01T11:50:00Z";
    let owner = json!({"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "train"});
    let of = |name: &str, spec: &Value| {
        let mut job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "train", "namespace": "ml", "uid": "train"},
            "spec": {"selector": {"matchLabels": {"of": "train"}}, "template": {"metadata": {"labels": {"of": "train"}},
                "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "i"}]}}},
            "status": {"active": 1, "startTime": since}});
        for (key, value) in spec.as_object().expect("a map") {
            job["spec"][key] = value.clone();
        }
        let snapshot = snapshot(name, vec![job, pod("train-a", &owner, since)]);
        let script = b"at 2m: somebody deletes Pod ml/train-a\n";
        let words = ["rehearse", &snapshot, "--roll", "web", "--script", "-", "-o", "json"];
        let ended = replank_reading(&words, script).json()["batch"]["endedByOthers"].clone();
        assert_eq!(
            (ended[0]["pod"].as_str(), ended[0]["owner"].as_str()),
            (Some("ml/train-a"), Some("Job ml/train")),
            "{ended}"
        );
        ended[0]["outcome"].as_str().expect("a word").to_owned()
    };
    assert_eq!(of("batch-retried.json", &json!({"backoffLimit": 3})), "succeeded");
    assert_eq!(of("batch-failed.json", &json!({"backoffLimit": 0})), "failed");
    // Its object is removed before the end, and what became of it is known all the same.
    assert_eq!(
        of("batch-removed.json", &json!({"backoffLimit": 0, "ttlSecondsAfterFinished": 10})),
        "failed"
    );
}

/// The example whose node somebody drains.
const DRAINED: &str = "examples/questions/after-drain.yaml";
const DRAIN: &str = "examples/questions/after-drain.txt";

#[test]
fn a_drain_that_fails_jobs_is_found_with_who_is_alerted_and_a_job_that_is_retried_is_not() {
    let ran = replank(&["rehearse", DRAINED, "--script", DRAIN, "-o", "json"]);
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    let result = ran.json();
    assert_eq!(result["verdict"], "findings");
    let found: Vec<(&str, &str)> = result["findings"]
        .as_array()
        .expect("a list")
        .iter()
        .filter(|one| one["id"] == "batch-failed")
        .map(|one| (one["object"].as_str().expect("an object"), one["reason"].as_str().expect("a reason")))
        .collect();
    let [(invoices, owned), (month, nobody)] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!((*invoices, *month), ("CronJob billing/send-invoices", "Job reports/close-month"));
    assert!(
        owned.contains(
            "who is alerted: alert KubeJobFailed, severity warning (PrometheusRule monitoring/jobs); contact @sally (a8r.io/owner of CronJob \
             billing/send-invoices)"
        ),
        "{owned}"
    );
    assert!(nobody.ends_with("nothing in the snapshot says who is alerted"), "{nobody}");
    let ended: Vec<(&str, &str)> = result["batch"]["endedByOthers"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| (one["owner"].as_str().expect("an owner"), one["outcome"].as_str().expect("a word")))
        .collect();
    assert_eq!(
        ended,
        [
            ("Job billing/send-invoices-29400480", "failed"),
            ("Job media/resize-images", "succeeded"),
            ("Job reports/close-month", "failed")
        ]
    );
    let text = replank(&["rehearse", DRAINED, "--script", DRAIN]).stdout;
    assert!(text.contains("Job media/resize-images succeeded"), "{text}");
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("3 pods evicted by hand; the work of 2 FAILED"), "{text}");
}

#[test]
fn a_drain_of_work_that_is_unsafe_to_run_again_shows_both_ends() {
    let [snapshot, script] = ["examples/questions/rerun.yaml", "examples/questions/rerun.txt"];
    let ran = replank(&["rehearse", snapshot, "--script", script, "-o", "json"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    let result = ran.json();
    let ended = result["batch"]["endedByOthers"].as_array().expect("a list");
    let outcome = |owner: &str| ended.iter().find(|one| one["owner"] == owner).map(|one| &one["outcome"]);
    assert_eq!(outcome("Job billing/send-invoices"), Some(&json!("failed")), "it has no retry: {ended:?}");
    let again = outcome("Job billing/charge-cards").and_then(Value::as_str);
    assert!(again.is_some_and(|word| word != "failed"), "it runs again: {ended:?}");
    let found = result["findings"].as_array().expect("a list");
    assert!(found.iter().all(|one| one["id"] != "stops-the-roll"), "the drain ends: {found:?}");
}

#[test]
fn a_drain_after_which_every_job_is_retried_passes() {
    let retried = std::fs::read_to_string(root().join(DRAINED))
        .expect("the example")
        .replace("backoffLimit: 0", "backoffLimit: 6");
    let retried = scratch("after-drain-retried.yaml", retried);
    let ran = replank(&["rehearse", &retried, "--script", DRAIN, "-o", "json"]);
    let result = ran.json();
    assert_eq!((ran.code, result["verdict"].as_str()), (Some(0), Some("passes")), "{}", result["findings"]);
    assert_eq!(result["batch"]["endedByOthers"].as_array().map(Vec::len), Some(3));
}

#[test]
fn what_becomes_of_the_jobs_whose_pods_a_roll_evicts_is_said_by_name() {
    let snapshot = snapshot("batch-evicted.json", once_and_again("2026-01-01T11:59:00Z"));
    let plan = "{apiVersion: replank.dev/v1alpha1, kind: NodeRoll, metadata: {name: r}, spec: {groups: [web], batch: {wait: 1m, onDeadline: evict}}}";
    let plan = scratch("batch-evicted-plan.yaml", plan);
    let result = replank(&["rehearse", &snapshot, "-f", &plan, "-o", "json"]).json();
    let ended = result["batch"]["endedByRun"].as_array().expect("a list");
    let of =
        |owner: &str| ended.iter().find(|one| one["owner"] == owner).unwrap_or_else(|| panic!("{ended:?}"));
    assert_eq!(of("Job ml/once")["outcome"], "failed");
    assert!(
        ["running", "succeeded"].contains(&of("Job ml/again")["outcome"].as_str().expect("a word")),
        "{ended:?}"
    );
    assert_eq!(result["batch"]["endedByOthers"], json!([]));
    let is_named = |one: &Value| one["id"] == "batch-failed";
    assert!(!result["findings"].as_array().expect("a list").iter().any(is_named), "the plan wants it so");
    let text = replank(&["rehearse", &snapshot, "-f", &plan]).stdout;
    assert!(
        text.contains("ml/once-a, ended by the run: Job ml/once FAILED; nothing in the snapshot says who is"),
        "{text}"
    );
    let request = replank(&["rehearse", &snapshot, "-f", &plan, "-o", "markdown"]).stdout;
    assert!(request.contains("**ml/once-a ended by the run**: Job ml/once FAILED"), "{request}");
}

/// A Job that fails with its pod, and one that is retried, each with a pod on the second node.
fn once_and_again(since: &str) -> Vec<Value> {
    let job = |name: &str, limit: i32| {
        json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "namespace": "ml", "uid": name},
            "spec": {"backoffLimit": limit, "selector": {"matchLabels": {"of": name}}, "template": {"metadata": {"labels": {"of": name}},
                "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "i"}]}}},
            "status": {"active": 1, "startTime": since}})
    };
    let owner = |name: &str| json!({"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": name});
    vec![
        job("once", 0),
        job("again", 6),
        pod("once-a", &owner("once"), since),
        pod("again-a", &owner("again"), since),
    ]
}

/// The findings `batch-failed`: object and reason.
fn failed(result: &Value) -> Vec<(&str, &str)> {
    let all = result["findings"].as_array().expect("a list").iter();
    let failed = all.filter(|one| one["id"] == "batch-failed");
    failed
        .map(|one| (one["object"].as_str().expect("a name"), one["reason"].as_str().expect("words")))
        .collect()
}

#[test]
fn work_that_the_kubelet_of_an_overloaded_node_evicts_is_named_and_found() {
    let plain = snapshot("batch-overloaded.json", once_and_again("2026-01-01T11:50:00Z"));
    let text = std::fs::read_to_string(root().join(&plain)).expect("it was written");
    let label = r#""eks.amazonaws.com/nodegroup":"web","#;
    assert!(text.contains(label), "{text}");
    let snapshot = scratch(
        "batch-overloaded.json",
        text.replace(label, &format!(r#"{label}"eks.amazonaws.com/nodegroup-image":"ami-old","#)),
    );
    let words = ["rehearse", &snapshot, "--script", "-", "-o", "json"];
    let result = replank_reading(&words, b"at 2m: image ami-old gives nodes MemoryPressure\n").json();
    let [(object, reason)] = failed(&result).try_into().expect("the other one is retried");
    assert_eq!(object, "Job ml/once");
    assert!(
        reason.starts_with(
            "failed in the rehearsal: the kubelet of node n2 evicted pod ml/once-a (The node was low on resource: memory)"
        ),
        "{reason}"
    );
    let ended = result["batch"]["endedByOthers"].as_array().expect("a list");
    let by: Vec<_> = ended.iter().map(|one| (one["pod"].as_str(), one["by"].as_str())).collect();
    assert!(by.contains(&(Some("ml/once-a"), Some("kubelet"))), "{by:?}");
    assert!(by.contains(&(Some("ml/again-a"), Some("kubelet"))), "{by:?}");
    // A condition for which nothing is evicted.
    let result = replank_reading(&words, b"at 2m: image ami-old gives nodes NetworkUnavailable\n").json();
    assert_eq!((failed(&result), &result["batch"]["endedByOthers"]), (Vec::new(), &json!([])));
}

#[test]
fn work_that_eks_evicts_in_its_own_update_is_named_as_such() {
    let snapshot = snapshot("batch-eks.json", once_and_again("2026-01-01T11:50:00Z"));
    let plan = |name: &str, more: &str| {
        let head = "apiVersion: replank.dev/v1alpha1\nkind: NodeRoll\nmetadata: {name: r}\n";
        let spec = format!("spec: {{groups: [web], batch: {{wait: 1m, onDeadline: evict}}{more}}}\n");
        scratch(name, format!("{head}{spec}"))
    };
    let managed = plan("batch-eks-plan.yaml", ", nodeGroups: [{name: web, managedBy: eks}]");
    let result = replank(&["rehearse", &snapshot, "-f", &managed, "-o", "json"]).json();
    let [(_, reason)] = failed(&result).try_into().expect("the other one is retried");
    assert!(
        reason.starts_with("failed in the rehearsal: EKS drained node n2 and evicted pod ml/once-a"),
        "{reason}"
    );
    let text = replank(&["rehearse", &snapshot, "-f", &managed]).stdout;
    assert!(text.contains("ml/once-a, evicted by EKS: Job ml/once FAILED"), "{text}");
    // The run's own evictions are the plan's.
    let own = plan("batch-own-plan.yaml", "");
    let result = replank(&["rehearse", &snapshot, "-f", &own, "-o", "json"]).json();
    assert_eq!(failed(&result), []);
    assert_eq!(result["batch"]["endedByOthers"], json!([]));
    assert!(result["batch"]["endedByRun"].to_string().contains(r#""by":"replank""#), "{}", result["batch"]);
}
