//! The scheduler's loop: which pod is tried next, and what follows from the answer.
//!
//! Source: Kubernetes 1.36 `pkg/scheduler/schedule_one.go`. Where a pod fits is answered by the engine in core.

mod binding;
mod hints;
mod preemption;
mod queue;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use replank_model::object::Object;
use replank_model::object::pod::Pod;
use replank_model::text::NodeName;
use replank_model::time::Span;
use replank_model::view::{Change, Ix, View};
use replank_schedule::{Placed, Preemption, Scheduler, Unplaced, Unschedulable, VolumeDecisions};

use crate::context::Ctx;
use crate::event::{Event, ScheduleDue as Due};
use crate::ties::SharedTies;
use replank_apiserver::draw::Purpose;

use binding::{Bindings, Nominate};
use hints::{Blame, ScriptEvent};
use preemption::Preemptions;
use queue::{Outcome, Queue};

/// Time of one scheduling cycle, from the queue to the stored binding. Recorded: 3 to 10 ms.
const CYCLE: Span = Span::from_millis(5);

/// Why the `PodScheduled` condition of a pod is false that fits nowhere, and of one that could not be judged.
const UNSCHEDULABLE: &str = "Unschedulable";
const ERROR: &str = "SchedulerError";

/// The queue and the engine.
pub(crate) struct Scheduling {
    engine: Scheduler,
    ties: Option<SharedTies>,
    queue: Queue,
    bindings: Bindings,
    preemptions: Preemptions,
    is_due: bool,
}

impl Scheduling {
    pub(crate) fn load(view: &View) -> Self {
        Self {
            engine: Scheduler::load(view),
            ties: None,
            queue: Queue::default(),
            bindings: Bindings::default(),
            preemptions: Preemptions::default(),
            is_due: false,
        }
    }

    /// Lets somebody else draw the lots.
    pub(crate) fn leave_ties_to(&mut self, ties: SharedTies) {
        self.ties = Some(ties);
    }

    pub(crate) fn watch(&mut self, ctx: &mut Ctx<'_>, change: &Change) {
        self.engine.observe(ctx.view(), change);
        let Change::Object { slot, old, new } = change else { return };
        match (old, new) {
            (old, Some(Object::Pod(new))) => {
                let old = match old {
                    Some(Object::Pod(old)) => Some(old),
                    Some(_) | None => None,
                };
                self.see_pod(ctx, *slot, old, new);
            }
            (Some(Object::Pod(old)), None) => self.pod_gone(ctx, *slot, old),
            (old, new) => {
                if let Some(event) = ScriptEvent::of(old.as_ref(), new.as_ref()) {
                    self.happened(ctx, &event);
                }
                self.see_claim(ctx, old.as_ref(), new.as_ref());
            }
        }
    }

    fn see_claim(&mut self, ctx: &mut Ctx<'_>, old: Option<&Object>, new: Option<&Object>) {
        let now = ctx.api.now();
        match (old, new) {
            (_, Some(Object::PersistentVolumeClaim(claim))) => {
                for (slot, at) in self.bindings.claim_bound(ctx.api.view(), &claim.meta.key(), now) {
                    ctx.agenda.at(at, Event::Schedule(Due::Bind(slot)));
                }
            }
            (Some(Object::PersistentVolumeClaim(claim)), None) => {
                for (slot, at) in self.bindings.claim_gone(&claim.meta.key(), now) {
                    ctx.agenda.at(at, Event::Schedule(Due::GiveUp(slot)));
                }
            }
            (Some(_) | None, Some(_) | None) => {}
        }
    }

