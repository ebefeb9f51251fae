//! Our run against the recording, as the recordings' own page says how to compare.
//!
//! Every required event must be there, life-cycle events near their time and in the order that is guaranteed; nothing may
//! happen to an object's life that was not recorded; the end must be the same. Pods and nodes that are interchangeable
//! are mapped onto each other in the way that fits best.

use std::collections::BTreeMap;

use serde_json::Value;

use super::log::{Seen, What, nothing};
use super::mapping::{self, Renaming};
use super::project::State;
use super::record::{Event, Scenario};
use super::stage::Run;

/// Farthest that a life-cycle event may be from its recorded time.
const NEAR_MS: i64 = 1_000;
/// Own slack beyond a recorded tolerance, where orders are compared.
const SLACK_MS: i64 = 100;
/// Job status is written with up to a second's delay.
const JOB_SLACK_MS: i64 = 1_000;
/// The node monitor's period: events behind it come up to so much earlier or later.
const MONITOR_SLACK_MS: i64 = 5_000;
/// The pod garbage collector's period.
const POD_GC_SLACK_MS: i64 = 20_000;

/// How one scenario came out.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Recorded life-cycle events.
    pub life: usize,
    /// Of these, within a second (or their loop's phase) of the recorded time.
    pub life_near: usize,
    /// Recorded status values.
    pub status: usize,
    /// Of these, seen at all.
    pub status_seen: usize,
    /// Life-cycle events that did not happen.
    pub missing: Vec<String>,
    /// Life-cycle events that were not recorded.
    pub extra: Vec<String>,
    /// Life-cycle events that are too far from their time.
    pub late: Vec<String>,
    /// Events in the wrong order.
    pub order: Vec<String>,
    /// Differences at the end.
    pub finals: Vec<String>,
    /// Wrong answers, impossible bindings, and what kept the scenario from being run.
    pub problems: Vec<String>,
    /// Status values that were not seen: for information.
    pub unseen: Vec<String>,
}

impl Outcome {
    /// Whether nothing differs.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.faults() == 0
    }

    fn faults(&self) -> usize {
        self.missing.len()
            + self.extra.len()
            + self.late.len()
            + self.order.len()
            + self.finals.len()
            + self.problems.len()
    }

    /// Everything that is wrong, one line each.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for (title, list) in [
            ("problem", &self.problems),
            ("missing", &self.missing),
            ("extra", &self.extra),
            ("late", &self.late),
            ("order", &self.order),
            ("final", &self.finals),
        ] {
            lines.extend(list.iter().map(|line| format!("{title}: {line}")));
        }
        lines
    }
}

/// Compares under the renaming that fits best.
#[must_use]
pub fn compare(scenario: &Scenario, run: &Run) -> Outcome {
    let mut best: Option<(usize, usize, Outcome)> = None;
    for nodes in mapping::permutations(&scenario.interchangeable_nodes) {
        let mut renamed = mapping::rename(run, &nodes);
        for group in &scenario.interchangeable {
            let pods = mapping::assign(group, |ours, theirs| cost(scenario, &renamed, ours, theirs));
            renamed = mapping::rename(&renamed, &pods);
        }
        let outcome = judge(scenario, &renamed);
        let rank = (outcome.faults(), outcome.unseen.len());
        if best.as_ref().is_none_or(|(faults, unseen, _)| rank < (*faults, *unseen)) {
            best = Some((rank.0, rank.1, outcome));
        }
    }
    best.map(|(_, _, outcome)| outcome).unwrap_or_default()
}

