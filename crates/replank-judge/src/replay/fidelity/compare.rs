//! What was rehearsed beside what came of it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::super::observed::{Count, Workload};
use super::super::recorded;
use super::by_hand::ByHand;
use super::case::Case;
use super::journal::Journal;
use super::live::Real;
use super::outcome::{Foreseen, Hand, Outcome};
use super::program::Rehearsed;

pub(super) fn outcome(case: &Case, rehearsed: &Rehearsed, real: &Real, hand: Option<&ByHand>) -> Outcome {
    let mut differences = real.deviations.clone();
    let (planned, lived) = (&rehearsed.journal, &real.journal);
    let ended = planned.ended == lived.ended && planned.blocked == lived.blocked;
    if !ended {
        differences.push(format!(
            "end: rehearsed {} {:?}, live {} {:?}",
            planned.ended, planned.blocked, lived.ended, lived.blocked
        ));
    }
    let seeds: Vec<&Journal> = std::iter::once(planned).chain(&rehearsed.others).collect();
    let same_of = |seed: &&Journal| order(seed, lived, &real.first, &mut Vec::new());
    let best = seeds.iter().enumerate().map(|(index, seed)| (same_of(seed), index));
    let best = best.max_by_key(|((same, all), index)| (*all == *same, *same, std::cmp::Reverse(*index)));
    let (_, seed) = best.unwrap_or_default();
    let order = order(seeds[seed], lived, &real.first, &mut differences);
    let result = &rehearsed.result;
    let mut lowest = (0, 0);
    for workload in &result.workloads {
        let key = (workload.namespace.clone(), format!("{} {}", workload.kind, workload.name));
        let real = real.counts.get(&key).map_or(0, |count| count.min);
        lowest.1 += 1;
        lowest.0 += usize::from(real == workload.min_ready);
        if real != workload.min_ready {
            differences.push(format!(
                "fewest Ready pods of {}/{}: rehearsed {}, live {real}",
                key.0, key.1, workload.min_ready
            ));
        }
    }
    let wanted: BTreeMap<Workload, i32> = result
        .workloads
        .iter()
        .map(|one| ((one.namespace.clone(), format!("{} {}", one.kind, one.name)), one.desired))
        .collect();
    Outcome {
        cluster: case.scene.name.clone(),
        verdict: format!("{} {}/{}", result.verdict, result.nodes.replaced, result.nodes.total),
        ended,
        evictions: planned.granted().filter(|one| !one.node.is_empty()).count(),
        order,
        seed: seed + 1,
        lowest,
        took: (planned.took, lived.took),
        refused: (planned.moved.iter().filter(|one| one.refused).count(), real.asked.refused),
        available: available(&wanted, &real.counts),
        hand: hand.map(|hand| Hand {
            nodes: format!("{}/{}", hand.replaced, hand.total),
            took: hand.took,
            refused: hand.asked.refused,
            foreseen: Foreseen {
                nodes: format!("{}/{}", hand.rehearsed.nodes.replaced, hand.rehearsed.nodes.total),
                took: Duration::from_millis(hand.rehearsed.took),
                refused: hand.rehearsed.evictions_refused,
                available: foreseen(&hand.rehearsed.workloads),
            },
            available: available(&wanted, &hand.counts),
        }),
        differences,
    }
}

/// Whether a live roll moved the pods in the order of a rehearsal.
pub(super) fn is_in_order(rehearsed: &Journal, real: &Real) -> bool {
    let (same, all) = order(rehearsed, &real.journal, &real.first, &mut Vec::new());
    same == all
}

/// Workloads whose evictions are the same, in order, of all; nodes count as one more.
fn order(
    rehearsed: &Journal,
    live: &Journal,
    first: &BTreeSet<String>,
    differences: &mut Vec<String>,
) -> (usize, usize) {
    let (planned, lived) = (rehearsed.by_workload(first), live.by_workload(first));
    let all: BTreeSet<&String> = planned.keys().chain(lived.keys()).collect();
    let mut same = 0;
    for workload in &all {
        let (one, other) = (planned.get(*workload), lived.get(*workload));
        same += usize::from(one == other);
        if one != other {
            differences.push(format!("evictions of {workload}: rehearsed {one:?}, live {other:?}"));
        }
    }
    let nodes = rehearsed.nodes() == live.nodes();
    if !nodes {
        differences.push(format!("nodes: rehearsed {:?}, live {:?}", rehearsed.nodes(), live.nodes()));
    }
    (same + usize::from(nodes), all.len() + 1)
}

/// The lowest share of the wanted pods of any workload that was Ready.
fn available(wanted: &BTreeMap<Workload, i32>, counts: &BTreeMap<Workload, Count>) -> String {
    let all = wanted.iter().map(|(workload, wanted)| {
        let least = counts.get(workload).map_or(0, |count| count.min);
        (least * 1000 / (*wanted).max(1), format!("{least} of {wanted}"))
    });
    all.min().map_or_else(|| "-".to_owned(), |(_, words)| words)
}

/// The same, as it was rehearsed.
fn foreseen(workloads: &[recorded::Workload]) -> String {
    let all = workloads.iter().map(|one| {
        (one.min_ready * 1000 / one.desired.max(1), format!("{} of {}", one.min_ready, one.desired))
    });
    all.min().map_or_else(|| "-".to_owned(), |(_, words)| words)
}
