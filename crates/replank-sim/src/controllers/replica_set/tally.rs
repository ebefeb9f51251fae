//! How many pods each ReplicaSet has, and in which state, kept up to date pod by pod.
//!
//! A set is looked at after every change of every pod of it, and nearly always there is nothing to do but to count. So a change of a pod moves
//! counters, and a look reads them. They are counted from the View where a set is looked at first, or where its selector or the labels of its
//! template have changed.

use std::sync::Arc;

use replank_model::labels::Labels;
use replank_model::object::meta::{Meta, ResourceVersion};
use replank_model::object::pod::Pod;
use replank_model::selector::{LabelSelector, Selector};
use replank_model::text::Uid;
use replank_model::view::{Ix, View};
use rustc_hash::FxHashMap;

use super::Replicated;
use crate::controllers::pods;
use crate::controllers::slots::Slots;

/// Counters of the sets that have been looked at.
#[derive(Debug, Default)]
pub(in crate::controllers) struct Tallies {
    sets: FxHashMap<Uid, Tally>,
    /// ReplicaSets that a look would find nothing to do at, by slot.
    settled: Slots,
}

/// The pods that one set manages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// Active ones that the selector matches.
    pub(super) active: u32,
    /// Of these, with all labels of the template.
    pub(super) labeled: u32,
    /// Of these, ready.
    pub(super) ready: u32,
    /// Those on their way out that the selector matches.
    pub(super) terminating: u32,
    /// Active ones that the selector does not match: they are to be let go.
    pub(super) strangers: u32,
}

/// Counters of one set, and what they were counted by.
#[derive(Debug)]
struct Tally {
    /// The set's generation: as long as it is the same, so is what the set asks for. 0 of sets that have none.
    generation: i64,
    selector: LabelSelector,
    compiled: Selector,
    template: Labels,
    /// What its pods are made as.
    pod: Option<Pod>,
    counts: Counts,
    /// Labels that were asked about last: pods of one template share theirs.
    asked: Option<(Labels, Fit)>,
    /// What the set has told of its pods, if it has as many as it wants and is as it was then.
    told: Option<Told>,
}

/// What a look at a set left behind that had nothing to do but to tell of the set's pods.
#[derive(Clone, Copy, Debug)]
struct Told {
    /// The set's slot.
    slot: u32,
    /// The set's version.
    version: ResourceVersion,
    counts: Counts,
}

/// What a pod's labels are to a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fit {
    is_selected: bool,
    is_labeled: bool,
}

/// What one pod is to its set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Share {
    Active { is_labeled: bool, is_ready: bool },
    Stranger,
    Terminating,
    Nothing,
}

impl Tallies {
    /// Takes in a change of a pod. The slots of sets that were told otherwise of their pods before it: a look at them would find something to do.
    pub(in crate::controllers) fn pod_changed(
        &mut self,
        old: Option<&Pod>,
        new: Option<&Pod>,
    ) -> [Option<u32>; 2] {
        let (before, after) = (old.and_then(owner), new.and_then(owner));
        if before == after {
            let Some(tally) = after.and_then(|uid| self.sets.get_mut(uid)) else { return [None; 2] };
            let shares = (old.map(|pod| tally.share(pod)), new.map(|pod| tally.share(pod)));
            if let (Some(was), Some(is)) = shares
                && was != is
            {
                tally.count(was, false);
                tally.count(is, true);
                return [note(&mut self.settled, tally), None];
            }
            return [None; 2];
        }
        [(before, old, false), (after, new, true)].map(|(uid, pod, is_there)| {
            let tally = self.sets.get_mut(uid?)?;
            let share = tally.share(pod?);
            tally.count(share, is_there);
            note(&mut self.settled, tally)
        })
    }

    /// A set is gone.
    pub(in crate::controllers) fn forget(&mut self, uid: &Uid) {
        self.unsettle(uid);
        self.sets.remove(uid);
    }

    /// A set has changed.
    pub(in crate::controllers) fn set_changed(&mut self, set: &Meta) {
        let told = self.sets.get(&set.uid).and_then(|tally| tally.told);
        if told.is_some_and(|told| told.version != set.resource_version) {
            self.unsettle(&set.uid);
        }
    }

    /// Whether a look at the ReplicaSet in a slot would find nothing to do.
    pub(in crate::controllers) fn is_settled(&self, slot: u32) -> bool {
        self.settled.contains(slot)
    }

    /// A set has as many pods as it wants, and tells of them what was counted.
    pub(super) fn settle<R: Replicated>(&mut self, view: &View, slot: u32, uid: &Uid, counts: Counts) {
        let known = view.table::<R>().get(Ix::new(slot)).filter(|set| set.meta().uid == *uid);
        if let (Some(set), Some(tally)) = (known, self.sets.get_mut(uid)) {
            tally.told = Some(Told { slot, version: set.meta().resource_version, counts });
            note(&mut self.settled, tally);
        }
    }

