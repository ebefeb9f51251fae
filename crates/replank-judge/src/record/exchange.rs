//! Which pods and nodes of one run are which of another's, where chance alone tells them apart.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::form::list;
use super::play::Played;
use super::symbols::{Numbered, Symbols};
use crate::client::Event;

/// Pods of one owner that were made this close to each other are of one burst.
const BURST_MS: i64 = 400;

/// Ranges of numbers, by owner, that are one burst in at least one of the runs.
pub(super) fn bursts(scenario: &Value, symbols: &[Symbols]) -> BTreeMap<String, Vec<(usize, usize)>> {
    let mut ranges: BTreeMap<String, Vec<(usize, usize)>> = BTreeMap::new();
    for symbols in symbols {
        let owners: BTreeSet<&String> = symbols.numbered.iter().map(|pod| &pod.owner).collect();
        for owner in owners {
            let pods: Vec<&Numbered> = symbols.numbered.iter().filter(|pod| pod.owner == *owner).collect();
            for burst in pods.chunk_by(|a, b| b.at_ms - a.at_ms < BURST_MS) {
                let (Some(first), Some(last)) = (burst.first(), burst.last()) else { continue };
                ranges.entry(owner.clone()).or_default().push((first.number, last.number));
            }
        }
    }
    let named: Vec<&str> = list(&scenario["steps"]).filter_map(|step| step["name"].as_str()).collect();
    for (owner, ranges) in &mut ranges {
        ranges.sort_unstable();
        let mut merged: Vec<(usize, usize)> = Vec::new();
        for (first, last) in ranges.iter().copied() {
            match merged.last_mut() {
                Some(range) if first <= range.1 => range.1 = range.1.max(last),
                _ => merged.push((first, last)),
            }
        }
        // A pod that a step names is itself.
        let is_named = |number: &usize| named.contains(&format!("{owner}-{{pod-{number}}}").as_str());
        merged.retain(|(first, last)| last > first && !(*first..=*last).any(|number| is_named(&number)));
        *ranges = merged;
    }
    ranges
}

/// The groups as a recording lists them.
pub(super) fn groups(bursts: &BTreeMap<String, Vec<(usize, usize)>>) -> Vec<Vec<String>> {
    let of = |owner: &String, (first, last): (usize, usize)| {
        (first..=last).map(|number| format!("{owner}-{{pod-{number}}}")).collect()
    };
    bursts.iter().flat_map(|(owner, ranges)| ranges.iter().map(move |range| of(owner, *range))).collect()
}

/// New names for the pods of each burst: those that stay first, then those that went last.
pub(super) fn pods(
    played: &Played,
    symbols: &Symbols,
    bursts: &BTreeMap<String, Vec<(usize, usize)>>,
) -> BTreeMap<String, String> {
    let fate = |pod: &Numbered| {
        let mut left = i64::MAX;
        let mut node = String::new();
        for delivery in played.tape.iter().filter(|delivery| delivery.object["metadata"]["uid"] == *pod.uid) {
            let is_leaving = delivery.object["metadata"]["deletionTimestamp"].is_string();
            let is_over = matches!(delivery.object["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
            if is_leaving || is_over || delivery.event == Event::Deleted {
                left = left.min((delivery.at_ms - played.origin_ms) / 250);
            }
            node = delivery.object["spec"]["nodeName"].as_str().unwrap_or_default().to_owned();
        }
        (-left, node, pod.number)
    };
    let mut renamed = BTreeMap::new();
    for (owner, ranges) in bursts {
        for (first, last) in ranges {
            let is_in = |pod: &&Numbered| pod.owner == *owner && (*first..=*last).contains(&pod.number);
            let mut burst: Vec<&Numbered> = symbols.numbered.iter().filter(is_in).collect();
            let numbers: Vec<usize> = burst.iter().map(|pod| pod.number).collect();
            burst.sort_by_cached_key(|pod| fate(pod));
            for (pod, number) in burst.iter().zip(numbers) {
                renamed
                    .insert(format!("{owner}-{{pod-{}}}", pod.number), format!("{owner}-{{pod-{number}}}"));
            }
        }
    }
    renamed
}

/// New names for the nodes of each group that the scenario says may be exchanged: by when a pod on them first left.
pub(super) fn nodes(scenario: &Value, played: &Played) -> BTreeMap<String, String> {
    let mut renamed = BTreeMap::new();
    for group in list(&scenario["interchangeableNodes"]) {
        let names: Vec<&str> = list(group).filter_map(Value::as_str).collect();
        let fate = |node: &str| {
            let real = played.names.node(node);
            let mut leaving = played.tape.iter().filter(|delivery| {
                delivery.object["spec"]["nodeName"] == *real
                    && delivery.object["metadata"]["deletionTimestamp"].is_string()
            });
            leaving.next().map_or(i64::MAX, |delivery| delivery.at_ms)
        };
        let mut by_fate = names.clone();
        by_fate.sort_by_key(|node| (fate(node), *node));
        renamed.extend(by_fate.iter().zip(&names).map(|(from, to)| ((*from).to_owned(), (*to).to_owned())));
    }
    renamed
}
