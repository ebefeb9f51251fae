//! Which old nodes can be emptied, in any order, judged from the objects alone: what a run must reach that has time enough.
//!
//! It is no promise of safety, and no checker: it says what the rules of Kubernetes and of the plan leave possible. A node that
//! is kept is kept by one pod on it, or by itself. What depends on the order (a budget that bears the loss of one pod for ever, and
//! not of two) is not asked for.
//!
//! Time is no reason: Jobs end, and drains wait for each other.

mod fit;
mod pods;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use replank_facts::plan::{BarePods, DeadAction, LocalStorage, OnDeadline, Plan, Singletons};
use replank_model::object::affinity::{Taint, TaintEffect};
use replank_model::object::meta::Key;
use replank_model::object::node::{LABEL_HOSTNAME, Node};
use replank_model::object::pod::{Pod, PodPhase};
use replank_model::object::policy::{PodDisruptionBudget, UnhealthyPodEvictionPolicy};
use replank_model::text::NodeName;
use replank_model::view::View;
use replank_protocol::policy::StuckAction;

use super::budget::{covering, covers, desired_healthy, replicas};
use super::truth::{Truth, goes_with_its_node, is_healthy, is_node_ready, is_over, manager};
use super::{Promised, batch};
use fit::{Places, Room};
use pods::{bears, bears_absence, ends, is_foreign, is_like, is_spread, runs_once};

/// Why a node cannot be emptied.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Keeps {
    /// A pod under a budget that never lets it go.
    Budget(Key),
    /// A pod under several budgets: the eviction API answers with an error (pkg/registry/core/pod/storage/eviction.go).
    Budgets(Key),
    /// A pod whose budget cannot bear that it and its like are lost: no scheduler that is here makes them run again.
    ForeignScheduler(Key),
    /// A pod that nobody would make again, and the plan refuses to end.
    Bare(Key),
    /// A pod with data on the node, which the plan does not give up.
    LocalStorage(Key),
    /// A pod that counts as batch work, never ends, and is not to be ended.
    Batch(Key),
    /// A pod of a workload of one replica, or whose budget never lets it go, where the plan leaves their nodes out.
    Singleton(Key),
    /// A pod that fits no node that will be there.
    Room(Key),
    /// A pod that fits only where pods want to go that have no node: these come first, and may leave no room.
    Contested(Key),
    /// A pod that fits only in a zone in which the group need not launch: where two zones have as few instances, Auto Scaling decides.
    Zone(Key),
    /// A pod that bears cordons: the scheduler may put it back where it was, or onto the next old node.
    ComesBack(Key),
    /// A pod whose like must be spread over nodes, with another of its like on the same node. An empty cordoned node counts as one
    /// without such a pod (unless `nodeTaintsPolicy: Honor`), so that a new node takes one only until the old one is gone.
    Spread(Key),
    /// A pod that does not terminate on this machine, and the plan only reports it.
    Stuck(Key),
    /// It is not Ready, and the plan leaves it.
    Dead,
    /// Its group has as many dead nodes that are left as it may lack: none of its Ready nodes can be spared.
    Capacity,
    /// It has another run's mark.
    OtherRun,
}

impl Keeps {
    /// The reason alone, for a table.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Budget(_) => "budget that never allows",
            Self::Budgets(_) => "several budgets",
            Self::ForeignScheduler(_) => "pod of another scheduler",
            Self::Bare(_) => "bare pod",
            Self::LocalStorage(_) => "local storage",
            Self::Batch(_) => "batch work that never ends",
            Self::Singleton(_) => "singleton that is left",
            Self::Room(_) => "pod that fits nowhere",
            Self::Contested(_) => "pod whose room is contested",
            Self::Zone(_) => "pod in a zone that may get no node",
            Self::ComesBack(_) => "pod that bears cordons",
            Self::Spread(_) => "pods spread over nodes, two on one",
            Self::Stuck(_) => "pod that does not terminate",
            Self::Dead => "dead node that is left",
            Self::Capacity => "group that can spare no node",
            Self::OtherRun => "another run's mark",
        }
    }
}

