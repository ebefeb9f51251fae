//! How many pods each budget covers and how many of them are healthy, kept up to date pod by pod.
//!
//! A budget may cover ten thousand pods, each of which changes half a dozen times in its life. So a change of a pod moves
//! counters, and a look at a budget reads them.

use std::collections::BTreeMap;

use replank_model::object::meta::{OwnerReference, ResourceVersion};
use replank_model::object::pod::Pod;
use replank_model::object::policy::PodDisruptionBudget;
use replank_model::text::Uid;
use replank_model::view::{Ix, View};
use smallvec::SmallVec;

/// Counters of all budgets.
#[derive(Debug, Default)]
pub(super) struct Tallies {
    /// By slot of the budget.
    budgets: Vec<Option<Tally>>,
    /// What each pod adds, by slot of the pod.
    shares: Vec<Option<Share>>,
    epoch: u32,
}

/// Counters of one budget.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Tally {
    /// Tells shares in these counters from shares in those of an earlier selector or an earlier budget in the slot.
    epoch: u32,
    /// Pods covered, whatever their state.
    pub(super) pods: u32,
    /// Of these, ready and not on their way out.
    pub(super) healthy: u32,
    /// Of these, without a managing owner.
    pub(super) unmanaged: u32,
    /// The managing owners and how many of the pods each has.
    pub(super) owners: BTreeMap<Uid, Owned>,
    /// How often any of these has moved; no two counts of a budget's pods begin alike.
    pub(super) moves: u64,
    /// The same of which owners there are.
    pub(super) rosters: u64,
    /// The budget's version.
    pub(super) version: ResourceVersion,
}

/// One owner's part of a budget's pods.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Owned {
    /// The owner, as one of its pods names it.
    pub(super) owner: OwnerReference,
    /// How many of the pods.
    pub(super) pods: u32,
}

/// What one pod adds to the counters.
#[derive(Clone, Debug)]
struct Share {
    /// Slots of the budgets that cover the pod, with their epochs.
    budgets: SmallVec<[(u32, u32); 1]>,
    is_healthy: bool,
    owner: Option<Uid>,
}

impl Tallies {
    /// The counters of a budget.
    pub(super) fn get(&self, budget: Ix<PodDisruptionBudget>) -> Option<&Tally> {
        self.budgets.get(budget.slot()).and_then(Option::as_ref)
    }

    /// A pod has changed: moves the counters and returns the budgets that covered it or do now, each once.
    pub(super) fn put_pod(&mut self, view: &View, ix: Ix<Pod>, pod: Option<&Pod>) -> SmallVec<[u32; 2]> {
        let mut touched = self.take_share(ix);
        let Some(pod) = pod else { return touched };
        let covering = view.budgets_of(ix);
        if !covering.is_empty() {
            let mut share = share_of(pod);
            for budget in covering {
                self.add(*budget, pod, &mut share);
                if !touched.contains(&budget.raw()) {
                    touched.push(budget.raw());
                }
            }
            self.set_share(ix, share);
        }
        touched
    }

    /// A pod has changed whose labels and owners are as before, so that nothing but its health can have: moves the counters and returns the budgets that
    /// cover it.
    pub(super) fn move_health(&mut self, ix: Ix<Pod>, is_healthy: bool) -> SmallVec<[u32; 2]> {
        let mut touched = SmallVec::new();
        let Some(share) = self.shares.get_mut(ix.slot()).and_then(Option::as_mut) else { return touched };
        let was_healthy = std::mem::replace(&mut share.is_healthy, is_healthy);
        for (slot, epoch) in &share.budgets {
            let tally = self.budgets.get_mut(*slot as usize).and_then(Option::as_mut);
            let Some(tally) = tally.filter(|tally| tally.epoch == *epoch) else { continue };
            touched.push(*slot);
            if was_healthy != is_healthy {
                tally.healthy = tally.healthy + u32::from(is_healthy) - u32::from(was_healthy);
                tally.moves += 1;
            }
        }
        touched
    }

