//! The pods of a node that is to go, sorted by what becomes of them.

use std::sync::Arc;

use replank_model::object::Object;
use replank_model::object::meta::Key;
use replank_model::object::pod::Pod;
use replank_model::object::workload::{ReplicaSet, ReplicationController, StatefulSet};
use replank_model::text::{NodeName, Uid};
use replank_model::time::{Span, Time};
use replank_model::view::{Change, Ix, View};
use rustc_hash::FxHashMap;

use crate::batch::wait;
use crate::budget::Footing;
use crate::drain::{self, Fate, Otherwise};
use crate::plan::Plan;
use replank_protocol::policy::Refused;

/// A pod and where the View has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    /// Its place in the View.
    pub ix: Ix<Pod>,
    /// The pod.
    pub pod: Arc<Pod>,
    /// Its name: hardly more is asked of most of them, decision by decision, and the pod itself need not be looked at for that.
    pub key: Key,
    /// How it stands before its budgets.
    pub footing: Footing,
    /// When it was made.
    pub created: Option<Time>,
}

impl Bound {
    /// A pod in its place.
    pub fn new(view: &View, ix: Ix<Pod>, pod: Arc<Pod>) -> Self {
        let (footing, created) = (Footing::of(view, ix, &pod), pod.meta.creation_timestamp);
        Self { ix, key: pod.meta.key(), pod, footing, created }
    }
}

/// A batch pod.
#[derive(Clone, Debug, PartialEq)]
pub struct BatchPod {
    /// The pod.
    pub bound: Bound,
    /// What becomes of it once it is not waited for any more.
    pub otherwise: Otherwise,
    /// How long it asks to be waited for, where it does ([`crate::batch::wait`]).
    pub wait: Option<Span>,
}

/// A pod on its way out.
#[derive(Clone, Debug, PartialEq)]
pub struct LeavingPod {
    /// The pod.
    pub pod: Arc<Pod>,
    /// When it is due to be gone.
    pub due: Time,
    /// The grace that it was given.
    pub grace: Span,
    /// Who made it, and will make another in its place.
    owner: Option<Uid>,
}

impl LeavingPod {
    /// A pod with such a grace that is due to be gone then.
    pub fn new(pod: &Arc<Pod>, due: Time, grace: Span) -> Self {
        let owner = pod.meta.controller().map(|owner| owner.uid.clone());
        Self { pod: pod.clone(), due, grace, owner }
    }
}

/// What is on a node and does not simply stay.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodePods {
    /// To be evicted; least important first, so that what keeps the node working goes last.
    pub movers: Vec<Bound>,
    /// Batch pods.
    pub batch: Vec<BatchPod>,
    /// Pods that are not moved, and why.
    pub refused: Vec<(Key, Refused)>,
    /// Finished pods of Workflows whose results are not recorded.
    pub unrecorded: Vec<Key>,
    /// Pods on their way out.
    pub leaving: Vec<LeavingPod>,
    /// How many of the movers are under a disruption budget.
    pub budgeted: u32,
    /// All others: they stay, or have finished. In order of their places.
    rest: Vec<(Ix<Pod>, Arc<Pod>)>,
}

impl NodePods {
    /// Sorts the pods of a node.
    pub fn of(view: &View, plan: &Plan, node: &NodeName) -> Self {
        let mut node_pods = Self::default();
        node_pods.refresh(view, plan, node);
        node_pods
    }

    /// Sorts the pods of the node anew. Pods that are moved or waited for, or stay, and have not changed are not looked at: for another thing to become of them,
    /// DaemonSets, the plan or what budgets select would have to be others.
    pub fn refresh(&mut self, view: &View, plan: &Plan, node: &NodeName) {
        let is_same =
            |ix: Ix<Pod>, known: &Arc<Pod>| view.pods.get(ix).is_some_and(|pod| Arc::ptr_eq(pod, known));
        self.movers.retain(|bound| is_same(bound.ix, &bound.pod));
        self.batch.retain(|batch| is_same(batch.bound.ix, &batch.bound.pod));
        self.rest.retain(|(ix, pod)| is_same(*ix, pod));
        self.refused.clear();
        self.unrecorded.clear();
        self.leaving.clear();
        let (movers, batch, rest) = (self.movers.len(), self.batch.len(), self.rest.len());
        for ix in view.pods_on(node) {
            let is_known = self.rest[..rest].binary_search_by_key(ix, |(known, _)| *known).is_ok()
                || self.movers[..movers].iter().any(|bound| bound.ix == *ix)
                || self.batch[..batch].iter().any(|batch| batch.bound.ix == *ix);
            if !is_known {
                self.add(view, plan, *ix);
            }
        }
        for unread in view.unread_on(node) {
            self.refused.push((unread.object.key.clone(), Refused::Unreadable));
        }
        let covered = self.movers.iter().filter(|bound| bound.footing.is_covered());
        self.budgeted = u32::try_from(covered.count()).unwrap_or(u32::MAX);
        if self.rest.len() > rest {
            self.rest.sort_unstable_by_key(|(ix, _)| *ix);
        }
        if self.movers.len() > movers {
            self.movers.sort_by(|a, b| order(&a.pod).cmp(&order(&b.pod)));
        }
        if self.batch.len() > batch {
            self.batch.sort_by(|a, b| order(&a.bound.pod).cmp(&order(&b.bound.pod)));
        }
        self.leaving.sort_by(|a, b| order(&a.pod).cmp(&order(&b.pod)));
        self.refused.sort();
        self.unrecorded.sort();
    }

