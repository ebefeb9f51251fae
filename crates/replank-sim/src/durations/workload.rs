//! What pods of one origin have in common.

use replank_model::object::meta::{Key, OwnerReference};
use replank_model::object::pod::Pod;
use replank_model::object::workload::ReplicaSet;
use replank_model::text::{Namespace, Text};
use replank_model::view::View;

/// What pods of one origin have in common: namespace, kind and name of the workload that a person would name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Workload {
    /// Namespace.
    pub namespace: Namespace,
    /// Kind: Deployment, StatefulSet, CronJob, Workflow…
    pub kind: Text,
    /// Name.
    pub name: Text,
}

/// The workload that a person would name for a pod; bare pods have none.
#[must_use]
pub fn workload_of(view: &View, pod: &Pod) -> Option<Workload> {
    let owner = pod.meta.controller()?;
    let namespace = &pod.meta.namespace;
    let key = Key::new(namespace.clone(), owner.name.clone());
    let above = match &*owner.kind {
        "ReplicaSet" => view.find::<ReplicaSet>(&key).and_then(|set| set.meta.controller()),
        "Job" => view.jobs.by_key(&key).and_then(|job| job.meta.controller()),
        _ => None,
    };
    if &*owner.kind == "Workflow" {
        let cron = pod.meta.labels.get("workflows.argoproj.io/cron-workflow").cloned();
        let cron = cron.or_else(|| cron_of_workflow(view, &key));
        if let Some(name) = cron {
            return Some(Workload { namespace: namespace.clone(), kind: Text::from("CronWorkflow"), name });
        }
    }
    Some(top_of(namespace, &owner.kind, owner.name.as_str(), above))
}

pub(super) fn top_of(
    namespace: &Namespace,
    kind: &str,
    name: &str,
    above: Option<&OwnerReference>,
) -> Workload {
    match above {
        Some(above) => Workload {
            namespace: namespace.clone(),
            kind: above.kind.clone(),
            name: above.name.text().clone(),
        },
        None => Workload { namespace: namespace.clone(), kind: Text::from(kind), name: Text::from(name) },
    }
}

fn cron_of_workflow(view: &View, key: &Key) -> Option<Text> {
    let workflow = view.other("argoproj.io", "Workflow", key)?;
    workflow.meta.labels.get("workflows.argoproj.io/cron-workflow").cloned()
}
