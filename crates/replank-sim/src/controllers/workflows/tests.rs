use replank_model::object::render;
use serde_json::json;

use replank_model::time::Span;

use super::*;
use crate::{PodAct, World, testing};

#[test]
fn a_result_is_recorded_and_the_budget_goes_with_the_last_pod() {
    let owner = json!([{"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow", "name": "w", "uid": "w",
        "controller": true}]);
    let pod = |name: &str| {
        let mut pod = testing::running(name, "n");
        pod["metadata"]["ownerReferences"] = owner.clone();
        pod["metadata"]["labels"] = json!({WORKFLOW: "w", COMPLETED: "false"});
        pod["spec"]["restartPolicy"] = "Never".into();
        pod
    };
    let workflow = json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow",
        "metadata": {"name": "w", "namespace": "shop", "uid": "w"}});
    let budget = json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
        "metadata": {"name": "w", "namespace": "shop", "uid": "b", "ownerReferences": owner},
        "spec": {"minAvailable": 9999, "selector": {"matchLabels": {WORKFLOW: "w"}}}});
    let node = testing::node("n", "a");
    let mut world = testing::world(vec![node, workflow, pod("one"), pod("two"), budget]);
    let end = |world: &mut World, name: &str| {
        world.act(&Key::new("shop", name), PodAct::Exit(0));
        world.pass(Span::from_secs(10));
    };
    let completed = |world: &World, name: &str| {
        let pod = world.view().pods.by_key(&Key::new("shop", name)).expect("it stays");
        pod.meta.labels.value(COMPLETED).map(str::to_owned)
    };
    end(&mut world, "one");
    assert_eq!(completed(&world, "one").as_deref(), Some("true"));
    assert_eq!(completed(&world, "two").as_deref(), Some("false"));
    assert!(world.get(Kind::PodDisruptionBudget, "w").is_some());
    end(&mut world, "two");
    assert_eq!(completed(&world, "two").as_deref(), Some("true"));
    assert!(world.get(Kind::PodDisruptionBudget, "w").is_none());
}

/// A workflow with one template, a running step of it, and what else is wanted.
fn stage(spec: &serde_json::Value, pod_extra: impl FnOnce(&mut serde_json::Value)) -> World {
    let mut workflow = json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow",
        "metadata": {"name": "w", "namespace": "shop", "uid": "w"}, "spec": {"templates": [{"name": "main"}]}});
    for (key, value) in spec.as_object().expect("an object") {
        workflow["spec"][key] = value.clone();
    }
    let mut pod = testing::running("w-main-12345", "n");
    pod["metadata"]["ownerReferences"] = json!([{"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow", "name": "w", "uid": "w",
        "controller": true}]);
    pod["metadata"]["labels"] = json!({WORKFLOW: "w", COMPLETED: "false"});
    pod["spec"]["restartPolicy"] = "Never".into();
    pod["status"]["startTime"] = "2025-12-31T23:59:00Z".into();
    pod_extra(&mut pod);
    let mut world = testing::world(vec![testing::node("n", "a"), workflow, pod]);
    world.assume_operators();
    world
}

/// Names of the pods that there are, and whether they are recorded.
fn pods(world: &World) -> Vec<(String, String)> {
    let pods = world.view().pods.sorted();
    let label = |pod: &Pod| pod.meta.labels.value(COMPLETED).unwrap_or("-").to_owned();
    pods.iter().map(|(_, pod)| (pod.meta.name.to_string(), label(pod))).collect()
}

/// The pods that are not the first.
fn again(world: &World) -> Vec<String> {
    pods(world).into_iter().map(|(name, _)| name).filter(|name| name != "w-main-12345").collect()
}

/// Takes the running pod out of the API at once, as when its node is lost.
fn take(world: &mut World, name: &str) {
    let path = format!("/api/v1/namespaces/shop/pods/{name}");
    let response =
        world.send(replank_apiserver::json::Method::Delete, &path, json!({"gracePeriodSeconds": 0}));
    assert_eq!(response.code, 200);
}

