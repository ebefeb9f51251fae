//! Nodes scored for one shape of request, kept up to date by the log of changed nodes.
//!
//! A *base* belongs to what pods ask of a node by itself: resources, ports, node affinity, tolerations, images. It holds
//! the nodes that can take such a pod, sorted into groups whose nodes are alike in all that is normalised over nodes or
//! decided per topology domain, and within a group by their resource score. So the best node of a group is at hand, and
//! when a pod lands on a node only that node moves.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::amounts::Request;
use super::ids::{AffinityId, BaseId, ImagesId, NodeId, PartId, PreferenceId, ShapeId, TolerationId};
use super::images::Images;
use super::intern::Interned;
use super::nodes::{Load, NodeEntry};
use super::plan::Plan;
use super::plugin::Failure;
use super::pods::SpecEntry;
use super::ports::Port;
use super::refuse::Refusals;
use super::score::{balanced_allocation, least_allocated};
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
        let has = |wanted: i64, at: usize| wanted <= 0 || wanted <= load.room[at] - load.used[at];
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
        let has = |id, wanted: i64| wanted <= 0 || wanted <= room.other(id) - used.other(id);
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
    affinity: Option<AffinityId>,
    tolerations: TolerationId,
    preference: Option<PreferenceId>,
    /// `None` if no node has any of them: then pods of many images share a base.
    images: Option<ImagesId>,
    features: u8,
}

impl BaseKey {
    /// Whether the node itself lets such pods in, whatever is on it.
    fn admits(&self, world: &World, id: NodeId, node: &NodeEntry) -> bool {
        let tolerated = &world.eligibles[self.tolerations];
        !node.is_excluded
            && (!node.node.spec.unschedulable || tolerated.bears_cordon)
            && !tolerated.is_blocked(id)
            && self.affinity.is_none_or(|affinity| world.eligibles.matches(affinity, id))
            && self.features & !node.features == 0
    }
}

/// What the nodes of a group have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Sign {
    /// Domains in the coarse topologies.
    pub(super) part: PartId,
    /// Taints that ask that others be preferred, not tolerated.
    pub(super) avoided: i64,
    /// Weights of the preferred node affinity terms that match.
    pub(super) preferred: i64,
    /// Which of the pod's images are there.
    pub(super) images: u32,
}

/// Number of different resource scores.
const BUCKETS: usize = 201;

/// Nodes that are alike, by their resource score.
#[derive(Clone, Debug)]
pub(super) struct Group {
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

/// No group, or no bucket.
const NONE: u16 = u16::MAX;

/// Where a node is.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// The group that it belongs to by itself, whether there is room or not.
    group: u16,
    /// Its resource score, if there is room.
    bucket: u16,
    at: u32,
}

const NOWHERE: Place = Place { group: NONE, bucket: NONE, at: 0 };

/// The nodes that can take pods of one shape.
#[derive(Clone, Debug, Default)]
pub(super) struct Base {
    /// Up to where the log was read.
    read: u64,
    layout: u32,
    /// When it was used last.
    pub(super) used_at: u64,
    places: Vec<Place>,
    groups: Vec<Group>,
    by_sign: FxHashMap<Sign, u16>,
    subsets: Interned<SmallVec<[usize; 4]>, SmallVec<[usize; 4]>>,
    /// The group that was asked for last: neighbours are often alike.
    last: Option<(Sign, u16)>,
    /// What the other nodes object to; as old as when it was last asked for.
    pub(super) refusals: Refusals,
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

