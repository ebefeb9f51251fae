//! Making room: pods that are removed so that a more urgent one fits.
//!
//! Source: Kubernetes 1.36 `pkg/scheduler/framework/preemption/executor.go`. The removal goes on beside scheduling: all
//! victims but the last at once, then the last. Until then the pod is not tried again.

use std::collections::{BTreeMap, BTreeSet};

use replank_model::object::Kind;
use replank_model::object::condition::ConditionStatus;
use replank_model::object::meta::Key;
use replank_model::object::pod::Pod;
use replank_model::text::{NodeName, Uid};
use replank_model::time::Span;
use replank_model::view::{Ix, View};
use replank_schedule::{Nomination, Preemption};

use super::Due;
use super::binding::Nominate;
use crate::context::Ctx;
use crate::event::Event;
use replank_apiserver::DeleteOptions;
use replank_apiserver::condition::{condition, set};

/// Time of one request to the API server and back. Recorded: 5 to 20 ms.
const REQUEST: Span = Span::from_millis(10);

/// Removals under way, and who is nominated where.
#[derive(Debug, Default)]
pub(super) struct Preemptions {
    /// By number.
    running: BTreeMap<u32, Removal>,
    begun: u32,
    nominated: BTreeMap<NodeName, BTreeSet<u32>>,
}

#[derive(Debug)]
struct Removal {
    /// The pod that room is made for, and its slot.
    uid: Uid,
    slot: u32,
    /// All victims but the last.
    first: Vec<Victim>,
    last: Victim,
    step: Step,
}

#[derive(Clone, Debug)]
struct Victim {
    key: Key,
    uid: Uid,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    MarkFirst,
    DeleteFirst,
    MarkLast,
    DeleteLast,
}

impl Preemptions {
    /// Notes where a pod is nominated.
    pub(super) fn see(&mut self, slot: u32, old: Option<&Pod>, new: Option<&Pod>) {
        let place = |pod: &Pod| pod.status.nominated_node_name.clone().filter(|_| pod.node.is_none());
        let (old, new) = (old.and_then(place), new.and_then(place));
        if old == new {
            return;
        }
        if let Some(node) = old
            && let Some(pods) = self.nominated.get_mut(&node)
        {
            pods.remove(&slot);
            if pods.is_empty() {
                self.nominated.remove(&node);
            }
        }
        if let Some(node) = new {
            self.nominated.entry(node).or_default().insert(slot);
        }
    }

    /// Begins to remove pods; whether any is still to be removed.
    pub(super) fn begin(&mut self, ctx: &mut Ctx<'_>, slot: u32, pod: &Pod, nomination: &Nomination) -> bool {
        let known = nomination.victims.iter().filter_map(|key| ctx.view().pods.by_key(key));
        let standing = known.filter(|victim| !victim.is_terminating());
        let mut victims: Vec<Victim> =
            standing.map(|victim| Victim { key: victim.meta.key(), uid: victim.meta.uid.clone() }).collect();
        let Some(last) = victims.pop() else { return false };
        let step = if victims.is_empty() { Step::MarkLast } else { Step::MarkFirst };
        let uid = pod.meta.uid.clone();
        self.running.insert(self.begun, Removal { uid, slot, first: victims, last, step });
        self.clear_less_urgent(ctx, pod, &nomination.node);
        later(ctx, self.begun);
        self.begun += 1;
        true
    }

    /// Those that were to get a node and are less urgent look elsewhere.
    fn clear_less_urgent(&self, ctx: &mut Ctx<'_>, pod: &Pod, node: &NodeName) {
        let slots: Vec<u32> = self.nominated.get(node).into_iter().flatten().copied().collect();
        for slot in slots {
            let Some(other) = ctx.view().pods.get(Ix::<Pod>::new(slot)).cloned() else { continue };
            if other.spec.priority.unwrap_or(0) < pod.spec.priority.unwrap_or(0) {
                let written =
                    ctx.api.modify::<Pod>(&other.meta.key(), |pod| pod.status.nominated_node_name = None);
                debug_assert!(written.is_ok(), "the pod was just read");
            }
        }
    }

    /// The next step of a removal. After the last, the pod that room is made for, which may be gone by now.
    pub(super) fn go_on(&mut self, ctx: &mut Ctx<'_>, number: u32) -> Option<(u32, Uid)> {
        let removal = self.running.get_mut(&number)?;
        let next = match removal.step {
            Step::MarkFirst => {
                removal.first.iter().for_each(|victim| mark(ctx, victim));
                Step::DeleteFirst
            }
            Step::DeleteFirst => {
                removal.first.iter().for_each(|victim| delete(ctx, victim));
                Step::MarkLast
            }
            Step::MarkLast => {
                mark(ctx, &removal.last);
                Step::DeleteLast
            }
            Step::DeleteLast => {
                delete(ctx, &removal.last);
                return self.running.remove(&number).map(|removal| (removal.slot, removal.uid));
            }
        };
        removal.step = next;
        later(ctx, number);
        None
    }
}

fn later(ctx: &mut Ctx<'_>, number: u32) {
    ctx.agenda.after(REQUEST, Event::Schedule(Due::Preempt(number)));
}

fn find<'a>(view: &'a View, victim: &Victim) -> Option<&'a Pod> {
    view.pods.by_key(&victim.key).map(|pod| &**pod).filter(|pod| pod.meta.uid == victim.uid)
}

fn mark(ctx: &mut Ctx<'_>, victim: &Victim) {
    if find(ctx.view(), victim).is_none() {
        return;
    }
    let now = ctx.api.timestamp();
    let marked = ctx.api.modify::<Pod>(&victim.key, |pod| {
        let message = "default-scheduler: preempting to accommodate a higher priority pod";
        let target = condition("DisruptionTarget", ConditionStatus::True, "PreemptionByScheduler", message);
        set(&mut pod.status.conditions, target, now);
    });
    debug_assert!(marked.is_ok(), "the pod was just read");
}

fn delete(ctx: &mut Ctx<'_>, victim: &Victim) {
    if find(ctx.view(), victim).is_some() {
        // Nothing but its absence can refuse the deletion of a pod.
        let _refusal = ctx.api.delete(Kind::Pod, &victim.key, &DeleteOptions::default());
    }
}

/// What becomes of the nomination of a pod that nobody was removed for. It ends, unless the pod may not remove anybody.
pub(super) fn without_nomination(preemption: &Preemption) -> Nominate {
    if preemption.message.contains("preemption: not eligible") { Nominate::Keep } else { Nominate::Clear }
}
