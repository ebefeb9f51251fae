//! The scheduling queue: which pod is tried next, and which wait for a change.
//!
//! Source: Kubernetes 1.36 `pkg/scheduler/backend/queue` (`scheduling_queue.go`, `backoff_queue.go`). Pods that were tried
//! in vain wait until something happens that one of the plugins that objected cares about. One that was tried in vain
//! shortly before comes after all others, but is not held back while nobody else wants to be tried (`PopFromBackoffQ`).
//!
//! Siblings wait together: what does not help one does not help the others, so only the first is tried again, and the
//! next when that was worth it. Upstream tries them all; the answers are the same.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use replank_model::labels::Labels;
use replank_model::object::pod::Pod;
use replank_model::text::{Namespace, NodeName};
use replank_model::time::{Span, Time};
use replank_model::view::View;
use rustc_hash::{FxHashMap, FxHashSet};

use super::hints::{Blame, Needs, ScriptEvent};

/// How long a pod is put behind the others after it was tried in vain once, and at most
/// (`podInitialBackoffSeconds`, `podMaxBackoffSeconds`).
const BACKOFF: Span = Span::from_secs(1);
const BACKOFF_MAX: Span = Span::from_secs(10);

/// More urgent pods first, then those that have waited longer (plugin PrioritySort). The slot is the pod's.
type Place = (Reverse<i32>, u64, u32);

/// The outcome of trying a pod.
#[derive(Debug)]
pub(super) enum Outcome {
    /// It has a node.
    Placed,
    /// It gets a node when others have left it.
    Nominated(Blame),
    /// It has none.
    Unplaced(Blame),
}

/// All pods that wait for a node.
#[derive(Debug, Default)]
pub(super) struct Queue {
    pods: FxHashMap<u32, Entry>,
    active: BTreeSet<Place>,
    /// Those that have been tried shortly before, with the moment from which on they are as good as others.
    backing_off: BTreeSet<(Time, Place)>,
    /// Those that wait for a change.
    classes: BTreeMap<u64, Class>,
    by_key: FxHashMap<ClassKey, u64>,
    /// Classes that care about one node only.
    pinned: FxHashMap<NodeName, BTreeSet<u64>>,
    /// The others.
    roaming: BTreeSet<u64>,
    /// Pods that are not tried for the moment, because others are being removed for them.
    held: FxHashSet<u32>,
    arrivals: u64,
    classes_made: u64,
}

#[derive(Debug)]
struct Entry {
    place: Place,
    state: State,
    failures: u32,
    failed_at: Time,
    /// The class whose other pods wait for what becomes of this one.
    leads: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Active,
    BackingOff(Time),
    Parked(u64),
    /// Taken out to be tried.
    Tried,
}

/// Siblings that wait for a change.
#[derive(Debug)]
struct Class {
    key: ClassKey,
    needs: Needs,
    blame: Blame,
    pods: BTreeSet<Place>,
}

/// What makes pods siblings.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct ClassKey {
    namespace: Namespace,
    labels: Labels,
    /// The address of the shared spec, which the class's sample keeps alive.
    spec: usize,
    pin: Option<NodeName>,
    /// A pod for which others are removed is like no other.
    alone: Option<u32>,
}

impl Queue {
    /// Whether nobody wants to be tried.
    pub(super) fn is_idle(&self) -> bool {
        self.active.is_empty() && self.backing_off.is_empty()
    }

    pub(super) fn contains(&self, slot: u32) -> bool {
        self.pods.contains_key(&slot)
    }

    /// A new pod is to be tried.
    pub(super) fn add(&mut self, slot: u32, pod: &Pod) {
        let place = (Reverse(pod.spec.priority.unwrap_or(0)), self.arrival(), slot);
        self.active.insert(place);
        let entry =
            Entry { place, state: State::Active, failures: 0, failed_at: Time::from_millis(0), leads: None };
        self.pods.insert(slot, entry);
    }

    /// A pod needs no node any more.
    pub(super) fn remove(&mut self, slot: u32) {
        self.held.remove(&slot);
        let Some(entry) = self.pods.remove(&slot) else { return };
        match entry.state {
            State::Active => {
                self.active.remove(&entry.place);
            }
            State::BackingOff(until) => {
                self.backing_off.remove(&(until, entry.place));
            }
            State::Parked(class) => self.leave(class, &entry.place),
            State::Tried => {}
        }
        if let Some(class) = entry.leads {
            self.wake_first(class);
        }
    }

    /// A waiting pod has changed: it is tried again.
    pub(super) fn changed(&mut self, slot: u32) {
        let Some(Entry { state: State::Parked(class), place, .. }) = self.pods.get(&slot) else { return };
        let (class, place) = (*class, *place);
        self.leave(class, &place);
        self.enqueue(slot, None);
    }

    /// Keeps a pod from being tried.
    pub(super) fn hold(&mut self, slot: u32) {
        self.held.insert(slot);
    }

    /// Lets a pod be tried when something happens that could help it.
    pub(super) fn release(&mut self, slot: u32) {
        self.held.remove(&slot);
    }

