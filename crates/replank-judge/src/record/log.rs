//! What happened in one run, in the words of a recording.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::project::{self, Lens, State, has_condition};
use super::tape::Delivery;
use crate::client::Event;

/// One thing that happened.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) t_ms: i64,
    /// Version of the write; what is no write has that of the last one before it.
    pub(super) version: u64,
    pub(super) kind: String,
    pub(super) name: String,
    /// A change of its own, or the member of an update.
    pub(super) what: What,
    pub(super) value: Value,
}

/// What it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum What {
    Change(String),
    Set(String),
}

/// Members of a new object that belong to its creation.
const AT_CREATION: [&str; 10] = [
    "owner",
    "owners",
    "image",
    "spec.replicas",
    "spec.suspend",
    "revision",
    "revision-history",
    "desired-replicas",
    "max-replicas",
    "finalizers",
];

/// What happened, and what is there at the end.
pub(super) struct Story {
    pub(super) seen: Vec<Seen>,
    pub(super) finals: BTreeMap<(String, String), State>,
}

/// Tells the story of the deliveries from t = 0 to the end.
pub(super) fn story(lens: &Lens<'_>, tape: &[Delivery], origin_ms: i64, until_ms: i64) -> Story {
    let mut seen = Vec::new();
    let mut known: BTreeMap<String, (Value, State)> = BTreeMap::new();
    let mut finals = BTreeMap::new();
    for delivery in tape {
        let t_ms = delivery.at_ms - origin_ms;
        let object = &*delivery.object;
        let uid = object["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let name = match delivery.kind {
            "Node" => lens.symbols.node(lens.names, name),
            _ => lens.symbols.of_uid(&uid, name),
        };
        if t_ms > until_ms {
            continue;
        }
        let before = known.get(&uid);
        let mut put = |what: What, value: Value| {
            if t_ms >= 0 {
                let kind = delivery.kind.to_owned();
                seen.push(Seen { t_ms, version: delivery.version(), kind, name: name.clone(), what, value });
            }
        };
        let state = project::state(lens, delivery.kind, object);
        if delivery.event == Event::Deleted {
            put(What::Change("deleted".into()), Value::Null);
            known.remove(&uid);
            finals.remove(&(delivery.kind.to_owned(), name));
            continue;
        }
        changes(lens, delivery.kind, before, object, &state, &mut put);
        finals.insert((delivery.kind.to_owned(), name.clone()), state.clone());
        known.insert(uid, (object.clone(), state));
    }
    Story { seen, finals }
}

fn changes(
    lens: &Lens<'_>,
    kind: &str,
    before: Option<&(Value, State)>,
    object: &Value,
    state: &State,
    put: &mut impl FnMut(What, Value),
) {
    let mut change = |name: &str, value: Value| put(What::Change(name.to_owned()), value);
    if before.is_none() {
        let value: State = state
            .iter()
            .filter(|(member, _)| AT_CREATION.contains(&member.as_str()))
            .map(|(member, value)| (member.clone(), value.clone()))
            .collect();
        change("created", if value.is_empty() { Value::Null } else { Value::Object(value) });
    }
    if kind == "Pod" {
        pod(lens, before, object, state, &mut change);
    } else if let Some((_, known)) = before {
        let members: BTreeSet<&String> = known.keys().chain(state.keys()).collect();
        for member in members {
            if known.get(member) != state.get(member) && member != "spec.completions" {
                put(What::Set(member.clone()), state.get(member).cloned().unwrap_or(Value::Null));
            }
        }
    }
    let grace = |object: &Value| {
        let meta = &object["metadata"];
        meta["deletionTimestamp"]
            .is_string()
            .then(|| meta["deletionGracePeriodSeconds"].as_i64().unwrap_or(0))
    };
    let (was, is) = (before.and_then(|(object, _)| grace(object)), grace(object));
    if let Some(seconds) = is.filter(|_| was != is) {
        if kind == "Pod" {
            put(What::Change("terminating".into()), json!({ "graceSeconds": seconds }));
        } else if was.is_none() {
            put(What::Change("terminating".into()), Value::Null);
        }
    }
}

fn pod(
    lens: &Lens<'_>,
    before: Option<&(Value, State)>,
    object: &Value,
    state: &State,
    put: &mut impl FnMut(&str, Value),
) {
    let nothing = (Value::Null, State::new());
    let (old, known) = before.unwrap_or(&nothing);
    let is = |member: &str| state.get(member).cloned().unwrap_or(Value::Null);
    let changed = |member: &str| known.get(member) != state.get(member);
    for member in ["owner", "finalizers"] {
        if before.is_some() && changed(member) {
            put(member, is(member));
        }
    }
    let labels = |object: &Value| object["metadata"]["labels"].clone();
    if before.is_some() && labels(old) != labels(object) {
        put("labels", labels(object));
    }
    if changed("node") && state.contains_key("node") {
        put("scheduled", is("node"));
    }
    if changed("unschedulable") && state.contains_key("unschedulable") {
        put("unschedulable", is("unschedulable"));
    }
    let nominated = |object: &Value| {
        let node = object["status"]["nominatedNodeName"].as_str();
        Value::from(node.map(|node| lens.symbols.node(lens.names, node)))
    };
    if nominated(old) != nominated(object) {
        put("nominated", nominated(object));
    }
    let phase = |object: &Value| object["status"]["phase"].as_str().unwrap_or("Pending").to_owned();
    if phase(old) != phase(object) {
        put(&phase(object).to_lowercase(), Value::Null);
    }
    match (has_condition(old, "Ready"), has_condition(object, "Ready")) {
        (false, true) => put("ready", Value::Null),
        (true, false) => put("unready", Value::Null),
        (true, true) | (false, false) => {}
    }
    let restarts = |object: &Value| -> i64 {
        let all = object["status"]["containerStatuses"].as_array().into_iter().flatten();
        all.filter_map(|status| status["restartCount"].as_i64()).sum()
    };
    if restarts(old) != restarts(object) {
        put("restarts", restarts(object).into());
    }
    if changed("disruptionTarget") && state.contains_key("disruptionTarget") {
        put("disruption-target", is("disruptionTarget"));
    }
}