fn strategy(policy: &str) -> serde_json::Value {
    json!({"retryStrategy": {"retryPolicy": policy}})
}

#[test]
fn every_policy_retries_what_it_names() {
    let deleted = |spec: &serde_json::Value| {
        let mut world = stage(spec, |_| {});
        take(&mut world, "w-main-12345");
        world.pass(Span::from_secs(30));
        again(&world).len()
    };
    let failed = |spec: &serde_json::Value| {
        let mut world = stage(spec, |_| {});
        world.act(&Key::new("shop", "w-main-12345"), PodAct::Exit(1));
        world.pass(Span::from_secs(9));
        again(&world).len()
    };
    for (policy, of_deleted, of_failed) in
        [("Always", 1, 1), ("OnError", 1, 0), ("OnFailure", 0, 1), ("OnTransientError", 0, 0)]
    {
        assert_eq!(
            (deleted(&strategy(policy)), failed(&strategy(policy))),
            (of_deleted, of_failed),
            "{policy}"
        );
    }
    assert_eq!((deleted(&json!({})), failed(&json!({}))), (0, 0), "no strategy");
    let expression = |text: &str| json!({"retryStrategy": {"expression": text}});
    assert_eq!(deleted(&expression("lastRetry.message contains 'pod deleted'")), 1);
    assert_eq!(failed(&expression("lastRetry.message contains 'pod deleted'")), 0);
    assert_eq!(failed(&expression("asInt(lastRetry.exitCode) == 1")), 1);
    assert_eq!(failed(&expression("workflow.name == 'w'")), 0, "what cannot be worked out is not run again");
}

#[test]
fn an_evicted_step_ends_as_failed_or_deleted_and_only_always_covers_both() {
    let evicted = |policy: &str, uid: &str| {
        let mut world = stage(&strategy(policy), |pod| pod["metadata"]["uid"] = uid.into());
        let path = "/api/v1/namespaces/shop/pods/w-main-12345";
        world.send(replank_apiserver::json::Method::Delete, path, json!({"gracePeriodSeconds": 30}));
        world.pass(Span::from_secs(90));
        again(&world).len()
    };
    let uids: Vec<String> = (0..12).map(|number| format!("uid-{number}")).collect();
    assert!(uids.iter().all(|uid| evicted("Always", uid) == 1));
    let on_failure: usize = uids.iter().map(|uid| evicted("OnFailure", uid)).sum();
    let on_error: usize = uids.iter().map(|uid| evicted("OnError", uid)).sum();
    assert_eq!(on_failure + on_error, uids.len(), "each end is one or the other");
    assert!(on_error > 0, "some are gone before they are read");
}

#[test]
fn a_limit_ends_it_and_a_backoff_counts_with_a_limit_only() {
    let attempts_after = |spec: serde_json::Value, seconds: i64| {
        let mut world = stage(&json!({"retryStrategy": spec}), |_| {});
        let mut made = Vec::new();
        let mut name = "w-main-12345".to_owned();
        for _ in 0..4 {
            take(&mut world, &name);
            world.pass(Span::from_secs(seconds));
            let Some(next) = again(&world).pop() else { break };
            assert!(!made.contains(&next), "another name each time: {next}");
            made.push(next.clone());
            name = next;
        }
        made.len()
    };
    assert_eq!(attempts_after(json!({"retryPolicy": "Always", "limit": "2"}), 30), 2);
    assert_eq!(attempts_after(json!({"retryPolicy": "Always"}), 30), 4, "without a limit there is no end");
    let backoff = json!({"duration": "2m", "factor": 2});
    let limited = json!({"retryPolicy": "Always", "limit": 9, "backoff": backoff});
    assert_eq!(attempts_after(limited.clone(), 30), 0, "it waits for two minutes");
    assert_eq!(attempts_after(limited, 150), 1, "and for four before the second");
    assert_eq!(
        attempts_after(json!({"retryPolicy": "Always", "backoff": backoff}), 30),
        4,
        "its pauses are skipped"
    );
}

