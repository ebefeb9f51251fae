//! The pod of a step (argo-workflows `workflow/controller/workflowpod.go`): where it may run, what it requests, how long it may take.

use replank_facts::batch::retry::number;
use replank_model::object::Object;
use replank_model::object::cluster::Other;
use replank_model::object::meta::OwnerReference;
use replank_model::object::pod::Pod;
use replank_model::object::render;
use serde_json::{Map, Value, json};

use super::flow::Begin;
use super::names::{NODE_NAME, pod_name};
use super::parameters::without_open;
use super::{COMPLETED, WORKFLOW};

/// The label of nodes that retries keep away from (`workflow/util/retry`).
const HOSTNAME: &str = "kubernetes.io/hostname";
/// Required node affinity.
const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";

/// The pod of a step that starts, from the Workflow's effective spec; `left` is the Workflow's remaining time in seconds. `None` if the
/// result is not a pod.
pub(super) fn pod_of(workflow: &Other, spec: &Value, begin: &Begin, left: Option<i64>) -> Option<Pod> {
    let template = &begin.template;
    let merged = |pointer: &str| {
        let mut all = Map::new();
        for from in [
            spec.pointer(&format!("/podMetadata/{pointer}")),
            template.pointer(&format!("/metadata/{pointer}")),
        ] {
            all.extend(from.and_then(Value::as_object).cloned().unwrap_or_default());
        }
        all
    };
    let (mut labels, mut annotations) = (merged("labels"), merged("annotations"));
    labels.insert(WORKFLOW.into(), workflow.meta.name.as_str().into());
    labels.insert(COMPLETED.into(), "false".into());
    let mut own = json!({"restartPolicy": "Never", "containers": containers(template)});
    let default = |key: &str| spec.pointer(&format!("/templateDefaults/{key}")).or_else(|| spec.get(key));
    for key in ["nodeSelector", "affinity", "tolerations", "serviceAccountName", "schedulerName"] {
        let said = template.get(key).filter(|said| !said.is_null());
        if let Some(value) = said.or_else(|| default(key)) {
            own[key] = value.clone();
        }
    }
    let priority = template.get("priorityClassName").or_else(|| default("podPriorityClassName"));
    own["priorityClassName"] = priority.cloned().unwrap_or_default();
    own["initContainers"] = template.get("initContainers").map_or(Value::Null, |all| listed(all).collect());
    let volumes = [&spec["volumes"], &template["volumes"]];
    own["volumes"] = volumes.into_iter().filter_map(Value::as_array).flatten().cloned().collect();
    let patch = [&spec["podSpecPatch"], &template["podSpecPatch"]];
    if let Some(grace) = patch.into_iter().filter_map(grace_of).next_back() {
        own["terminationGracePeriodSeconds"] = grace.into();
    }
    let limit = template
        .get("activeDeadlineSeconds")
        .or_else(|| spec.pointer("/templateDefaults/activeDeadlineSeconds"));
    let limit = limit.and_then(number).into_iter().chain(left).min();
    if let Some(seconds) = limit {
        own["activeDeadlineSeconds"] = seconds.max(1).into();
    }
    annotations.remove(NODE_NAME);
    let pod = without_open(&json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "step", "namespace": workflow.meta.namespace.as_str(), "labels": labels, "annotations": annotations},
        "spec": own}));
    let Ok(Object::Pod(pod)) = Object::from_json(pod) else { return None };
    let mut pod = Pod::clone(&pod);
    pod.meta.annotations = pod.meta.annotations.with(NODE_NAME, &*begin.node);
    pod.meta.name = pod_name(workflow.meta.name.as_str(), &begin.name, &begin.node);
    pod.meta.owner_references = vec![reference(workflow)].into();
    Some(pod)
}

/// A controller's reference to an object that is not typed.
pub(super) fn reference(owner: &Other) -> OwnerReference {
    OwnerReference {
        api_version: owner.api_version.clone(),
        kind: owner.kind.clone(),
        name: owner.meta.name.clone(),
        uid: owner.meta.uid.clone(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    }
}

/// What counts for a drain of the containers: image and requests, those of sidecars among them.
fn containers(template: &Value) -> Value {
    let main = template.get("container").or_else(|| template.get("script"));
    let set = template.pointer("/containerSet/containers");
    let mut all: Vec<Value> = match (main, set) {
        (Some(main), _) => vec![container("main", main)],
        (None, Some(set)) => listed(set).collect(),
        // Of `resource` and `data` the controller's own image does the work.
        (None, None) => vec![json!({"name": "main", "image": "argoexec"})],
    };
    all.extend(template.get("sidecars").into_iter().flat_map(listed));
    Value::Array(all)
}

fn listed(all: &Value) -> impl Iterator<Item = Value> + '_ {
    let all = all.as_array().into_iter().flatten();
    all.map(|one| container(one["name"].as_str().unwrap_or("main"), one))
}

fn container(name: &str, from: &Value) -> Value {
    let mut container = json!({"name": name, "image": from["image"].as_str().unwrap_or("argoexec")});
    for key in ["resources", "ports"] {
        if let Some(value) = from.get(key).filter(|value| !value.is_null()) {
            container[key] = value.clone();
        }
    }
    container
}

