//! Batch work: Jobs, CronJobs, Argo's Workflows and CronWorkflows.

use replank_model::time::{Span, Time};
use serde_json::{Value, json};

use super::cluster::{Cluster, owner, uid};
use super::entry::{Entry, merge, now};
use super::others;
use super::pods::{Pod, State, Template};

/// How long a running Job has been running.
const RUNNING: Span = Span::from_minutes(47);

/// A Job with its pods, running or `finished` so long ago.
pub(crate) fn job(cluster: &mut Cluster, named: (String, String, usize), entry: &mut Entry) {
    let (namespace, name, _) = named;
    let finished = entry.ago("finished");
    let ran = entry.ago("ran").map_or(Span::from_minutes(30), |then| now() - then);
    let started = finished.map_or(now() - RUNNING, |end| end - ran);
    let number = entry.number("pods").unwrap_or(1);
    let places = cluster.places(entry, number);
    let parent = entry.text("of").map(|cron| owner("batch/v1", "CronJob", &namespace, &cron));
    let mut template = Template::take(entry, &name, "Never");
    template.labels["batch.kubernetes.io/job-name"] = json!(name);
    template.labels["job-name"] = json!(name);
    let states = State::take(entry, number);

    let mut object = json!({
        "apiVersion": "batch/v1", "kind": "Job",
        "metadata": {"name": name, "namespace": namespace, "uid": uid("job", &namespace, &name), "creationTimestamp": started},
        "spec": {"backoffLimit": 6, "completions": number.max(1), "parallelism": number.max(1), "completionMode": "NonIndexed", "suspend": false,
            "selector": {"matchLabels": {"batch.kubernetes.io/job-name": name}}, "template": template.object()},
        "status": status(number, started, finished),
    });
    if let Some(parent) = parent {
        object["metadata"]["ownerReferences"] = json!([parent]);
    }
    merge(&mut object["spec"], entry.patch("spec"));
    merge(&mut object, entry.patch("with"));
    cluster.objects.push(object);

    let with = entry.patch("with pod");
    for (index, (place, state)) in places.iter().zip(states).enumerate() {
        let pod = format!("{name}-{}", index + 1);
        let state = if finished.is_some() { State::Succeeded } else { state };
        let owner = Some(owner("batch/v1", "Job", &namespace, &name));
        let since = (state != State::Pending).then_some(started);
        let mut made =
            Pod { namespace: &namespace, name: &pod, node: place, owner, state, since }.object(&template);
        if state != State::Succeeded {
            // Until the Job has counted how it ended (KEP-2307); without it, the end of a pod that is deleted would count nowhere.
            merge(&mut made, json!({"metadata": {"finalizers": ["batch.kubernetes.io/job-tracking"]}}));
        }
        merge(&mut made, with.clone());
        cluster.objects.push(made);
    }
    others::budget_of(cluster, (&namespace, &name), &json!({"app": name}), None, entry);
}

fn status(number: usize, started: Time, finished: Option<Time>) -> Value {
    match finished {
        None => json!({"startTime": started, "active": number, "ready": number}),
        Some(end) => json!({"startTime": started, "completionTime": end, "succeeded": number,
            "conditions": [{"type": "Complete", "status": "True", "lastTransitionTime": end}]}),
    }
}

/// A CronJob; its Jobs are entries of their own, with `of`.
pub(crate) fn cron_job(cluster: &mut Cluster, named: (String, String, usize), entry: &mut Entry) {
    let (namespace, name, _) = named;
    let template = Template::take(entry, &name, "Never");
    let mut object = json!({
        "apiVersion": "batch/v1", "kind": "CronJob",
        "metadata": {"name": name, "namespace": namespace, "uid": uid("cronjob", &namespace, &name), "creationTimestamp": "2026-01-05T08:00:00Z"},
        "spec": {"schedule": entry.text("schedule").expect("a CronJob has a schedule"), "concurrencyPolicy": "Allow", "suspend": false,
            "successfulJobsHistoryLimit": 3, "failedJobsHistoryLimit": 1, "jobTemplate": {"spec": {"template": template.object()}}},
        "status": {},
    });
    merge(&mut object["spec"], entry.patch("spec"));
    merge(&mut object, entry.patch("with"));
    cluster.objects.push(object);
}