    /// What a look at a set finds is not known.
    pub(super) fn unsettle(&mut self, uid: &Uid) {
        if let Some(told) = self.sets.get_mut(uid).and_then(|tally| tally.told.take()) {
            self.settled.remove(told.slot);
        }
    }

    /// A pod as the set's template describes it, not yet stored. Those of one template share what they have in common.
    pub(super) fn new_pod<R: Replicated>(&mut self, set: &R) -> Option<Pod> {
        let (template, generation) = (set.template()?, set.meta().generation);
        let new = || pods::from_template(set, template);
        let known = self
            .sets
            .get_mut(&set.meta().uid)
            .filter(|tally| tally.generation == generation && generation > 0);
        let Some(tally) = known else { return Some(new()) };
        // An empty member that a client wrote where there was none is not counted as a generation.
        let is_described = |pod: &Pod| {
            Arc::ptr_eq(&pod.spec, &template.spec)
                && pod.meta.labels.same(&template.meta.labels)
                && pod.meta.annotations.same(&template.meta.annotations)
                && pod.meta.finalizers == template.meta.finalizers
        };
        if !tally.pod.as_ref().is_some_and(is_described) {
            tally.pod = Some(new());
        }
        tally.pod.clone()
    }

    /// What a set has; `None` where it is not counted: its selector is of another kind, or cannot be read.
    pub(super) fn counts<R: Replicated>(&mut self, view: &View, set: &R) -> Option<Counts> {
        let (uid, generation) = (&set.meta().uid, set.meta().generation);
        let known = self.sets.get_mut(uid);
        if let Some(tally) = known.as_ref().filter(|tally| tally.generation == generation && generation > 0) {
            return Some(tally.counts);
        }
        let (selector, template) = (set.label_selector()?, &set.template()?.meta.labels);
        if let Some(tally) = known.filter(|tally| tally.selector == *selector && tally.template == *template)
        {
            (tally.generation, tally.pod) = (generation, None);
            return Some(tally.counts);
        }
        let mut tally = Tally {
            generation,
            selector: selector.clone(),
            compiled: set.selector()?,
            template: template.clone(),
            pod: None,
            counts: Counts::default(),
            asked: None,
            told: None,
        };
        for pod in view.pods_of(uid).iter().filter_map(|ix| view.pods.get(*ix)) {
            let share = tally.share(pod);
            tally.count(share, true);
        }
        let counts = tally.counts;
        self.sets.insert(uid.clone(), tally);
        Some(counts)
    }
}

/// Notes whether a look at a set would find nothing to do; its slot, if it was told otherwise.
fn note(settled: &mut Slots, tally: &Tally) -> Option<u32> {
    let told = tally.told?;
    if told.counts == tally.counts {
        settled.insert(told.slot);
        return None;
    }
    settled.remove(told.slot);
    Some(told.slot)
}

fn owner(pod: &Pod) -> Option<&Uid> {
    pod.meta.controller().map(|owner| &owner.uid)
}

impl Tally {
    fn share(&mut self, pod: &Pod) -> Share {
        let is_active = pod.is_active();
        if !is_active && (!pod.is_terminating() || pod.is_terminal()) {
            return Share::Nothing;
        }
        let Fit { is_selected, is_labeled } = self.fit(&pod.meta.labels);
        match (is_active, is_selected) {
            (true, true) => Share::Active { is_labeled, is_ready: pod.is_ready() },
            (true, false) => Share::Stranger,
            (false, true) => Share::Terminating,
            (false, false) => Share::Nothing,
        }
    }

    fn fit(&mut self, labels: &Labels) -> Fit {
        if let Some((_, fit)) = self.asked.as_ref().filter(|(asked, _)| asked.same(labels)) {
            return *fit;
        }
        let is_labeled = self.template.iter().all(|(key, value)| labels.value(key) == Some(value));
        let fit = Fit { is_selected: self.compiled.matches(|key| labels.value(key)), is_labeled };
        self.asked = Some((labels.clone(), fit));
        fit
    }

    fn count(&mut self, share: Share, is_there: bool) {
        let step = |counter: &mut u32, by: bool| {
            let by = u32::from(by);
            *counter = if is_there { *counter + by } else { *counter - by };
        };
        let counts = &mut self.counts;
        match share {
            Share::Active { is_labeled, is_ready } => {
                step(&mut counts.active, true);
                step(&mut counts.labeled, is_labeled);
                step(&mut counts.ready, is_ready);
            }
            Share::Stranger => step(&mut counts.strangers, true),
            Share::Terminating => step(&mut counts.terminating, true),
            Share::Nothing => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use replank_apiserver::json::Method;
    use replank_model::delta::Delta;
    use replank_model::object::meta::Key;
    use replank_model::object::workload::ReplicaSet;
    use replank_model::object::{Kind, Object, ObjectRef};
    use replank_model::time::Span;
    use replank_model::view::Change;
    use serde_json::{Value, json};

    use super::*;
    use crate::{World, testing};

    fn set(generation: i64, app: &str) -> Delta {
        let labels = json!({"app": app, "tier": "front"});
        let set = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet",
            "metadata": {"name": "web", "namespace": "shop", "uid": "web", "generation": generation},
            "spec": {"selector": {"matchLabels": {"app": app}},
                "template": {"metadata": {"labels": labels}, "spec": {"containers": []}}}});
        Object::from_json(set).expect("a set").into()
    }

