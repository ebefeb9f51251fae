//! What happened in a run, event by event, in the words of the recordings.

use std::collections::BTreeMap;

use replank_model::object::condition::{self, ConditionStatus};
use replank_model::object::pod::{Pod, PodPhase};
use replank_model::object::{Kind, Object};
use replank_model::text::Uid;
use replank_model::time::Time;
use replank_model::view::{Change, View};
use serde_json::{Value, json};

use super::project::{self, State, is_zero};
use super::symbols::Symbols;

/// One event of our run.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    /// When, in milliseconds after t = 0.
    pub t_ms: i64,
    /// Kind of the object.
    pub kind: String,
    /// Symbol of the object.
    pub name: String,
    /// What happened; of an update the member.
    pub what: What,
    /// The value.
    pub value: Value,
}

impl std::fmt::Display for Seen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} {} {} at {} ms", self.kind, self.name, self.what, self.value, self.t_ms)
    }
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    /// A thing of its own, such as `created` or `running`.
    Change(String),
    /// A member has another value.
    Set(String),
}

impl std::fmt::Display for What {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Change(change) => f.write_str(change),
            Self::Set(member) => write!(f, "set {member}"),
        }
    }
}

/// Members of a new object that belong to its creation.
const AT_CREATION: [&str; 11] = [
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
    "labels",
];

/// Collects what happens.
#[derive(Debug)]
pub(super) struct Log {
    pub(super) origin: Time,
    pub(super) symbols: Symbols,
    pub(super) events: Vec<Seen>,
    states: BTreeMap<(Kind, Uid), State>,
}

impl Log {
    pub(super) fn new(origin: Time) -> Self {
        Self { origin, symbols: Symbols::default(), events: Vec::new(), states: BTreeMap::new() }
    }

    /// Takes in a change of the world.
    pub(super) fn take(&mut self, at: Time, change: &Change) {
        let Change::Object { old, new, .. } = change else { return };
        let Some(object) = new.as_ref().or(old.as_ref()).filter(|object| project::is_watched(object)) else {
            return;
        };
        let t_ms = (at - self.origin).as_millis();
        let name = self.symbols.name(object);
        let key = (object.kind(), object.meta().uid.clone());
        match new {
            None => {
                self.states.remove(&key);
                self.put(t_ms, object, &name, What::Change("deleted".into()), Value::Null);
            }
            Some(object) => {
                let state = project::state(object, &self.symbols, self.origin.as_millis() / 1000);
                let known = self.states.insert(key, state.clone());
                self.compare(t_ms, &name, old.as_ref(), object, known.as_ref(), &state);
            }
        }
    }

    /// What is there before t = 0.
    pub(super) fn know(&mut self, object: &Object) {
        self.symbols.name(object);
        let state = project::state(object, &self.symbols, self.origin.as_millis() / 1000);
        self.states.insert((object.kind(), object.meta().uid.clone()), state);
    }

    /// An event that does not change an object.
    pub(super) fn note(&mut self, at: Time, kind: &str, name: &str, what: What, value: Value) {
        let t_ms = (at - self.origin).as_millis();
        self.events.push(Seen { t_ms, kind: kind.to_owned(), name: name.to_owned(), what, value });
    }

    /// The state of everything at the end.
    pub(super) fn finals(&mut self, view: &View) -> BTreeMap<(String, String), State> {
        let origin_s = self.origin.as_millis() / 1000;
        let mut finals = BTreeMap::new();
        for object in view.objects().iter().filter(|object| project::is_watched(object)) {
            let name = self.symbols.name(object);
            let state = project::state(object, &self.symbols, origin_s);
            finals.insert((object.kind_name().to_owned(), name), state);
        }
        finals
    }

    fn put(&mut self, t_ms: i64, object: &Object, name: &str, what: What, value: Value) {
        let kind = object.kind_name().to_owned();
        self.events.push(Seen { t_ms, kind, name: name.to_owned(), what, value });
    }

    fn compare(
        &mut self,
        t_ms: i64,
        name: &str,
        old: Option<&Object>,
        new: &Object,
        known: Option<&State>,
        state: &State,
    ) {
        if known.is_none() {
            let value: State = state
                .iter()
                .filter(|(member, _)| AT_CREATION.contains(&member.as_str()))
                .map(|(member, value)| (member.clone(), value.clone()))
                .collect();
            let value = if value.is_empty() { Value::Null } else { Value::Object(value) };
            self.put(t_ms, new, name, What::Change("created".into()), value);
        }
        if known.is_none() && !matches!(new, Object::Pod(_)) {
            // What else a new object says is not reported.
        } else if let Object::Pod(pod) = new {
            let old = match old {
                Some(Object::Pod(old)) => Some(&**old),
                Some(_) | None => None,
            };
            self.pod(t_ms, new, name, old, pod, known, state);
        } else {
            self.members(t_ms, new, name, known, state);
        }
        self.terminating(t_ms, old, new, name);
    }