impl fmt::Display for Keeps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.reason())?;
        match self {
            Self::Budget(pod)
            | Self::Budgets(pod)
            | Self::ForeignScheduler(pod)
            | Self::Bare(pod)
            | Self::LocalStorage(pod)
            | Self::Batch(pod)
            | Self::Singleton(pod)
            | Self::Room(pod)
            | Self::Contested(pod)
            | Self::Zone(pod)
            | Self::ComesBack(pod)
            | Self::Spread(pod)
            | Self::Stuck(pod) => write!(f, " ({pod})"),
            Self::Dead | Self::Capacity | Self::OtherRun => Ok(()),
        }
    }
}

/// What no object shows.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// Machines that end no pod.
    pub faulty: BTreeSet<NodeName>,
    /// Pods that were Ready before their machine went off: what is made in their place will be.
    pub well: BTreeSet<Key>,
}

/// Every old node, with what keeps it; `None` where it can be emptied.
#[must_use]
pub fn old_nodes(view: &View, plan: &Plan, known: &Known) -> BTreeMap<NodeName, Option<Keeps>> {
    let promised = Promised::of(plan, view);
    let truth = Truth::of(view);
    let places = Places::of(view, plan, &promised, &truth);
    let judge = Judge { view, plan, promised: &promised, truth: &truth, places, known };
    promised.old.iter().map(|name| (name.clone(), judge.node(&truth.nodes[name]))).collect()
}

struct Judge<'a> {
    view: &'a View,
    plan: &'a Plan,
    promised: &'a Promised,
    truth: &'a Truth,
    places: Places,
    known: &'a Known,
}

