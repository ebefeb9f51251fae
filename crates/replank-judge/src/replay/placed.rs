//! Where successors came up, by zone.

use std::collections::BTreeMap;

use super::carry::Course;
use super::recorded::Rehearsal;

/// How many successors of a workload came up in each zone.
pub(super) type ByZone = BTreeMap<String, usize>;

/// Of each workload of a rehearsal; workloads by namespace, kind and name. `old` are the zones of nodes that were there before.
pub(super) fn rehearsed(rehearsal: &Rehearsal, old: &BTreeMap<String, String>) -> BTreeMap<String, ByZone> {
    let new = rehearsal.timeline.iter().filter_map(|line| Some((line.node.as_deref()?, line.zone.as_str())));
    let new: BTreeMap<&str, &str> = new.collect();
    let mut all: BTreeMap<String, ByZone> = BTreeMap::new();
    for eviction in &rehearsal.evictions {
        let Some(workload) = &eviction.workload else { continue };
        let by_zone = all.entry(format!("{}/{workload}", eviction.namespace)).or_default();
        let node = eviction.successor.as_ref().and_then(|successor| successor.node.as_deref());
        let zone = node.and_then(|node| new.get(node).copied().or_else(|| old.get(node).map(String::as_str)));
        *by_zone.entry(zone.unwrap_or("no node").to_owned()).or_default() += 1;
    }
    all
}

/// Of each workload on the real cluster.
pub(super) fn real(rehearsal: &Rehearsal, course: &Course) -> BTreeMap<String, ByZone> {
    let mut all: BTreeMap<String, ByZone> = BTreeMap::new();
    for (eviction, carried) in rehearsal.evictions.iter().zip(&course.evictions) {
        let Some(workload) = &eviction.workload else { continue };
        let by_zone = all.entry(format!("{}/{workload}", eviction.namespace)).or_default();
        *by_zone.entry(carried.zone.clone().unwrap_or_else(|| "no node".to_owned())).or_default() += 1;
    }
    all
}
