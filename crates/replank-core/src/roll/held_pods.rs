//! Pods for which queued nodes cannot be begun, in the order in which they are told.
//!
//! There may be hundreds of them, and all are told at every decision, while hardly one is another than at the last. So they are kept in order, and a
//! node's are looked at only when the node or a pod on it changes. What is told of them is kept, too, in parts of some dozens: only where one of a part is
//! another, or its deadline is over, the part is put into words anew.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use replank_facts::drain::Otherwise;
use replank_facts::node_pods::{BatchPod, NodePods};
use replank_facts::plan::OnDeadline;
use replank_model::object::meta::Key;
use replank_model::text::{GroupName, NodeName};
use replank_model::time::Time;
use replank_protocol::policy::Refused;
use replank_protocol::wait_list::{self, Shelves};
use replank_protocol::waiting::{PodEnd, PodWait, Subject, Waiting, WaitingOn};
use rustc_hash::FxHashMap;

use super::member::{Member, Scope};
use super::sets::tally;

/// How many are in one part when it is made.
const SHELF: usize = 32;

/// See the module's page. Where one name stands for several pods, the first node's counts, and of several reasons the first, as everywhere.
#[derive(Debug, Default)]
pub(super) struct HeldPods {
    /// Each has the names from its first one on to the first of the next; what comes before all of them is on the first.
    shelves: Vec<Shelf>,
    /// Under how many places each name is on them.
    names: FxHashMap<Key, u32>,
    /// What was taken away since they were told: most of it is put back a moment later.
    taken: BTreeMap<Place, Held>,
    told: Shelves,
    /// Until when batch pods among them are waited for, and how many until then.
    deadlines: BTreeMap<Time, u32>,
}

/// Where a pod stands: by name, group, node and order of reasons.
type Place = (Key, GroupName, NodeName, Order);

/// Some of the pods.
#[derive(Debug, Default)]
struct Shelf {
    first: Key,
    held: BTreeMap<Place, Held>,
    /// As it was told last; `None` once one of them has changed.
    told: Option<Told>,
}

/// What is told of pods, from one moment to another.
#[derive(Debug)]
struct Told {
    waits: wait_list::Shelf,
    from: Time,
    until: Option<Time>,
}

/// Which of several reasons is told: a pod of which a change could not be read has those that were read before besides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Order {
    Refused,
    Unrecorded,
    Batch,
}

