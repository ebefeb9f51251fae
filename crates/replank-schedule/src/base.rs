//! Nodes scored for one shape of request, kept up to date by the log of changed nodes.
//!
//! A *base* belongs to what pods ask of a node by itself: a *sorting* of the nodes by what they are, and a *shape*, the room
//! that is asked for. It holds the nodes that can take such a pod in groups of one sign, and within a group by their resource
//! score. So the best node of a group is at hand, and when a pod lands on a node only that node moves.

use rustc_hash::FxHashMap;

use super::amounts::Request;
use super::ids::{BaseId, NodeId, ShapeId, SortingId};
use super::images::Images;
use super::intern::Interned;
use super::nodes::{Load, NodeEntry};
use super::plan::Plan;
use super::plugin::Failure;
use super::pods::SpecEntry;
use super::ports::Port;
use super::refuse::Refusals;
use super::score::{balanced_allocation, least_allocated};
use super::slack::{Size, Slack};
use super::sorting::{NO_SIGN, Sign, Sorting, SortingKey};
use super::world::World;

/// What pods ask of a node's room.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct ShapeKey {
    request: Request,
    ports: Box<[Port]>,
}

impl ShapeKey {
    /// Whether there is room for one more such pod.
    fn fits(&self, world: &World, id: NodeId, load: &Load) -> bool {
        let wanted = &self.request.amounts;
        let has =
            |wanted: i64, at: usize| wanted <= 0 || wanted <= load.room[at].saturating_sub(load.used[at]);
        load.pods < load.pods_max
            && has(wanted.milli_cpu, 0)
            && has(wanted.memory, 1)
            && has(wanted.ephemeral, 2)
            && (self.is_plain() || world.nodes.get(id).is_some_and(|node| self.fits_rest(node)))
    }

    /// Whether nothing but what every node has is asked for.
    fn is_plain(&self) -> bool {
        self.request.amounts.others.is_empty() && self.ports.is_empty()
    }

    fn fits_rest(&self, node: &NodeEntry) -> bool {
        let (used, room) = (&node.used, &node.room.amounts);
        let has = |id, wanted: i64| wanted <= 0 || wanted <= room.other(id).saturating_sub(used.other(id));
        self.request.amounts.others.iter().all(|(id, wanted)| has(*id, *wanted))
            && !self.ports.iter().any(|port| node.ports.iter().any(|known| known.conflicts(port)))
    }

    /// What the node's resources score.
    fn score(&self, load: &Load) -> u16 {
        let least = least_allocated(&self.request, load);
        let balance =
            if self.request.is_best_effort() { 0 } else { balanced_allocation(&self.request, load) };
        u16::try_from(least + balance).expect("two scores of at most 100")
    }
}

/// The resource scores of all nodes for one shape of request: shared by the bases that ask for it.
#[derive(Clone, Debug, Default)]
struct Shape {
    /// Up to where the log was read.
    read: u64,
    /// Each node's score, [`NONE`] without room.
    scores: Vec<u16>,
}

impl Shape {
    fn catch_up(&mut self, key: &ShapeKey, world: &World) {
        let log = &world.nodes.log;
        self.scores.resize(world.nodes.slots(), NONE);
        let mut rate = |id: NodeId| {
            let load = world.nodes.load(id);
            self.scores[id.at()] = if key.fits(world, id, load) { key.score(load) } else { NONE };
        };
        match log.since(self.read) {
            Some(changed) => changed.for_each(&mut rate),
            None => (0..world.nodes.slots()).map(NodeId::new).for_each(&mut rate),
        }
        self.read = log.end();
    }
}

/// What pods ask of a node by itself.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct BaseKey {
    shape: ShapeId,
    sorting: SortingId,
}

/// Number of different resource scores.
const BUCKETS: usize = 201;