/// A CronWorkflow that is not running.
pub(crate) fn cron_workflow(cluster: &mut Cluster, named: (String, String, usize), entry: &mut Entry) {
    let (namespace, name, _) = named;
    let mut object = json!({
        "apiVersion": "argoproj.io/v1alpha1", "kind": "CronWorkflow",
        "metadata": {"name": name, "namespace": namespace, "uid": uid("cronworkflow", &namespace, &name), "creationTimestamp": "2026-01-05T08:00:00Z"},
        "spec": {"schedules": [entry.text("schedule").expect("a CronWorkflow has a schedule")],
            "workflowSpec": {"entrypoint": "main", "templates": [{"name": "main", "container": {"image": "registry.example.com/etl:1"}}]}},
        "status": {},
    });
    merge(&mut object["spec"], entry.patch("spec"));
    merge(&mut object, entry.patch("with"));
    cluster.objects.push(object);
}

/// A Workflow of one step that is running, with a budget of its own where `pdb` says so.
pub(crate) fn workflow(cluster: &mut Cluster, named: (String, String, usize), entry: &mut Entry) {
    let (namespace, name, _) = named;
    let places = cluster.places(entry, 1);
    let started = now() - RUNNING;
    let mut step =
        json!({"name": "main", "container": {"image": "registry.example.com/etl:1", "command": ["run"]}});
    merge(&mut step, entry.patch("template"));
    let mut spec = json!({"entrypoint": "main", "templates": [step]});
    merge(&mut spec, entry.patch("spec"));
    let retried = spec["retryStrategy"].is_object() || spec["templates"][0]["retryStrategy"].is_object();

    let mut template = Template::take(entry, &name, "Never");
    template.labels =
        json!({"workflows.argoproj.io/workflow": name, "workflows.argoproj.io/completed": "false"});
    let wait = json!({"name": "wait", "image": "quay.io/argoproj/argoexec:v3.6.2"});
    template.spec["containers"][0]["name"] = json!("main");
    template.spec["containers"].as_array_mut().expect("a list").insert(0, wait);
    let base = |id: &str, node: &str, kind: &str| json!({"id": id, "name": node, "displayName": node, "type": kind, "phase": "Running", "templateName": "main", "templateScope": format!("local/{name}"), "startedAt": started});
    let (pod, node, nodes) = if retried {
        let (pod, node) = (format!("{name}-main-1"), format!("{name}(0)"));
        let mut above = base(&name, &name, "Retry");
        above["children"] = json!([pod]);
        let nodes = json!({name.clone(): above, pod.clone(): base(&pod, &node, "Pod")});
        (pod, node, nodes)
    } else {
        (name.clone(), name.clone(), json!({name.clone(): base(&name, &name, "Pod")}))
    };
    template.annotations =
        json!({"workflows.argoproj.io/node-name": node, "workflows.argoproj.io/node-id": pod});
    let parent = owner("argoproj.io/v1alpha1", "Workflow", &namespace, &name);
    others::budget_of(
        cluster,
        (&namespace, &name),
        &json!({"workflows.argoproj.io/workflow": name}),
        Some(parent.clone()),
        entry,
    );
    cluster.objects.push(json!({
        "apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow",
        "metadata": {"name": name, "namespace": namespace, "uid": uid("workflow", &namespace, &name), "creationTimestamp": started,
            "labels": {"workflows.argoproj.io/phase": "Running"}},
        "spec": spec,
        "status": {"phase": "Running", "startedAt": started, "nodes": nodes},
    }));
    let made = Pod {
        namespace: &namespace,
        name: &pod,
        node: &places[0],
        owner: Some(parent),
        state: State::Ready,
        since: Some(started),
    };
    let mut made = made.object(&template);
    merge(&mut made, entry.patch("with pod"));
    cluster.objects.push(made);
}