#[test]
fn a_good_end_that_was_not_recorded_is_done_once_more_unless_the_finalizer_keeps_it() {
    let ends = |finalizers: serde_json::Value| {
        let mut world = stage(&strategy("Always"), |pod| pod["metadata"]["finalizers"] = finalizers);
        world.act(&Key::new("shop", "w-main-12345"), PodAct::Exit(0));
        take(&mut world, "w-main-12345");
        world.pass(Span::from_secs(30));
        pods(&world)
    };
    let lost = ends(json!([]));
    assert_eq!(lost.len(), 1);
    assert!(
        lost[0].0.starts_with("w-main-") && lost[0].0 != "w-main-12345" && lost[0].1 == "false",
        "{lost:?}"
    );
    assert_eq!(ends(json!([FINALIZER])), [], "recorded, then gone, and nothing again");
}

#[test]
fn the_budget_stays_while_a_step_is_to_be_run_again() {
    let mut world = stage(&strategy("Always"), |_| {});
    let budget = json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
        "metadata": {"name": "w", "ownerReferences": [{"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow", "name": "w", "uid": "w"}]},
        "spec": {"minAvailable": 9999, "selector": {"matchLabels": {WORKFLOW: "w"}}}});
    world.apply(budget);
    world.act(&Key::new("shop", "w-main-12345"), PodAct::Exit(1));
    world.pass(Span::from_secs(20));
    let next = again(&world);
    assert_eq!(next.len(), 1);
    assert!(world.get(Kind::PodDisruptionBudget, "w").is_some());
    world.act(&Key::new("shop", &*next[0]), PodAct::Exit(0));
    world.pass(Span::from_secs(20));
    assert!(world.get(Kind::PodDisruptionBudget, "w").is_none());
}

#[test]
fn pods_are_deleted_as_their_workflow_says() {
    let left = |strategy: &str, code: i32| {
        let mut world =
            stage(&json!({"podGC": {"strategy": strategy, "deleteDelayDuration": "10s"}}), |_| {});
        world.act(&Key::new("shop", "w-main-12345"), PodAct::Exit(code));
        world.pass(Span::from_secs(9));
        assert_eq!(pods(&world).len(), 1, "not before the delay is over");
        world.pass(Span::from_secs(60));
        pods(&world).len()
    };
    for (strategy, of_good, of_bad) in [
        ("OnPodCompletion", 0, 0),
        ("OnPodSuccess", 0, 1),
        ("OnWorkflowCompletion", 0, 0),
        ("OnWorkflowSuccess", 0, 1),
        ("Never", 1, 1),
    ] {
        assert_eq!((left(strategy, 0), left(strategy, 1)), (of_good, of_bad), "{strategy}");
    }
}

#[test]
fn nothing_is_run_again_when_its_workflow_is_gone() {
    let mut world = stage(&strategy("Always"), |_| {});
    let path = "/apis/argoproj.io/v1alpha1/namespaces/shop/workflows/w";
    world.send(replank_apiserver::json::Method::Delete, path, json!({}));
    world.pass(Span::from_secs(60));
    assert_eq!(again(&world), [""; 0]);
}

/// A workflow whose first step runs, with steps or tasks after it.
fn flow(entry: &serde_json::Value) -> World {
    let mut entry = entry.clone();
    entry["name"] = "entry".into();
    let template = |name: &str| json!({"name": name, "container": {"image": "i"}, "nodeSelector": {"kubernetes.io/hostname": "n"}});
    let spec = json!({"entrypoint": "entry", "templates": [entry, template("first"), template("second"), template("third")]});
    stage(&spec, |pod| {
        pod["metadata"]["name"] = "w-first-12345".into();
        pod["metadata"]["annotations"] = json!({"workflows.argoproj.io/node-name": "w.first"});
    })
}