/// What it costs to call our pod by a recorded name.
fn cost(scenario: &Scenario, run: &Run, ours: &str, theirs: &str) -> i64 {
    const FAULT: i64 = 100_000;
    let mut renaming = Renaming::new();
    renaming.insert(ours.to_owned(), theirs.to_owned());
    let recorded: Vec<Flat> = flatten(scenario).into_iter().filter(|flat| flat.name == theirs).collect();
    let seen: Vec<Seen> = run.events.iter().filter(|seen| seen.name == ours).cloned().collect();
    let run = Run { events: seen, finals: BTreeMap::new(), problems: Vec::new() };
    let renamed = mapping::rename(&run, &renaming);
    let matched = pair(&recorded, &renamed.events);
    let missing = matched.pairs.iter().filter(|pair| pair.is_none()).count();
    let away: i64 = recorded
        .iter()
        .zip(&matched.pairs)
        .filter_map(|(flat, at)| at.map(|at| (renamed.events[at].t_ms - flat.t_ms).abs()))
        .sum();
    away + FAULT * i64::try_from(missing + matched.left.len()).unwrap_or(i64::MAX / FAULT)
}

/// One recorded event or one member of a recorded update.
#[derive(Clone, Debug)]
pub(super) struct Flat {
    t_ms: i64,
    tol_ms: i64,
    block: i64,
    kind: String,
    name: String,
    what: What,
    value: Value,
}

impl std::fmt::Display for Flat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} {} {} at {} ms", self.kind, self.name, self.what, self.value, self.t_ms)
    }
}

fn flatten(scenario: &Scenario) -> Vec<Flat> {
    scenario.expect.events.iter().flat_map(flat).collect()
}

fn flat(event: &Event) -> Vec<Flat> {
    let one = |what: What, value: Value| Flat {
        t_ms: event.t_ms,
        tol_ms: event.tol_ms,
        block: event.block,
        kind: event.kind.clone(),
        name: event.name.clone(),
        what,
        value,
    };
    if event.change == "updated" {
        return event
            .set
            .iter()
            .map(|(member, value)| one(What::Set(member.clone()), value.clone()))
            .collect();
    }
    let value = if event.node.is_null() { &event.value } else { &event.node };
    vec![one(What::Change(event.change.clone()), value.clone())]
}

/// An optional event has its member where a required one has `updated`.
fn optional(scenario: &Scenario) -> Vec<Flat> {
    let is_change = |event: &Event| {
        event.kind == "Pod"
            || matches!(event.change.as_str(), "created" | "deleted" | "terminating" | "allowed" | "refused")
    };
    let of = |event: &Event| match is_change(event) {
        true => flat(event),
        false => flat(event)
            .into_iter()
            .map(|flat| Flat { what: What::Set(event.change.clone()), ..flat })
            .collect(),
    };
    scenario.expect.optional.iter().flat_map(of).collect()
}

/// Which recorded event is which of ours.
struct Paired {
    /// For each recorded event, the position of ours.
    pairs: Vec<Option<usize>>,
    /// Ours that are none of the recorded.
    left: Vec<usize>,
}

/// Pairs events of the same object, sort and value, those nearest in time first.
fn pair(recorded: &[Flat], seen: &[Seen]) -> Paired {
    let mut candidates: Vec<(i64, usize, usize)> = Vec::new();
    for (at, flat) in recorded.iter().enumerate() {
        for (ours, event) in seen.iter().enumerate() {
            if flat.kind == event.kind
                && flat.name == event.name
                && flat.what == event.what
                && same(&flat.value, &event.value)
            {
                candidates.push(((flat.t_ms - event.t_ms).abs(), at, ours));
            }
        }
    }
    candidates.sort_unstable();
    let mut pairs: Vec<Option<usize>> = vec![None; recorded.len()];
    let mut used = vec![false; seen.len()];
    for (_, at, ours) in candidates {
        if pairs[at].is_none() && !used[ours] {
            pairs[at] = Some(ours);
            used[ours] = true;
        }
    }
    let left = (0..seen.len()).filter(|ours| !used[*ours]).collect();
    Paired { pairs, left }
}