/// Nodes of one sign, by their resource score.
#[derive(Clone, Debug)]
pub(super) struct Group {
    /// What they have in common.
    pub(super) sign: Sign,
    /// Number of nodes.
    pub(super) len: usize,
    buckets: Vec<Vec<NodeId>>,
    /// A bit for each bucket that is not empty.
    inhabited: [u64; BUCKETS.div_ceil(64)],
}

impl Group {
    fn new(sign: Sign) -> Self {
        Self { sign, len: 0, buckets: vec![Vec::new(); BUCKETS], inhabited: [0; BUCKETS.div_ceil(64)] }
    }

    /// Makes room for so many nodes in each bucket, which are then put there.
    fn reserve(&mut self, sizes: &[u32]) {
        for ((at, bucket), size) in
            self.buckets.iter_mut().enumerate().zip(sizes).filter(|(_, size)| **size > 0)
        {
            bucket.reserve_exact(*size as usize);
            self.len += *size as usize;
            self.inhabited[at / 64] |= 1 << (at % 64);
        }
    }

    /// All nodes.
    pub(super) fn nodes(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.best_first().flat_map(|(_, nodes)| nodes.iter().copied())
    }

    /// The inhabited buckets with their scores, best first.
    pub(super) fn best_first(&self) -> impl Iterator<Item = (i64, &[NodeId])> {
        self.inhabited.iter().enumerate().rev().flat_map(move |(word, bits)| {
            let mut rest = *bits;
            std::iter::from_fn(move || {
                let bit = (rest != 0).then(|| 63 - rest.leading_zeros())?;
                rest &= !(1 << bit);
                let score = word * 64 + bit as usize;
                Some((i64::try_from(score).expect("at most 200"), &*self.buckets[score]))
            })
        })
    }
}

/// No score: there is no room.
const NONE: u16 = u16::MAX;

/// Where a node is.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// The group that it belongs to by itself, whether there is room or not: its sign's number.
    group: u16,
    /// Its resource score, if there is room.
    bucket: u16,
    at: u32,
}

const NOWHERE: Place = Place { group: NO_SIGN, bucket: NONE, at: 0 };

/// The nodes that can take pods of one shape.
#[derive(Clone, Debug, Default)]
pub(super) struct Base {
    /// Up to where the log was read.
    read: u64,
    /// The building of the sorting whose numbers are used.
    sorting_built_at: u64,
    /// When it was used last.
    used_at: u64,
    places: Vec<Place>,
    groups: Vec<Group>,
    /// What the other nodes object to; as old as when it was last asked for.
    refusals: Refusals,
}

impl Base {
    pub(super) fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// The group and the resource score of a node that can take such a pod.
    pub(super) fn find(&self, node: NodeId) -> Option<(usize, i64)> {
        let place = self.places.get(node.at()).filter(|place| place.bucket != NONE)?;
        Some((place.group.into(), place.bucket.into()))
    }

    /// What the other nodes object to.
    pub(super) fn refusals(&self) -> &Refusals {
        &self.refusals
    }

    /// Takes in what changed since the last time. Shape and sorting have done so.
    fn catch_up(&mut self, shape: &Shape, sorting: &Sorting, world: &World) {
        let log = &world.nodes.log;
        let is_valid = self.read > 0 && self.sorting_built_at == sorting.built_at;
        match if is_valid { log.since(self.read) } else { None } {
            Some(changed) => {
                self.add_groups(sorting);
                self.places.resize(world.nodes.slots(), NOWHERE);
                for id in changed {
                    let old = self.places[id.at()];
                    let (group, bucket) = Self::position(shape, sorting, id);
                    if old.group != group || old.bucket != bucket {
                        self.take_out(old);
                        self.put_in(id, group, bucket);
                    }
                }
            }
            None => self.build(shape, sorting, world),
        }
        self.read = log.end();
    }

    fn position(shape: &Shape, sorting: &Sorting, id: NodeId) -> (u16, u16) {
        let group = sorting.of(id);
        (group, if group == NO_SIGN { NONE } else { shape.scores[id.at()] })
    }