/// Ends all pods that run, well or badly, and gives the templates of those that come after.
fn end_all(world: &mut World, code: i32) -> Vec<String> {
    let is_running = |pod: &Pod| !pod.is_terminal();
    let running: Vec<Key> = world
        .view()
        .pods
        .sorted()
        .iter()
        .filter(|(_, pod)| is_running(pod))
        .map(|(_, pod)| pod.meta.key())
        .collect();
    for key in running {
        world.act(&key, PodAct::Exit(code));
    }
    world.pass(Span::from_secs(30));
    let pods = world.view().pods.sorted();
    let mut names: Vec<String> = pods
        .iter()
        .filter(|(_, pod)| is_running(pod))
        .map(|(_, pod)| pod.meta.name.as_str().rsplit_once('-').map_or("", |(base, _)| base).to_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn tasks_of_a_dag_follow_those_that_they_need() {
    let mut world = flow(&json!({"dag": {"tasks": [
        {"name": "first", "template": "first"},
        {"name": "second", "template": "second", "depends": "first.Succeeded", "withSequence": {"count": "3"}},
        {"name": "third", "template": "third", "dependencies": ["first", "second"]}]}}));
    assert_eq!(end_all(&mut world, 0), ["w-second", "w-second", "w-second"]);
    assert_eq!(end_all(&mut world, 0), ["w-third"]);
    assert_eq!(end_all(&mut world, 0), [""; 0]);
}

#[test]
fn groups_of_steps_follow_each_other_and_nothing_follows_a_failure() {
    let entry = json!({"steps": [
        [{"name": "first", "template": "first"}],
        [{"name": "second", "template": "second"}, {"name": "beside", "template": "third"}],
        [{"name": "last", "template": "third"}]]});
    let mut world = flow(&entry);
    assert_eq!(end_all(&mut world, 0), ["w-second", "w-third"]);
    assert_eq!(end_all(&mut world, 0), ["w-third"]);
    assert_eq!(end_all(&mut world, 0), [""; 0]);
    let mut world = flow(&entry);
    assert_eq!(end_all(&mut world, 1), [""; 0], "it failed, and no strategy runs it again");
}

#[test]
fn what_the_status_says_has_ended_has_ended_and_what_it_says_runs_is_looked_up() {
    let entry = json!({"dag": {"tasks": [
        {"name": "first", "template": "first"},
        {"name": "second", "template": "second", "depends": "first"},
        {"name": "third", "template": "third", "depends": "second"}]}});
    let template = |name: &str| json!({"name": name, "container": {"image": "i"}});
    let mut entry_template = entry.clone();
    entry_template["name"] = "entry".into();
    let spec = json!({"entrypoint": "entry", "templates": [entry_template, template("first"), template("second"), template("third")]});
    let node = |name: &str, phase: &str| json!({"type": "Pod", "displayName": name, "templateName": name, "phase": phase});
    let workflow = json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow", "metadata": {"name": "w", "namespace": "shop", "uid": "w"},
        "spec": spec, "status": {"nodes": {"w-1": node("first", "Succeeded"), "w-2": node("second", "Running")}}});
    let mut pod = testing::running("w-second-12345", "n");
    pod["metadata"]["ownerReferences"] = json!([{"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow", "name": "w", "uid": "w",
        "controller": true}]);
    pod["metadata"]["labels"] = json!({WORKFLOW: "w", COMPLETED: "false"});
    pod["metadata"]["annotations"] = json!({"workflows.argoproj.io/node-id": "w-2"});
    pod["spec"]["restartPolicy"] = "Never".into();
    let mut world = testing::world(vec![testing::node("n", "a"), workflow, pod]);
    world.assume_operators();
    assert_eq!(end_all(&mut world, 0), ["w-third"]);
}

/// A world in which Workflows are begun, with a node that has room for all.
fn begun(objects: Vec<Value>) -> World {
    let mut all = vec![testing::node("n", "a"), testing::node("m", "b")];
    all.extend(objects);
    let mut world = testing::world(all);
    world.assume_operators();
    world.pass(Span::from_secs(20));
    world
}

fn custom(kind: &str, name: &str, spec: &Value) -> Value {
    json!({"apiVersion": "argoproj.io/v1alpha1", "kind": kind, "metadata": {"name": name, "namespace": "shop", "uid": name}, "spec": spec})
}

fn template(name: &str) -> Value {
    json!({"name": name, "container": {"image": "i"}})
}