    /// A budget is there, with this selector or a new one: counts its pods afresh.
    pub(super) fn put_budget(&mut self, view: &View, budget: Ix<PodDisruptionBudget>) {
        self.epoch += 1;
        if self.budgets.len() <= budget.slot() {
            self.budgets.resize(budget.slot() + 1, None);
        }
        // Far enough from where earlier counts can have come to.
        let moves = u64::from(self.epoch) << 32;
        self.budgets[budget.slot()] =
            Some(Tally { epoch: self.epoch, moves, rosters: moves, ..Tally::default() });
        for ix in view.pods_of_budget(budget) {
            let Some(pod) = view.pods.get(ix) else { continue };
            let known = self.shares.get_mut(ix.slot()).and_then(Option::take);
            let mut share = known.unwrap_or_else(|| share_of(pod));
            share.budgets.retain(|(slot, _)| *slot != budget.raw());
            self.add(budget, pod, &mut share);
            self.set_share(ix, share);
        }
    }

    /// A budget has a new version.
    pub(super) fn note_version(&mut self, budget: Ix<PodDisruptionBudget>, version: ResourceVersion) {
        if let Some(tally) = self.budgets.get_mut(budget.slot()).and_then(Option::as_mut) {
            tally.version = version;
        }
    }

    /// A budget is gone.
    pub(super) fn remove_budget(&mut self, budget: Ix<PodDisruptionBudget>) {
        if let Some(tally) = self.budgets.get_mut(budget.slot()) {
            *tally = None;
        }
    }

    fn add(&mut self, budget: Ix<PodDisruptionBudget>, pod: &Pod, share: &mut Share) {
        let Some(tally) = self.budgets.get_mut(budget.slot()).and_then(Option::as_mut) else { return };
        tally.moves += 1;
        tally.pods += 1;
        tally.healthy += u32::from(share.is_healthy);
        match pod.meta.controller() {
            Some(owner) => {
                let rosters = &mut tally.rosters;
                let new = || {
                    *rosters += 1;
                    Owned { owner: owner.clone(), pods: 0 }
                };
                tally.owners.entry(owner.uid.clone()).or_insert_with(new).pods += 1;
            }
            None => tally.unmanaged += 1,
        }
        share.budgets.push((budget.raw(), tally.epoch));
    }

    /// Takes out what the pod has added so far; returns the budgets that covered it.
    fn take_share(&mut self, ix: Ix<Pod>) -> SmallVec<[u32; 2]> {
        let mut touched = SmallVec::new();
        let Some(share) = self.shares.get_mut(ix.slot()).and_then(Option::take) else { return touched };
        for (slot, epoch) in share.budgets {
            let tally = self.budgets[slot as usize].as_mut();
            let Some(tally) = tally.filter(|tally| tally.epoch == epoch) else { continue };
            touched.push(slot);
            tally.moves += 1;
            tally.pods -= 1;
            tally.healthy -= u32::from(share.is_healthy);
            match &share.owner {
                Some(uid) => {
                    let owned = tally.owners.get_mut(uid).expect("it was added with the share");
                    owned.pods -= 1;
                    if owned.pods == 0 {
                        tally.owners.remove(uid);
                        tally.rosters += 1;
                    }
                }
                None => tally.unmanaged -= 1,
            }
        }
        touched
    }

    fn set_share(&mut self, ix: Ix<Pod>, share: Share) {
        if self.shares.len() <= ix.slot() {
            self.shares.resize(ix.slot() + 1, None);
        }
        self.shares[ix.slot()] = Some(share);
    }
}

fn share_of(pod: &Pod) -> Share {
    Share {
        budgets: SmallVec::new(),
        is_healthy: is_healthy(pod),
        owner: pod.meta.controller().map(|owner| owner.uid.clone()),
    }
}

/// Whether a pod counts as healthy (`countHealthyPods`, less the disruptions that the API server has just allowed).
pub(super) fn is_healthy(pod: &Pod) -> bool {
    pod.is_ready() && !pod.is_terminating()
}

#[cfg(test)]
mod tests {
    use replank_model::delta::Delta;
    use replank_model::object::{Kind, Object, ObjectRef};
    use replank_model::view::Change;
    use serde_json::json;

    use super::*;

