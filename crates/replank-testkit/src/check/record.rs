//! S6: whatever a run has done, another process can go on with it: its record is there before anything else, and as long as there is something to be taken back.

use std::collections::BTreeMap;

use replank_model::object::cluster::Other;
use replank_model::object::meta::Key;
use replank_model::object::{Kind, Object};
use replank_model::time::Time;
use replank_protocol::command::{Effect, KubernetesEffect};
use replank_protocol::decision::{Decision, End};
use replank_protocol::waiting::{RunWait, Waiting, WaitingOn};
use replank_sim::Sent;

use super::size::VERSION;
use super::truth::Truth;
use super::{Found, Promise};

/// By this label, and this annotation, a record is known, and whose it is.
const RECORD: &str = "replank.dev/record";
const RUN: &str = "replank.dev/run";
/// The tag that names a run which has halted on a group.
const HALTED: &str = "replank.dev/halted";
/// What the name of a way back ends with: it goes by the record of the run that it takes back.
const BACK: &str = "-back";

/// What a run waits for when its record is being deleted.
const END: &str = "record of the run to be deleted";

/// The records that are there.
#[derive(Debug, Default)]
pub(super) struct Records {
    /// Whose each is.
    there: BTreeMap<Key, String>,
    /// Since when a run has come to its end, but for its record: it looks at nothing else any more.
    closing: Option<Time>,
}

impl Records {
    /// An object has changed.
    pub(super) fn changed(&mut self, old: Option<&Object>, new: Option<&Object>) {
        if let Some((key, _)) = old.and_then(record) {
            self.there.remove(&key);
        }
        if let Some((key, run)) = new.and_then(record) {
            self.there.insert(key, run);
        }
    }

    /// Something was decided: a run that waits for nothing but the end of its record has come to its own.
    pub(super) fn decided(&mut self, at: Time, decision: &Decision) {
        let is_end = |waiting: &Waiting| matches!(&waiting.on, WaitingOn::Run(RunWait::Effect { what }) if **what == *END);
        if decision.waiting.iter().any(is_end) {
            self.closing.get_or_insert(at);
        } else if decision.end.is_none() {
            self.closing = None;
        }
    }

    /// When a run that is over by then had come to its end: that its record is gone may be seen later, as when an answer is lost.
    pub(super) fn ended(&self, at: Time) -> Time {
        self.closing.unwrap_or(at)
    }

    /// A command of a run took effect.
    pub(super) fn executed(&self, sent: &Sent, found: &mut Found<'_>) {
        let run = forward(sent.command.run.text());
        match &sent.command.effect {
            Effect::Kubernetes(
                KubernetesEffect::Create { object } | KubernetesEffect::Replace { object },
            ) if record(object).is_some() => {}
            Effect::Kubernetes(KubernetesEffect::Delete { object, .. }) if object.kind == Kind::Other => {}
            effect @ (Effect::Kubernetes(_) | Effect::Group(_) | Effect::Queue(_)) => {
                if !self.has(run) {
                    let what = format!("run {run} has no record, and does something: {effect:?}");
                    found.broken(Promise::S6, what);
                }
            }
        }
    }

    /// The run is over.
    pub(super) fn finish(&self, truth: &Truth, end: &End, found: &mut Found<'_>) {
        match end {
            End::Done | End::RolledBack(_) | End::Refused(_) => {
                for (key, run) in &self.there {
                    found.broken(Promise::S6, format!("run {run} is over, and its record {key} is left"));
                }
            }
            End::Blocked(_) | End::Cancelled(_) => {
                let halted = truth.groups.values().filter_map(|group| run_of(group.tags.value(HALTED)?));
                for run in halted.map(forward).filter(|run| !self.has(run)) {
                    let what = format!("run {run} has halted, could be taken back, and has no record");
                    found.broken(Promise::S6, what);
                }
            }
        }
    }

    fn has(&self, run: &str) -> bool {
        self.there.values().any(|known| known == run)
    }
}

/// The run that a tag names.
fn run_of(tag: &str) -> Option<&str> {
    tag.strip_prefix(VERSION)?.split(' ').next()
}

fn forward(run: &str) -> &str {
    run.strip_suffix(BACK).unwrap_or(run)
}

/// The record that an object is, and its run.
fn record(object: &Object) -> Option<(Key, String)> {
    let Object::Other(other) = object else { return None };
    let Other { kind, meta, .. } = &**other;
    let run = meta.annotations.value(RUN)?;
    let is_record = &**kind == "ConfigMap" && meta.labels.contains_key(RECORD);
    is_record.then(|| (meta.key(), run.to_owned()))
}
