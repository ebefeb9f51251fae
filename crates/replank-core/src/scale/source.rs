//! Where the next new node comes: the group, among similar ones that are balanced, and the zone.
//!
//! An Auto Scaling group launches in the zone where it has the fewest instances (EC2 Auto Scaling user guide, "Availability Zone
//! distribution"); nobody can ask it for a zone. Groups that are balanced are raised the smallest first (Cluster Autoscaler's
//! FAQ, "I'm running cluster with nodes in multiple zones for HA purposes").

use replank_model::text::{NodeName, Zone};

use super::group::Group;

/// How much of a group has been used up.
#[derive(Clone, Debug)]
pub(super) struct Stock {
    /// Instances in each of the group's zones; `None` in those that are left alone.
    by_zone: Vec<Option<u32>>,
    /// Instances that are wanted, those that are added among them.
    size: u32,
    /// How many more may come.
    pub(super) room: u32,
    /// The number of the last that was added.
    added: u32,
}

impl Stock {
    /// A group before anything is added, and the zones of instances that are on their way: those that are in no zone yet come where
    /// the fewest are. A group that fails in a zone launches in the others.
    pub(super) fn of(group: &Group, room: u32, open: &[bool]) -> (Self, Vec<usize>) {
        let booting = |zone: &Zone| group.booting.get(zone).copied().unwrap_or(0);
        let nodes = |zone: &Zone| {
            let nodes = group.nodes.get(zone).map_or(0, Vec::len);
            u32::try_from(nodes).unwrap_or(u32::MAX)
        };
        let by_zone =
            group.zones.iter().zip(open).map(|(zone, open)| open.then(|| nodes(zone) + booting(zone)));
        let is_shut = !open.contains(&true);
        let mut stock = Self {
            by_zone: by_zone.collect(),
            size: group.size.desired,
            room: if is_shut { 0 } else { room },
            added: numbered(group),
        };
        let mut upcoming: Vec<usize> = Vec::new();
        let wanted = usize::try_from(group.size.desired.saturating_sub(group.len())).unwrap_or(usize::MAX);
        for (at, zone) in group.zones.iter().enumerate() {
            upcoming.extend((0..booting(zone)).map(|_| at));
        }
        upcoming.truncate(wanted);
        while upcoming.len() < wanted {
            let Some(least) = stock.least() else { break };
            stock.by_zone[least] = stock.by_zone[least].map(|count| count + 1);
            upcoming.push(least);
        }
        (stock, upcoming)
    }

    /// Whether the group is as large as it may be.
    pub(super) fn is_full(&self, group: &Group) -> bool {
        self.size.saturating_sub(group.size.desired) >= group.room()
    }

    /// The number of the next node.
    pub(super) fn number(&mut self) -> u32 {
        self.added += 1;
        self.added
    }

    fn least(&self) -> Option<usize> {
        let open = self.by_zone.iter().enumerate().filter_map(|(at, count)| Some((at, (*count)?)));
        open.min_by_key(|(at, count)| (*count, *at)).map(|(at, _)| at)
    }
}

/// The highest number in a node's name of this form, so that names of new nodes do not collide.
fn numbered(group: &Group) -> u32 {
    let names = group.nodes.values().flatten();
    let number = |name: &NodeName| {
        name.as_str().strip_prefix(group.name.as_str())?.strip_prefix('+')?.parse::<u32>().ok()
    };
    names.filter_map(number).max().unwrap_or(0)
}

/// A new node's group and zone, as positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Next {
    pub(super) group: usize,
    pub(super) zone: usize,
    pub(super) number: u32,
}

/// Takes the next node of the groups of a choice, until none has room. There is a stock for each of them.
pub(super) fn next(choice: &[usize], stocks: &mut [Stock]) -> Option<Next> {
    let open = choice.iter().zip(stocks).filter(|(_, stock)| stock.room > 0);
    let (group, stock) = open.min_by_key(|(group, stock)| (stock.size, **group))?;
    let zone = stock.least()?;
    stock.by_zone[zone] = stock.by_zone[zone].map(|count| count + 1);
    stock.size += 1;
    stock.room -= 1;
    Some(Next { group: *group, zone, number: stock.number() })
}