    fn see_pod(&mut self, ctx: &mut Ctx<'_>, slot: u32, old: Option<&Arc<Pod>>, new: &Arc<Pod>) {
        self.preemptions.see(slot, old.map(|old| &**old), Some(new));
        if is_waiting(new) {
            if self.queue.contains(slot) {
                if old.is_some_and(|old| old.spec != new.spec || old.meta.labels != new.meta.labels) {
                    self.queue.changed(slot);
                }
            } else if !self.bindings.contains(slot) {
                self.queue.add(slot, new);
            }
            self.wake(ctx);
        } else {
            self.queue.remove(slot);
            self.bindings.remove(slot);
        }
        let before = old.filter(|old| takes_room(old));
        let event = match (before, takes_room(new)) {
            (None, true) => ScriptEvent::PodPlaced(new),
            (Some(old), true) if old.meta.labels != new.meta.labels || asks_for_something_else(old, new) => {
                ScriptEvent::PodChanged { old, new }
            }
            (Some(old), false) => ScriptEvent::PodGone(old),
            (Some(_), true) | (None, false) => return,
        };
        self.happened(ctx, &event);
    }

    fn pod_gone(&mut self, ctx: &mut Ctx<'_>, slot: u32, old: &Arc<Pod>) {
        self.preemptions.see(slot, Some(old), None);
        self.queue.remove(slot);
        let was_promised = self.bindings.remove(slot) || old.status.nominated_node_name.is_some();
        if takes_room(old) || was_promised {
            self.happened(ctx, &ScriptEvent::PodGone(old));
        }
        self.wake(ctx);
    }

    fn happened(&mut self, ctx: &mut Ctx<'_>, event: &ScriptEvent<'_>) {
        self.queue.wake(ctx.view(), event);
        self.wake(ctx);
    }

    pub(crate) fn handle(&mut self, ctx: &mut Ctx<'_>, due: Due) {
        match due {
            Due::Cycle => self.cycle(ctx),
            Due::Preempt(number) => {
                if let Some((slot, uid)) = self.preemptions.go_on(ctx, number)
                    && pod_at(ctx.view(), slot).is_some_and(|pod| pod.meta.uid == uid)
                {
                    self.queue.release(slot);
                }
            }
            Due::Bind(slot) => {
                if let Some(pod) = pod_at(ctx.view(), slot).cloned()
                    && let Some(node) = self.bindings.finish(slot, &pod)
                {
                    binding::bind(ctx, slot, &pod, &node);
                }
            }
            Due::GiveUp(slot) => self.give_up(ctx, slot),
        }
    }

    fn cycle(&mut self, ctx: &mut Ctx<'_>) {
        self.is_due = false;
        let now = ctx.api.now();
        let Some(slot) = self.queue.pop(now) else { return };
        let Some(pod) = pod_at(ctx.view(), slot).cloned() else { return };
        let outcome = self.attempt(ctx, slot, &pod);
        self.queue.tried(slot, &pod, outcome, now);
        self.wake(ctx);
    }

    /// One scheduling cycle.
    fn attempt(&mut self, ctx: &mut Ctx<'_>, slot: u32, pod: &Arc<Pod>) -> Outcome {
        match self.find_node(ctx, pod) {
            Ok(Placed { node, volumes, .. }) => {
                if !binding::begin(ctx, slot, pod, &node, &volumes) {
                    self.engine.assume(ctx.view(), pod, &node, &volumes);
                    let until = self.bindings.add(slot, pod, node, ctx.api.now());
                    ctx.agenda.at(until, Event::Schedule(Due::GiveUp(slot)));
                }
                Outcome::Placed
            }
            Err(Unplaced::NoNodes) => {
                let why = Unschedulable::NoNodes.to_string();
                binding::mark(ctx, slot, (UNSCHEDULABLE, &why), Nominate::Clear);
                Outcome::Unplaced(Blame::NoNodes)
            }
            Err(Unplaced::Error(error)) => {
                binding::mark(ctx, slot, (ERROR, &error.to_string()), Nominate::Clear);
                Outcome::Unplaced(Blame::Error)
            }
            Err(Unplaced::DoesNotFit { message, plugins, preemption }) => {
                self.make_room(ctx, slot, pod, (&message, &preemption), Blame::Plugins(plugins))
            }
        }
    }