/// Why a pod keeps its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Held {
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
    fn on(self, now: Time, on_deadline: OnDeadline) -> Option<WaitingOn> {
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
            let place = (pod, lane.clone(), member.name.clone(), held.order());
            if is_there { self.put(place, held) } else { self.take(place) }
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

    fn put(&mut self, place: Place, held: Held) {
        let was = self.taken.remove(&place);
        let shelf = self.shelf(&place.0);
        if shelf.held.contains_key(&place) {
            return;
        }
        if was != Some(held) {
            shelf.told = None;
        }
        let pod = place.0.clone();
        shelf.held.insert(place, held);
        *self.names.entry(pod).or_default() += 1;
        note_deadline(&mut self.deadlines, held, true);
    }

    fn take(&mut self, place: Place) {
        let Some(held) = self.shelf(&place.0).held.remove(&place) else { return };
        if let Some(count) = self.names.get_mut(&place.0) {
            *count -= 1;
            if *count == 0 {
                self.names.remove(&place.0);
            }
        }
        note_deadline(&mut self.deadlines, held, false);
        self.taken.insert(place, held);
    }

    /// The shelf of a name.
    fn shelf(&mut self, pod: &Key) -> &mut Shelf {
        if self.shelves.is_empty() {
            self.shelves.push(Shelf::default());
        }
        let after = self.shelves.partition_point(|shelf| shelf.first <= *pod);
        &mut self.shelves[after.saturating_sub(1)]
    }

    /// Puts into words what is to be told of them now.
    pub(super) fn tell(&mut self, now: Time, on_deadline: OnDeadline) {
        for (pod, ..) in std::mem::take(&mut self.taken).into_keys() {
            self.shelf(&pod).told = None;
        }
        if self.shelves.iter().all(|shelf| shelf.is_told(now)) {
            return;
        }
        for shelf in std::mem::take(&mut self.shelves) {
            if shelf.is_told(now) {
                self.shelves.push(shelf);
            } else {
                let parts = shelf.parts().into_iter().map(|part| part.tell(now, on_deadline));
                self.shelves.extend(parts.filter(|part| !part.held.is_empty()));
            }
        }
        if let Some(shelf) = self.shelves.first_mut() {
            shelf.first = Key::default();
        }
        let told = self.shelves.iter().filter_map(|shelf| shelf.told.as_ref());
        self.told = Shelves::new(told.map(|told| told.waits.clone()));
    }

    /// What is told of all of them, as it was put into words last.
    pub(super) fn told(&self) -> Shelves {
        self.told.clone()
    }

    /// What is told of those of some groups.
    pub(super) fn told_of(
        &self,
        lanes: &BTreeSet<&GroupName>,
        now: Time,
        on_deadline: OnDeadline,
    ) -> Shelves {
        let held = self.iter().filter(|(place, _)| lanes.contains(&place.1));
        Shelves::new([Arc::new(words(held, now, on_deadline))].into_iter())
    }

    /// Whether a pod of that name is among them.
    pub(super) fn has(&self, pod: &Key) -> bool {
        self.names.contains_key(pod)
    }

    /// All of them with their places, by name.
    fn iter(&self) -> impl Iterator<Item = (&Place, &Held)> {
        self.shelves.iter().flat_map(|shelf| &shelf.held)
    }

    /// Until when batch pods of such groups are waited for, or of all.
    pub(super) fn deadlines(&self, lanes: Option<&BTreeSet<&GroupName>>) -> Vec<Time> {
        let Some(lanes) = lanes else { return self.deadlines.keys().copied().collect() };
        let of_lanes = self.iter().filter(|(place, _)| lanes.contains(&place.1));
        of_lanes.filter_map(|(_, held)| held.deadline()).collect()
    }
}

impl Shelf {
    /// Whether what was told of them is what is to be told now.
    fn is_told(&self, now: Time) -> bool {
        let is_so = |told: &Told| told.from <= now && told.until.is_none_or(|until| now < until);
        self.told.as_ref().is_some_and(is_so)
    }

    /// Its parts, where there are too many on it; all of one name stay together.
    fn parts(self) -> Vec<Self> {
        if self.held.len() <= 2 * SHELF {
            return vec![self];
        }
        let mut parts: Vec<Self> = Vec::new();
        let mut part = Self { first: self.first, ..Self::default() };
        for (place, held) in self.held {
            let is_other = part.held.last_key_value().is_some_and(|((last, ..), _)| *last != place.0);
            if part.held.len() >= SHELF && is_other {
                let next = Self { first: place.0.clone(), ..Self::default() };
                parts.push(std::mem::replace(&mut part, next));
            }
            part.held.insert(place, held);
        }
        parts.push(part);
        parts
    }

    fn tell(self, now: Time, on_deadline: OnDeadline) -> Self {
        let waits = Arc::new(words(self.held.iter(), now, on_deadline));
        let until = self.held.values().filter_map(|held| held.deadline()).filter(|until| now < *until).min();
        Self { told: Some(Told { waits, from: now, until }), ..self }
    }
}

/// What is told of pods.
fn words<'h>(
    held: impl Iterator<Item = (&'h Place, &'h Held)>,
    now: Time,
    on_deadline: OnDeadline,
) -> Vec<Waiting> {
    let told = held.filter_map(|((pod, ..), held)| {
        Some(Waiting { what: Subject::Pod(pod.clone()), on: held.on(now, on_deadline)? })
    });
    let mut told = Vec::from_iter(told);
    told.dedup_by(|later, first| later.what == first.what);
    told
}

fn note_deadline(deadlines: &mut BTreeMap<Time, u32>, held: Held, is_there: bool) {
    if let Some(deadline) = held.deadline() {
        tally(deadlines, &deadline, is_there);
    }
}
