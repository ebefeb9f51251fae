//! Bounds of a rehearsal: whatever the input, it ends, and says what ran away.
//!
//! A cluster that is described wrongly may have a controller that makes pods without end, or two that undo each other's work. The API server refuses
//! what upstream refuses, but nobody can list all such cases. So objects that are made and events are counted; both bounds grow with
//! the cluster and are far beyond what a roll needs (each pod moves once or twice).

use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

use replank_model::object::meta::Key;
use replank_model::object::{Kind, Object};
use replank_model::time::{Span, Time};
use replank_model::view::{Change, View};
use replank_sim::{Observer, Workload, workload_of};
use rustc_hash::FxHashMap;

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

/// Counts what is made and changed.
#[derive(Clone, Debug, Default)]
pub(super) struct Counter(Rc<RefCell<Counts>>);

#[derive(Debug, Default)]
struct Counts {
    pods: Made,
    others: Made,
    /// Changes of each object that is there, by kind and slot: every change is counted, so names are read where something has run away.
    changed: FxHashMap<Kind, Vec<Option<Changed>>>,
    /// The same of kinds that no decision reads: those have no slots.
    named: FxHashMap<Key, Changed>,
    /// Changes of those that are gone, by kind and name: others of the name go on with them.
    gone: FxHashMap<(&'static str, Key), u64>,
}

/// An object that has changed, and how often.
#[derive(Debug)]
struct Changed {
    kind: &'static str,
    key: Key,
    times: u64,
}

/// Objects made, by who makes them.
#[derive(Debug, Default)]
struct Made {
    all: u64,
    by: FxHashMap<Maker, u64>,
}

impl Made {
    fn count(&mut self, maker: Maker) {
        self.all += 1;
        *self.by.entry(maker).or_default() += 1;
    }