    fn pod(name: &str, owner: &str, labels: &Value, phase: &str, is_ready: bool, goes: bool) -> Delta {
        let owner = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": owner, "uid": owner, "controller": true});
        let ready = if is_ready { "True" } else { "False" };
        let mut pod = json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": "shop", "uid": name, "labels": labels, "ownerReferences": [owner]},
            "spec": {"containers": []},
            "status": {"phase": phase, "conditions": [{"type": "Ready", "status": ready}]}});
        if goes {
            pod["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        }
        Object::from_json(pod).expect("a pod").into()
    }

    #[test]
    fn a_pod_that_names_its_set_wrongly_counts_at_once() {
        let owner = |name: &str| json!([{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": name, "uid": "web", "controller": true}]);
        let labels = json!({"app": "web"});
        let set = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet",
            "metadata": {"name": "web", "namespace": "shop", "uid": "web", "generation": 1},
            "spec": {"replicas": 1, "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}});
        let mut right = testing::running("right", "n");
        right["metadata"]["labels"] = labels.clone();
        right["metadata"]["ownerReferences"] = owner("web");
        let wrong = json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "wrong", "namespace": "shop", "uid": "wrong", "labels": labels, "ownerReferences": owner("another"),
                "deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 0, "finalizers": ["example.com/hold"]},
            "spec": {"containers": [{"name": "c", "image": "i"}]}, "status": {"phase": "Pending"}});
        let mut world = testing::world(vec![testing::node("n", "a"), set, right, wrong]);
        let told = |world: &mut World| {
            let set = world.send(Method::Get, "/apis/apps/v1/namespaces/shop/replicasets/web", Value::Null);
            set.body["status"]["terminatingReplicas"].as_i64()
        };
        world.pass(Span::from_secs(1));
        assert_eq!(told(&mut world), Some(1));
        let patch = |world: &mut World, name: &str, change: Value| {
            let path = format!("/api/v1/namespaces/shop/pods/{name}");
            assert_eq!(world.send(Method::Patch, &path, change).code, 200);
        };
        // A change that counts for nothing: the turn of a look is kept, and the other pod goes before it comes.
        patch(&mut world, "right", json!({"metadata": {"annotations": {"note": "x"}}}));
        world.pass(Span::from_millis(2));
        patch(&mut world, "wrong", json!({"metadata": {"finalizers": null}}));
        world.pass(Span::from_millis(20));
        assert_eq!(told(&mut world), Some(0));
    }

    #[test]
    fn counters_equal_a_count_of_everything() {
        let (all, some, none) =
            (json!({"app": "web", "tier": "front"}), json!({"app": "web"}), json!({"app": "other"}));
        let gone = |name: &str| {
            let key = Key::new("shop", name);
            Delta::Gone(ObjectRef { kind: Kind::Pod, key, uid: Uid::from(name) })
        };
        let steps = vec![
            set(1, "web"),
            pod("a", "web", &all, "Pending", false, false),
            pod("a", "web", &all, "Running", true, false),
            pod("b", "web", &some, "Running", true, false),
            pod("c", "web", &none, "Running", true, false),
            pod("d", "another", &all, "Running", true, false),
            pod("d", "web", &all, "Running", false, false),
            pod("a", "web", &all, "Running", true, true),
            set(2, "other"),
            pod("c", "web", &none, "Running", false, false),
            set(3, "web"),
            pod("a", "web", &all, "Succeeded", false, true),
            gone("a"),
            pod("b", "another", &some, "Running", true, false),
            pod("d", "web", &all, "Failed", false, false),
            gone("c"),
        ];
        let (mut view, mut tallies) = (View::default(), Tallies::default());
        let mut seen = Vec::new();
        for step in steps {
            let Change::Object { old, new, .. } = view.apply(step) else { panic!("not stale") };
            let pod = |object: Option<Object>| match object {
                Some(Object::Pod(pod)) => Some(pod),
                Some(_) | None => None,
            };
            tallies.pod_changed(pod(old).as_deref(), pod(new).as_deref());
            let set = view.find::<ReplicaSet>(&Key::new("shop", "web")).expect("it is there").clone();
            let kept = tallies.counts(&view, &*set);
            assert_eq!(kept, Tallies::default().counts(&view, &*set));
            seen.extend(kept);
        }
        let before_the_other_selector = seen[7];
        let expected = Counts { active: 2, labeled: 1, ready: 1, terminating: 1, strangers: 1 };
        assert_eq!(before_the_other_selector, expected);
        assert_eq!(seen.last(), Some(&Counts::default()));
    }
}