    fn members(&mut self, t_ms: i64, new: &Object, name: &str, known: Option<&State>, state: &State) {
        let skipped = ["terminating", "spec.completions"];
        let nothing = State::new();
        let before = known.unwrap_or(&nothing);
        let members: std::collections::BTreeSet<&String> = before.keys().chain(state.keys()).collect();
        for member in members {
            let (was, is) = (before.get(member), state.get(member));
            if was == is || skipped.contains(&member.as_str()) {
                continue;
            }
            let value = is.cloned().unwrap_or(Value::Null);
            self.put(t_ms, new, name, What::Set(member.clone()), value);
        }
    }

    fn pod(
        &mut self,
        t_ms: i64,
        object: &Object,
        name: &str,
        old: Option<&Pod>,
        new: &Pod,
        known: Option<&State>,
        state: &State,
    ) {
        let mut put = |change: &str, value: Value| {
            self.put(t_ms, object, name, What::Change(change.to_owned()), value);
        };
        let before = |member: &str| known.and_then(|known| known.get(member));
        let changed = |member: &str| known.is_some() && before(member) != state.get(member);
        for member in ["owner", "finalizers"] {
            if changed(member) {
                put(member, state.get(member).cloned().unwrap_or(Value::Null));
            }
        }
        if old.is_some_and(|old| old.meta.labels != new.meta.labels) {
            let labels: serde_json::Map<String, Value> =
                new.meta.labels.iter().map(|(key, value)| (key.to_owned(), value.into())).collect();
            put("labels", Value::Object(labels));
        }
        if let Some(node) = state.get("node").filter(|node| before("node") != Some(node)) {
            put("scheduled", node.clone());
        }
        if state.get("unschedulable").is_some() && before("unschedulable").is_none() {
            put("unschedulable", state["unschedulable"].clone());
        }
        let nominated = |pod: Option<&Pod>| pod.and_then(|pod| pod.status.nominated_node_name.clone());
        if nominated(old) != nominated(Some(new)) {
            put("nominated", json!(nominated(Some(new))));
        }
        let phase = old.map_or(PodPhase::Pending, |old| old.status.phase);
        if phase != new.status.phase {
            match new.status.phase {
                PodPhase::Running => put("running", Value::Null),
                PodPhase::Succeeded => put("succeeded", Value::Null),
                PodPhase::Failed => put("failed", Value::Null),
                PodPhase::Pending | PodPhase::Unknown => put("phase", new.status.phase.as_str().into()),
            }
        }
        let ready = |pod: &Pod| {
            condition::find(&pod.status.conditions, "Ready")
                .is_some_and(|ready| ready.status == ConditionStatus::True)
        };
        match (old.is_some_and(ready), ready(new)) {
            (false, true) => put("ready", Value::Null),
            (true, false) => put("unready", Value::Null),
            (true, true) | (false, false) => {}
        }
        let restarts = |pod: &Pod| -> i32 {
            pod.status.container_statuses.iter().map(|status| status.restart_count).sum()
        };
        if old.map_or(0, restarts) != restarts(new) {
            put("restarts", restarts(new).into());
        }
        if before("disruptionTarget") != state.get("disruptionTarget")
            && let Some(reason) = state.get("disruptionTarget")
        {
            put("disruption-target", reason.clone());
        }
    }

    fn terminating(&mut self, t_ms: i64, old: Option<&Object>, new: &Object, name: &str) {
        let grace = |object: &Object| {
            let meta = object.meta();
            meta.deletion_timestamp.map(|_| meta.deletion_grace_period_seconds.unwrap_or(0))
        };
        let (was, is) = (old.and_then(grace), grace(new));
        let Some(seconds) = is.filter(|_| was != is) else { return };
        if matches!(new, Object::Pod(_)) {
            let value = json!({"graceSeconds": seconds});
            self.put(t_ms, new, name, What::Change("terminating".into()), value);
        } else if was.is_none() {
            self.put(t_ms, new, name, What::Change("terminating".into()), Value::Null);
        }
    }
}

/// Whether a value says no more than its absence.
#[must_use]
pub(super) fn nothing(value: &Value) -> bool {
    is_zero(value)
}
