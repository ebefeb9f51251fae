//! Bounds of a rehearsal: whatever the input, it ends, and says what ran away.
//!
//! A cluster that is described wrongly may have a controller that makes pods without end, or two that undo each other's work. The API server refuses
//! what upstream refuses, but nobody can list all such cases. So objects that are made and events are counted; both bounds grow with
//! the cluster and are far beyond what a roll needs (each pod moves once or twice).

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;

use replank_model::object::meta::Key;
use replank_model::object::{Kind, Object};
use replank_model::text::Uid;
use replank_model::time::{Span, Time};
use replank_model::view::{Change, View};
use replank_sim::{Observer, Workload, series_of};
use rustc_hash::FxHashMap;

use super::by_slot::BySlot;
use super::numbered::Numbered;

/// Pods that any rehearsal may make.
const PODS: u64 = 5_000;
/// Pods that it may make for each object that there was: they move, and autoscalers start others meanwhile.
const PODS_EACH: u64 = 20;
/// Objects of other kinds: nodes, volumes that are attached elsewhere.
const OTHERS: u64 = 1_000;
/// The same for each object that there was.
const OTHERS_EACH: u64 = 5;
/// Events of any rehearsal.
const EVENTS: u64 = 500_000;
/// Events for each object that there was.
const EVENTS_EACH: u64 = 2_000;
/// Events for each object and hour: autoscalers look every 15 seconds.
const EVENTS_EACH_HOUR: u64 = 100;

/// What may happen in a rehearsal at the most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Pods made, save those that a schedule starts.
    pub pods: u64,
    /// Other objects made, save Jobs and Workflows.
    pub others: u64,
    /// Events.
    pub events: u64,
}

impl Bounds {
    /// For a cluster of so many objects, watched for so long.
    #[must_use]
    pub fn of(objects: usize, limit: Span) -> Self {
        let there = objects as u64;
        let hours = u64::try_from(limit.as_secs() / 3_600 + 1).unwrap_or(1);
        let each = EVENTS_EACH.saturating_add(hours.saturating_mul(EVENTS_EACH_HOUR));
        Self {
            pods: PODS.saturating_add(there.saturating_mul(PODS_EACH)),
            others: OTHERS.saturating_add(there.saturating_mul(OTHERS_EACH)),
            events: EVENTS.saturating_add(there.saturating_mul(each)),
        }
    }
}

/// What ran away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Runaway {
    /// Who is to blame, as far as can be told: kind, namespace and name.
    pub(super) what: String,
    /// What it did, with the bound.
    pub(super) reason: String,
}

/// Counts created objects, and changes to objects after half of the allowed events. Hardly any rehearsal gets that far, and an object that ran away is still changing then.
#[derive(Clone, Debug, Default)]
pub(super) struct Counter(Rc<RefCell<Counts>>);

#[derive(Debug, Default)]
struct Counts {
    pods: Made,
    others: Made,
    /// The number of events after which counting of changes began.
    since: Option<u64>,
    /// Changes of each object that is there, by kind and slot: names are read where something has run away.
    changed: FxHashMap<Kind, BySlot<u32>>,
    /// The same of kinds that no decision reads: those have no slots.
    named: FxHashMap<Key, u32>,
    gone: Gone,
}

/// Changes of objects that are gone, by kind and name: others of the name go on with them.
#[derive(Debug, Default)]
struct Gone {
    all: Vec<Changed>,
    /// How many have a name of their own, as far as they were told apart.
    names: usize,
}

