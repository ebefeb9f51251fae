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
    let alike: Vec<BTreeSet<String>> = seeds.iter().map(|seed| alike(seed, real)).collect();
    let best = alike.iter().enumerate().max_by_key(|(index, alike)| (alike.len(), std::cmp::Reverse(*index)));
    let seed = best.map_or(0, |(index, _)| index);
    let (all, found): (_, BTreeSet<&String>) = (parts(planned, real), alike.iter().flatten().collect());
    differences
        .extend(all.iter().filter(|part| !found.contains(part)).map(|part| told(part, seeds[seed], real)));
    let order = (found.len(), all.len());
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
        took: (seeds[seed].took, lived.took),
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

/// Stands for the order of the nodes among the workloads.
const NODES: &str = "nodes";

/// What is compared: the evictions of each workload, and the order of the nodes.
pub(super) fn parts(planned: &Journal, real: &Real) -> BTreeSet<String> {
    let (planned, lived) = (planned.by_workload(&real.first), real.journal.by_workload(&real.first));
    planned.into_keys().chain(lived.into_keys()).chain([NODES.to_owned()]).collect()
}

/// The parts of a live roll that went as in one rehearsal.
pub(super) fn alike(rehearsed: &Journal, real: &Real) -> BTreeSet<String> {
    let (planned, lived) = (rehearsed.by_workload(&real.first), real.journal.by_workload(&real.first));
    let same = planned.iter().filter(|(workload, order)| lived.get(*workload) == Some(*order));
    let same = same.map(|(workload, _)| workload.clone());
    let nodes = rehearsed.nodes() == real.journal.nodes();
    same.chain(nodes.then(|| NODES.to_owned())).collect()
}

/// How a part went in a rehearsal, and how it went.
fn told(part: &str, rehearsed: &Journal, real: &Real) -> String {
    if part == NODES {
        return format!("nodes: rehearsed {:?}, live {:?}", rehearsed.nodes(), real.journal.nodes());
    }
    let (planned, lived) = (rehearsed.by_workload(&real.first), real.journal.by_workload(&real.first));
    format!("evictions of {part}: rehearsed {:?}, live {:?}", planned.get(part), lived.get(part))
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