    /// Takes out the pod that is tried next.
    pub(super) fn pop(&mut self, now: Time) -> Option<u32> {
        while let Some((until, place)) = self.backing_off.first().copied()
            && until <= now
        {
            self.backing_off.pop_first();
            self.active.insert(place);
            self.entry(place.2).state = State::Active;
        }
        let place = self.active.pop_first().or_else(|| Some(self.backing_off.pop_first()?.1))?;
        self.entry(place.2).state = State::Tried;
        Some(place.2)
    }

    /// A pod that was taken out has been tried.
    pub(super) fn tried(&mut self, slot: u32, pod: &Arc<Pod>, outcome: Outcome, now: Time) {
        let leads = self.entry(slot).leads.take();
        let (blame, alone, is_worth_it) = match outcome {
            Outcome::Placed => {
                self.pods.remove(&slot);
                (None, None, true)
            }
            Outcome::Nominated(blame) => (Some(blame), Some(slot), true),
            Outcome::Unplaced(blame) => {
                let alone = pod.status.nominated_node_name.is_some().then_some(slot);
                (Some(blame), alone, false)
            }
        };
        if let Some(blame) = blame {
            self.park(slot, pod, blame, alone, now);
        }
        if let Some(class) = leads.filter(|_| is_worth_it) {
            self.wake_first(class);
        }
    }

    /// Something has happened: pods that it could help are tried again.
    pub(super) fn wake(&mut self, view: &View, event: &ScriptEvent<'_>) {
        let pinned = event.node().and_then(|node| self.pinned.get(&node)).into_iter().flatten();
        let helped: Vec<u64> = pinned
            .chain(&self.roaming)
            .copied()
            .filter(|class| self.classes[class].is_helped(view, event))
            .collect();
        for class in helped {
            self.wake_first(class);
        }
    }

    fn park(&mut self, slot: u32, pod: &Arc<Pod>, blame: Blame, alone: Option<u32>, now: Time) {
        let arrival = self.arrival();
        let entry = self.entry(slot);
        entry.failures += 1;
        entry.failed_at = now;
        entry.place.1 = arrival;
        let place = entry.place;
        let key = ClassKey {
            namespace: pod.meta.namespace.clone(),
            labels: pod.meta.labels.clone(),
            spec: Arc::as_ptr(&pod.spec) as usize,
            pin: pod.pin.clone(),
            alone,
        };
        let id = match self.by_key.get(&key) {
            Some(id) => *id,
            None => {
                self.classes_made += 1;
                self.by_key.insert(key.clone(), self.classes_made);
                self.classes_made
            }
        };
        let class = self.classes.entry(id).or_insert_with(|| Class {
            key,
            needs: Needs::of(pod),
            blame: Blame::default(),
            pods: BTreeSet::new(),
        });
        class.pods.insert(place);
        if class.pods.len() == 1 || class.blame != blame {
            class.blame = blame;
            let pin = class.key.pin.clone().filter(|_| class.blame.is_about_one_node());
            self.file(id, pin);
        }
        self.entry(slot).state = State::Parked(id);
    }

    /// Notes whether a class cares about one node only.
    fn file(&mut self, id: u64, pin: Option<NodeName>) {
        self.unfile(id);
        match pin {
            Some(node) => {
                self.pinned.entry(node).or_default().insert(id);
            }
            None => {
                self.roaming.insert(id);
            }
        }
    }

    fn unfile(&mut self, id: u64) {
        self.roaming.remove(&id);
        let Some(node) = self.classes.get(&id).and_then(|class| class.key.pin.as_ref()) else { return };
        if let Some(classes) = self.pinned.get_mut(node) {
            classes.remove(&id);
            if classes.is_empty() {
                self.pinned.remove(node);
            }
        }
    }

    /// Takes a pod out of its class; the last takes the class along.
    fn leave(&mut self, id: u64, place: &Place) {
        let Some(class) = self.classes.get_mut(&id) else { return };
        class.pods.remove(place);
        if class.pods.is_empty() {
            self.unfile(id);
            if let Some(class) = self.classes.remove(&id) {
                self.by_key.remove(&class.key);
            }
        }
    }

    /// The first pod of a class is tried again, and then perhaps the next.
    fn wake_first(&mut self, id: u64) {
        let Some(class) = self.classes.get(&id) else { return };
        let Some(place) = class.pods.iter().find(|place| !self.held.contains(&place.2)).copied() else {
            return;
        };
        self.leave(id, &place);
        self.enqueue(place.2, Some(id));
    }

    fn enqueue(&mut self, slot: u32, leads: Option<u64>) {
        let entry = self.entry(slot);
        entry.leads = leads;
        let until = entry.failed_at + backoff(entry.failures);
        entry.state = State::BackingOff(until);
        let place = entry.place;
        self.backing_off.insert((until, place));
    }

    fn entry(&mut self, slot: u32) -> &mut Entry {
        self.pods.get_mut(&slot).expect("pods in any part of the queue have an entry")
    }

    fn arrival(&mut self) -> u64 {
        self.arrivals += 1;
        self.arrivals
    }
}

impl Class {
    fn is_helped(&self, view: &View, event: &ScriptEvent<'_>) -> bool {
        self.needs.are_helped(view, &self.blame, event)
    }
}

/// Doubles from failure to failure.
fn backoff(failures: u32) -> Span {
    let doublings = failures.saturating_sub(1).min(8);
    let span = Span::from_millis(BACKOFF.as_millis() << doublings);
    span.min(BACKOFF_MAX)
}