    fn pod(name: &str, app: &str, ready: &str, owner: Option<&str>) -> Object {
        let owners: Vec<_> = owner
            .map(|uid| json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": uid, "uid": uid, "controller": true}))
            .into_iter()
            .collect();
        Object::from_json(json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": "shop", "uid": name, "labels": {"app": app}, "ownerReferences": owners},
            "spec": {"containers": []},
            "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": ready}]}}))
        .expect("a pod")
    }

    fn budget(name: &str, app: &str) -> Object {
        Object::from_json(json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
            "metadata": {"name": name, "namespace": "shop", "uid": name},
            "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": app}}}}))
        .expect("a budget")
    }

    fn apply(view: &mut View, tallies: &mut Tallies, delta: Delta) -> SmallVec<[u32; 2]> {
        let Change::Object { slot, new, old } = view.apply(delta) else { panic!("not stale") };
        match new.as_ref().or(old.as_ref()) {
            Some(Object::Pod(_)) => {
                fn pod(object: Option<&Object>) -> Option<&Pod> {
                    if let Some(Object::Pod(pod)) = object { Some(pod) } else { None }
                }
                let is_same_member = |old: &Pod, new: &Pod| {
                    old.meta.labels == new.meta.labels
                        && old.meta.owner_references == new.meta.owner_references
                };
                match (pod(old.as_ref()), pod(new.as_ref())) {
                    (Some(old), Some(new)) if is_same_member(old, new) => {
                        tallies.move_health(Ix::new(slot), is_healthy(new))
                    }
                    (_, new) => tallies.put_pod(view, Ix::new(slot), new),
                }
            }
            _ if new.is_some() => {
                tallies.put_budget(view, Ix::new(slot));
                SmallVec::new()
            }
            _ => {
                tallies.remove_budget(Ix::new(slot));
                SmallVec::new()
            }
        }
    }

    fn gone(kind: Kind, name: &str) -> Delta {
        let key = replank_model::object::meta::Key::new("shop", name);
        Delta::Gone(ObjectRef { kind, key, uid: Uid::from(name) })
    }

    /// Counters as they come from a count of everything.
    fn counted(view: &View, budget: Ix<PodDisruptionBudget>) -> (u32, u32, u32, usize) {
        let mut fresh = Tallies::default();
        fresh.put_budget(view, budget);
        let tally = fresh.get(budget).expect("just counted");
        (tally.pods, tally.healthy, tally.unmanaged, tally.owners.len())
    }

    #[test]
    fn counters_equal_a_count_of_everything() {
        let (mut view, mut tallies) = (View::default(), Tallies::default());
        let steps: Vec<Delta> = vec![
            pod("a", "web", "True", Some("rs1")).into(),
            budget("web", "web").into(),
            pod("b", "web", "False", Some("rs1")).into(),
            pod("c", "api", "True", None).into(),
            budget("api", "api").into(),
            pod("b", "web", "True", Some("rs1")).into(),
            pod("c", "web", "True", None).into(),
            pod("a", "api", "True", Some("rs1")).into(),
            budget("web", "api").into(),
            gone(Kind::Pod, "b"),
            gone(Kind::PodDisruptionBudget, "api"),
            pod("a", "api", "False", Some("rs2")).into(),
            budget("again", "web").into(),
            pod("d", "web", "True", Some("rs3")).into(),
        ];
        for step in steps {
            apply(&mut view, &mut tallies, step);
            for (ix, _) in view.pod_disruption_budgets.sorted() {
                let tally = tallies.get(ix).expect("every budget is counted");
                let kept = (tally.pods, tally.healthy, tally.unmanaged, tally.owners.len());
                assert_eq!(kept, counted(&view, ix));
            }
        }
    }

    #[test]
    fn a_pod_touches_the_budget_it_leaves() {
        let (mut view, mut tallies) = (View::default(), Tallies::default());
        apply(&mut view, &mut tallies, budget("web", "web").into());
        apply(&mut view, &mut tallies, pod("a", "web", "True", None).into());
        let touched = apply(&mut view, &mut tallies, pod("a", "freed", "True", None).into());
        assert_eq!(touched.as_slice(), [0]);
        let touched = apply(&mut view, &mut tallies, gone(Kind::Pod, "a"));
        assert!(touched.is_empty());
    }
}