    fn add(&mut self, view: &View, plan: &Plan, ix: Ix<Pod>) {
        let pod = &view.pods[ix];
        match drain::fate(view, plan, pod) {
            Fate::Stays | Fate::Finished => self.rest.push((ix, pod.clone())),
            Fate::Unrecorded => self.unrecorded.push(pod.meta.key()),
            Fate::Leaving { due, grace } => self.leaving.push(LeavingPod::new(pod, due, grace)),
            Fate::Batch { otherwise, kind: _ } => {
                let wait = wait::annotated(pod).and_then(Result::ok);
                self.batch.push(BatchPod { bound: Bound::new(view, ix, pod.clone()), otherwise, wait });
            }
            Fate::Plain(Otherwise::Refused(reason)) => self.refused.push((pod.meta.key(), reason)),
            Fate::Plain(Otherwise::Moves) => self.movers.push(Bound::new(view, ix, pod.clone())),
        }
    }

    /// Whether nothing is left that would be lost with the node.
    pub fn is_empty(&self) -> bool {
        self.is_left_to_leaving() && self.leaving.is_empty()
    }

    /// Whether nothing is left but pods on their way out.
    pub fn is_left_to_leaving(&self) -> bool {
        let Self { movers, batch, refused, unrecorded, leaving: _, budgeted: _, rest: _ } = self;
        movers.is_empty() && batch.is_empty() && refused.is_empty() && unrecorded.is_empty()
    }

    /// Whether something is waited for that would be lost with the node's instance.
    pub fn is_waited_for(&self) -> bool {
        !self.batch.is_empty() || !self.unrecorded.is_empty()
    }

    /// What keeps the node from being begun, and nothing else.
    #[must_use]
    pub fn holding(&self) -> Self {
        let (batch, refused, unrecorded) =
            (self.batch.clone(), self.refused.clone(), self.unrecorded.clone());
        Self { batch, refused, unrecorded, ..Self::default() }
    }

    /// What keeps the node from being begun, batch pods aside that others have, too; where more than batch pods differ, all that does.
    #[must_use]
    pub fn holding_but(&self, others: &Self) -> Self {
        if self.refused != others.refused || self.unrecorded != others.unrecorded {
            return self.holding();
        }
        let is_other =
            |one: &&BatchPod| others.batch.iter().all(|other| !Arc::ptr_eq(&other.bound.pod, &one.bound.pod));
        Self { batch: self.batch.iter().filter(is_other).cloned().collect(), ..Self::default() }
    }

    /// Whether the same pods keep the node from being begun.
    pub fn is_held_as(&self, other: &Self) -> bool {
        let (old, new) = (&self.batch, &other.batch);
        let is_same = |(old, new): (&BatchPod, &BatchPod)| Arc::ptr_eq(&old.bound.pod, &new.bound.pod);
        let is_batch_same = old.len() == new.len() && old.iter().zip(new).all(is_same);
        is_batch_same && self.refused == other.refused && self.unrecorded == other.unrecorded
    }

    /// Whether the node can be begun as soon as its turn comes: nothing on it has to be waited for beforehand.
    pub fn is_free(&self) -> bool {
        self.batch.is_empty() && self.refused.is_empty() && self.unrecorded.is_empty()
    }
}

/// Priority, then namespace and name.
fn order(pod: &Pod) -> (i32, &str, &str) {
    (pod.spec.priority.unwrap_or(0), pod.meta.namespace.as_str(), pod.meta.name.as_str())
}

/// Owners' active pods, and how many they want, kept until that changes; see [`missing_replicas`].
#[derive(Debug, Default)]
pub struct Actives(FxHashMap<Uid, Kept>);

#[derive(Debug)]
struct Kept {
    active: usize,
    /// `None` since some owner came to want another number; else what [`replicas_wanted`] says.
    wanted: Option<Option<usize>>,
}