    /// The pod's images that the nodes of a sign have, as positions in the pod's list.
    pub(super) fn images(&self, sign: &Sign) -> impl Iterator<Item = usize> + '_ {
        let known = sign.images.checked_sub(1).map(|known| self.subsets.get(known));
        known.into_iter().flatten().copied()
    }

    /// Memory in nodes kept.
    pub(super) fn size(&self) -> usize {
        self.places.len()
    }

    /// Takes in what changed since the last time. The shape has done so.
    fn catch_up(&mut self, key: &BaseKey, shape: &Shape, world: &World) {
        let log = &world.nodes.log;
        let is_valid = self.read > 0 && self.layout == world.topologies.layout;
        match if is_valid { log.since(self.read) } else { None } {
            Some(changed) => {
                self.places.resize(world.nodes.slots(), NOWHERE);
                let since = self.read;
                for id in changed {
                    let old = self.places[id.at()];
                    let is_itself_changed = log.is_itself_changed(id, since);
                    let group = if is_itself_changed { self.group(key, world, id) } else { old.group };
                    let bucket = if group == NONE { NONE } else { shape.scores[id.at()] };
                    if old.group != group || old.bucket != bucket {
                        self.take_out(old);
                        let at = if bucket == NONE { 0 } else { self.put_in(id, group, bucket) };
                        self.places[id.at()] = Place { group, bucket, at };
                    }
                }
            }
            None => self.build(key, shape, world),
        }
        self.read = log.end();
    }

    fn build(&mut self, key: &BaseKey, shape: &Shape, world: &World) {
        let refusals = std::mem::take(&mut self.refusals);
        *self = Self { used_at: self.used_at, layout: world.topologies.layout, refusals, ..Self::default() };
        self.places.resize(world.nodes.slots(), NOWHERE);
        for id in world.nodes.ids() {
            let group = self.group(key, world, id);
            let bucket = if group == NONE { NONE } else { shape.scores[id.at()] };
            let at = if bucket == NONE { 0 } else { self.put_in(id, group, bucket) };
            self.places[id.at()] = Place { group, bucket, at };
        }
    }

    /// The group that a node belongs to by itself; [`NONE`] if it does not let such pods in, or is not there.
    fn group(&mut self, key: &BaseKey, world: &World, id: NodeId) -> u16 {
        let Some(node) = world.nodes.get(id).filter(|node| key.admits(world, id, node)) else { return NONE };
        let sign = Sign {
            part: node.part,
            avoided: world.eligibles[key.tolerations].avoided(id),
            preferred: key.preference.map_or(0, |preference| world.eligibles.preferred(preference, id)),
            images: key.images.map_or(0, |images| self.subset(world.images.present(images, &node.images))),
        };
        if let Some((last, group)) = self.last
            && last == sign
        {
            return group;
        }
        let group = match self.by_sign.get(&sign) {
            Some(group) => *group,
            None => {
                let group = u16::try_from(self.groups.len()).expect("fewer groups than 2^16 by far");
                self.groups.push(Group::new(sign));
                self.by_sign.insert(sign, group);
                group
            }
        };
        self.last = Some((sign, group));
        group
    }

    /// The number of a set of images: 0 for none, else one more than its place among the sets seen.
    fn subset(&mut self, present: impl Iterator<Item = usize>) -> u32 {
        let present: SmallVec<[usize; 4]> = present.collect();
        if present.is_empty() {
            return 0;
        }
        let known = match self.subsets.find(&present) {
            Some(known) => known,
            None => self.subsets.insert(present.clone(), present),
        };
        known + 1
    }

    fn put_in(&mut self, id: NodeId, group: u16, bucket: u16) -> u32 {
        let group = &mut self.groups[usize::from(group)];
        let list = &mut group.buckets[usize::from(bucket)];
        list.push(id);
        group.len += 1;
        group.inhabited[usize::from(bucket) / 64] |= 1 << (bucket % 64);
        u32::try_from(list.len() - 1).expect("fewer nodes than 2^32")
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

/// All bases.
#[derive(Clone, Debug, Default)]
pub(super) struct Bases {
    shapes: Interned<ShapeKey, (ShapeKey, Shape)>,
    all: Interned<BaseKey, (BaseKey, Base)>,
    uses: u64,
    size: usize,
}

impl Bases {
    /// The base for pods of a plan.
    pub(super) fn id(&mut self, plan: &Plan, spec: &SpecEntry, images: &Images) -> BaseId {
        let shape = ShapeKey { request: plan.request.clone(), ports: spec.ports.clone() };
        let shape = match self.shapes.find(&shape) {
            Some(id) => ShapeId(id),
            None => ShapeId(self.shapes.insert(shape.clone(), (shape, Shape::default()))),
        };
        let key = BaseKey {
            shape,
            affinity: plan.affinity,
            tolerations: plan.tolerations,
            preference: plan.preference.clone().ok().flatten(),
            images: Some(plan.images).filter(|of_pod| images.is_anywhere(*of_pod)),
            features: plan.features,
        };
        match self.all.find(&key) {
            Some(id) => BaseId(id),
            None => BaseId(self.all.insert(key.clone(), (key, Base::default()))),
        }
    }

    /// A base, up to date.
    pub(super) fn fresh(&mut self, id: BaseId, world: &World) -> &Base {
        self.uses += 1;
        let (key, base) = self.all.get_mut(id.0);
        let (shape_key, shape) = self.shapes.get_mut(key.shape.0);
        self.size -= base.size();
        shape.catch_up(shape_key, world);
        base.catch_up(key, shape, world);
        base.used_at = self.uses;
        self.size += base.size();
        if self.size > SIZE_MAX {
            self.drop_oldest();
        }
        &self.all.get(id.0).1
    }

    /// A base, with what the nodes object to that cannot take its pods. `ask` asks one node.
    pub(super) fn refusals(
        &mut self,
        id: BaseId,
        world: &World,
        ask: impl Fn(NodeId) -> Option<Failure>,
    ) -> &Base {
        self.fresh(id, world);
        let (_, base) = self.all.get_mut(id.0);
        base.refusals.catch_up(&world.nodes.log, world.nodes.slots(), ask);
        base
    }

    /// Empties the half of the bases that were not used for longest.
    fn drop_oldest(&mut self) {
        let mut ages: Vec<u64> = self
            .all
            .values()
            .iter()
            .filter(|(_, base)| base.size() > 0)
            .map(|(_, base)| base.used_at)
            .collect();
        ages.sort();
        let middle = ages[ages.len() / 2];
        for (_, base) in self.all.values_mut() {
            if base.used_at < middle {
                *base = Base::default();
            }
        }
        self.size = self.all.values().iter().map(|(_, base)| base.size()).sum();
    }
}