/// Whether a value is the recorded one, or one of several recorded ones. Zeros are as good as nothing.
pub(super) fn same(recorded: &Value, ours: &Value) -> bool {
    if let Some(any) = recorded.get("any").and_then(Value::as_array) {
        return any.iter().any(|recorded| same(recorded, ours));
    }
    match (recorded, ours) {
        (Value::Object(theirs), Value::Object(members)) => theirs.keys().chain(members.keys()).all(|name| {
            same(theirs.get(name).unwrap_or(&Value::Null), members.get(name).unwrap_or(&Value::Null))
        }),
        (Value::Array(theirs), Value::Array(items)) => {
            theirs.len() == items.len() && theirs.iter().zip(items).all(|(a, b)| same(a, b))
        }
        _ => recorded == ours || (nothing(recorded) && nothing(ours)),
    }
}

/// Counts and sets that come in racy steps; everything else belongs to an object's life.
fn is_status(kind: &str, what: &What) -> bool {
    let What::Set(member) = what else { return false };
    match (kind, member.as_str()) {
        (_, "endpoints" | "disruptedPods" | "active" | "ready" | "succeeded" | "failed") => true,
        (_, "completedIndexes" | "failedIndexes" | "status.terminating") => true,
        (_, "currentHealthy" | "desiredHealthy" | "expectedPods" | "disruptionsAllowed") => true,
        (_, member) => {
            (member.ends_with("Replicas") && !member.starts_with("spec."))
                || member == "replicas"
                || member.starts_with("number")
                || member.ends_with("NumberScheduled")
        }
    }
}

/// How far the loops that are at work may move an event.
struct Phases {
    monitor_from_ms: Option<i64>,
    pod_gc_from_ms: Option<i64>,
}

impl Phases {
    fn of(scenario: &Scenario) -> Self {
        let first = |actions: &[&str]| {
            let steps = scenario.steps.iter().filter(|step| actions.contains(&step.action.as_str()));
            steps.map(|step| step.at_ms).min()
        };
        let collected = scenario
            .expect
            .events
            .iter()
            .filter(|event| event.change == "disruption-target" && event.value == "DeletionByPodGC")
            .map(|event| event.t_ms)
            .min();
        let deleted = first(&["node-delete"]);
        let is_lost = |key: &Value| key == "node.kubernetes.io/out-of-service";
        let lost =
            scenario.steps.iter().filter(|step| is_lost(&step.taint["key"])).map(|step| step.at_ms).min();
        Self {
            monitor_from_ms: first(&["node-down", "node-up", "node-not-ready", "node-ready", "node-create"]),
            pod_gc_from_ms: [collected, deleted, lost].into_iter().flatten().min(),
        }
    }

    fn slack_ms(&self, t_ms: i64) -> i64 {
        let behind = |from: Option<i64>| from.is_some_and(|from| t_ms >= from);
        if behind(self.pod_gc_from_ms) {
            POD_GC_SLACK_MS
        } else if behind(self.monitor_from_ms) {
            MONITOR_SLACK_MS
        } else {
            0
        }
    }
}

fn judge(scenario: &Scenario, run: &Run) -> Outcome {
    let recorded = flatten(scenario);
    let phases = Phases::of(scenario);
    let paired = pair(&recorded, &run.events);
    let mut outcome = Outcome { problems: run.problems.clone(), ..Outcome::default() };
    for (flat, at) in recorded.iter().zip(&paired.pairs) {
        let ours = at.map(|at| &run.events[at]);
        if is_status(&flat.kind, &flat.what) {
            outcome.status += 1;
            match ours {
                Some(_) => outcome.status_seen += 1,
                None => outcome.unseen.push(flat.to_string()),
            }
            continue;
        }
        outcome.life += 1;
        let Some(ours) = ours else {
            outcome.missing.push(flat.to_string());
            continue;
        };
        let away = (ours.t_ms - flat.t_ms).abs();
        if away <= NEAR_MS + phases.slack_ms(flat.t_ms) || away <= flat.tol_ms + SLACK_MS {
            outcome.life_near += 1;
        } else {
            outcome.late.push(format!("{flat} (± {}): ours at {} ms", flat.tol_ms, ours.t_ms));
        }
    }
    extra(scenario, run, &paired.left, &mut outcome);
    order(&recorded, &paired.pairs, run, &phases, &mut outcome);
    finals(scenario, &run.finals, &mut outcome);
    outcome
}

