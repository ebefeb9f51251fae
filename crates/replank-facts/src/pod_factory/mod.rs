//! From a workload to the pods that it would make.
//!
//! Sources (Kubernetes 1.36): `pkg/controller/controller_utils.go` (`GetPodFromTemplate`),
//! `pkg/controller/statefulset/stateful_set_utils.go`, `pkg/controller/daemon/util/daemonset_util.go`.

mod admit;
mod claims;
mod daemon;
mod template;

use std::sync::Arc;

use replank_model::object::meta::{Key, Meta};
use replank_model::object::pod::{Pod, PodStatus};
use replank_model::object::volume::{PersistentVolumeClaim, PersistentVolumeClaimTemplate};
use replank_model::object::{Object, ProjectError};
use replank_model::text::{Name, NodeName, Text, Uid};
use replank_model::view::View;

pub use admit::{admit_claim, default_class};
pub use template::is_workload;

use crate::finding::ObjectName;

/// Why nothing can be asked of an object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SubjectError {
    /// It is not what the API knows.
    #[error(transparent)]
    Unreadable(#[from] ProjectError),
    /// It is of a kind that makes no pods, or none that can be told from it.
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
    naming: Naming,
    /// A pod as it is admitted; names are set for each.
    pod: Arc<Pod>,
    /// Claims that each pod gets.
    claims: Vec<Arc<PersistentVolumeClaimTemplate>>,
}

/// How pods are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Naming {
    /// The first bears the name itself.
    Itself,
    /// Name and number.
    Numbered,
    /// As a StatefulSet counts, from this number.
    Ordinals(i64),
    /// One for each node.
    PerNode,
}

/// A pod, with the objects that are made for it.
#[derive(Clone, Debug)]
pub struct Made {
    /// The pod.
    pub pod: Arc<Pod>,
    /// Its claims.
    pub claims: Vec<PersistentVolumeClaim>,
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

    /// The next pod: the first of its names that is not taken.
    #[must_use]
    pub fn next(&self, view: &View) -> Made {
        let is_free = |name: &Name| {
            view.pods.find(&Key { namespace: self.pod.meta.namespace.clone(), name: name.clone() }).is_none()
        };
        let base = &self.object.key.name;
        match self.naming {
            Naming::Itself if is_free(base) => self.made(base.clone()),
            Naming::Itself | Naming::Numbered | Naming::PerNode => {
                let name = |number: i64| Name::from(format!("{base}-{number}"));
                self.made(name(first(1, |number| is_free(&name(number)))))
            }
            Naming::Ordinals(start) => {
                let name = |number: i64| Name::from(format!("{base}-{number}"));
                let number = first(start, |number| is_free(&name(number)));
                self.ordinal(name(number), number)
            }
        }
    }

    /// The pod of a node (of a DaemonSet).
    #[must_use]
    pub fn for_node(&self, node: &NodeName) -> Arc<Pod> {
        let made = self.made(Name::from(format!("{}-{node}", self.object.key.name)));
        let mut pod = made.pod;
        Arc::make_mut(&mut pod).pin = Some(node.clone());
        pod
    }

    fn made(&self, name: Name) -> Made {
        let mut pod = Pod::clone(&self.pod);
        rename(&mut pod.meta, name);
        let claims = claims::ephemeral(&pod);
        Made { pod: Arc::new(pod), claims }
    }

    fn ordinal(&self, name: Name, number: i64) -> Made {
        let mut made = self.made(name);
        if !self.claims.is_empty() || !made.pod.meta.labels.is_empty() {
            claims::number(Arc::make_mut(&mut made.pod), &self.object.key.name, &self.claims, number);
        }
        made.claims.extend(claims::of_set(&made.pod, &self.object.key.name, &self.claims, number));
        made
    }
}

/// Numbers that are tried one by one before it is assumed that no gap follows.
const GAPS_WITHIN: i64 = 64;

/// The first number from `start` that is free. Behind the first few, numbers are taken to be used up without a gap: tens of
/// thousands of copies are numbered one after the other, and walking over all before each would cost their square.
fn first(start: i64, is_free: impl Fn(i64) -> bool) -> i64 {
    let near = (start..start.saturating_add(GAPS_WITHIN)).find(|number| is_free(*number));
    near.unwrap_or_else(|| {
        let (mut used, mut step) = (start + GAPS_WITHIN - 1, 1);
        while !is_free(used + step) {
            used += step;
            step *= 2;
        }
        let mut free = used + step;
        while free - used > 1 {
            let middle = used + (free - used) / 2;
            if is_free(middle) { free = middle } else { used = middle }
        }
        free
    })
}

fn rename(meta: &mut Meta, name: Name) {
    if meta.uid.is_empty() || meta.name != name {
        meta.uid = Uid::from(format!("place-{}-{name}", meta.namespace));
    }
    meta.name = name;
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

/// The factory of an object, and what has to be in the View for its pods to count as siblings.
pub fn of_object(view: &View, object: &Object) -> Result<(PodFactory, Vec<Object>), SubjectError> {
    template::factory(view, object)
}