/// The grace in a `podSpecPatch`, which is a text in JSON or YAML.
fn grace_of(patch: &Value) -> Option<i64> {
    let (_, after) = patch.as_str()?.split_once("terminationGracePeriodSeconds")?;
    let after = after.trim_start_matches(['"', '\'', ':', ' ']);
    let digits = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
    after[..digits].parse().ok()
}

/// The pod with the nodes of earlier attempts ruled out (`retryStrategy.affinity.nodeAntiAffinity`).
pub(super) fn away_from(pod: &Pod, nodes: &[String]) -> Pod {
    let mut value = render(&Object::Pod(pod.clone().into()));
    let rule = json!({"key": HOSTNAME, "operator": "NotIn", "values": nodes});
    let affinity = &mut value["spec"]["affinity"]["nodeAffinity"][REQUIRED]["nodeSelectorTerms"];
    match affinity.as_array_mut().filter(|terms| !terms.is_empty()) {
        None => *affinity = json!([{"matchExpressions": [rule]}]),
        Some(terms) => {
            for term in terms {
                let mut rules = term["matchExpressions"].as_array().cloned().unwrap_or_default();
                rules.retain(|known| !is_within(known, nodes));
                rules.push(rule.clone());
                term["matchExpressions"] = rules.into();
            }
        }
    }
    match Object::from_json(value) {
        Ok(Object::Pod(changed)) => Pod { meta: pod.meta.clone(), ..Pod::clone(&changed) },
        Ok(_) | Err(_) => pod.clone(),
    }
}

/// Whether a rule is that of an earlier attempt.
fn is_within(rule: &Value, nodes: &[String]) -> bool {
    let names = rule["values"].as_array().map_or(&[][..], Vec::as_slice);
    let is_named = |name: &Value| name.as_str().is_some_and(|name| nodes.iter().any(|node| node == name));
    rule["key"] == HOSTNAME && rule["operator"] == "NotIn" && names.iter().all(is_named)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(spec: &Value, template: Value, left: Option<i64>) -> Value {
        let workflow = Object::from_json(json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow",
            "metadata": {"name": "w", "namespace": "shop", "uid": "u"}}));
        let Ok(Object::Other(workflow)) = workflow else { panic!("a custom resource") };
        let begin = Begin { node: "w.a".into(), name: "a".into(), template };
        render(&Object::Pod(pod_of(&workflow, spec, &begin, left).expect("a pod").into()))
    }

    #[test]
    fn a_template_counts_more_than_the_workflow_and_deadlines_are_the_smaller() {
        let spec = json!({"nodeSelector": {"pool": "a"}, "tolerations": [{"operator": "Exists"}], "podPriorityClassName": "low",
            "podMetadata": {"labels": {"team": "x"}, "annotations": {"replank.dev/batch-wait": "2h"}},
            "podSpecPatch": "{\"terminationGracePeriodSeconds\": 300}"});
        let template = json!({"container": {"image": "i", "resources": {"requests": {"cpu": "2", "memory": "{{inputs.parameters.mem}}"}}},
            "sidecars": [{"name": "s", "image": "j"}], "nodeSelector": {"pool": "b"}, "metadata": {"labels": {"step": "a"}},
            "activeDeadlineSeconds": "600"});
        let pod = made(&spec, template, Some(90));
        assert_eq!(pod["spec"]["nodeSelector"], json!({"pool": "b"}));
        assert_eq!(pod["spec"]["tolerations"][0]["operator"], "Exists");
        assert_eq!(pod["spec"]["priorityClassName"], "low");
        assert_eq!(pod["spec"]["terminationGracePeriodSeconds"], 300);
        assert_eq!(pod["spec"]["activeDeadlineSeconds"], 90);
        assert_eq!(
            pod["spec"]["containers"][0]["resources"]["requests"],
            json!({"cpu": "2"}),
            "what is not known is left out"
        );
        assert_eq!(pod["spec"]["containers"][1]["name"], "s");
        assert_eq!(
            (&pod["metadata"]["labels"]["team"], &pod["metadata"]["labels"]["step"]),
            (&json!("x"), &json!("a"))
        );
        assert_eq!(pod["metadata"]["annotations"]["replank.dev/batch-wait"], "2h");
        assert_eq!(pod["metadata"]["annotations"][NODE_NAME], "w.a");
        assert_eq!(
            made(&json!({}), json!({"container": {}, "activeDeadlineSeconds": 60}), Some(90))["spec"]["activeDeadlineSeconds"],
            60
        );
    }

    #[test]
    fn earlier_nodes_are_ruled_out_beside_what_is_required_already() {
        let affinity = json!({"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [
            {"matchExpressions": [{"key": "pool", "operator": "In", "values": ["a"]}]}]}}});
        let pod = made(&json!({"affinity": affinity}), json!({"container": {}}), None);
        let Ok(Object::Pod(pod)) = Object::from_json(pod) else { panic!("a pod") };
        let once = away_from(&pod, &["n1".to_owned()]);
        let twice = away_from(&once, &["n1".to_owned(), "n2".to_owned()]);
        let value = render(&Object::Pod(twice.into()));
        assert_eq!(
            value["spec"]["affinity"]["nodeAffinity"][REQUIRED]["nodeSelectorTerms"],
            json!([{"matchExpressions": [{"key": "pool", "operator": "In", "values": ["a"]},
                {"key": HOSTNAME, "operator": "NotIn", "values": ["n1", "n2"]}]}])
        );
    }
}
