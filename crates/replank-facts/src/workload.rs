//! The workload that a person would name for a pod.

use std::fmt;

use replank_model::object::cluster::Other;
use replank_model::object::meta::{Key, OwnerReference};
use replank_model::object::pod::Pod;
use replank_model::object::workload::{ReplicaSet, ReplicationController, StatefulSet};
use replank_model::text::Text;
use replank_model::view::View;

/// Label of a Workflow that a CronWorkflow made, and of its pods.
pub const CRON_WORKFLOW: &str = "workflows.argoproj.io/cron-workflow";

/// What makes pods of one kind: a Deployment rather than its ReplicaSet, a CronJob rather than its Job. A StatefulSet is named
/// itself, whatever operator made it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Workload {
    /// Kind.
    pub kind: Text,
    /// Namespace and name.
    pub key: Key,
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, self.key)
    }
}

impl Workload {
    /// As `kubectl` takes it: `deployment/web`.
    #[must_use]
    pub fn argument(&self) -> String {
        format!("{}/{}", self.kind.to_lowercase(), self.key.name)
    }

    /// Pods that it wants, where its kind says so.
    #[must_use]
    pub fn replicas(&self, view: &View) -> Option<i32> {
        let replicas = match &*self.kind {
            "Deployment" => view.deployments.by_key(&self.key)?.spec.replicas,
            "StatefulSet" => view.find::<StatefulSet>(&self.key)?.spec.replicas,
            "ReplicaSet" => view.find::<ReplicaSet>(&self.key)?.spec.replicas,
            "ReplicationController" => view.find::<ReplicationController>(&self.key)?.spec.replicas,
            "Rollout" => view.other("argoproj.io", "Rollout", &self.key)?.replicas,
            _ => return None,
        };
        Some(replicas.unwrap_or(1))
    }

    /// Whether its pods end by themselves.
    #[must_use]
    pub fn is_batch(&self) -> bool {
        matches!(&*self.kind, "Job" | "CronJob" | "Workflow" | "CronWorkflow")
    }
}

/// The workload of a pod; a bare pod has none. A Workflow is named itself: what is known of its work is written there. [`series_of`] names what made it.
#[must_use]
pub fn workload_of(view: &View, pod: &Pod) -> Option<Workload> {
    let owner = pod.meta.controller()?;
    let named = |owner: &OwnerReference| Workload {
        kind: owner.kind.clone(),
        key: Key { namespace: pod.meta.namespace.clone(), name: owner.name.clone() },
    };
    let direct = named(owner);
    let above = match &*owner.kind {
        "ReplicaSet" => view.find::<ReplicaSet>(&direct.key).and_then(|set| set.meta.controller()),
        "Job" => view.jobs.by_key(&direct.key).and_then(|job| job.meta.controller()),
        _ => None,
    };
    Some(above.map_or(direct, named))
}

/// What makes pods again and again: the workload of a pod, but a CronWorkflow rather than its Workflow, as a CronJob rather than its Job. Pods of all of its runs
/// have this in common, and reports of rehearsals name it.
#[must_use]
pub fn series_of(view: &View, pod: &Pod) -> Option<Workload> {
    let workload = workload_of(view, pod)?;
    if &*workload.kind != "Workflow" {
        return Some(workload);
    }
    if let Some(name) = pod.meta.labels.get(CRON_WORKFLOW) {
        return Some(cron_workflow(&workload.key, name));
    }
    let workflow = view.other("argoproj.io", "Workflow", &workload.key);
    Some(workflow.map_or(workload, |workflow| series_of_workflow(workflow)))
}

/// The same of a Workflow: the CronWorkflow that made it, or itself.
#[must_use]
pub fn series_of_workflow(workflow: &Other) -> Workload {
    let key = workflow.meta.key();
    match workflow.meta.labels.get(CRON_WORKFLOW) {
        Some(name) => cron_workflow(&key, name),
        None => Workload { kind: Text::from("Workflow"), key },
    }
}

fn cron_workflow(workflow: &Key, name: &Text) -> Workload {
    let key = Key::new(workflow.namespace.clone(), name.clone());
    Workload { kind: Text::from("CronWorkflow"), key }
}

#[cfg(test)]
mod tests {
    use replank_model::delta::Delta;
    use replank_model::object::Object;
    use serde_json::{Value, json};

    use super::*;

    fn named(labels: &Value, others: &[Value]) -> [String; 2] {
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "ml", "uid": "p", "labels": labels,
            "ownerReferences": [{"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow", "name": "etl-1", "uid": "w", "controller": true}]},
            "spec": {"containers": [{"name": "c"}]}});
        let put = |value: &Value| Delta::Put(Object::from_json(value.clone()).expect("an object"));
        let view: View = others.iter().chain([&pod]).map(put).collect();
        let pod = view.pods.by_key(&Key::new("ml", "p")).expect("it is there");
        [workload_of(&view, pod), series_of(&view, pod)].map(|of| of.expect("it has an owner").to_string())
    }

    #[test]
    fn a_series_is_the_cron_workflow_that_the_pod_or_its_workflow_names() {
        let label = json!({CRON_WORKFLOW: "etl"});
        let workflow = |labels: &Value| json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow", "metadata": {"name": "etl-1", "namespace": "ml", "uid": "w", "labels": labels}});
        let by_cron = ["Workflow ml/etl-1", "CronWorkflow ml/etl"];
        assert_eq!(named(&label, &[]), by_cron);
        assert_eq!(named(&json!({}), &[workflow(&label)]), by_cron);
        assert_eq!(named(&json!({}), &[workflow(&json!({}))]), ["Workflow ml/etl-1"; 2]);
    }
}