fn object(world: &World, kind: &str, name: &str) -> Option<Value> {
    world
        .view()
        .other(GROUP, kind, &Key::new("shop", name))
        .map(|found| render(&Object::Other(found.clone())))
}

fn phase(world: &World, name: &str) -> Option<String> {
    object(world, "Workflow", name)?.pointer("/status/phase")?.as_str().map(str::to_owned)
}

/// The nodes of the pods that run, by their names in the Workflow.
fn nodes(world: &World) -> Vec<String> {
    let pods = world.view().pods.sorted();
    let running = pods.iter().filter(|(_, pod)| !pod.is_terminal());
    let mut nodes: Vec<String> = running
        .map(|(_, pod)| pod.meta.annotations.value(names::NODE_NAME).unwrap_or("?").to_owned())
        .collect();
    nodes.sort();
    nodes
}

/// Ends what runs, and tells what runs then.
fn next(world: &mut World, code: i32) -> Vec<String> {
    end_all(world, code);
    nodes(world)
}

#[test]
fn a_workflow_that_has_not_begun_begins_with_its_budget_and_ends_without() {
    let spec = json!({"entrypoint": "main", "templates": [template("main")],
        "podDisruptionBudget": {"minAvailable": 9999}, "ttlStrategy": {"secondsAfterCompletion": 300}});
    let mut world = begun(vec![custom("Workflow", "w", &spec)]);
    assert_eq!(phase(&world, "w").as_deref(), Some("Running"));
    let pod = world.view().pods.by_key(&Key::new("shop", "w")).expect("one pod, called as the workflow");
    assert_eq!(pod.meta.labels.value(WORKFLOW), Some("w"));
    let Some(Object::PodDisruptionBudget(budget)) = world.get(Kind::PodDisruptionBudget, "w") else {
        panic!("a budget")
    };
    let selector = budget.spec.selector.as_ref().expect("a selector").compile().expect("a good one");
    assert!(
        selector.matches(|key| pod.meta.labels.value(key)),
        "an empty selector becomes the workflow's label"
    );
    assert_eq!(nodes(&world), ["w"]);
    assert_eq!(next(&mut world, 0), [""; 0]);
    assert_eq!(phase(&world, "w").as_deref(), Some("Succeeded"));
    assert!(world.get(Kind::PodDisruptionBudget, "w").is_none());
    world.pass(Span::from_minutes(6));
    assert_eq!(phase(&world, "w"), None, "it goes when its time is over");
    assert_eq!(nodes(&world), [""; 0]);
}

#[test]
fn one_that_is_suspended_does_not_begin() {
    let world = begun(vec![custom(
        "Workflow",
        "w",
        &json!({"suspend": true, "entrypoint": "main", "templates": [template("main")]}),
    )]);
    assert_eq!((phase(&world, "w"), nodes(&world).len()), (None, 0));
}

#[test]
fn templates_within_templates_run_in_their_order_with_what_they_are_given() {
    let each = json!({"name": "each", "inputs": {"parameters": [{"name": "kind"}]}, "steps": [
        [{"name": "load", "template": "work", "withParam": "[\"x\", \"y\"]"}],
        [{"name": "check", "template": "work", "when": "{{inputs.parameters.kind}} == full"}],
        [{"name": "guess", "template": "work", "when": "{{steps.check.outputs.result}} == yes"}]]});
    let call = |name: &str, kind: &str| {
        json!({"name": name, "template": "each",
        "arguments": {"parameters": [{"name": "kind", "value": kind}]}})
    };
    let mut last = call("b", "part");
    last["depends"] = "a".into();
    let main = json!({"name": "main", "dag": {"tasks": [call("a", "full"), last]}});
    let spec = json!({"entrypoint": "main", "onExit": "bye", "templates": [main, each, template("work"), template("bye")]});
    let mut world = begun(vec![custom("Workflow", "w", &spec)]);
    assert_eq!(nodes(&world), ["w.a[0].load(0:x)", "w.a[0].load(1:y)"]);
    assert_eq!(next(&mut world, 0), ["w.a[1].check"]);
    assert_eq!(next(&mut world, 0), ["w.a[2].guess"], "what only a result tells is taken to hold");
    assert_eq!(next(&mut world, 0), ["w.b[0].load(0:x)", "w.b[0].load(1:y)"]);
    assert_eq!(next(&mut world, 0), ["w.b[2].guess"], "its condition is known not to hold");
    assert_eq!(next(&mut world, 0), ["w.onExit"]);
    assert_eq!(phase(&world, "w").as_deref(), Some("Running"));
    assert_eq!(next(&mut world, 0), [""; 0]);
    assert_eq!(phase(&world, "w").as_deref(), Some("Succeeded"));
    let assumed: Vec<String> =
        world.assumptions().map(|one| format!("{}: {}", one.about, one.value)).collect();
    assert_eq!(assumed, ["Workflow shop/w: conditions of steps that depend on results are taken to hold"]);
}