    /// What is beyond a bound, if anything is.
    fn beyond(&self, bound: u64, kind: &str) -> Option<Runaway> {
        if self.all <= bound {
            return None;
        }
        let (maker, made) = most(&self.by)?;
        let reason = format!(
            "ran away: it made {made} of {} {kind}, where a rehearsal of this cluster may make {bound}{}",
            self.all,
            others(&self.by, made, "made")
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
    /// What is beyond the bounds, if anything is.
    pub(super) fn beyond(&self, bounds: Bounds, events: u64) -> Option<Runaway> {
        let counts = self.0.borrow();
        let made = counts.pods.beyond(bounds.pods, "pods");
        if let Some(beyond) = made.or_else(|| counts.others.beyond(bounds.others, "objects")) {
            return Some(beyond);
        }
        if events > bounds.events {
            let slots = counts.changed.values().flatten().flatten();
            let there = slots.chain(counts.named.values()).map(|one| ((one.kind, &one.key), one.times));
            let gone = counts.gone.iter().map(|((kind, key), times)| ((*kind, key), *times));
            let mut changed: FxHashMap<(&str, &Key), u64> = FxHashMap::default();
            there.chain(gone).for_each(|(object, times)| *changed.entry(object).or_default() += times);
            let busiest = most(&changed);
            return Some(Runaway {
                what: busiest
                    .map_or_else(|| "rehearsal".to_owned(), |((kind, key), _)| format!("{kind} {key}")),
                reason: format!(
                    "ran away: {} changes, {events} events in all, where a rehearsal of this cluster may have {}{}",
                    busiest.map_or(0, |(_, changes)| changes),
                    bounds.events,
                    busiest.map_or_else(String::new, |(_, most)| others(&changed, most, "had"))
                ),
            });
        }
        None
    }
}

/// How many others did as the busiest, within a factor of ten: they run away as well, or are part of it. Nothing where there are none.
fn others<K>(counts: &FxHashMap<K, u64>, most: u64, did: &str) -> String {
    let alike = counts.values().filter(|count| count.saturating_mul(10) >= most).count().saturating_sub(1);
    match alike {
        0 => String::new(),
        1 => format!("; 1 other {did} at least a tenth as many"),
        others => format!("; {others} others {did} at least a tenth as many"),
    }
}

/// The greatest count; of equal ones the first in order, whatever the map's.
fn most<K: Ord>(counts: &FxHashMap<K, u64>) -> Option<(&K, u64)> {
    counts
        .iter()
        .max_by(|(a, of_a), (b, of_b)| of_a.cmp(of_b).then_with(|| b.cmp(a)))
        .map(|(key, count)| (key, *count))
}

impl Observer for Counter {
    fn changed(&mut self, _: Time, change: &Change, view: &View) {
        let Change::Object { slot, old, new } = change else { return };
        let Some(object) = new.as_ref().or(old.as_ref()) else { return };
        let mut counts = self.0.borrow_mut();
        if old.is_none() {
            counts.made(object, view);
        }
        match new {
            Some(_) => counts.count(*slot, object),
            None => counts.lose(*slot, object),
        }
    }
}

impl Counts {
    fn count(&mut self, slot: u32, object: &Object) {
        let unchanged = || Changed { kind: object.kind().as_str(), key: object.meta().key(), times: 0 };
        let one = if object.kind() == Kind::Other {
            self.named.entry(object.meta().key()).or_insert_with(unchanged)
        } else {
            let slots = self.changed.entry(object.kind()).or_default();
            let slot = slot as usize;
            if slots.len() <= slot {
                slots.resize_with(slot + 1, || None);
            }
            slots[slot].get_or_insert_with(unchanged)
        };
        one.times += 1;
    }

    fn lose(&mut self, slot: u32, object: &Object) {
        let lost = if object.kind() == Kind::Other {
            self.named.remove(&object.meta().key())
        } else {
            self.changed.get_mut(&object.kind()).and_then(|slots| slots.get_mut(slot as usize)?.take())
        };
        if let Some(Changed { kind, key, times }) = lost {
            *self.gone.entry((kind, key)).or_default() += times;
        }
    }

    fn made(&mut self, object: &Object, view: &View) {
        let of_kind = || Maker::Kind(object.kind().as_str());
        if let Object::Pod(pod) = object {
            match workload_of(view, pod) {
                // As many as the schedule says, and no more.
                Some(workload) if ["CronJob", "CronWorkflow"].contains(&&*workload.kind) => {}
                Some(workload) => self.pods.count(Maker::Owner(workload)),
                None => self.pods.count(of_kind()),
            }
        } else if !["Job", "Workflow"].contains(&object.kind_name()) {
            let owner = object.meta().controller().map(|owner| {
                Maker::Owner(Workload {
                    kind: owner.kind.clone(),
                    namespace: object.meta().namespace.clone(),
                    name: owner.name.text().clone(),
                })
            });
            self.others.count(owner.unwrap_or_else(of_kind));
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
        assert_eq!(counter.beyond(bounds, 0), None);
        world.pass(Span::from_secs(10));
        let beyond = counter.beyond(bounds, world.events()).expect("62 pods are beyond 50");
        assert_eq!(beyond.what, "ReplicaSet shop/wild");
        assert!(beyond.reason.contains("it made 60 of 62 pods"), "{}", beyond.reason);
        assert!(!beyond.reason.contains("other"), "2 of 62 are none of it: {}", beyond.reason);
        let events = Bounds { pods: u64::MAX, others: u64::MAX, events: 10 };
        let beyond = counter.beyond(events, world.events()).expect("62 pods are more than 10 events");
        assert!(beyond.reason.contains("events in all"), "{}", beyond.reason);
    }

    #[test]
    fn others_that_run_away_with_the_busiest_are_counted() {
        let owner = |name: &str| {
            Maker::Owner(Workload { kind: "ReplicaSet".into(), namespace: "shop".into(), name: name.into() })
        };
        let mut made = Made::default();
        for (name, pods) in [("a", 40), ("b", 30), ("c", 30), ("d", 3)] {
            (0..pods).for_each(|_| made.count(owner(name)));
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