    fn add_groups(&mut self, sorting: &Sorting) {
        let missing = sorting.signs().get(self.groups.len()..).into_iter().flatten();
        self.groups.extend(missing.map(|sign| Group::new(*sign)));
    }

    fn build(&mut self, shape: &Shape, sorting: &Sorting, world: &World) {
        let refusals = std::mem::take(&mut self.refusals);
        *self = Self {
            sorting_built_at: sorting.built_at,
            used_at: self.used_at,
            refusals,
            places: vec![NOWHERE; world.nodes.slots()],
            ..Self::default()
        };
        self.add_groups(sorting);
        let positions = || {
            let ids = (0..world.nodes.slots()).map(NodeId::new);
            ids.map(|id| (id, Self::position(shape, sorting, id)))
        };
        // Buckets get their sizes at once: growing them step by step takes as long as all the rest.
        let mut sizes = vec![0_u32; self.groups.len() * BUCKETS];
        for (_, (group, bucket)) in positions().filter(|(_, (_, bucket))| *bucket != NONE) {
            sizes[usize::from(group) * BUCKETS + usize::from(bucket)] += 1;
        }
        for (group, sizes) in self.groups.iter_mut().zip(sizes.chunks(BUCKETS)) {
            group.reserve(sizes);
        }
        for (id, (group, bucket)) in positions() {
            let mut at = 0;
            if bucket != NONE {
                let list = &mut self.groups[usize::from(group)].buckets[usize::from(bucket)];
                at = u32::try_from(list.len()).expect("fewer nodes than 2^32");
                list.push(id);
            }
            self.places[id.at()] = Place { group, bucket, at };
        }
    }

    fn put_in(&mut self, id: NodeId, group: u16, bucket: u16) {
        let mut at = 0;
        if bucket != NONE {
            let group = &mut self.groups[usize::from(group)];
            let list = &mut group.buckets[usize::from(bucket)];
            at = u32::try_from(list.len()).expect("fewer nodes than 2^32");
            list.push(id);
            group.len += 1;
            group.inhabited[usize::from(bucket) / 64] |= 1 << (bucket % 64);
        }
        self.places[id.at()] = Place { group, bucket, at };
    }

    fn take_out(&mut self, place: Place) {
        if place.bucket == NONE {
            return;
        }
        let group = &mut self.groups[usize::from(place.group)];
        let list = &mut group.buckets[usize::from(place.bucket)];
        list.swap_remove(place.at as usize);
        group.len -= 1;
        if let Some(moved) = list.get(place.at as usize) {
            self.places[moved.at()].at = place.at;
        } else if list.is_empty() {
            group.inhabited[usize::from(place.bucket) / 64] &= !(1 << (place.bucket % 64));
        }
    }
}

/// Node entries that all bases together may keep before those that were not used for longest are dropped. A base takes
/// about 10 bytes for each: this is some 80 MB.
const SIZE_MAX: usize = 8_000_000;

/// So many sizes and sortings are more than one cluster's pods have; each takes 8 bytes for each node.
const SLACKS_MAX: usize = 256;

/// All bases, and what they are made of.
#[derive(Clone, Debug, Default)]
pub(super) struct Bases {
    shapes: Interned<ShapeKey, (ShapeKey, Shape)>,
    sortings: Interned<SortingKey, (SortingKey, Sorting)>,
    all: Interned<BaseKey, (BaseKey, Base)>,
    slacks: FxHashMap<(SortingId, Size), Slack>,
    uses: u64,
    size: usize,
}

/// A base, up to date, with the sorting that its groups come from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fresh<'a> {
    pub(super) base: &'a Base,
    pub(super) sorting: &'a Sorting,
}