    fn find_node(&mut self, ctx: &Ctx<'_>, pod: &Arc<Pod>) -> Result<Placed, Unplaced> {
        if let Some(node) = self.break_tie(ctx, pod) {
            return Ok(Placed { node, feasible: 1, volumes: VolumeDecisions::default() });
        }
        let draw = |purpose| ctx.draws.draw(pod.meta.uid.as_str(), purpose, 0).0;
        self.engine.attempt(ctx.view(), pod, draw(Purpose::Tie), || draw(Purpose::Preemption))
    }

    fn break_tie(&mut self, ctx: &Ctx<'_>, pod: &Arc<Pod>) -> Option<NodeName> {
        let ties = self.ties.clone()?;
        let best = self.engine.best(ctx.view(), pod);
        if best.is_empty() {
            return None;
        }
        ties.choose(pod, &best)
    }

    /// A pod fits nowhere: perhaps others can go.
    fn make_room(
        &mut self,
        ctx: &mut Ctx<'_>,
        slot: u32,
        pod: &Arc<Pod>,
        (message, preemption): (&str, &Preemption),
        blame: Blame,
    ) -> Outcome {
        let message = format!("{message} {}", preemption.message);
        let why = (UNSCHEDULABLE, message.trim_end());
        let Some(nomination) = &preemption.nominated else {
            binding::mark(ctx, slot, why, preemption::without_nomination(preemption));
            return Outcome::Unplaced(blame);
        };
        if self.preemptions.begin(ctx, slot, pod, nomination) {
            self.queue.hold(slot);
        }
        binding::mark(ctx, slot, why, Nominate::To(nomination.node.clone()));
        Outcome::Nominated(blame)
    }

    /// Claims were not bound in time: the pod is tried again.
    fn give_up(&mut self, ctx: &mut Ctx<'_>, slot: u32) {
        if !self.bindings.expire(slot, ctx.api.now()) {
            return;
        }
        let Some(pod) = pod_at(ctx.view(), slot).cloned() else { return };
        self.engine.forget(&pod.meta.key());
        binding::mark(ctx, slot, (ERROR, binding::NOT_BOUND), Nominate::Keep);
        self.queue.add(slot, &pod);
        self.happened(ctx, &ScriptEvent::PodGone(&pod));
    }

    fn wake(&mut self, ctx: &mut Ctx<'_>) {
        if !self.is_due && !self.queue.is_idle() {
            self.is_due = true;
            ctx.agenda.after(CYCLE, Event::Schedule(Due::Cycle));
        }
    }
}

/// Whether a pod waits for this scheduler.
fn is_waiting(pod: &Pod) -> bool {
    pod.node.is_none()
        && pod.is_active()
        && pod.spec.scheduling_gates.is_empty()
        && matches!(&*pod.spec.scheduler_name, "" | "default-scheduler")
}

fn pod_at(view: &View, slot: u32) -> Option<&Arc<Pod>> {
    view.pods.get(Ix::<Pod>::new(slot))
}

fn takes_room(pod: &Pod) -> bool {
    pod.node.is_some() && !pod.is_terminal()
}

/// Whether a pod that runs was resized, or is being.
fn asks_for_something_else(old: &Pod, new: &Pod) -> bool {
    let requests = |pod: &Pod| replank_model::object::requests::of_pod(pod);
    let (was, is) = (&old.status.container_statuses, &new.status.container_statuses);
    let is_resized = || was.iter().zip(is).any(|(was, is)| was.allocated_resources != is.allocated_resources);
    let may_differ = !Arc::ptr_eq(&old.spec, &new.spec)
        || old.status.allocated_resources != new.status.allocated_resources
        || !was.is_same(is) && was.len() == is.len() && is_resized();
    may_differ && requests(old) != requests(new)
}
