//! Nodes scored for one shape of request, kept up to date by the log of changed nodes.
//!
//! A *base* belongs to what pods ask of a node by itself: resources, ports, node affinity, tolerations, images. It holds
//! the nodes that can take such a pod, sorted into groups whose nodes are alike in all that is normalised over nodes or
//! decided per topology domain, and within a group by their resource score. So the best node of a group is at hand, and
//! when a pod lands on a node only that node moves.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::amounts::Request;
use super::ids::{
    AffinityId, BaseId, DomainId, ImagesId, NodeId, PartId, PreferenceId, TolerationId, TopologyId,
};
use super::intern::Interned;
use super::nodes::NodeEntry;
use super::plan::Plan;
use super::pods::SpecEntry;
use super::ports::Port;
use super::score::{balanced_allocation, least_allocated};
use super::world::World;

/// What pods ask of a node by itself.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct BaseKey {
    request: Request,
    affinity: Option<AffinityId>,
    tolerations: TolerationId,
    preference: Option<PreferenceId>,
    images: ImagesId,
    features: u8,
    ports: Box<[Port]>,
    /// Labels that the node must have, for constraints that cannot be met without.
    labels: SmallVec<[TopologyId; 2]>,
}

impl BaseKey {
    pub(super) fn of(plan: &Plan, spec: &SpecEntry) -> Self {
        let near = plan.near.iter().flat_map(|near| near.terms.iter().map(|(topology, _)| *topology));
        let mut labels: SmallVec<[TopologyId; 2]> =
            plan.hard.iter().map(|hard| hard.topology).chain(near).collect();
        labels.sort();
        labels.dedup();
        Self {
            request: plan.request.clone(),
            affinity: plan.affinity,
            tolerations: plan.tolerations,
            preference: plan.preference.clone().ok().flatten(),
            images: plan.images,
            features: plan.features,
            ports: spec.ports.clone(),
            labels,
        }
    }

    /// Whether the node itself lets such pods in, whatever is on it.
    fn admits(&self, world: &World, id: NodeId, node: &NodeEntry) -> bool {
        let tolerated = &world.eligibles[self.tolerations];
        !node.is_excluded
            && (!node.node.spec.unschedulable || tolerated.bears_cordon)
            && !tolerated.is_blocked(id)
            && self.affinity.is_none_or(|affinity| world.eligibles.matches(affinity, id))
            && self.features & !node.features == 0
            && self.labels.iter().all(|label| world.topologies[*label].domain(id) != DomainId::MISSING)
    }

    /// Whether there is room for one more such pod.
    fn fits(&self, node: &NodeEntry) -> bool {
        let (wanted, used, room) = (&self.request.amounts, &node.used, &node.room.amounts);
        let has = |wanted: i64, room: i64, used: i64| wanted <= 0 || wanted <= room - used;
        let count = i64::try_from(node.pods.len()).expect("a node has few pods");
        count < node.room.pods
            && has(wanted.milli_cpu, room.milli_cpu, used.milli_cpu)
            && has(wanted.memory, room.memory, used.memory)
            && has(wanted.ephemeral, room.ephemeral, used.ephemeral)
            && wanted.others.iter().all(|(id, wanted)| has(*wanted, room.other(*id), used.other(*id)))
            && !self.ports.iter().any(|port| node.ports.iter().any(|known| known.conflicts(port)))
    }

    /// What the node's resources score.
    fn score(&self, node: &NodeEntry) -> u16 {
        let least = least_allocated(&self.request, node);
        let balance =
            if self.request.is_best_effort() { 0 } else { balanced_allocation(&self.request, node) };
        u16::try_from(least + balance).expect("two scores of at most 100")
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
    subsets: Interned<Vec<usize>, Vec<usize>>,
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
        self.subsets.get(sign.images).iter().copied()
    }

    /// Memory in nodes kept.
    pub(super) fn size(&self) -> usize {
        self.places.len()
    }

    /// Takes in what changed since the last time.
    pub(super) fn catch_up(&mut self, key: &BaseKey, world: &World) {
        let log = &world.nodes.log;
        let is_valid = self.read > 0 && self.layout == world.topologies.layout;
        let changed = if is_valid { log.since(self.read) } else { None };
        match changed {
            Some(changed) => {
                let since = self.read;
                for id in changed {
                    self.update(key, world, id, log.is_itself_changed(id, since));
                }
            }
            None => {
                *self = Self { used_at: self.used_at, layout: world.topologies.layout, ..Self::default() };
                for id in world.nodes.ids() {
                    self.update(key, world, id, true);
                }
            }
        }
        self.read = log.end();
    }

    fn update(&mut self, key: &BaseKey, world: &World, id: NodeId, is_itself_changed: bool) {
        if self.places.len() <= id.at() {
            self.places.resize(id.at() + 1, NOWHERE);
        }
        let node = world.nodes.get(id);
        let old = self.places[id.at()];
        let group = match node {
            None => NONE,
            Some(_) if !is_itself_changed => old.group,
            Some(node) if key.admits(world, id, node) => self.group(key, world, id, node),
            Some(_) => NONE,
        };
        let bucket = match node {
            Some(node) if group != NONE && key.fits(node) => key.score(node),
            Some(_) | None => NONE,
        };
        if old.group == group && old.bucket == bucket {
            return;
        }
        self.take_out(old);
        let at = if bucket == NONE { 0 } else { self.put_in(id, group, bucket) };
        self.places[id.at()] = Place { group, bucket, at };
    }

    fn group(&mut self, key: &BaseKey, world: &World, id: NodeId, node: &NodeEntry) -> u16 {
        let present: Vec<usize> = world.images.present(key.images, &node.images).collect();
        let images = match self.subsets.find(&present) {
            Some(subset) => subset,
            None => self.subsets.insert(present.clone(), present),
        };
        let preference = key.preference.map(|id| world.preferences.get(id.0));
        let sign = Sign {
            part: node.part,
            avoided: world.eligibles[key.tolerations].avoided(id),
            preferred: preference.map_or(0, |p| p.score(node.name.as_str(), &node.node.meta.labels)),
            images,
        };
        if let Some(group) = self.by_sign.get(&sign) {
            return *group;
        }
        let group = u16::try_from(self.groups.len()).expect("fewer groups than 2^16 by far");
        self.groups.push(Group::new(sign));
        self.by_sign.insert(sign, group);
        group
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
    all: Interned<BaseKey, (BaseKey, Base)>,
    uses: u64,
    size: usize,
}

impl Bases {
    pub(super) fn id(&mut self, key: BaseKey) -> BaseId {
        match self.all.find(&key) {
            Some(id) => BaseId(id),
            None => BaseId(self.all.insert(key.clone(), (key, Base::default()))),
        }
    }

    /// A base, up to date.
    pub(super) fn fresh(&mut self, id: BaseId, world: &World) -> &Base {
        self.uses += 1;
        let (key, base) = self.all.get_mut(id.0);
        self.size -= base.size();
        base.catch_up(key, world);
        base.used_at = self.uses;
        self.size += base.size();
        if self.size > SIZE_MAX {
            self.drop_oldest();
        }
        &self.all.get(id.0).1
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
