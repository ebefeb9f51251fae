//! Every eviction: which pod, when, what the API server answered, and where its successor came up.

use std::collections::VecDeque;

use replank_model::object::pod::Pod;
use replank_model::text::{self, Text, Uid};
use replank_model::time::Time;
use replank_protocol::command::Refusal;
use replank_sim::{Asked, Asker, Sent};
use rustc_hash::FxHashMap;
use serde::Serialize;

/// One request that a pod goes, and what came of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EvictionEntry {
    /// When the API server answered.
    pub at: Time,
    /// The pod's namespace.
    pub namespace: Text,
    /// The pod's name.
    pub pod: Text,
    /// Its node.
    pub node: Option<Text>,
    /// Its workload: kind and name.
    pub workload: Option<Text>,
    /// Who asked for it.
    pub by: By,
    /// How it was asked for.
    pub request: Request,
    /// What the API server answered: its words where it refused, nothing where it did not.
    pub refused: Option<String>,
    /// When the pod was gone.
    pub gone: Option<Time>,
    /// The pod that came in its place.
    pub successor: Option<Successor>,
}

/// Who asks a pod to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum By {
    /// The run.
    Replank,
    /// Somebody else: in a script, or with kubectl.
    Hand,
    /// EKS, in a managed node group of its own.
    Eks,
}

/// How a pod is asked to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Request {
    /// By an eviction, which asks the disruption budgets.
    Evict,
    /// By a deletion: its instance is about to take it along.
    Delete,
}

/// The pod that was made in place of one that went.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Successor {
    /// Its name.
    pub pod: Text,
    /// When it was made.
    pub created: Time,
    /// Where it was placed.
    pub node: Option<Text>,
    /// When it was Ready for the first time.
    pub ready: Option<Time>,
}

/// All evictions of a rehearsal, in their order.
#[derive(Debug, Default)]
pub(super) struct Evictions {
    entries: Vec<EvictionEntry>,
    /// Those that were granted and have no successor yet, by the number of the workload, the oldest first.
    vacant: FxHashMap<u32, VecDeque<usize>>,
    /// Pods that were granted to go and are still there.
    leaving: FxHashMap<Uid, usize>,
    /// Successors that are not Ready yet.
    coming: FxHashMap<Uid, usize>,
}

impl Evictions {
    /// Notes a request that was answered, with the number of the pod's workload, its kind and its name.
    pub(super) fn answered(
        &mut self,
        sent: &Sent,
        request: Request,
        pod: &Pod,
        workload: Option<(u32, &Text)>,
    ) {
        let Some((at, result)) = &sent.result else { return };
        let refused = match result {
            Ok(()) => None,
            Err(why @ (Refusal::Budget { .. } | Refusal::Denied { .. } | Refusal::Failed { .. })) => {
                Some(why.to_string())
            }
            // Nothing was asked of the API server, or the pod was another one by then.
            Err(
                Refusal::Conflict { .. } | Refusal::Gone { .. } | Refusal::Mismatch { .. } | Refusal::Late,
            ) => return,
        };
        self.note(*at, (By::Replank, request), refused, pod, workload);
    }

    /// Notes what somebody else has asked for.
    pub(super) fn asked(&mut self, at: Time, asked: &Asked, workload: Option<(u32, &Text)>) {
        let by = match asked.by {
            Asker::Person => By::Hand,
            Asker::Eks => By::Eks,
        };
        self.note(at, (by, Request::Evict), asked.refused.clone(), &asked.pod, workload);
    }

    fn note(
        &mut self,
        at: Time,
        (by, request): (By, Request),
        refused: Option<String>,
        pod: &Pod,
        workload: Option<(u32, &Text)>,
    ) {
        let index = self.entries.len();
        if refused.is_none() {
            self.leaving.insert(pod.meta.uid.clone(), index);
            if let Some((number, _)) = workload {
                self.vacant.entry(number).or_default().push_back(index);
            }
        }
        self.entries.push(EvictionEntry {
            at: at.floor_seconds(),
            namespace: pod.meta.namespace.text().clone(),
            pod: pod.meta.name.text().clone(),
            node: pod.node.as_ref().map(|node| node.text().clone()),
            workload: workload.map(|(_, label)| label.clone()),
            by,
            request,
            refused,
            gone: None,
            successor: None,
        });
    }

    /// Whether a pod that is made may come in place of one that went.
    pub(super) fn are_successors_awaited(&self) -> bool {
        !self.vacant.is_empty()
    }

    /// A pod of a workload of this number was made: in place of the one of its name, else of the one of its workload that went first. Whether
    /// there was one.
    pub(super) fn made(&mut self, at: Time, pod: &Pod, workload: Option<u32>) -> bool {
        let Some(vacant) = workload.and_then(|number| self.vacant.get_mut(&number)) else { return false };
        let same =
            vacant.iter().position(|index| text::same(&self.entries[*index].pod, pod.meta.name.text()));
        let Some(index) = vacant.remove(same.unwrap_or(0)) else { return false };
        self.entries[index].successor = Some(Successor {
            pod: pod.meta.name.text().clone(),
            created: at.floor_seconds(),
            node: pod.node.as_ref().map(|node| node.text().clone()),
            ready: None,
        });
        self.coming.insert(pod.meta.uid.clone(), index);
        true
    }

    /// A pod that comes in place of another has changed. Whether it is not Ready yet.
    pub(super) fn came(&mut self, at: Time, pod: &Pod) -> bool {
        let Some(index) = self.coming.get(&pod.meta.uid).copied() else { return false };
        let Some(successor) = &mut self.entries[index].successor else { return false };
        if successor.node.is_none() {
            successor.node = pod.node.as_ref().map(|node| node.text().clone());
        }
        if pod.is_ready() {
            successor.ready = Some(at.floor_seconds());
            self.coming.remove(&pod.meta.uid);
            return false;
        }
        true
    }

    /// A pod is gone.
    pub(super) fn gone(&mut self, at: Time, pod: &Pod) {
        if let Some(index) = self.leaving.remove(&pod.meta.uid) {
            self.entries[index].gone = Some(at.floor_seconds());
        }
        self.coming.remove(&pod.meta.uid);
    }

    /// All of them.
    pub(super) fn entries(&self) -> Vec<EvictionEntry> {
        self.entries.clone()
    }
}
