//! Three runs made into one recording: what all of them had, when, and in which order; what some of them had; what was there at the end.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::exchange;
use super::log::{Seen, Story, What, story};
use super::play::Played;
use super::project::Lens;
use super::symbols::Symbols;

/// No tolerance is smaller.
const TOLERANCE_MIN_MS: i64 = 20;

/// One recording of the runs.
pub(super) fn merge(scenario: &Value, runs: &[Played]) -> Value {
    let plain: Vec<Symbols> = runs.iter().map(|played| Symbols::of(&played.names, &played.tape)).collect();
    let bursts = exchange::bursts(scenario, &plain);
    let until_ms = scenario["until_ms"].as_i64().unwrap_or_default();
    let stories: Vec<Story> = runs
        .iter()
        .zip(&plain)
        .map(|(played, symbols)| {
            let nodes = exchange::nodes(scenario, played);
            let pods = exchange::pods(played, symbols, &bursts);
            let symbols = Symbols::exchanged(&played.names, &played.tape, nodes, pods);
            let lens = Lens { names: &played.names, symbols: &symbols, origin_s: played.origin_ms / 1000 };
            let mut story = story(&lens, &played.tape, played.origin_ms, until_ms);
            noted(played, &symbols, until_ms, &mut story.seen);
            story
        })
        .collect();
    let (events, optional) = events(&stories);
    let mut record = scenario.clone();
    record["kubernetesVersion"] = "1.36.2".into();
    record["runs"] = runs.len().into();
    record["namespace"] = "dyn".into();
    if record["t0"].is_null() {
        record["t0"] = json!({"aligned_to": "whole second"});
    }
    for (at, step) in record["steps"].as_array_mut().into_iter().flatten().enumerate() {
        step["result"] = any(runs.iter().map(|played| played.results[at].clone()).collect());
    }
    record["interchangeable"] = json!(exchange::groups(&bursts));
    record["expect"] = json!({"events": events, "optionalEvents": optional, "final": finals(&stories)});
    record
}

fn noted(played: &Played, symbols: &Symbols, until_ms: i64, seen: &mut Vec<Seen>) {
    for note in &played.notes {
        let t_ms = note.at_ms - played.origin_ms;
        if t_ms > until_ms {
            continue;
        }
        let earlier = seen.iter().filter(|seen| seen.t_ms <= t_ms).map(|seen| seen.version);
        let version = earlier.max().unwrap_or_default();
        let (name, what) = match note.kind {
            "Drain" => (symbols.node(&played.names, &note.of), What::Set(note.change.clone())),
            _ => (symbols.of_uid(&note.of, &note.of), What::Change(note.change.clone())),
        };
        seen.push(Seen { t_ms, version, kind: note.kind.to_owned(), name, what, value: note.value.clone() });
    }
}

/// What tells an event from others, and which of several like it.
type Key = (String, String, What, String, usize);

fn keyed(story: &Story) -> BTreeMap<Key, &Seen> {
    let mut counts: BTreeMap<(String, String, What, String), usize> = BTreeMap::new();
    let mut keyed = BTreeMap::new();
    for seen in &story.seen {
        // Where a pod lands is a draw.
        let value = if seen.what == What::Change("scheduled".to_owned()) {
            String::new()
        } else {
            seen.value.to_string()
        };
        let key = (seen.kind.clone(), seen.name.clone(), seen.what.clone(), value);
        let count = counts.entry(key.clone()).or_default();
        *count += 1;
        keyed.insert((key.0, key.1, key.2, key.3, *count), seen);
    }
    keyed
}

/// Events of all runs, and those of some of them.
fn events(stories: &[Story]) -> (Vec<Value>, Vec<Value>) {
    let keyed: Vec<BTreeMap<Key, &Seen>> = stories.iter().map(keyed).collect();
    let all: BTreeSet<&Key> = keyed.iter().flat_map(BTreeMap::keys).collect();
    let (mut common, mut optional) = (Vec::new(), Vec::new());
    for key in all {
        let seen: Vec<&Seen> = keyed.iter().filter_map(|run| run.get(key).copied()).collect();
        if seen.len() == stories.len() {
            common.push(seen);
        } else {
            optional.push((median(&seen), one(&seen, Some(seen.len()))));
        }
    }
    common.sort_by_key(|seen| (seen.iter().map(|seen| seen.version).max(), seen[0].version));
    optional.sort_by_key(|(at, _)| *at);
    (blocked(&common), optional.into_iter().map(|(_, event)| event).collect())
}

