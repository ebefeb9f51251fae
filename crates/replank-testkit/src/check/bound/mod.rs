//! Which old nodes can be emptied, in any order, judged from the objects alone: what a run must reach that has time enough.
//!
//! It is no promise of safety, and no checker: it says what the rules of Kubernetes and of the plan leave possible. A node that
//! is kept is kept by one pod on it, or by itself. What depends on the order (a budget that bears the loss of one pod for ever, and
//! not of two) is not asked for.
//!
//! Time is no reason: Jobs end, and drains wait for each other.

mod fit;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use replank_facts::plan::{BarePods, DeadAction, LocalStorage, OnDeadline, Plan, Singletons};
use replank_model::object::affinity::{Taint, TaintEffect};
use replank_model::object::meta::Key;
use replank_model::object::node::Node;
use replank_model::object::pod::{Pod, PodPhase, RestartPolicy};
use replank_model::object::policy::{PodDisruptionBudget, UnhealthyPodEvictionPolicy};
use replank_model::text::NodeName;
use replank_model::view::View;
use replank_protocol::policy::StuckAction;

use super::budget::{covering, covers, desired_healthy, replicas};
use super::truth::{Truth, goes_with_its_node, is_healthy, is_node_ready, manager};
use super::{Promised, batch};
use fit::Places;

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
    /// A pod that does not terminate on this machine, and the plan only reports it.
    Stuck(Key),
    /// It is not Ready, and the plan leaves it.
    Dead,
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
            Self::Stuck(_) => "pod that does not terminate",
            Self::Dead => "dead node that is left",
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
            | Self::Stuck(pod) => write!(f, " ({pod})"),
            Self::Dead | Self::OtherRun => Ok(()),
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
        let moving = self.truth.pods_on(&name).filter(|pod| !goes_with_its_node(self.truth, pod));
        // The control plane has the pods of a dead node deleted, past all budgets, and they go with the machine.
        let left = moving.filter(|pod| !is_dead || bears_absence(pod));
        left.filter(|pod| pod.meta.deletion_timestamp.is_none()).find_map(|pod| self.pod(&name, pod))
    }

    fn pod(&self, node: &NodeName, pod: &Arc<Pod>) -> Option<Keeps> {
        let key = pod.meta.key();
        if batch::is_batch(self.promised, pod) || runs_once(pod) {
            if ends(pod) {
                return None;
            }
            match self.plan.batch.on_deadline {
                OnDeadline::Evict => {}
                OnDeadline::Pause | OnDeadline::Skip => return Some(Keeps::Batch(key)),
            }
        }
        if self.plan.local_storage == LocalStorage::Refuse
            && pod.spec.volumes.iter().any(|volume| volume.source.empty_dir.is_some())
        {
            return Some(Keeps::LocalStorage(key));
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
        if self.plan.care.stuck.action == StuckAction::Report && self.known.faulty.contains(node) {
            return Some(Keeps::Stuck(key));
        }
        // Nothing comes in the place of a bare pod, and where a pod of another scheduler goes nobody here knows.
        let needs_room = !is_bare && !is_foreign(pod);
        (needs_room && !self.places.take(self.view, self.truth, pod)).then_some(Keeps::Room(key))
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

/// A pod that the scheduler leaves to another one.
fn is_foreign(pod: &Pod) -> bool {
    !matches!(&*pod.spec.scheduler_name, "" | "default-scheduler")
}

fn runs_once(pod: &Pod) -> bool {
    pod.spec.restart_policy.is_some_and(|policy| policy != RestartPolicy::Always)
}

/// It ends by itself.
fn ends(pod: &Pod) -> bool {
    runs_once(pod) || manager(pod).is_some_and(|(kind, _, _)| matches!(kind, "Job" | "Workflow"))
}

/// It stays on a node that does not answer, for ever.
fn bears_absence(pod: &Pod) -> bool {
    let taint = Taint::new("node.kubernetes.io/unreachable", TaintEffect::NoExecute);
    let bears = |one: &replank_model::object::affinity::Toleration| {
        one.toleration_seconds.is_none() && one.tolerates(&taint, false)
    };
    pod.spec.tolerations.iter().any(bears)
}
