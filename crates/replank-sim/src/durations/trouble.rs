//! Pods that do not get Ready, however long one waits: in the snapshot, and so in the copy.
//!
//! A rehearsal that healed what is broken would promise a roll that the real cluster cannot do. What is wrong with one
//! pod alone (a bad volume, a lost peer) stays with that pod; what is wrong with every pod of an owner (a bad
//! image, a crash at start) is in the template, and its next pods will have it too.

use replank_model::object::condition;
use replank_model::object::pod::{Pod, PodPhase};
use replank_model::text::Uid;
use replank_model::time::Time;
use replank_model::view::View;
use rustc_hash::FxHashMap;

use super::START_MAX;
use super::workload::{Workload, workload_of};

/// Reasons of waiting containers that do not go away by waiting (pkg/kubelet/images and pkg/kubelet/kuberuntime).
const LASTING: &[&str] = &[
    "CrashLoopBackOff",
    "ImagePullBackOff",
    "ErrImagePull",
    "ErrImageNeverPull",
    "InvalidImageName",
    "CreateContainerConfigError",
    "CreateContainerError",
    "RunContainerError",
];

/// How far a pod in trouble gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// Its containers do not start.
    NeverRuns,
    /// It runs, but is never Ready.
    NeverReady,
}

/// Who is in trouble.
#[derive(Clone, Debug, Default)]
pub(super) struct Troubles {
    pods: FxHashMap<Uid, Trouble>,
    owners: FxHashMap<Uid, Trouble>,
    /// The owners' workloads and the number of their pods, for the report.
    pub(super) workloads: Vec<(Workload, usize)>,
}

impl Troubles {
    pub(super) fn find(view: &View, now: Time) -> Self {
        let mut troubles = Self::default();
        for (_, pod) in view.pods.sorted() {
            if let Some(trouble) = trouble_of(view, pod, now) {
                troubles.pods.insert(pod.meta.uid.clone(), trouble);
            }
        }
        for (_, pod) in view.pods.sorted() {
            let Some(trouble) = troubles.pods.get(&pod.meta.uid) else { continue };
            let Some(owner) = pod.meta.controller() else { continue };
            if troubles.owners.contains_key(&owner.uid) {
                continue;
            }
            let siblings = view.pods_of(&owner.uid);
            let mut active = siblings.iter().map(|ix| &view.pods[*ix]).filter(|pod| pod.is_active());
            if active.all(|pod| troubles.pods.contains_key(&pod.meta.uid)) {
                troubles.owners.insert(owner.uid.clone(), *trouble);
                troubles.workloads.extend(workload_of(view, pod).map(|workload| (workload, siblings.len())));
            }
        }
        troubles
    }

    pub(super) fn of(&self, pod: &Pod) -> Option<Trouble> {
        let own = self.pods.get(&pod.meta.uid);
        own.or_else(|| self.owners.get(&pod.meta.controller()?.uid)).copied()
    }
}

/// What keeps one pod from being Ready: told by its containers, or by time. On a node that is not Ready itself, it is
/// the node.
fn trouble_of(view: &View, pod: &Pod, now: Time) -> Option<Trouble> {
    let node = view.node(pod.node.as_ref()?)?;
    if !pod.is_active() || pod.is_ready() || !node.is_ready() {
        return None;
    }
    let mut waiting =
        pod.status.container_statuses.iter().filter_map(|container| container.state.waiting.as_ref());
    let bound = condition::find(&pod.status.conditions, "PodScheduled")
        .and_then(|scheduled| scheduled.last_transition_time)
        .or(pod.status.start_time)?;
    let is_lasting = waiting.any(|waiting| LASTING.contains(&&*waiting.reason)) || now - bound > START_MAX;
    is_lasting.then_some(match pod.status.phase {
        PodPhase::Pending => Trouble::NeverRuns,
        PodPhase::Running | PodPhase::Unknown | PodPhase::Succeeded | PodPhase::Failed => Trouble::NeverReady,
    })
}
