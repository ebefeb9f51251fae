//! The object that a change is made to, and where the API has it.

use std::fmt;

use replank_model::object::meta::Key;
use replank_model::text::NodeName;

use crate::workload::Workload;

/// An object that is changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// What it is.
    pub kind: TargetKind,
    /// Namespace and name.
    pub key: Key,
}

/// The kinds of objects that remedies change. Of others Replank does not know what a change would do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TargetKind {
    /// apps/v1 Deployment.
    Deployment,
    /// apps/v1 StatefulSet.
    StatefulSet,
    /// apps/v1 DaemonSet.
    DaemonSet,
    /// apps/v1 ReplicaSet.
    ReplicaSet,
    /// v1 ReplicationController.
    ReplicationController,
    /// batch/v1 CronJob.
    CronJob,
    /// argoproj.io/v1alpha1 CronWorkflow.
    CronWorkflow,
    /// policy/v1 PodDisruptionBudget.
    PodDisruptionBudget,
    /// autoscaling/v2 HorizontalPodAutoscaler.
    HorizontalPodAutoscaler,
    /// v1 Node.
    Node,
    /// v1 Pod.
    Pod,
}

impl TargetKind {
    /// Kind, as `kubectl` takes it, with what stands before the object's name.
    fn argument(self) -> &'static str {
        match self {
            Self::Deployment => "deployment/",
            Self::StatefulSet => "statefulset/",
            Self::DaemonSet => "daemonset/",
            Self::ReplicaSet => "replicaset/",
            Self::ReplicationController => "replicationcontroller/",
            Self::CronJob => "cronjob/",
            Self::CronWorkflow => "cronworkflow/",
            Self::PodDisruptionBudget => "pdb ",
            Self::HorizontalPodAutoscaler => "hpa ",
            Self::Node => "node ",
            Self::Pod => "pod ",
        }
    }

    /// The path of its collections behind the namespace: `apis/apps/v1` and `deployments`.
    fn path(self) -> (&'static str, &'static str) {
        match self {
            Self::Deployment => ("apis/apps/v1", "deployments"),
            Self::StatefulSet => ("apis/apps/v1", "statefulsets"),
            Self::DaemonSet => ("apis/apps/v1", "daemonsets"),
            Self::ReplicaSet => ("apis/apps/v1", "replicasets"),
            Self::ReplicationController => ("api/v1", "replicationcontrollers"),
            Self::CronJob => ("apis/batch/v1", "cronjobs"),
            Self::CronWorkflow => ("apis/argoproj.io/v1alpha1", "cronworkflows"),
            Self::PodDisruptionBudget => ("apis/policy/v1", "poddisruptionbudgets"),
            Self::HorizontalPodAutoscaler => ("apis/autoscaling/v2", "horizontalpodautoscalers"),
            Self::Node => ("api/v1", "nodes"),
            Self::Pod => ("api/v1", "pods"),
        }
    }

    /// As objects name it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Deployment => "Deployment",
            Self::StatefulSet => "StatefulSet",
            Self::DaemonSet => "DaemonSet",
            Self::ReplicaSet => "ReplicaSet",
            Self::ReplicationController => "ReplicationController",
            Self::CronJob => "CronJob",
            Self::CronWorkflow => "CronWorkflow",
            Self::PodDisruptionBudget => "PodDisruptionBudget",
            Self::HorizontalPodAutoscaler => "HorizontalPodAutoscaler",
            Self::Node => "Node",
            Self::Pod => "Pod",
        }
    }

    /// The kind that objects name so.
    #[must_use]
    pub fn of(kind: &str) -> Option<Self> {
        const ALL: [TargetKind; 11] = [
            TargetKind::Deployment,
            TargetKind::StatefulSet,
            TargetKind::DaemonSet,
            TargetKind::ReplicaSet,
            TargetKind::ReplicationController,
            TargetKind::CronJob,
            TargetKind::CronWorkflow,
            TargetKind::PodDisruptionBudget,
            TargetKind::HorizontalPodAutoscaler,
            TargetKind::Node,
            TargetKind::Pod,
        ];
        ALL.into_iter().find(|one| one.as_str() == kind)
    }
}

impl Target {
    /// An object.
    #[must_use]
    pub fn new(kind: TargetKind, key: Key) -> Self {
        Self { kind, key }
    }

    /// A workload, where remedies change its kind.
    #[must_use]
    pub fn workload(workload: &Workload) -> Option<Self> {
        Some(Self { kind: TargetKind::of(&workload.kind)?, key: workload.key.clone() })
    }

    /// A workload by kind and name.
    #[must_use]
    pub fn workload_named(kind: &str, key: &Key) -> Option<Self> {
        Some(Self { kind: TargetKind::of(kind)?, key: key.clone() })
    }

    /// A node.
    #[must_use]
    pub fn node(name: &NodeName) -> Self {
        Self::new(TargetKind::Node, Key::cluster(name.as_str()))
    }

    /// Group and version, as objects name them.
    pub(super) fn api_version(&self) -> &'static str {
        let (root, _) = self.kind.path();
        root.strip_prefix("apis/").unwrap_or("v1")
    }

    /// The path of the object in the API.
    #[must_use]
    pub fn path(&self) -> String {
        let (root, plural) = self.kind.path();
        let Key { namespace, name } = &self.key;
        match namespace.as_str() {
            "" => format!("/{root}/{plural}/{name}"),
            namespace => format!("/{root}/namespaces/{namespace}/{plural}/{name}"),
        }
    }

    /// `kubectl -n shop VERB deployment/web`.
    pub(super) fn command(&self, verb: &str) -> String {
        let (kind, name) = (self.kind.argument(), &self.key.name);
        match self.key.namespace.as_str() {
            "" => format!("kubectl {verb} {kind}{name}"),
            namespace => format!("kubectl -n {namespace} {verb} {kind}{name}"),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind.as_str(), self.key)
    }
}