#[test]
fn steps_of_other_workflow_templates_know_their_own_siblings() {
    let lib = custom(
        "WorkflowTemplate",
        "lib",
        &json!({"entrypoint": "pair", "templates": [
        {"name": "pair", "steps": [[{"name": "one", "template": "own"}], [{"name": "two", "template": "own"}]]}, template("own")]}),
    );
    let main = json!({"name": "main", "steps": [[{"name": "call", "templateRef": {"name": "lib", "template": "pair"}}]]});
    let calls = custom("Workflow", "w", &json!({"entrypoint": "main", "templates": [main]}));
    let mut world = begun(vec![lib.clone(), calls]);
    assert_eq!(nodes(&world), ["w[0].call[0].one"]);
    assert_eq!(next(&mut world, 0), ["w[0].call[1].two"]);
    let made_from = custom("Workflow", "v", &json!({"workflowTemplateRef": {"name": "lib"}}));
    let mut world = begun(vec![lib, made_from]);
    assert_eq!(nodes(&world), ["v[0].one"]);
    assert_eq!(next(&mut world, 0), ["v[1].two"]);
}

#[test]
fn a_template_within_itself_ends_and_a_dag_that_failed_fails_the_workflow() {
    let flip = json!({"name": "flip", "steps": [[{"name": "toss", "template": "work"}],
        [{"name": "again", "template": "flip", "when": "{{steps.toss.outputs.result}} == tails"}]]});
    let mut world = begun(vec![custom(
        "Workflow",
        "w",
        &json!({"entrypoint": "flip", "templates": [flip, template("work")]}),
    )]);
    assert_eq!(nodes(&world), ["w[0].toss"]);
    assert_eq!(next(&mut world, 0), [""; 0]);
    assert_eq!(phase(&world, "w").as_deref(), Some("Succeeded"));
    let main = json!({"name": "main", "dag": {"tasks": [{"name": "a", "template": "work"}, {"name": "b", "template": "work", "depends": "a"}]}});
    let mut world = begun(vec![custom(
        "Workflow",
        "w",
        &json!({"entrypoint": "main", "templates": [main, template("work")]}),
    )]);
    assert_eq!(next(&mut world, 1), [""; 0]);
    assert_eq!(phase(&world, "w").as_deref(), Some("Failed"));
}

#[test]
fn a_retry_keeps_away_from_the_nodes_of_earlier_attempts_and_counts_on_from_the_snapshot() {
    let mut work = template("work");
    work["retryStrategy"] =
        json!({"limit": 2, "retryPolicy": "Always", "affinity": {"nodeAntiAffinity": {}}});
    let mut world = begun(vec![custom("Workflow", "w", &json!({"entrypoint": "work", "templates": [work]}))]);
    let place = |world: &World| {
        let pods = world.view().pods.sorted();
        let running = pods.iter().find(|(_, pod)| !pod.is_terminal()).map(|(_, pod)| pod);
        running.map(|pod| {
            (pod.meta.annotations.value(names::NODE_NAME).unwrap_or("?").to_owned(), pod.node.clone())
        })
    };
    let (first, on) = place(&world).expect("a pod");
    end_all(&mut world, 1);
    let (second, elsewhere) = place(&world).expect("its second attempt");
    assert_eq!((first.as_str(), second.as_str()), ("w(0)", "w(1)"));
    assert!(on.is_some() && elsewhere.is_some() && on != elsewhere, "{on:?} {elsewhere:?}");
    end_all(&mut world, 1);
    assert_eq!(place(&world), Some(("w(2)".to_owned(), None)), "no third node is there");
}

