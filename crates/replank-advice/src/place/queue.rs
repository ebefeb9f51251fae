//! All pods that wait for a node, one after the other.

use std::cmp::Reverse;
use std::sync::Arc;

use replank_model::object::pod::Pod;
use replank_model::text::{NodeName, Text};

use super::query::{PlacementQuery, UnschedulablePod, gates, is_gated};
use replank_facts::drain::is_daemon;
use replank_facts::pod_factory::anew;
use replank_facts::workload::{Workload, workload_of};

/// A pending pod and its placement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queued {
    /// The pod.
    pub pod: Arc<Pod>,
    /// Who makes it.
    pub workload: Option<Workload>,
    /// The node it was on, if that is taken to be gone.
    pub from: Option<NodeName>,
    /// The outcome.
    pub fate: Fate,
}

/// The outcome for a pending pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It goes to a node.
    Placed(NodeName),
    /// It waits for gates to be lifted.
    Gated(Vec<Text>),
    /// It fits nowhere.
    DoesNotFit(UnschedulablePod),
    /// Its node is gone, and nobody makes it again.
    Lost,
}

impl PlacementQuery {
    /// Places all pods that wait, in the order of the scheduler's queue: the higher priority first, then the older one
    /// (`PrioritySort`). Each is taken to be where it goes before the next is asked about.
    ///
    /// With nodes that are taken to be gone, pods of theirs that their controllers would make again wait too, as the youngest.
    #[must_use]
    pub fn place_all_pending(&mut self) -> Vec<Queued> {
        let mut queue: Vec<(Arc<Pod>, Option<NodeName>)> = self
            .view
            .pods
            .sorted()
            .into_iter()
            .filter(|(_, pod)| pod.node.is_none() && pod.is_active())
            .map(|(_, pod)| (pod.clone(), None))
            .collect();
        let mut lost = Vec::new();
        for pod in std::mem::take(&mut self.displaced) {
            if pod.is_terminal() || pod.is_mirror() || is_daemon(&pod) {
                continue;
            }
            let workload = workload_of(&self.view, &pod);
            let from = pod.node.clone();
            if workload.is_none() {
                lost.push(Queued { pod, workload, from, fate: Fate::Lost });
                continue;
            }
            let mut new = Pod::clone(&anew(&pod));
            new.meta.creation_timestamp = None;
            queue.push((Arc::new(new), from));
        }
        queue.sort_by_key(|(pod, _)| {
            let created = pod.meta.creation_timestamp;
            (Reverse(pod.spec.priority.unwrap_or(0)), created.is_none(), created, pod.meta.key())
        });
        let placed = queue.into_iter().map(|(pod, from)| self.queued(pod, from));
        placed.chain(lost).collect()
    }

    fn queued(&mut self, pod: Arc<Pod>, from: Option<NodeName>) -> Queued {
        let workload = workload_of(&self.view, &pod);
        let fate = if is_gated(&pod) {
            Fate::Gated(gates(&pod))
        } else {
            match self.settle(&pod) {
                Ok(node) => Fate::Placed(node),
                Err(error) => Fate::DoesNotFit(self.unschedulable_of(&pod, &error.to_string())),
            }
        };
        Queued { pod, workload, from, fate }
    }
}