/// Things that happened to lives and were not recorded, not even as possible.
fn extra(scenario: &Scenario, run: &Run, left: &[usize], outcome: &mut Outcome) {
    let left: Vec<Seen> = left.iter().map(|at| run.events[*at].clone()).collect();
    let possible = pair(&optional(scenario), &left);
    for at in possible.left {
        let seen = &left[at];
        let is_outside = seen.kind == "Node" && seen.name == "outside";
        if matches!(seen.what, What::Change(_)) && !is_outside {
            outcome.extra.push(seen.to_string());
        }
    }
}

/// Of two events the earlier must be earlier where they happened to one object, or lie farther apart than both are uncertain.
fn order(recorded: &[Flat], pairs: &[Option<usize>], run: &Run, phases: &Phases, outcome: &mut Outcome) {
    let uncertain = |flat: &Flat| {
        let job = if flat.kind == "Job" && matches!(flat.what, What::Set(_)) { JOB_SLACK_MS } else { 0 };
        flat.tol_ms + SLACK_MS + job + phases.slack_ms(flat.t_ms)
    };
    let lives: Vec<(&Flat, usize)> = recorded
        .iter()
        .zip(pairs)
        .filter(|(flat, _)| !is_status(&flat.kind, &flat.what))
        .filter_map(|(flat, at)| Some((flat, (*at)?)))
        .collect();
    for (first, first_at) in &lives {
        for (second, second_at) in &lives {
            let is_one_object = first.kind == second.kind && first.name == second.name;
            let is_apart = second.t_ms - first.t_ms > uncertain(first) + uncertain(second);
            if first.block < second.block && (is_one_object || is_apart) && second_at < first_at {
                outcome.order.push(format!(
                    "{first} must precede {second}: ours at {} and {} ms",
                    run.events[*first_at].t_ms, run.events[*second_at].t_ms
                ));
            }
        }
    }
}

fn finals(scenario: &Scenario, ours: &BTreeMap<(String, String), State>, outcome: &mut Outcome) {
    let mut left: BTreeMap<_, _> = ours.clone();
    let speaks_of_namespace = scenario.expect.events.iter().any(|event| event.kind == "Namespace");
    left.retain(|(kind, name), _| match kind.as_str() {
        "Namespace" => speaks_of_namespace,
        "Node" => name != "outside",
        _ => true,
    });
    for expected in &scenario.expect.r#final {
        let key = (expected.kind.clone(), expected.name.clone());
        let Some(state) = left.remove(&key) else {
            if expected.runs.is_none() {
                outcome.finals.push(format!("{} {} is not there", expected.kind, expected.name));
            }
            continue;
        };
        let members: std::collections::BTreeSet<&String> =
            expected.state.keys().chain(state.keys()).collect();
        for member in members {
            let theirs = expected.state.get(member).unwrap_or(&Value::Null);
            let ours = state.get(member).unwrap_or(&Value::Null);
            if !same(theirs, ours) {
                outcome.finals.push(format!("{} {} {member}: recorded {theirs}, ours {ours}", key.0, key.1));
            }
        }
    }
    // Where the recorded events make an object and never delete it, its absence among the recorded finals says nothing.
    let is_made_and_kept = |kind: &str, name: &str| {
        let changes =
            || scenario.expect.events.iter().filter(|event| event.kind == kind && event.name == name);
        changes().any(|event| event.change == "created") && !changes().any(|event| event.change == "deleted")
    };
    left.retain(|(kind, name), _| !is_made_and_kept(kind, name));
    for ((kind, name), state) in left {
        outcome.finals.push(format!("{kind} {name} is there: {}", Value::Object(state)));
    }
}
