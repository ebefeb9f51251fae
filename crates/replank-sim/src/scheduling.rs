//! The scheduler's loop: its queue, and binding.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use replank_core::schedule::Scheduler;
use replank_model::object::Object;
use replank_model::object::meta::Key;
use replank_model::object::pod::Pod;
use replank_model::text::NodeName;
use replank_model::time::Span;
use replank_model::view::{Change, View};

use crate::controllers::Ctx;
use crate::draw::Purpose;
use crate::ties::SharedTies;
use crate::world::Event;

/// Time of one scheduling cycle, from the queue to the stored binding. Recorded: 3 to 10 ms.
const CYCLE: Span = Span::from_millis(5);

/// The queue and the engine.
pub(crate) struct Scheduling {
    engine: Scheduler,
    ties: Option<SharedTies>,
    /// Pods to be tried, most urgent first.
    active: BTreeSet<Waiting>,
    /// Place in the queue of each of them.
    places: BTreeMap<Key, Waiting>,
    arrivals: u64,
    /// Pods that were tried in vain since the last change that could help them.
    unschedulable: BTreeSet<Key>,
    is_due: bool,
}

/// Order of the queue: priority, then time of arrival (plugin PrioritySort).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Waiting {
    priority: std::cmp::Reverse<i32>,
    arrival: u64,
    key: Key,
}

impl Scheduling {
    pub(crate) fn load(view: &View) -> Self {
        Self {
            engine: Scheduler::load(view),
            ties: None,
            active: BTreeSet::new(),
            places: BTreeMap::new(),
            arrivals: 0,
            unschedulable: BTreeSet::new(),
            is_due: false,
        }
    }

    pub(crate) fn watch(&mut self, ctx: &mut Ctx<'_>, change: &Change) {
        self.engine.observe(ctx.view(), change);
        let Change::Object { old, new, .. } = change else { return };
        match (old, new) {
            (_, Some(Object::Pod(pod))) if is_waiting(pod) => {
                if !self.unschedulable.contains(&pod.meta.key()) || old.is_none() {
                    self.push(ctx, pod);
                }
            }
            (Some(Object::Pod(pod)), None) => {
                self.forget(pod);
                self.retry_all(ctx);
            }
            (_, Some(Object::Pod(pod))) if pod.is_terminal() => self.retry_all(ctx),
            (_, Some(Object::Pod(pod))) => self.forget(pod),
            (_, Some(Object::Node(_))) => self.retry_all(ctx),
            (Some(_) | None, Some(_) | None) => {}
        }
    }

    pub(crate) fn take_next(&mut self, ctx: &mut Ctx<'_>) {
        self.is_due = false;
        let Some(next) = self.active.pop_first() else { return };
        self.places.remove(&next.key);
        if !self.active.is_empty() {
            self.wake(ctx);
        }
        let Some(pod) = ctx.view().find::<Pod>(&next.key).cloned() else { return };
        if !is_waiting(&pod) {
            return;
        }
        if let Some(node) = self.break_tie(ctx, &pod) {
            bind(ctx, &pod, &node);
            return;
        }
        let draw = ctx.draws.draw(pod.meta.uid.as_str(), Purpose::Tie, 0).0;
        match self.engine.place(ctx.view(), &pod, draw) {
            Ok(placed) => bind(ctx, &pod, &placed.node),
            Err(reason) => {
                self.unschedulable.insert(next.key);
                mark_unschedulable(ctx, &pod, &reason.to_string());
            }
        }
    }

    /// Lets somebody else draw the lots.
    pub(crate) fn leave_ties_to(&mut self, ties: SharedTies) {
        self.ties = Some(ties);
    }

    fn break_tie(&mut self, ctx: &Ctx<'_>, pod: &Arc<Pod>) -> Option<NodeName> {
        let ties = self.ties.as_mut()?;
        let best = self.engine.best(ctx.view(), pod);
        if best.is_empty() {
            return None;
        }
        ties.choose(pod, &best)
    }

    /// Puts a pod into the queue; one that is in it keeps its place.
    fn push(&mut self, ctx: &mut Ctx<'_>, pod: &Pod) {
        let key = pod.meta.key();
        self.unschedulable.remove(&key);
        if !self.places.contains_key(&key) {
            self.arrivals += 1;
            let priority = std::cmp::Reverse(pod.spec.priority.unwrap_or(0));
            let place = Waiting { priority, arrival: self.arrivals, key: key.clone() };
            self.active.insert(place.clone());
            self.places.insert(key, place);
        }
        self.wake(ctx);
    }

    fn forget(&mut self, pod: &Pod) {
        let key = pod.meta.key();
        self.unschedulable.remove(&key);
        if let Some(place) = self.places.remove(&key) {
            self.active.remove(&place);
        }
    }

    fn retry_all(&mut self, ctx: &mut Ctx<'_>) {
        for key in std::mem::take(&mut self.unschedulable) {
            if let Some(pod) = ctx.view().find::<Pod>(&key).cloned() {
                self.push(ctx, &pod);
            }
        }
    }

    fn wake(&mut self, ctx: &mut Ctx<'_>) {
        if !self.is_due {
            self.is_due = true;
            ctx.agenda.after(CYCLE, Event::Schedule);
        }
    }
}

fn is_waiting(pod: &Pod) -> bool {
    pod.node.is_none()
        && !pod.is_terminating()
        && !pod.is_terminal()
        && pod.spec.scheduling_gates.is_empty()
        && matches!(&*pod.spec.scheduler_name, "" | "default-scheduler")
}

fn bind(ctx: &mut Ctx<'_>, pod: &Pod, node: &replank_model::text::NodeName) {
    let now = ctx.api.timestamp();
    let bound = ctx.api.modify::<Pod>(&pod.meta.key(), |pod| {
        pod.node = Some(node.clone());
        crate::kubelet::set_condition(&mut pod.status.conditions, "PodScheduled", true, "", now);
    });
    debug_assert!(bound.is_ok(), "the pod was just read");
}

fn mark_unschedulable(ctx: &mut Ctx<'_>, pod: &Pod, message: &str) {
    let now = ctx.api.timestamp();
    let marked = ctx.api.modify::<Pod>(&pod.meta.key(), |pod| {
        let conditions = &mut pod.status.conditions;
        crate::kubelet::set_condition(conditions, "PodScheduled", false, "Unschedulable", now);
        if let Some(scheduled) = conditions.iter_mut().find(|condition| &*condition.r#type == "PodScheduled")
        {
            scheduled.message = message.into();
        }
    });
    debug_assert!(marked.is_ok(), "the pod was just read");
}
