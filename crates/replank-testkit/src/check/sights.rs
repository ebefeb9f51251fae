//! What a run met: whether the clusters are hard enough.

use std::collections::{BTreeMap, BTreeSet};

use replank_model::object::Object;
use replank_model::object::condition::ConditionStatus;
use replank_model::object::meta::Key;
use replank_model::object::pod::Pod;
use replank_model::text::Uid;
use replank_model::time::Time;
use replank_protocol::command::{Effect, GroupEffect, KubernetesEffect, Refusal};
use replank_protocol::decision::Decision;
use replank_sim::Sent;

use super::truth::Truth;

/// What a run met, however often.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Met {
    /// A pod that was to be gone long ago.
    StuckPod,
    /// A pod in a crash loop.
    CrashLoop,
    /// A pod that restarts again and again, in no crash loop.
    Restarts,
    /// A new node of which a condition says that it is in a bad way.
    BadNode,
    /// More pods in a bad way than the plan allows.
    Gate,
    /// It had to go back.
    WayBack,
    /// Something blocked before the run, and the plan does not begin with that.
    Blocking,
    /// Something befell an instance while the run went on, or afterwards.
    Struck,
    /// See above.
    StruckAfter,
    /// A pod was evicted from an instance that others took away.
    Rescued,
    /// One was deleted there in the last moment.
    LastMoment,
    /// A hook's action was completed.
    Completed,
    /// A hook was kept waiting.
    Heartbeat,
    /// Another instance was asked for before one was gone.
    Relieved,
    /// The case of an interrupted node was released.
    Release,
    /// An autoscaler asked for another number of replicas.
    Rescaled,
    /// The autoscaler of nodes raised a group.
    NodesAdded,
    /// It took a node away.
    NodesTaken,
    /// Somebody wrote between a check and the act.
    Race,
}

/// Counts of what was seen.
#[derive(Clone, Debug, Default)]
pub struct Sights {
    /// Evictions of ours that a budget refused.
    pub refused: usize,
    /// Evictions of ours that were granted.
    pub evicted: usize,
    /// Batch pods that were waited for.
    pub batch_waits: usize,
    /// Pods that the scheduler found no node for, of those that it had not refused before the run.
    pub pending: usize,
    /// Instances that were ended.
    pub ended: usize,
    /// What would have been a violation if others had not acted too short a time before for anybody to know.
    pub unknowable: usize,
    /// Kinds of reasons for waiting, and how many decisions named them.
    pub waits: BTreeMap<&'static str, usize>,
    /// Instances that were ended by us with stuck pods on them.
    pub ended_stuck: usize,
    /// Nodes that were given up for another one's sake.
    pub postponed: usize,
    /// Deletions by force.
    pub forced: usize,
    /// What was met.
    pub met: BTreeSet<Met>,
    before: BTreeSet<Uid>,
    waiting: BTreeSet<Uid>,
    batch: BTreeSet<String>,
    /// How often each object changed: names what goes round in circles.
    changes: BTreeMap<(&'static str, Key), usize>,
}

impl Sights {
    pub(super) fn begin(truth: &Truth) -> Self {
        let refused = truth.pods.values().filter(|pod| is_refused(pod));
        Self { before: refused.map(|pod| pod.meta.uid.clone()).collect(), ..Self::default() }
    }

    pub(super) fn object(&mut self, new: Option<&Object>) {
        if let Some(object) = new {
            *self.changes.entry((object.kind().as_str(), object.meta().key())).or_default() += 1;
        }
        if let Some(Object::HorizontalPodAutoscaler(hpa)) = new
            && hpa.status.last_scale_time.is_some()
        {
            self.met.insert(Met::Rescaled);
        }
        let Some(Object::Pod(pod)) = new else { return };
        if is_refused(pod)
            && !self.before.contains(&pod.meta.uid)
            && self.waiting.insert(pod.meta.uid.clone())
        {
            self.pending += 1;
        }
    }

    /// The object that changed most often.
    pub(super) fn busiest(&self) -> String {
        let busiest = self.changes.iter().max_by_key(|(_, count)| **count);
        busiest.map_or_else(String::new, |((kind, key), count)| format!("{kind} {key} changed {count} times"))
    }

    pub(super) fn decided(&mut self, _at: Time, decision: &Decision) {
        for waiting in &decision.waiting {
            let kind = waiting.on.kind();
            *self.waits.entry(kind).or_default() += 1;
            if kind == "release" {
                self.met.insert(Met::Release);
            }
            if kind == "batch" && self.batch.insert(waiting.what.to_string()) {
                self.batch_waits += 1;
            }
        }
    }

    pub(super) fn executed(&mut self, sent: &Sent) {
        let Some((_, result)) = &sent.result else { return };
        match (&sent.command.effect, result) {
            (Effect::Kubernetes(KubernetesEffect::Evict { .. }), Err(Refusal::Budget { .. })) => {
                self.refused += 1;
            }
            (Effect::Kubernetes(KubernetesEffect::Evict { .. }), Ok(())) => self.evicted += 1,
            (Effect::Group(GroupEffect::Terminate { .. }), Ok(())) => self.ended += 1,
            (Effect::Kubernetes(KubernetesEffect::ForceDelete { .. }), Ok(())) => self.forced += 1,
            (_, _) => {}
        }
    }
}

/// Whether the scheduler has found no node for a pod.
fn is_refused(pod: &Pod) -> bool {
    let said = pod.status.conditions.iter().find(|one| &*one.r#type == "PodScheduled");
    pod.node.is_none()
        && said.is_some_and(|said| said.status == ConditionStatus::False && &*said.reason == "Unschedulable")
}
