//! Every eviction: which pod, when, what the API server answered, and where its successor came up.

use std::collections::VecDeque;

use replank_model::list::List;
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

impl From<Asker> for By {
    fn from(asker: Asker) -> Self {
        match asker {
            Asker::Person => Self::Hand,
            Asker::Eks => Self::Eks,
        }
    }
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

/// All evictions of a rehearsal, in their order. They are known by their numbers, which are noted of the pods that go and of those that come.
#[derive(Debug, Default)]
pub(super) struct Evictions {
    entries: List<EvictionEntry>,
    /// Those that were granted and have no successor yet, by the number of the workload, the oldest first.
    vacant: FxHashMap<u32, VecDeque<u32>>,
    /// Pods that went at once when they were asked to: nothing can be noted of them where they were.
    went_at_once: FxHashMap<Uid, u32>,
}

impl Evictions {
    /// Notes a request that was answered, with the number of the pod's workload, its kind and its name. Its number, if it was granted.
    pub(super) fn answered(
        &mut self,
        sent: &Sent,
        request: Request,
        pod: &Pod,
        workload: Option<(u32, &Text)>,
    ) -> Option<u32> {
        let (at, result) = sent.result.as_ref()?;
        let refused = match result {
            Ok(()) => None,
            Err(why @ (Refusal::Budget { .. } | Refusal::Denied { .. } | Refusal::Failed { .. })) => {
                Some(why.to_string())
            }
            // Nothing was asked of the API server, or the pod was another one by then.
            Err(
                Refusal::Conflict { .. } | Refusal::Gone { .. } | Refusal::Mismatch { .. } | Refusal::Late,
            ) => return None,
        };
        self.note(*at, (By::Replank, request), refused, pod, workload)
    }

    /// Notes what somebody else has asked for. Its number, if it was granted.
    pub(super) fn asked(&mut self, at: Time, asked: &Asked, workload: Option<(u32, &Text)>) -> Option<u32> {
        self.note(at, (asked.by.into(), Request::Evict), asked.refused.clone(), &asked.pod, workload)
    }

    /// The pod of a number is not there any more though nobody was told yet.
    pub(super) fn went_at_once(&mut self, number: u32, pod: &Pod) {
        self.went_at_once.insert(pod.meta.uid.clone(), number);
    }

    fn note(
        &mut self,
        at: Time,
        (by, request): (By, Request),
        refused: Option<String>,
        pod: &Pod,
        workload: Option<(u32, &Text)>,
    ) -> Option<u32> {
        let number = u32::try_from(self.entries.len()).expect("fewer evictions than 2^32");
        let granted = refused.is_none().then_some(number);
        if let (Some(number), Some((workload, _))) = (granted, workload) {
            self.vacant.entry(workload).or_default().push_back(number);
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
        granted
    }

    /// Whether a pod that is made may come in place of one that went.
    pub(super) fn are_successors_awaited(&self) -> bool {
        !self.vacant.is_empty()
    }

    /// A pod of a workload of this number was made: in place of the one of its name, else of the one of its workload that went first. The number
    /// of that one, if there was one.
    pub(super) fn made(&mut self, at: Time, pod: &Pod, workload: Option<u32>) -> Option<u32> {
        let vacant = self.vacant.get_mut(&workload?)?;
        let is_same = |number: &u32| text::same(&self.entries[*number as usize].pod, pod.meta.name.text());
        // The server makes the names of a ReplicaSet's pods, none twice. Those of a StatefulSet have names of their own, and a `generateName` besides.
        let is_named_anew = pod.meta.controller().is_some_and(|owner| &*owner.kind == "ReplicaSet");
        let named = if is_named_anew { None } else { vacant.iter().position(is_same) };
        let number = vacant.remove(named.unwrap_or(0))?;
        self.entries[number as usize].successor = Some(Successor {
            pod: pod.meta.name.text().clone(),
            created: at.floor_seconds(),
            node: pod.node.as_ref().map(|node| node.text().clone()),
            ready: None,
        });
        Some(number)
    }

    /// A pod that comes in place of the one of a number has changed. Whether it is not Ready yet.
    pub(super) fn came(&mut self, at: Time, pod: &Pod, number: u32) -> bool {
        let Some(successor) = &mut self.entries[number as usize].successor else { return false };
        if successor.node.is_none() {
            successor.node = pod.node.as_ref().map(|node| node.text().clone());
        }
        if pod.is_ready() {
            successor.ready = Some(at.floor_seconds());
        }
        !pod.is_ready()
    }

    /// A pod is gone, which was granted to go under this number, if it was.
    pub(super) fn gone(&mut self, at: Time, pod: &Pod, number: Option<u32>) {
        let at_once =
            || if self.went_at_once.is_empty() { None } else { self.went_at_once.remove(&pod.meta.uid) };
        if let Some(number) = number.or_else(at_once) {
            self.entries[number as usize].gone = Some(at.floor_seconds());
        }
    }

    /// All of them.
    pub(super) fn entries(&self) -> List<EvictionEntry> {
        self.entries.clone()
    }
}

#[cfg(test)]
mod tests {
    use replank_model::object::Object;
    use serde_json::json;

    use super::*;

    fn pod(name: &str, kind: &str) -> Pod {
        let value = json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "generateName": "db-", "namespace": "shop", "uid": name,
                "ownerReferences": [{"apiVersion": "apps/v1", "kind": kind, "name": "db", "uid": "db", "controller": true}]},
            "spec": {"nodeName": "n", "containers": [{"name": "c"}]}});
        let Ok(Object::Pod(pod)) = Object::from_json(value) else { panic!("a pod") };
        (*pod).clone()
    }

    /// The evictions of `db-2` and `db-0`, in whose place each of these comes.
    fn places(kind: &str, come: [&str; 2]) -> [Option<u32>; 2] {
        let (mut evictions, at) = (Evictions::default(), Time::from_millis(0));
        let label = Text::from("a workload");
        for name in ["db-2", "db-0"] {
            let by = (By::Replank, Request::Evict);
            evictions.note(at, by, None, &pod(name, kind), Some((1, &label)));
        }
        come.map(|name| evictions.made(at, &pod(name, kind), Some(1)))
    }

    #[test]
    fn a_pod_comes_in_place_of_the_one_of_its_name_or_of_the_one_that_went_first() {
        assert_eq!(places("StatefulSet", ["db-0", "db-2"]), [Some(1), Some(0)]);
        assert_eq!(places("ReplicaSet", ["db-x", "db-y"]), [Some(0), Some(1)]);
    }
}
