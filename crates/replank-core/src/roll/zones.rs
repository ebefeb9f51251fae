//! Zones that must keep a Ready node, and how many instances it takes until each surely has a new one.
//!
//! An Auto Scaling group launches in the zone that has fewest instances, by chance among equals. A zone that has no more
//! Ready nodes than `minReadyPerZone` can let its last old node go only when a new one has come up in it. To be sure
//! of that, every zone that has as few instances may have to get one first.

use std::collections::{BTreeMap, BTreeSet};

use replank_model::text::Zone;

use super::fleet::Lane;
use super::member::Stand;
use super::start;
use super::turn::{Track, Turn};

/// Instances to be launched until every zone in which a node could be begun surely can spare it; 0 if all can.
pub(super) fn launches(turn: &Turn<'_>, track: &Track<'_>) -> u32 {
    let short = short(turn, track);
    let Some(group) = track.group.filter(|_| !short.is_empty()) else { return 0 };
    let mut alive: BTreeMap<&Zone, u32> = group.zones.iter().map(|zone| (zone, 0)).collect();
    let instances = turn.view.instances().values().filter(|instance| instance.group == group.name);
    for instance in instances.filter(|instance| instance.is_counted()) {
        if let Some(count) = alive.get_mut(&instance.zone) {
            *count += 1;
        }
    }
    let level = short.iter().filter_map(|zone| alive.get(zone)).max().map_or(0, |most| most + 1);
    alive.values().map(|count| level.saturating_sub(*count)).sum()
}

/// Zones that have a node that could be begun, and can spare none.
pub(super) fn short<'a>(turn: &'a Turn<'_>, track: &'a Track<'_>) -> BTreeSet<&'a Zone> {
    let lane: &Lane = track.lane;
    let needed = turn.scope.plan.budget.min_ready_per_zone;
    if needed == 0 {
        return BTreeSet::new();
    }
    let found = lane.found.iter().map(|name| turn.member(name));
    let found = found.filter(|member| member.stand == Stand::Found { is_free: true });
    let late = start::late(turn, track).map(|name| turn.member(name));
    let zones = lane.queue.keys().chain(found.chain(late).map(|member| &member.zone));
    zones.filter(|zone| lane.ready.get(*zone).is_none_or(|ready| *ready <= needed)).collect()
}

/// Zones in which old nodes are left.
pub(super) fn unfinished<'a>(turn: &Turn<'a>, track: &Track<'a>) -> BTreeSet<&'a Zone> {
    let lane = track.lane;
    let nodes = lane.found.iter().chain(&lane.held).chain(&lane.draining).chain(&lane.aside);
    lane.queue.keys().chain(nodes.map(|name| &turn.member(name).zone)).collect()
}
