//! What a pod factory is, and how its pods are named.

use std::sync::Arc;

use replank_model::object::ProjectError;
use replank_model::object::pod::{Pod, PodStatus};
use replank_model::object::volume::PersistentVolumeClaimTemplate;
use replank_model::text::{Name, Text};

use crate::finding::ObjectName;

/// Why nothing can be asked of an object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SubjectError {
    /// It is not what the API knows.
    #[error(transparent)]
    Unreadable(#[from] ProjectError),
    /// Its kind creates no pods, or none that can be derived from it.
    #[error("{object} has no pod template: expected spec.template.spec.containers")]
    NoTemplate {
        /// The object.
        object: ObjectName,
    },
    /// Admission refuses the pod, in the API server's words.
    #[error("pods \"{pod}\" is forbidden: {why}")]
    Forbidden {
        /// The pod.
        pod: Name,
        /// Why.
        why: Text,
    },
}

/// What pods of one workload are made from.
#[derive(Clone, Debug)]
pub struct PodFactory {
    /// What was asked about.
    pub object: ObjectName,
    /// Pods that its spec wants; of a snapshot's object one more.
    pub wanted: usize,
    pub(super) naming: Naming,
    /// A pod as it is admitted; names are set for each.
    pub(super) pod: Arc<Pod>,
    /// Claims that each pod gets.
    pub(super) claims: Vec<Arc<PersistentVolumeClaimTemplate>>,
}

/// How pods are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Naming {
    /// The first has the name itself.
    Itself,
    /// Name and number.
    Numbered,
    /// As a StatefulSet counts, from this number.
    Ordinals(i64),
    /// One for each node.
    PerNode,
}

impl PodFactory {
    /// Further pods like one of the snapshot; the first is the pod itself if that is not there.
    #[must_use]
    pub fn of_pod(pod: &Arc<Pod>) -> Self {
        Self {
            object: ObjectName { kind: Text::from("Pod"), key: pod.meta.key() },
            wanted: 1,
            naming: Naming::Itself,
            pod: anew(pod),
            claims: Vec::new(),
        }
    }

    /// Whether a pod is made for each node.
    #[must_use]
    pub fn is_per_node(&self) -> bool {
        self.naming == Naming::PerNode
    }
}

/// A pod as it would be if it were made now.
#[must_use]
pub fn anew(pod: &Arc<Pod>) -> Arc<Pod> {
    if pod.node.is_none() && !pod.is_terminating() {
        return pod.clone();
    }
    let mut new = Pod::clone(pod);
    new.node = None;
    new.meta.deletion_timestamp = None;
    new.meta.deletion_grace_period_seconds = None;
    new.status = PodStatus::default();
    Arc::new(new)
}