#[test]
fn the_attempts_that_the_snapshot_shows_count() {
    let spec = json!({"retryStrategy": {"limit": 2, "retryPolicy": "Always"}});
    let made = |node: &str| {
        let mut world = stage(&spec, |pod| {
            pod["metadata"]["annotations"] = json!({"workflows.argoproj.io/node-name": node});
        });
        world.act(&Key::new("shop", "w-main-12345"), PodAct::Exit(1));
        world.pass(Span::from_secs(20));
        nodes(&world)
    };
    assert_eq!(made("w.x(1)"), ["w.x(2)"]);
    assert_eq!(made("w.x(2)"), [""; 0], "that was the last");
}

#[test]
fn a_deadline_ends_what_runs_and_nothing_is_run_again() {
    let spec = json!({"entrypoint": "work", "templates": [template("work")], "activeDeadlineSeconds": 120,
        "retryStrategy": {"retryPolicy": "Always"}});
    let mut world = begun(vec![custom("Workflow", "w", &spec)]);
    assert_eq!(nodes(&world), ["w(0)"]);
    world.pass(Span::from_secs(90));
    assert_eq!(nodes(&world), ["w(0)"]);
    world.pass(Span::from_secs(30));
    assert_eq!(nodes(&world), [""; 0]);
    assert_eq!(phase(&world, "w").as_deref(), Some("Failed"));
}

#[test]
fn no_more_pods_run_than_the_parallelism_and_pauses_last() {
    let main = json!({"name": "main", "steps": [[{"name": "a", "template": "work", "withSequence": {"count": 3}}],
        [{"name": "wait", "template": "wait"}], [{"name": "b", "template": "work"}]]});
    let wait = json!({"name": "wait", "suspend": {"duration": "10m"}});
    let spec = json!({"entrypoint": "main", "parallelism": 2, "templates": [main, wait, template("work")]});
    let mut world = begun(vec![custom("Workflow", "w", &spec)]);
    assert_eq!(nodes(&world), ["w[0].a(0:0)", "w[0].a(1:1)"]);
    assert_eq!(next(&mut world, 0), ["w[0].a(2:2)"]);
    assert_eq!(next(&mut world, 0), [""; 0]);
    world.pass(Span::from_minutes(10));
    assert_eq!(nodes(&world), ["w[2].b"]);
}

#[test]
fn pods_that_failed_before_they_ran_are_made_again_where_the_controller_is_told_to() {
    let made = |config: Option<&str>| {
        let mut objects =
            vec![custom("Workflow", "w", &json!({"entrypoint": "work", "templates": [template("work")]}))];
        objects.extend(config.map(|text| json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "workflow-controller-configmap", "namespace": "argo", "uid": "c"}, "data": {"config": text}})));
        let mut pod = testing::running("w", "n");
        pod["metadata"]["uid"] = "p".into();
        pod["metadata"]["ownerReferences"] = json!([{"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow", "name": "w", "uid": "w", "controller": true}]);
        pod["metadata"]["labels"] = json!({WORKFLOW: "w", COMPLETED: "false"});
        pod["metadata"]["annotations"] = json!({"workflows.argoproj.io/node-name": "w"});
        pod["spec"]["restartPolicy"] = "Never".into();
        pod["status"] = json!({"phase": "Failed", "reason": "NodeShutdown"});
        objects.push(pod);
        let world = begun(objects);
        (nodes(&world), phase(&world, "w"))
    };
    assert_eq!(made(None), (Vec::new(), Some("Failed".to_owned())));
    let on = Some("failedPodRestart:\n  enabled: true\n");
    assert_eq!(made(on), (vec!["w".to_owned()], Some("Running".to_owned())));
}
