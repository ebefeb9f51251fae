//! Which nodes let pods in, whatever is on them, and what those nodes have in common.
//!
//! A *sorting* belongs to what pods ask of a node itself: node affinity, tolerations, images, abilities. It numbers the
//! nodes' *signs*: nodes of one sign are alike in all that is normalised over nodes or decided per coarse topology
//! domain. Pods that differ only in the room they ask for share one, so that a node's labels and taints are compared
//! once and not once for every size of pod.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::ids::{AffinityId, ImagesId, NodeId, PartId, PreferenceId, TolerationId};
use super::images::Images;
use super::intern::Interned;
use super::nodes::NodeEntry;
use super::plan::Plan;
use super::world::World;

/// What pods ask of a node itself.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct SortingKey {
    affinity: Option<AffinityId>,
    tolerations: TolerationId,
    preference: Option<PreferenceId>,
    /// `None` if no node has any of them: then pods of many images share a sorting.
    images: Option<ImagesId>,
    features: u8,
}

impl SortingKey {
    pub(super) fn of(plan: &Plan, images: &Images) -> Self {
        Self {
            affinity: plan.affinity,
            tolerations: plan.tolerations,
            preference: plan.preference.clone().ok().flatten(),
            images: Some(plan.images).filter(|of_pod| images.is_anywhere(*of_pod)),
            features: plan.features,
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
    }
}

/// What nodes have in common.
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

/// No sign: the node does not let such pods in, or is not there.
pub(super) const NO_SIGN: u16 = u16::MAX;

/// The nodes' signs.
#[derive(Clone, Debug, Default)]
pub(super) struct Sorting {
    /// Up to where the log was read; 0 if never.
    read: u64,
    layout: u32,
    /// Which of all buildings of sortings made this one: signs keep their numbers within one building.
    pub(super) built_at: u64,
    /// When it was used last.
    pub(super) used_at: u64,
    /// Each node's sign.
    of: Vec<u16>,
    signs: Vec<Sign>,
    by_sign: FxHashMap<Sign, u16>,
    subsets: Interned<SmallVec<[usize; 4]>, SmallVec<[usize; 4]>>,
    /// The sign that was asked for last: neighbours are often alike.
    last: Option<(Sign, u16)>,
}

impl Sorting {
    /// All signs, by number.
    pub(super) fn signs(&self) -> &[Sign] {
        &self.signs
    }

    /// The number of a node's sign.
    pub(super) fn of(&self, node: NodeId) -> u16 {
        self.of[node.at()]
    }

    /// The pod's images that the nodes of a sign have, as positions in the pod's list.
    pub(super) fn images(&self, sign: &Sign) -> impl Iterator<Item = usize> + '_ {
        let known = sign.images.checked_sub(1).map(|known| self.subsets.get(known));
        known.into_iter().flatten().copied()
    }

    /// Takes in what changed since the last time; `use_count` grows with every call.
    pub(super) fn catch_up(&mut self, key: &SortingKey, world: &World, use_count: u64) {
        let log = &world.nodes.log;
        let is_valid = self.read > 0 && self.layout == world.topologies.layout;
        match if is_valid { log.of_themselves_since(self.read) } else { None } {
            Some(changed) => {
                self.of.resize(world.nodes.slots(), NO_SIGN);
                for id in changed {
                    self.of[id.at()] = self.number(key, world, id);
                }
            }
            None => {
                *self = Self { layout: world.topologies.layout, built_at: use_count, ..Self::default() };
                self.of.resize(world.nodes.slots(), NO_SIGN);
                for id in world.nodes.ids() {
                    self.of[id.at()] = self.number(key, world, id);
                }
            }
        }
        self.used_at = use_count;
        self.read = log.end();
    }

    fn number(&mut self, key: &SortingKey, world: &World, id: NodeId) -> u16 {
        let Some(node) = world.nodes.get(id).filter(|node| key.admits(world, id, node)) else {
            return NO_SIGN;
        };
        let sign = Sign {
            part: node.part,
            avoided: world.eligibles[key.tolerations].avoided(id),
            preferred: key.preference.map_or(0, |preference| world.eligibles.preferred(preference, id)),
            images: key.images.map_or(0, |images| self.subset(world.images.present(images, &node.images))),
        };
        if let Some((last, number)) = self.last
            && last == sign
        {
            return number;
        }
        let number = match self.by_sign.get(&sign) {
            Some(number) => *number,
            None => {
                let number = u16::try_from(self.signs.len()).ok().filter(|number| *number != NO_SIGN);
                let number = number.expect("fewer signs than 2^16 by far");
                self.signs.push(sign);
                self.by_sign.insert(sign, number);
                number
            }
        };
        self.last = Some((sign, number));
        number
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
}