impl Bases {
    /// The base for pods of a plan.
    pub(super) fn id(&mut self, plan: &Plan, spec: &SpecEntry, images: &Images) -> BaseId {
        let shape = ShapeKey { request: plan.request.clone(), ports: spec.ports.clone() };
        let shape = ShapeId(self.shapes.id(shape, |key| (key.clone(), Shape::default())));
        let sorting = SortingKey::of(plan, images);
        let sorting = SortingId(self.sortings.id(sorting, |key| (key.clone(), Sorting::default())));
        BaseId(self.all.id(BaseKey { shape, sorting }, |key| (key.clone(), Base::default())))
    }

    /// A base, up to date.
    pub(super) fn fresh(&mut self, id: BaseId, world: &World) -> Fresh<'_> {
        self.uses += 1;
        let (key, base) = self.all.get_mut(id.0);
        let (shape_key, shape) = self.shapes.get_mut(key.shape.0);
        let (sorting_key, sorting) = self.sortings.get_mut(key.sorting.0);
        let before = base.places.len();
        shape.catch_up(shape_key, world);
        sorting.catch_up(sorting_key, world, self.uses);
        base.catch_up(shape, sorting, world);
        base.used_at = self.uses;
        self.size = self.size - before + base.places.len();
        if self.size > SIZE_MAX {
            self.drop_oldest();
        }
        self.get(id)
    }

    /// The room for pods of a size on the nodes that let pods of a base in.
    pub(super) fn slack(&mut self, id: BaseId, size: Size, world: &World) -> &Slack {
        self.uses += 1;
        let sorting_id = self.sorting_of(id);
        let (key, sorting) = self.sortings.get_mut(sorting_id.0);
        sorting.catch_up(key, world, self.uses);
        if self.slacks.len() > SLACKS_MAX {
            self.slacks.clear();
        }
        let slack = self.slacks.entry((sorting_id, size)).or_default();
        slack.catch_up(size, sorting, &world.nodes);
        slack
    }

    /// What pods of a base ask of a node itself.
    pub(super) fn sorting_of(&self, id: BaseId) -> SortingId {
        self.all.get(id.0).0.sorting
    }

    /// Whether some node lets in pods of both sortings.
    pub(super) fn share_nodes(&mut self, one: SortingId, other: SortingId, world: &World) -> bool {
        self.uses += 1;
        for id in [one, other] {
            let (key, sorting) = self.sortings.get_mut(id.0);
            sorting.catch_up(key, world, self.uses);
        }
        let [one, other] = [one, other].map(|id| &self.sortings.get(id.0).1);
        world.nodes.ids().any(|id| one.of(id) != NO_SIGN && other.of(id) != NO_SIGN)
    }

    fn get(&self, id: BaseId) -> Fresh<'_> {
        let (key, base) = self.all.get(id.0);
        Fresh { base, sorting: &self.sortings.get(key.sorting.0).1 }
    }

    /// A base, with what the nodes object to that cannot take its pods. `ask` asks one node.
    pub(super) fn refusals(
        &mut self,
        id: BaseId,
        world: &World,
        ask: impl Fn(NodeId) -> Option<Failure>,
    ) -> Fresh<'_> {
        self.fresh(id, world);
        let (_, base) = self.all.get_mut(id.0);
        base.refusals.catch_up(&world.nodes.log, world.nodes.slots(), ask);
        self.get(id)
    }

    /// Empties the half of the bases that were not used for longest.
    fn drop_oldest(&mut self) {
        let used = self.all.values().iter().filter(|(_, base)| !base.places.is_empty());
        let mut ages: Vec<u64> = used.map(|(_, base)| base.used_at).collect();
        ages.sort();
        let middle = ages[ages.len() / 2];
        for (_, base) in self.all.values_mut().filter(|(_, base)| base.used_at < middle) {
            *base = Base::default();
        }
        // A sorting that no base uses any more is as old as they are.
        for (_, sorting) in self.sortings.values_mut().filter(|(_, sorting)| sorting.used_at < middle) {
            *sorting = Sorting::default();
        }
        self.size = self.all.values().iter().map(|(_, base)| base.places.len()).sum();
    }
}
