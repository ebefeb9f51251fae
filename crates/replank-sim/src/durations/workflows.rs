//! How long the steps of Workflows ran, as their status tells: their pods may be long gone (`podGC`, `ttlStrategy`, nodes that were replaced).
//!
//! Steps are told apart by their place in the Workflow, without the numbers that a loop or a retry adds: `.train` for `etl-7x.train(3:eu)(1)`. So runs of one CronWorkflow
//! tell of each other.

use replank_model::object::pod::Pod;
use replank_model::object::{Object, cluster, render};
use replank_model::text::Text;
use replank_model::time::{Span, Time};
use replank_model::view::View;
use serde_json::Value;

/// Annotation of a pod: the name of its node in the Workflow's status.
const NODE_NAME: &str = "workflows.argoproj.io/node-name";

/// One run of a step that succeeded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ran {
    /// Its place.
    pub(super) step: Text,
    /// How long it took.
    pub(super) took: Span,
    /// Whether its pod is still there, and tells it better itself.
    pub(super) has_pod: bool,
}

/// The place of a pod in its Workflow; `None` for pods of others.
pub(super) fn step_of(pod: &Pod) -> Option<Text> {
    let owner = pod.meta.controller().filter(|owner| &*owner.kind == "Workflow")?;
    Some(place(pod.meta.annotations.value(NODE_NAME)?, owner.name.as_str()))
}

/// Steps of a Workflow that succeeded. Of one whose nodes are kept elsewhere (compressed, or in a database) only the whole is known, and counts as one step.
pub(super) fn ran(view: &View, workflow: &cluster::Other) -> Vec<Ran> {
    let raw = render(&Object::Other(workflow.clone().into()));
    let name = workflow.meta.name.as_str();
    let present: Vec<Text> =
        view.pods_of(&workflow.meta.uid).iter().filter_map(|ix| step_name(&view.pods[*ix])).collect();
    let Some(nodes) = raw.pointer("/status/nodes").and_then(Value::as_object) else {
        let whole = span(&raw["status"]).filter(|_| present.is_empty());
        return whole.map(|took| Ran { step: Text::default(), took, has_pod: false }).into_iter().collect();
    };
    let pods = nodes.values().filter(|node| node["type"] == "Pod");
    pods.filter_map(|node| {
        let own = node["name"].as_str()?;
        let has_pod = present.iter().any(|one| **one == *own);
        Some(Ran { step: place(own, name), took: span(node)?, has_pod })
    })
    .collect()
}

fn step_name(pod: &Pod) -> Option<Text> {
    pod.meta.annotations.get(NODE_NAME).cloned()
}

/// From its start to its good end.
fn span(of: &Value) -> Option<Span> {
    let time = |key: &str| of[key].as_str()?.parse::<Time>().ok();
    let took = time("finishedAt")? - time("startedAt")?;
    (of["phase"] == "Succeeded" && took > Span::ZERO).then_some(took)
}

/// A node's name without the Workflow's, and without what stands in parentheses and brackets.
fn place(node: &str, workflow: &str) -> Text {
    let mut depth = 0_usize;
    let mut place = String::new();
    for letter in node.strip_prefix(workflow).unwrap_or(node).chars() {
        match letter {
            '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.saturating_sub(1),
            _ if depth == 0 => place.push(letter),
            _ => {}
        }
    }
    place.into()
}

/// All Workflows.
pub(super) fn all(view: &View) -> Vec<&cluster::Other> {
    let mut all: Vec<&cluster::Other> = view
        .others()
        .filter(|other| &*other.kind == "Workflow" && other.group() == "argoproj.io")
        .map(|other| &**other)
        .collect();
    all.sort_by_key(|other| other.meta.key());
    all
}

#[cfg(test)]
mod tests {
    use replank_model::object::meta::Key;

    use super::*;

    #[test]
    fn a_step_is_its_place_whatever_its_loop_and_attempt() {
        for (node, expected) in [
            ("etl-7x.train(3:eu)(1)", ".train"),
            ("etl-7x[0].load(0)", ".load"),
            ("etl-7x", ""),
            ("other.load", "other.load"),
        ] {
            assert_eq!(&*place(node, "etl-7x"), expected, "{node}");
        }
    }

    #[test]
    fn a_workflow_whose_pods_are_gone_tells_how_long_its_steps_take() {
        use replank_apiserver::draw::Draws;
        use replank_model::delta::Delta;
        use serde_json::json;

        use crate::durations::Durations;

        let at = |minute: i64| {
            let start: Time = "2026-01-01T00:00:00Z".parse().expect("a time");
            (start + Span::from_minutes(minute)).to_string()
        };
        let node = |name: &str, from: i64, to: i64| json!({"id": name, "name": name, "displayName": name, "type": "Pod", "phase": "Succeeded", "startedAt": at(from), "finishedAt": at(to)});
        let workflow = |name: &str, status: Value| {
            json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow", "metadata": {"name": name, "namespace": "ml", "uid": name,
                "labels": {"workflows.argoproj.io/cron-workflow": "etl"}}, "spec": {}, "status": status})
        };
        let past = workflow(
            "etl-1",
            json!({"phase": "Succeeded", "startedAt": at(0), "finishedAt": at(95),
            "nodes": {"a": node("etl-1.load", 0, 4), "b": node("etl-1.train(0)", 4, 94)}}),
        );
        let now = workflow("etl-2", json!({"phase": "Running", "startedAt": at(200)}));
        let pod = |step: &str| {
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": format!("etl-2-{step}"), "namespace": "ml", "uid": step,
                    "annotations": {NODE_NAME: format!("etl-2.{step}(0)")},
                    "ownerReferences": [{"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow", "name": "etl-2", "uid": "etl-2", "controller": true}]},
                "spec": {"restartPolicy": "Never", "containers": [{"name": "main"}]}, "status": {"phase": "Running"}})
        };
        let objects = [past, now, pod("load"), pod("train"), pod("new")];
        let view: View =
            objects.into_iter().map(|one| Delta::Put(Object::from_json(one).expect("an object"))).collect();
        let durations = Durations::learn(&view, at(200).parse().expect("a time"));
        let runs = |name: &str| {
            let pod = view.pods.by_key(&Key::new("ml", name)).expect("it is there");
            durations.run(&view, pod, Span::ZERO, &Draws::new(1)).expect("it ends by itself")
        };
        assert_eq!(runs("etl-2-load"), Span::from_minutes(4));
        assert_eq!(runs("etl-2-train"), Span::from_minutes(90));
        // Of a step that is new only the others tell.
        assert!(runs("etl-2-new") >= Span::from_minutes(4) && runs("etl-2-new") <= Span::from_minutes(90));
    }

    #[test]
    fn a_workflow_whose_nodes_are_compressed_tells_its_whole_length() {
        use serde_json::json;
        let value = json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow", "metadata": {"name": "w", "namespace": "ml", "uid": "w"},
            "status": {"phase": "Succeeded", "compressedNodes": "H4sI", "startedAt": "2026-01-01T00:00:00Z", "finishedAt": "2026-01-01T01:30:00Z"}});
        let view: View = [replank_model::delta::Delta::Put(Object::from_json(value).expect("an object"))]
            .into_iter()
            .collect();
        let all = all(&view);
        let ran = ran(&view, all[0]);
        assert_eq!(ran, [Ran { step: Text::default(), took: Span::from_minutes(90), has_pod: false }]);
    }
}
