//! Sets and counts in which what is there is put, and what is no more is taken away.

use std::collections::{BTreeMap, BTreeSet};

use replank_model::text::{InstanceId, NodeName};
use replank_model::time::Time;
use rustc_hash::FxHashSet;

pub(super) fn note(set: &mut FxHashSet<NodeName>, name: Option<&NodeName>) {
    if let Some(name) = name.filter(|name| !set.contains(*name)) {
        set.insert(name.clone());
    }
}

pub(super) fn sorted(names: FxHashSet<NodeName>) -> Vec<NodeName> {
    let mut names = Vec::from_iter(names);
    names.sort_unstable();
    names
}

pub(super) fn put<T: Ord>(set: &mut BTreeSet<T>, item: T, is_there: bool) {
    if is_there {
        set.insert(item);
    } else {
        set.remove(&item);
    }
}

pub(super) fn put_at(
    map: &mut BTreeMap<InstanceId, Option<Time>>,
    id: &InstanceId,
    at: Option<Time>,
    is_there: bool,
) {
    if is_there {
        map.insert(id.clone(), at);
    } else {
        map.remove(id);
    }
}

/// Counts one more or one less; what comes to nothing is left out.
pub(super) fn tally<K: Ord + Clone>(counts: &mut BTreeMap<K, u32>, key: &K, is_there: bool) {
    let count = counts.entry(key.clone()).or_default();
    if is_there {
        *count += 1;
    } else {
        *count -= 1;
    }
    if *count == 0 {
        counts.remove(key);
    }
}

pub(super) fn narrow(count: usize) -> u32 {
    u32::try_from(count).expect("fewer than 2^32 nodes fit in memory")
}