impl Actives {
    /// Takes in a change.
    pub fn observe(&mut self, change: &Change) {
        let Change::Object { old, new, .. } = change else { return };
        if self.0.is_empty() {
            return;
        }
        if let (Some(Object::Pod(old)), Some(Object::Pod(new))) = (old, new)
            && old.is_active() == new.is_active()
            && old.meta.owner_references.is_same(&new.meta.owner_references)
        {
            return;
        }
        if replicas(old.as_ref()) != replicas(new.as_ref()) {
            self.0.values_mut().for_each(|kept| kept.wanted = None);
        }
        let (was, is) = (active_owner(old.as_ref()), active_owner(new.as_ref()));
        if was == is {
            return;
        }
        for (owner, more) in [(was, -1), (is, 1)] {
            if let Some(kept) = owner.and_then(|owner| self.0.get_mut(owner)) {
                kept.active = kept.active.saturating_add_signed(more);
            }
        }
    }

    /// How many active pods the owner of a pod has, and how many it wants, where that is known.
    fn of(&mut self, view: &View, owner: &Uid, pod: &Pod) -> (usize, Option<usize>) {
        let kept = self.0.entry(owner.clone()).or_insert_with(|| {
            let active = view.pods_of(owner).iter().filter(|ix| view.pods[**ix].is_active()).count();
            Kept { active, wanted: None }
        });
        (kept.active, *kept.wanted.get_or_insert_with(|| replicas_wanted(view, pod)))
    }
}

/// The number of pods that an object says it wants, if it is one of those of which [`replicas_wanted`] is told.
fn replicas(object: Option<&Object>) -> Option<Option<i32>> {
    if let Some(Object::ReplicaSet(set)) = object {
        Some(set.spec.replicas)
    } else if let Some(Object::StatefulSet(set)) = object {
        Some(set.spec.replicas)
    } else if let Some(Object::ReplicationController(controller)) = object {
        Some(controller.spec.replicas)
    } else {
        None
    }
}

/// The owner of a pod that is neither ended nor on its way out.
fn active_owner(object: Option<&Object>) -> Option<&Uid> {
    let Some(Object::Pod(pod)) = object else { return None };
    pod.meta.controller().filter(|_| pod.is_active()).map(|owner| &owner.uid)
}

/// For every owner of pods that are on their way out: one such pod, and how many its owner has still to make.
pub fn missing_replicas<'a>(
    view: &View,
    actives: &mut Actives,
    leaving: impl Iterator<Item = &'a LeavingPod>,
) -> Vec<(Arc<Pod>, usize)> {
    let mut by_owner: FxHashMap<&Uid, (&Arc<Pod>, usize)> = FxHashMap::default();
    for leaving in leaving {
        if let Some(owner) = &leaving.owner {
            by_owner.entry(owner).or_insert((&leaving.pod, 0)).1 += 1;
        }
    }
    let missing = by_owner.into_iter().map(|(owner, (pod, leaving))| {
        let (active, wanted) = actives.of(view, owner, pod);
        let missing = wanted.map_or(leaving, |wanted| wanted.saturating_sub(active));
        (owner, pod, missing.min(leaving))
    });
    let mut missing: Vec<_> = missing.filter(|(_, _, missing)| *missing > 0).collect();
    missing.sort_unstable_by_key(|(owner, _, _)| *owner);
    missing.into_iter().map(|(_, pod, missing)| (pod.clone(), missing)).collect()
}

/// How many pods a pod's owner wants, where that is known.
fn replicas_wanted(view: &View, pod: &Pod) -> Option<usize> {
    let owner = pod.meta.controller()?;
    let key = Key { namespace: pod.meta.namespace.clone(), name: owner.name.clone() };
    let replicas = match &*owner.kind {
        "ReplicaSet" => view.find::<ReplicaSet>(&key)?.spec.replicas,
        "StatefulSet" => view.find::<StatefulSet>(&key)?.spec.replicas,
        "ReplicationController" => view.find::<ReplicationController>(&key)?.spec.replicas,
        _ => return None,
    };
    usize::try_from(replicas.unwrap_or(1)).ok()
}

#[cfg(test)]
mod tests {
    use replank_model::delta::{Delta, Unread};
    use replank_model::object::{Kind, ObjectRef};

    use super::*;

    #[test]
    fn a_node_with_a_pod_that_cannot_be_read_is_not_empty() {
        let (node, groups) = (NodeName::from("web-1"), vec!["web".into()]);
        let plan = Plan::of_groups("p", groups, crate::plan::Target::default());
        let mut view = View::default();
        assert!(NodePods::of(&view, &plan, &node).is_empty());
        let object = ObjectRef { kind: Kind::Pod, key: Key::new("shop", "web-0"), uid: Uid::from("u") };
        view.apply(Delta::Unread(Unread { object, node: Some(node.clone()) }));
        let node_pods = NodePods::of(&view, &plan, &node);
        assert!(!node_pods.is_empty() && !node_pods.is_free());
        assert_eq!(node_pods.refused, [(Key::new("shop", "web-0"), Refused::Unreadable)]);
    }
}