/// An object that has changed, and how often.
type Changed = ((&'static str, Key), u64);

impl Gone {
    /// Names are told apart once there are twice as many as there were names, and not one by one.
    const SPARE: usize = 100_000;

    fn add(&mut self, lost: Changed) {
        self.all.push(lost);
        if self.all.len() > 2 * self.names + Self::SPARE {
            self.all.sort_unstable();
            self.all.dedup_by(|(name, times), (first, all)| {
                let is_same = name == first;
                *all += if is_same { *times } else { 0 };
                is_same
            });
            self.names = self.all.len();
        }
    }
}

/// Objects made, by who makes them.
#[derive(Debug, Default)]
struct Made {
    all: u64,
    by: Numbered<Maker, u64>,
    /// The makers that owners stand for; `None` where what they make is not counted.
    of_owner: FxHashMap<Uid, Option<usize>>,
}

impl Made {
    fn count(&mut self, maker: &Maker) {
        let number = self.by.number_or_insert(maker, u64::default);
        self.count_at(number);
    }

    fn count_at(&mut self, number: usize) {
        self.all += 1;
        *self.by.at_mut(number) += 1;
    }

    /// Counts what an owner has made, whose maker is looked for once.
    fn count_of(&mut self, owner: &Uid, maker: impl FnOnce() -> Option<Maker>) {
        let number = match self.of_owner.get(owner) {
            Some(known) => *known,
            None => {
                let number = maker().map(|maker| self.by.number_or_insert(&maker, u64::default));
                self.of_owner.insert(owner.clone(), number);
                number
            }
        };
        if let Some(number) = number {
            self.count_at(number);
        }
    }

    /// What is beyond a bound, if anything is.
    fn beyond(&self, bound: u64, kind: &str) -> Option<Runaway> {
        if self.all <= bound {
            return None;
        }
        let counts = || self.by.sorted().map(|(maker, made)| (maker, *made));
        let (maker, made) = most(counts())?;
        let reason = format!(
            "ran away: it made {made} of {} {kind}, where a rehearsal of this cluster may make {bound}{}",
            self.all,
            others(counts(), made, "made")
        );
        Some(Runaway { what: maker.to_string(), reason })
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Maker {
    /// A workload, or another owner.
    Owner(Workload),
    /// Nobody that is known; objects of a kind.
    Kind(&'static str),
}

impl fmt::Display for Maker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Owner(Workload { kind, namespace, name }) => write!(f, "{kind} {namespace}/{name}"),
            Self::Kind(kind) => write!(f, "whoever makes objects of kind {kind}"),
        }
    }
}

impl Counter {
    /// What is beyond the bounds, if anything is; the view has what was counted.
    pub(super) fn beyond(&self, bounds: Bounds, events: u64, view: &View) -> Option<Runaway> {
        let mut counts = self.0.borrow_mut();
        let since = match counts.since {
            Some(since) => since,
            None if events > bounds.events / 2 => *counts.since.insert(events),
            None => events,
        };
        let made = counts.pods.beyond(bounds.pods, "pods");
        if let Some(beyond) = made.or_else(|| counts.others.beyond(bounds.others, "objects")) {
            return Some(beyond);
        }
        if events > bounds.events {
            let changed = counts.changes(view);
            let counts = || changed.iter().map(|(object, times)| (object, *times));
            let busiest = most(counts());
            return Some(Runaway {
                what: busiest
                    .map_or_else(|| "rehearsal".to_owned(), |((kind, key), _)| format!("{kind} {key}")),
                reason: format!(
                    "ran away: {} changes in the last {} of {events} events{}; a rehearsal of this cluster may have at most {} events",
                    busiest.map_or(0, |(_, changes)| changes),
                    events - since,
                    busiest.map_or_else(String::new, |(_, most)| others(counts(), most, "had")),
                    bounds.events
                ),
            });
        }
        None
    }
}

/// How many others did as the busiest, within a factor of ten: they run away as well, or are part of it. Nothing where there are none.
fn others<K>(counts: impl Iterator<Item = (K, u64)>, most: u64, did: &str) -> String {
    let alike = counts.filter(|(_, count)| count.saturating_mul(10) >= most).count().saturating_sub(1);
    match alike {
        0 => String::new(),
        1 => format!("; 1 other {did} at least a tenth as many"),
        others => format!("; {others} others {did} at least a tenth as many"),
    }
}

/// The greatest count; of equal ones the first in order, whatever the map's.
fn most<K: Ord>(counts: impl Iterator<Item = (K, u64)>) -> Option<(K, u64)> {
    counts.max_by(|(a, of_a), (b, of_b)| of_a.cmp(of_b).then_with(|| b.cmp(a)))
}

impl Observer for Counter {
    fn changed(&mut self, _: Time, change: &Change, view: &View) {
        let Change::Object { slot, old, new } = change else { return };
        let Some(object) = new.as_ref().or(old.as_ref()) else { return };
        let mut counts = self.0.borrow_mut();
        if old.is_none() {
            counts.made(object, view);
        }
        if counts.since.is_none() {
            return;
        }
        match new {
            Some(_) => counts.count(*slot, object),
            None => counts.lose(*slot, object),
        }
    }
}

impl Counts {
    fn count(&mut self, slot: u32, object: &Object) {
        let times = if object.kind() == Kind::Other {
            self.named.entry(object.meta().key()).or_default()
        } else {
            self.changed.entry(object.kind()).or_default().at_mut(slot)
        };
        *times = times.saturating_add(1);
    }

    fn lose(&mut self, slot: u32, object: &Object) {
        let times = if object.kind() == Kind::Other {
            self.named.remove(&object.meta().key()).unwrap_or(0)
        } else {
            std::mem::take(self.changed.entry(object.kind()).or_default().at_mut(slot))
        };
        if times > 0 {
            self.gone.add(((object.kind().as_str(), object.meta().key()), times.into()));
        }
    }

    /// How often each object has changed, by kind and name.
    fn changes(&self, view: &View) -> BTreeMap<(&'static str, Key), u64> {
        let mut all: BTreeMap<(&'static str, Key), u64> = BTreeMap::new();
        let mut add = |name: (&'static str, Key), times: u64| {
            if times > 0 {
                *all.entry(name).or_default() += times;
            }
        };
        for (kind, slots) in &self.changed {
            for object in view.objects_of(*kind) {
                let key = object.meta().key();
                let times = view.slot_of(*kind, &key).map_or(0, |(slot, _)| slots.get(slot));
                add((kind.as_str(), key), times.into());
            }
        }
        self.named.iter().for_each(|(key, times)| add((Kind::Other.as_str(), key.clone()), (*times).into()));
        self.gone.all.iter().for_each(|(name, times)| add(name.clone(), *times));
        all
    }

    fn made(&mut self, object: &Object, view: &View) {
        let of_kind = || Maker::Kind(object.kind().as_str());
        if let Object::Pod(pod) = object {
            let Some(owner) = pod.meta.controller() else { return self.pods.count(&of_kind()) };
            self.pods.count_of(&owner.uid, || match series_of(view, pod) {
                // As many as the schedule says, and no more.
                Some(workload) if ["CronJob", "CronWorkflow"].contains(&&*workload.kind) => None,
                Some(workload) => Some(Maker::Owner(workload)),
                None => Some(of_kind()),
            });
        } else if !["Job", "Workflow"].contains(&object.kind_name()) {
            let owner = object.meta().controller().map(|owner| {
                Maker::Owner(Workload {
                    kind: owner.kind.clone(),
                    namespace: object.meta().namespace.clone(),
                    name: owner.name.text().clone(),
                })
            });
            self.others.count(&owner.unwrap_or_else(of_kind));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::{Play, node, world};

    #[test]
    fn who_makes_pods_without_end_is_named() {
        let template = |app: &str| json!({"metadata": {"labels": {"app": app}}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
        let set = |name: &str, replicas: u32| {
            json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": name, "namespace": "shop", "uid": name},
                "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": template(name)}})
        };
        let mut world = world(vec![node("n", "a"), set("calm", 2), set("wild", 60)]);
        let counter = Counter::default();
        world.observe(Box::new(counter.clone()));
        let bounds = Bounds { pods: 50, others: 10, events: u64::MAX };
        assert_eq!(counter.beyond(bounds, 0, world.view()), None);
        let events = Bounds { pods: u64::MAX, others: u64::MAX, events: 10 };
        assert_eq!(counter.beyond(events, 6, world.view()), None, "changes are counted from here on");
        world.pass(Span::from_secs(10));
        let beyond = counter.beyond(bounds, world.events(), world.view()).expect("62 pods are beyond 50");
        assert_eq!(beyond.what, "ReplicaSet shop/wild");
        assert!(beyond.reason.contains("it made 60 of 62 pods"), "{}", beyond.reason);
        assert!(!beyond.reason.contains("other"), "2 of 62 are none of it: {}", beyond.reason);
        let beyond = counter.beyond(events, world.events(), world.view());
        let beyond = beyond.expect("62 pods are more than 10 events");
        assert_eq!(beyond.what, "ReplicaSet shop/wild");
        let expected = format!("changes in the last {} of {} events", world.events() - 6, world.events());
        assert!(beyond.reason.contains(&expected), "{}", beyond.reason);
    }

    #[test]
    fn others_that_run_away_with_the_busiest_are_counted() {
        let owner = |name: &str| {
            Maker::Owner(Workload { kind: "ReplicaSet".into(), namespace: "shop".into(), name: name.into() })
        };
        let mut made = Made::default();
        for (name, pods) in [("a", 40), ("b", 30), ("c", 30), ("d", 3)] {
            (0..pods).for_each(|_| made.count(&owner(name)));
        }
        let beyond = made.beyond(100, "pods").expect("103 are more");
        assert_eq!(beyond.what, "ReplicaSet shop/a");
        assert!(
            beyond.reason.ends_with("may make 100; 2 others made at least a tenth as many"),
            "{}",
            beyond.reason
        );
    }

    #[test]
    fn bounds_grow_with_the_cluster_and_the_time() {
        let small = Bounds::of(100, Span::from_minutes(60));
        assert_eq!(small, Bounds { pods: 7_000, others: 1_500, events: 720_000 });
        let long = Bounds::of(100, Span::from_minutes(60 * 168));
        assert!(long.events > small.events && long.pods == small.pods);
        assert!(Bounds::of(150_000, Span::from_minutes(60)).events > 300_000_000);
        assert_eq!(Bounds::of(usize::MAX, Span::from_minutes(60)).events, u64::MAX);
    }
}
