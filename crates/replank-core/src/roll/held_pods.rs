//! Pods for which queued nodes cannot be begun, in the order in which they are told.
//!
//! There may be hundreds of them, and all are told at every decision, while hardly one is another than at the last. So they are kept in order, and a
//! node's are looked at only when the node or a pod on it changes.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use replank_facts::drain::Otherwise;
use replank_facts::node_pods::{BatchPod, NodePods};
use replank_facts::plan::OnDeadline;
use replank_model::object::meta::Key;
use replank_model::text::{GroupName, NodeName};
use replank_model::time::Time;
use replank_protocol::policy::Refused;
use replank_protocol::waiting::{PodEnd, PodWait, WaitingOn};

use super::member::{Member, Scope};
use super::sets::tally;

/// See the module's page. Where one name stands for several pods, the first node's counts, and of several reasons the first, as everywhere.
#[derive(Debug, Default)]
pub(super) struct HeldPods {
    by_name: BTreeMap<(Key, GroupName, NodeName, Order), Held>,
    /// Until when batch pods among them are waited for, and how many until then.
    deadlines: BTreeMap<Time, u32>,
}

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

    /// Until when it is waited for, if it is.
    fn deadline(self) -> Option<Time> {
        match self {
            Self::Batch { deadline, .. } => Some(deadline),
            Self::Refused(_) | Self::Unrecorded => None,
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
            match self.by_name.entry(key) {
                Entry::Vacant(entry) if is_there => {
                    note_deadline(&mut self.deadlines, *entry.insert(held), true);
                }
                Entry::Occupied(entry) if !is_there => {
                    note_deadline(&mut self.deadlines, entry.remove(), false);
                }
                Entry::Vacant(_) | Entry::Occupied(_) => {}
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
        self.by_name.iter().map(|((pod, lane, ..), held)| (pod, lane, *held))
    }

    /// Until when batch pods of such groups are waited for, or of all.
    pub(super) fn deadlines(&self, lanes: Option<&BTreeSet<&GroupName>>) -> Vec<Time> {
        let Some(lanes) = lanes else { return self.deadlines.keys().copied().collect() };
        let of_lanes = self.iter().filter(|(_, lane, _)| lanes.contains(lane));
        of_lanes.filter_map(|(_, _, held)| held.deadline()).collect()
    }
}

fn note_deadline(deadlines: &mut BTreeMap<Time, u32>, held: Held, is_there: bool) {
    if let Some(deadline) = held.deadline() {
        tally(deadlines, &deadline, is_there);
    }
}
