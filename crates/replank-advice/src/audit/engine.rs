//! What the scheduler says of a pod on a node of each kind, were there room.
//!
//! "Can it land there" is not the same question as "would it go there now": what is full now has room tomorrow, and a cordon
//! is lifted. So the scheduler is shown a cluster that has one node of every kind, as it is when it has just joined, with the
//! DaemonSet pods and mirror pods that such a node has and no others. Selectors, affinity, taints, requests against what such
//! a node has to give, and volumes answer as they always do; neighbours that come and go (whose requests, ports and
//! anti-affinity may stand in the way today) do not answer at all. Only where a pod must be near others do these stand where
//! they are. What the snapshot does not hold (`audit/absent.rs`) is not asked about.

use std::collections::BTreeSet;
use std::sync::Arc;

use replank_model::delta::Delta;
use replank_model::object::Object;
use replank_model::object::meta::Key;
use replank_model::object::pod::{Pod, PodPhase, PodSpec, PodStatus};
use replank_model::text::{Name, Uid};
use replank_model::view::View;

use super::absent::Absent;
use super::ground::{Ground, KindId};
use replank_schedule::{Explanation, Failure, Scheduler, Verdict, VolumeDecisions};

/// One kind's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// The pod can land on nodes of this kind.
    Lands,
    /// It cannot: everything that stands in the way.
    Fails(Vec<Failure>),
}

/// A cluster with one node of every kind, and its scheduler.
pub(super) struct Engine {
    view: View,
    scheduler: Scheduler,
    absent: Absent,
}

impl Engine {
    pub(super) fn new(view: &View, ground: &Ground, absent: Absent) -> Self {
        let mut samples = View::default();
        let mut put = |object: Object| {
            samples.apply(Delta::Put(object));
        };
        for (_, namespace) in view.namespaces.unordered() {
            put(namespace.clone().into());
        }
        for (_, class) in view.storage_classes.unordered() {
            put(class.clone().into());
        }
        for (_, driver) in view.csi_drivers.unordered() {
            put(driver.clone().into());
        }
        for (_, volume) in view.persistent_volumes.unordered() {
            put(volume.clone().into());
        }
        for (_, claim) in view.persistent_volume_claims.unordered() {
            put(claim.clone().into());
        }
        for (_, kind) in ground.kinds() {
            let name = kind.sample.name();
            put(kind.sample.clone().into());
            if let Some(csi) = view.csi_nodes.by_key(&Key::cluster(Name::from(&name))) {
                put(csi.clone().into());
            }
            for pod in view.sorted_pods_on(&name) {
                if pod.is_active() && (pod.is_mirror() || is_daemon(pod)) {
                    put(pod.clone().into());
                }
            }
        }
        let scheduler = Scheduler::load(&samples);
        Self { view: samples, scheduler, absent }
    }

    /// Every kind's answer to a pod, in the order of their ids. `near` are pods that stand where they are, each as the kind of
    /// node that it is on.
    pub(super) fn ask(&mut self, ground: &Ground, pod: &Pod, near: &[(Arc<Pod>, KindId)]) -> Vec<Answer> {
        let mut trial = self.scheduler.trial();
        for (neighbour, kind) in near {
            let ghost = Arc::new(ghost(neighbour));
            let node = ground.kind(*kind).sample.name();
            trial.assume(&self.view, &ghost, &node, &VolumeDecisions::default());
        }
        let pod = self.absent.less(&self.view, unbound(pod));
        let Explanation { nodes, .. } = trial.explain(&self.view, &Arc::new(pod));
        let mut answers = vec![Answer::Fails(Vec::new()); nodes.len()];
        for (name, verdict) in nodes {
            let id = ground.kind_of(&name).expect("the engine knows samples of kinds only");
            answers[id.0] = match verdict {
                Verdict::Fits(_) => Answer::Lands,
                Verdict::Fails { first, all } => {
                    Answer::Fails(if all.is_empty() { vec![first] } else { all })
                }
            };
        }
        answers
    }

    /// The kinds on which a pod can land.
    pub(super) fn lands(
        &mut self,
        ground: &Ground,
        pod: &Pod,
        near: &[(Arc<Pod>, KindId)],
    ) -> BTreeSet<KindId> {
        landed(&self.ask(ground, pod, near)).collect()
    }
}

/// The kinds that say yes.
pub(super) fn landed(answers: &[Answer]) -> impl Iterator<Item = KindId> {
    let yes = answers.iter().enumerate().filter(|(_, answer)| **answer == Answer::Lands);
    yes.map(|(at, _)| KindId(at))
}

/// Whether a DaemonSet's controller made the pod for its node.
pub(super) fn is_daemon(pod: &Pod) -> bool {
    pod.meta.controller().is_some_and(|owner| &*owner.kind == "DaemonSet")
}

/// The pod before it has a node. What holds it back for other reasons than nodes is left out.
fn unbound(pod: &Pod) -> Pod {
    let mut pod = pod.clone();
    pod.node = None;
    pod.meta.deletion_timestamp = None;
    pod.status = PodStatus { phase: PodPhase::Pending, ..PodStatus::default() };
    if !pod.spec.scheduling_gates.is_empty() {
        Arc::make_mut(&mut pod.spec).scheduling_gates.clear();
    }
    pod
}

/// A pod that is there and takes no room.
fn ghost(pod: &Pod) -> Pod {
    let mut ghost = unbound(pod);
    ghost.spec = Arc::new(PodSpec::default());
    ghost.meta.name = Name::from(format!("{}.near", pod.meta.name));
    ghost.meta.uid = Uid::from(format!("{}.near", pod.meta.uid));
    ghost
}
