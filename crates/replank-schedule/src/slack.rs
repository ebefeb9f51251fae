//! How many pods of a size nodes have room for.

use super::amounts::Amounts;
use super::bits::Bits;
use super::ids::NodeId;
use super::nodes::{Load, Nodes};
use super::sorting::{NO_SIGN, Sorting};

/// Cpu, memory and ephemeral storage, each the exponent of the next power of two and 1 more; 0 for none. Sizes that differ little are one, so that there are few.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Size([u8; 3]);

/// More than are ever promised a place; a node may say that it takes more, and all nodes together more than can be counted.
const MANY: u64 = 1 << 32;

impl Size {
    pub(super) fn of(amounts: &Amounts) -> Self {
        let exponent = |amount: i64| match u64::try_from(amount) {
            Ok(amount @ 1..) => 65 - u8::try_from((amount - 1).leading_zeros()).expect("at most 64"),
            Ok(0) | Err(_) => 0,
        };
        Self([amounts.milli_cpu, amounts.memory, amounts.ephemeral].map(exponent))
    }

    pub(super) fn max(self, other: Self) -> Self {
        Self(std::array::from_fn(|at| self.0[at].max(other.0[at])))
    }

    /// How many such pods a node has room for.
    fn fits(self, load: &Load) -> u64 {
        let mut count = load.pods_max.saturating_sub(load.pods);
        for (at, exponent) in self.0.into_iter().enumerate().filter(|(_, exponent)| *exponent > 0) {
            let amount = 1_i64.checked_shl(u32::from(exponent) - 1).filter(|amount| *amount > 0);
            let left = load.room[at].saturating_sub(load.used[at]);
            count = count.min(amount.map_or(0, |amount| left / amount));
        }
        u64::try_from(count).unwrap_or(0).min(MANY)
    }
}

/// How many pods of a size the nodes of a sorting have room for, kept up to date by the log of changed nodes.
#[derive(Clone, Debug, Default)]
pub(super) struct Slack {
    /// Up to where the log was read; 0 if never.
    read: u64,
    /// The building of the sorting that was gone by.
    sorting_built_at: u64,
    of: Vec<u64>,
    /// The nodes that have room for any.
    open: Bits,
    total: u64,
}

impl Slack {
    /// How many there is room for in all.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// The nodes that have room, and for how many.
    pub(super) fn open(&self) -> impl Iterator<Item = (NodeId, u64)> + '_ {
        self.open.iter().map(|at| (NodeId::new(at), self.of[at]))
    }

    /// Takes in what changed since the last time, as the sorting has done.
    pub(super) fn catch_up(&mut self, size: Size, sorting: &Sorting, nodes: &Nodes) {
        let is_valid = self.read > 0 && self.sorting_built_at == sorting.built_at;
        let count = |id| if sorting.of(id) == NO_SIGN { 0 } else { size.fits(nodes.load(id)) };
        match if is_valid { nodes.log.since(self.read) } else { None } {
            Some(changed) => {
                self.of.resize(nodes.slots(), 0);
                for id in changed {
                    let now = count(id);
                    self.total = self.total - self.of[id.at()] + now;
                    self.of[id.at()] = now;
                    self.open.set(id.at(), now > 0);
                }
            }
            None => {
                self.of = vec![0; nodes.slots()];
                self.open = Bits::default();
                for id in nodes.ids() {
                    self.of[id.at()] = count(id);
                    self.open.set(id.at(), self.of[id.at()] > 0);
                }
                self.total = self.of.iter().sum();
                self.sorting_built_at = sorting.built_at;
            }
        }
        self.read = nodes.log.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(milli_cpu: i64, memory: i64, ephemeral: i64) -> Size {
        Size::of(&Amounts { milli_cpu, memory, ephemeral, ..Amounts::default() })
    }

    #[test]
    fn a_size_is_the_next_power_of_two() {
        assert_eq!(size(0, 1, 2), Size([0, 1, 2]));
        assert_eq!(size(3, 4, 5), Size([3, 3, 4]));
        assert_eq!(size(-1, i64::MAX, i64::MIN), Size([0, 64, 0]));
        assert_eq!(size(1, 8, 0).max(size(4, 0, 3)), size(4, 8, 3));
    }

    #[test]
    fn a_node_has_room_for_as_many_as_its_scarcest_resource() {
        let load =
            Load { room: [1000, 800, 7], used: [0, 100, 7], pods_max: 110, pods: 10, ..Load::default() };
        assert_eq!(size(0, 0, 0).fits(&load), 100);
        assert_eq!(size(100, 0, 0).fits(&load), 7);
        assert_eq!(size(100, 300, 0).fits(&load), 1);
        assert_eq!(size(0, 0, 1).fits(&load), 0);
        assert_eq!(size(i64::MAX, 0, 0).fits(&load), 0);
        let crowded = Load { pods: 111, ..load };
        assert_eq!(size(1, 0, 0).fits(&crowded), 0);
    }
}
