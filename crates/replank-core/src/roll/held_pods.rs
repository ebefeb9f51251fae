//! Pods for which queued nodes cannot be begun, in the order in which they are told.
//!
//! There may be hundreds of them, and all are told at every decision, while hardly one is another than at the last. So they are kept in order, and a
//! node's are looked at only when the node or a pod on it changes.

use std::collections::BTreeMap;

use replank_facts::drain::Otherwise;
use replank_facts::node_pods::{BatchPod, NodePods};
use replank_facts::plan::OnDeadline;
use replank_model::object::meta::Key;
use replank_model::text::{GroupName, NodeName};
use replank_model::time::Time;
use replank_protocol::policy::Refused;
use replank_protocol::waiting::{PodEnd, PodWait, WaitingOn};

use super::member::{Member, Scope};

/// See the module's page. Where one name stands for several pods, the first node's counts, and of several reasons the first, as everywhere.
#[derive(Debug, Default)]
pub(super) struct HeldPods(BTreeMap<(Key, GroupName, NodeName, Order), Held>);

/// Which of several reasons is told: a pod of which a change could not be read has those that were read before besides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Order {
    Refused,
    Unrecorded,
    Batch,
}

/// Why a pod keeps its node.
#[derive(Clone, Copy, Debug)]
pub(super) enum Held {
    /// It is not moved.
    Refused(Refused),
    /// Its results are not recorded.
    Unrecorded,
    /// It is waited for.
    Batch { since: Option<Time>, deadline: Time, otherwise: Otherwise },
}

/// Until when a batch pod is waited for on a node that was cordoned then.
pub(super) fn deadline(scope: &Scope, cordoned: Time, batch: &BatchPod) -> Time {
    cordoned + batch.wait.unwrap_or(scope.plan.batch.wait)
}

impl Held {
    fn order(self) -> Order {
        match self {
            Self::Refused(_) => Order::Refused,
            Self::Unrecorded => Order::Unrecorded,
            Self::Batch { .. } => Order::Batch,
        }
    }

    /// What is said of such a pod; `None` where something is done about it instead.
    pub(super) fn on(self, now: Time, on_deadline: OnDeadline) -> Option<WaitingOn> {
        Some(match (self, on_deadline) {
            (Self::Refused(reason), _) => WaitingOn::PodEnd(PodEnd::Refused { reason }),
            (Self::Unrecorded, _) => WaitingOn::Pod(PodWait::Unrecorded),
            (Self::Batch { since, deadline, .. }, _) if now < deadline => {
                WaitingOn::Pod(PodWait::Batch { since, deadline })
            }
            (Self::Batch { since, deadline, .. }, OnDeadline::Pause) => {
                WaitingOn::PodEnd(PodEnd::BatchOver { since, deadline })
            }
            (Self::Batch { otherwise: Otherwise::Refused(reason), .. }, OnDeadline::Evict) => {
                WaitingOn::PodEnd(PodEnd::Refused { reason })
            }
            (Self::Batch { otherwise: Otherwise::Moves, .. }, OnDeadline::Evict)
            | (Self::Batch { .. }, OnDeadline::Skip) => return None,
        })
    }
}

impl HeldPods {
    /// Puts the pods of a node among them that was cordoned then, or takes them away.
    pub(super) fn shelve(
        &mut self,
        scope: &Scope,
        member: &Member,
        (since, node_pods): (Time, &NodePods),
        is_there: bool,
    ) {
        let lane = scope.lane_of(&member.group);
        let mut shelve = |pod: Key, held: Held| {
            let key = (pod, lane.clone(), member.name.clone(), held.order());
            if is_there {
                self.0.entry(key).or_insert(held);
            } else {
                self.0.remove(&key);
            }
        };
        for (pod, reason) in &node_pods.refused {
            shelve(pod.clone(), Held::Refused(*reason));
        }
        for pod in &node_pods.unrecorded {
            shelve(pod.clone(), Held::Unrecorded);
        }
        for batch in &node_pods.batch {
            let pod = &batch.bound.pod;
            let deadline = deadline(scope, since, batch);
            let held = Held::Batch { since: pod.status.start_time, deadline, otherwise: batch.otherwise };
            shelve(pod.meta.key(), held);
        }
    }

    /// All of them with their groups, by name.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&Key, &GroupName, Held)> {
        self.0.iter().map(|((pod, lane, ..), held)| (pod, lane, *held))
    }
}