impl Judge<'_> {
    fn node(&self, node: &Node) -> Option<Keeps> {
        let is_dead = !is_node_ready(node);
        if is_dead && self.plan.care.dead_nodes.action == DeadAction::Leave {
            return Some(Keeps::Dead);
        }
        if node.meta.annotations.contains_key("replank.dev/run") {
            return Some(Keeps::OtherRun);
        }
        let name = node.name();
        if !is_dead && !self.can_be_spared(&name) {
            return Some(Keeps::Capacity);
        }
        let moving = self.truth.pods_on(&name).filter(|pod| !goes_with_its_node(self.truth, pod));
        // The control plane has the pods of a dead node deleted, past all budgets, and they go with the machine.
        let left = moving.filter(|pod| !is_dead || bears_absence(pod));
        left.filter(|pod| pod.meta.deletion_timestamp.is_none()).find_map(|pod| self.pod(&name, pod))
    }

    /// A dead node that is left is missing from its group's Ready nodes for good, and takes of the surge for good.
    fn can_be_spared(&self, node: &NodeName) -> bool {
        let group = |node: &NodeName| {
            let mut all = self.view.instances().values();
            all.find(|one| one.node.as_ref() == Some(node)).map(|one| &one.group)
        };
        let own = group(node);
        let Some(limits) = own.and_then(|own| self.promised.limits_of(own)) else { return true };
        let is_left = |one: &Node| {
            self.plan.care.dead_nodes.action == DeadAction::Leave
                && !is_node_ready(one)
                && group(&one.name()) == own
        };
        let left = self.truth.nodes.values().filter(|one| is_left(one)).count();
        let desired = limits.before.desired;
        left < usize::try_from(desired.saturating_sub(limits.needed) + limits.surge).expect("few")
    }

    fn pod(&self, node: &NodeName, pod: &Arc<Pod>) -> Option<Keeps> {
        let key = pod.meta.key();
        if batch::is_batch(self.promised, pod) || runs_once(pod) {
            if ends(pod) {
                return None;
            }
            match self.plan.batch.on_deadline {
                // Outside its windows a queued node takes pods again, and the wait begins anew with the next.
                OnDeadline::Evict if !self.plan.care.windows.0.is_empty() => return Some(Keeps::Batch(key)),
                OnDeadline::Evict if batch::must_not_run_again(pod) => return Some(Keeps::Batch(key)),
                OnDeadline::Evict => {}
                OnDeadline::Pause | OnDeadline::Skip => return Some(Keeps::Batch(key)),
            }
        }
        if self.plan.local_storage == LocalStorage::Refuse
            && pod.spec.volumes.iter().any(|volume| volume.source.empty_dir.is_some())
        {
            return Some(Keeps::LocalStorage(key));
        }
        if bears(pod, &Taint::new("node.kubernetes.io/unschedulable", TaintEffect::NoSchedule)) {
            return Some(Keeps::ComesBack(key));
        }
        let is_bare = manager(pod).is_none();
        if is_bare && self.plan.bare_pods == BarePods::Refuse {
            return Some(Keeps::Bare(key));
        }
        let by_budget = self.budget(pod);
        if self.plan.care.singletons == Singletons::Skip && (by_budget.is_some() || self.is_alone(pod)) {
            return Some(Keeps::Singleton(key));
        }
        if by_budget.is_some() {
            return by_budget;
        }
        // Where two machines end no pod, each may hold the pod that a budget on the other waits for.
        let is_reported = self.plan.care.stuck.action == StuckAction::Report;
        if self.known.faulty.contains(node) && (is_reported || self.known.faulty.len() > 1) {
            return Some(Keeps::Stuck(key));
        }
        // Nothing comes in the place of a bare pod, and where a pod of another scheduler goes nobody here knows.
        let needs_room = !is_bare && !is_foreign(pod);
        if !needs_room {
            return None;
        }
        let like = self.truth.pods_on(node).filter(|one| !is_over(one) && is_like(one, pod));
        if is_spread(pod, LABEL_HOSTNAME) && like.count() > 1 {
            return Some(Keeps::Spread(key));
        }
        match self.places.room(self.view, self.truth, pod) {
            Room::Free => None,
            Room::Unsure => Some(Keeps::Zone(key)),
            Room::Contested => Some(Keeps::Contested(key)),
            Room::None => Some(Keeps::Room(key)),
        }
    }

    fn is_alone(&self, pod: &Arc<Pod>) -> bool {
        replicas(self.truth, std::slice::from_ref(pod)) == Some(1)
    }

    /// What the eviction API says in the end, when everything that can be healthy is.
    fn budget(&self, pod: &Arc<Pod>) -> Option<Keeps> {
        if pod.status.phase == PodPhase::Pending {
            return None;
        }
        let budgets: Vec<_> = covering(self.truth, pod).collect();
        match budgets.as_slice() {
            [] => None,
            [budget] => self.under(budget, pod),
            [_, ..] => Some(Keeps::Budgets(pod.meta.key())),
        }
    }

    fn under(&self, budget: &PodDisruptionBudget, pod: &Arc<Pod>) -> Option<Keeps> {
        let covered: Vec<Arc<Pod>> =
            self.truth.pods_in(&pod.meta.namespace).filter(|one| covers(budget, one)).cloned().collect();
        let policy = budget.spec.unhealthy_pod_eviction_policy;
        let is_well = self.will_be_healthy(pod);
        if !is_well && policy == Some(UnhealthyPodEvictionPolicy::AlwaysAllow) {
            return None;
        }
        let Some(needed) = desired_healthy(self.truth, &covered, budget) else {
            return Some(Keeps::Budget(pod.meta.key()));
        };
        let count = |of: &dyn Fn(&Arc<Pod>) -> bool| {
            i64::try_from(covered.iter().filter(|one| of(one)).count()).expect("few")
        };
        let healthy = count(&|one| self.will_be_healthy(one));
        let is_old = |one: &Arc<Pod>| one.node.as_ref().is_some_and(|node| self.promised.old.contains(node));
        let lost = count(&|one| is_old(one) && is_foreign(one) && self.will_be_healthy(one));
        let others = count(&|one| is_old(one) && !is_foreign(one) && !ends(one));
        let left = healthy - lost;
        let is_allowed = match (is_well, lost) {
            // One that is not healthy takes nothing from those that are (IfHealthyBudget).
            (false, _) => left > needed || (left >= needed && needed > 0),
            (true, 0) => left > needed,
            // The last one may go while the budget is met, but then nothing else moves under it.
            (true, _) => left > needed || (left == needed && others == 0),
        };
        match (is_allowed, lost) {
            (true, _) => None,
            (false, 0) => Some(Keeps::Budget(pod.meta.key())),
            (false, _) if healthy <= needed => Some(Keeps::Budget(pod.meta.key())),
            (false, _) => Some(Keeps::ForeignScheduler(pod.meta.key())),
        }
    }

    /// Healthy, or made anew off a dead node.
    fn will_be_healthy(&self, pod: &Arc<Pod>) -> bool {
        let node = pod.node.as_ref().and_then(|name| self.truth.nodes.get(name));
        let is_on_dead = node.is_some_and(|node| !is_node_ready(node));
        let was_well = self.known.well.contains(&pod.meta.key());
        is_healthy(pod)
            || (is_on_dead && was_well && !is_foreign(pod) && manager(pod).is_some() && !bears_absence(pod))
    }
}