/// Writes the events that all runs had; what was written together in all of them is one update.
fn blocked(common: &[Vec<&Seen>]) -> Vec<Value> {
    let count = common.first().map_or(0, Vec::len);
    let mut events: Vec<Value> = Vec::new();
    let (mut block, mut last): (i64, Option<Vec<u64>>) = (0, None);
    for (at, seen) in common.iter().enumerate() {
        let versions: Vec<u64> = seen.iter().map(|seen| seen.version).collect();
        let is_cut = at > 0
            && (0..count).all(|run| {
                let before = common[..at].iter().map(|seen| seen[run].version).max();
                let behind = common[at..].iter().map(|seen| seen[run].version).min();
                before < behind
            });
        block += i64::from(is_cut);
        let mut event = one(seen, None);
        event["block"] = block.into();
        let together = last.as_ref() == Some(&versions) && event["change"] == "updated";
        match events.last_mut().filter(|last| {
            together
                && last["change"] == "updated"
                && last["name"] == event["name"]
                && last["kind"] == event["kind"]
        }) {
            Some(last) => {
                for (member, value) in event["set"].as_object().into_iter().flatten() {
                    last["set"][member] = value.clone();
                }
            }
            None => events.push(event),
        }
        last = Some(versions);
    }
    events
}

fn median(seen: &[&Seen]) -> i64 {
    let mut times: Vec<i64> = seen.iter().map(|seen| seen.t_ms).collect();
    times.sort_unstable();
    times[times.len() / 2]
}

fn one(seen: &[&Seen], runs: Option<usize>) -> Value {
    let at = median(seen);
    let tolerance = seen.iter().map(|seen| (seen.t_ms - at).abs()).max().unwrap_or_default();
    let round = |ms: i64| (ms + 5) / 10 * 10;
    let mut event = json!({"t_ms": round(at), "tol_ms": round(tolerance).max(TOLERANCE_MIN_MS),
        "kind": seen[0].kind, "name": seen[0].name});
    let value = any(seen.iter().map(|seen| seen.value.clone()).collect());
    match (&seen[0].what, runs) {
        (What::Set(member), None) => {
            event["change"] = "updated".into();
            event["set"] = Value::Object(Map::from_iter([(member.clone(), value)]));
        }
        (What::Set(member), Some(_)) => {
            event["change"] = member.as_str().into();
            event["value"] = value;
        }
        (What::Change(change), _) => {
            event["change"] = change.as_str().into();
            let place = if change == "scheduled" { "node" } else { "value" };
            if !value.is_null() {
                event[place] = value;
            }
        }
    }
    if let Some(runs) = runs {
        event["runs"] = runs.into();
    }
    event
}

/// One value, or all that were seen.
fn any(values: Vec<Value>) -> Value {
    let mut distinct: Vec<Value> = Vec::new();
    for value in values {
        if !distinct.contains(&value) {
            distinct.push(value);
        }
    }
    if distinct.len() == 1 { distinct.remove(0) } else { json!({ "any": distinct }) }
}

fn finals(stories: &[Story]) -> Vec<Value> {
    let keys: BTreeSet<&(String, String)> = stories.iter().flat_map(|story| story.finals.keys()).collect();
    let mut finals = Vec::new();
    for key in keys {
        let states: Vec<_> = stories.iter().filter_map(|story| story.finals.get(key)).collect();
        let members: BTreeSet<&String> = states.iter().flat_map(|state| state.keys()).collect();
        let of = |member: &String| {
            any(states.iter().map(|state| state.get(member).cloned().unwrap_or(Value::Null)).collect())
        };
        let state: Map<String, Value> =
            members.into_iter().map(|member| (member.clone(), of(member))).collect();
        let mut shown = json!({"kind": key.0, "name": key.1, "state": state});
        if states.len() < stories.len() {
            shown["runs"] = states.len().into();
        }
        finals.push(shown);
    }
    finals
}
