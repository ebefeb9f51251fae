//! Questions to small clusters.

mod asking;
mod changes;

use std::sync::Arc;

use replank_model::delta::Delta;
use replank_model::object::Object;
use replank_model::object::meta::Key;
use replank_model::object::pod::Pod;
use replank_model::view::View;
use serde_json::{Value, json};

use super::query::DRAW;
use super::{Change, Outcome, PlacementQuery, Remedy, WhatIf, edit, paste};
use replank_facts::groups::GroupBy;
use replank_schedule::Scheduler;

fn object(value: &Value) -> Object {
    Object::from_json(value.clone()).unwrap_or_else(|error| panic!("{error}: {value}"))
}

fn view(objects: &[Value]) -> View {
    objects.iter().map(|value| Delta::Put(object(value))).collect()
}

/// A node of 4 cpu, 8Gi and 10 pods; `more` is laid over it.
fn node(name: &str, group: &str, zone: &str, more: &Value) -> Value {
    let mut node = json!({"apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, "eks.amazonaws.com/nodegroup": group,
            "topology.kubernetes.io/zone": zone, "node.kubernetes.io/instance-type": "m5.xlarge"}},
        "spec": {}, "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}}});
    lay(&mut node, more);
    node
}

/// A pod that asks for 1 cpu; `spec` is laid over its spec.
fn pod(name: &str, spec: &Value) -> Value {
    let mut pod = json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "shop", "uid": name, "labels": {"app": name}},
        "spec": {"priority": 0, "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]}});
    lay(&mut pod["spec"], spec);
    pod
}

/// A pod that asks for so much cpu and is on a node.
fn placed(name: &str, node: &str, cpu: &str) -> Value {
    let requests = json!({"cpu": cpu});
    pod(
        name,
        &json!({"nodeName": node, "containers": [{"name": "c", "image": "i", "resources": {"requests": requests}}]}),
    )
}

fn lay(under: &mut Value, over: &Value) {
    match (under, over) {
        (Value::Object(under), Value::Object(over)) => {
            for (key, value) in over {
                lay(under.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (under, over) => *under = over.clone(),
    }
}

fn query(objects: &[Value]) -> PlacementQuery {
    PlacementQuery::new(view(objects), GroupBy::default(), &WhatIf::default()).expect("nothing is left out")
}

fn pod_of(query: &PlacementQuery, name: &str) -> Arc<Pod> {
    query.view().pods.by_key(&Key::new("shop", name)).expect("the pod is there").clone()
}

/// The remedies for the pod `p`, each held against a scheduler that is told of the changed objects and nothing else.
fn remedies(objects: &[Value]) -> Vec<Remedy> {
    let mut query = query(objects);
    let pod = pod_of(&query, "p");
    assert!(matches!(query.ask(&pod).outcome, Outcome::DoesNotFit(_)), "the pod fits anyhow");
    let before = query.view().objects();
    let remedies = query.remedies(&pod, 20);
    assert_eq!(query.view().objects(), before, "everything that was tried out is undone");
    assert!(matches!(query.ask(&pod).outcome, Outcome::DoesNotFit(_)), "in the engine too");
    for remedy in &remedies {
        assert!(is_needed_and_enough(objects, &pod, &remedy.changes), "{:?}", remedy.changes);
    }
    remedies
}

fn texts(remedies: &[Remedy]) -> Vec<String> {
    remedies.iter().map(ToString::to_string).collect()
}

/// Whether the pod fits with all changes and with none of them left out.
fn is_needed_and_enough(objects: &[Value], pod: &Arc<Pod>, changes: &[Change]) -> bool {
    // New nodes and claims are made up by the search itself; the tests of those look at them by name.
    let is_made_up = |change: &Change| {
        matches!(
            change,
            Change::AddNode { .. }
                | Change::Enlarge { .. }
                | Change::MakeClaim { .. }
                | Change::Reclass { .. }
                | Change::RenewClaim { .. }
                | Change::Prioritize { .. }
        )
    };
    if changes.iter().any(is_made_up) {
        return true;
    }
    let fits = |changes: &[Change]| {
        let mut view = view(objects);
        let nodes: Vec<_> =
            view.nodes.sorted().iter().filter_map(|(_, node)| edit::node(node, changes)).collect();
        for node in nodes {
            view.apply(Delta::Put(node.into()));
        }
        let pod = edit::pod(pod, changes).expect("the change can be made");
        Scheduler::load(&view).place(&view, &pod, DRAW).is_ok()
    };
    let without = |at: usize| {
        let mut less = changes.to_vec();
        less.remove(at);
        less
    };
    fits(changes) && fits_as_pasted(objects, pod, changes) && (0..changes.len()).all(|at| !fits(&without(at)))
}

/// Whether the pod fits once what is pasted is merged into its spec: RFC 7386, with containers by name.
fn fits_as_pasted(objects: &[Value], pod: &Arc<Pod>, changes: &[Change]) -> bool {
    // That a port goes is said in words.
    if changes.iter().any(|change| matches!(change, Change::ReleasePort { .. })) {
        return true;
    }
    let after = edit::spec(&pod.spec, changes).expect("the change can be made");
    let mut whole = replank_model::object::render(&Object::from(pod.clone()));
    for (member, patch) in paste::patch(&pod.spec, &after) {
        match (member, &patch) {
            ("containers", Value::Array(patches)) => {
                let containers = whole["spec"]["containers"].as_array_mut().expect("it has some");
                for patch in patches {
                    let own = containers.iter_mut().find(|one| one["name"] == patch["name"]);
                    merge(own.expect("it names one of them"), patch);
                }
            }
            _ => merge(&mut whole["spec"][member], &patch),
        }
    }
    let Object::Pod(pod) = object(&whole) else { unreachable!("it stays a pod") };
    let mut view = view(objects);
    let nodes: Vec<_> =
        view.nodes.sorted().iter().filter_map(|(_, node)| edit::node(node, changes)).collect();
    for node in nodes {
        view.apply(Delta::Put(node.into()));
    }
    view.apply(Delta::Put(pod.clone().into()));
    Scheduler::load(&view).place(&view, &pod, DRAW).is_ok()
}

fn merge(value: &mut Value, patch: &Value) {
    let Value::Object(members) = patch else {
        *value = patch.clone();
        return;
    };
    if !value.is_object() {
        *value = json!({});
    }
    for (key, member) in members {
        if member.is_null() {
            value.as_object_mut().expect("it is made one above").remove(key);
        } else {
            merge(&mut value[key], member);
        }
    }
}
