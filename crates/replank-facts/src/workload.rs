//! The workload that a person would name for a pod.

use std::fmt;

use replank_model::object::meta::{Key, OwnerReference};
use replank_model::object::pod::Pod;
use replank_model::object::workload::{ReplicaSet, ReplicationController, StatefulSet};
use replank_model::text::Text;
use replank_model::view::View;

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

/// The workload of a pod; a bare pod has none.
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
