//! Node lifecycle: which nodes are heard of, and the taints that say so (pkg/controller/nodelifecycle).
//!
//! Upstream looks at all nodes every 5 s. Here a node is looked at in the first of those moments at which something about it
//! can have changed: when its Ready condition or its zone is new, when it appears, and when its kubelet has been silent
//! for too long. Between them the moments pass without an event.

mod health;
mod lifecycle;
mod limiter;
mod monitor;
mod taints;
mod zone;

use replank_model::object::Object;
use replank_model::object::condition::{self, ConditionStatus};
use replank_model::object::node::Node;
use replank_model::object::pod::Pod;
use replank_model::time::{Span, Time};
use replank_model::view::{Change, Ix};

use super::phase::Phase;
use super::{Ctx, PodChange, REACTION};
use crate::event::{ControlDue, Event, NodesDue as Due};

pub(crate) use lifecycle::NodeLifecycle;
use lifecycle::{LEASE_RENEWAL, MONITOR_GRACE, MONITOR_PERIOD, NO_SCHEDULE_FIRST, STARTUP_GRACE};
/// Time between two passes that write NoExecute taints (`NodeEvictionPeriod`).
const TAINT_PERIOD: Span = Span::from_millis(100);

impl NodeLifecycle {
    pub(crate) fn watch(&mut self, ctx: &mut Ctx<'_>, change: &Change) {
        let Change::Object { slot, old, new } = change else { return };
        match (old, new) {
            (old, Some(Object::Node(node))) => {
                let old = match old {
                    Some(Object::Node(old)) => Some(&**old),
                    Some(_) | None => None,
                };
                self.see_node(ctx, *slot, old, node);
            }
            (Some(Object::Node(node)), None) => {
                monitor::tell(ctx, node, "RemovingNode", "Removing Node", "from Controller");
                self.forget(ctx, node);
            }
            (Some(_) | None, Some(_) | None) => {}
        }
    }

    pub(crate) fn pod_changed(&mut self, ctx: &mut Ctx<'_>, pod: &PodChange<'_>) {
        // With a node that is lost only afterwards, the round that finds it lost has its pods at hand.
        let is_lost =
            || pod.new.and_then(|new| new.node.as_ref()).is_some_and(|node| self.lost.contains(node));
        if !self.lost.is_empty() && pod.is_moved() && is_lost() && self.bound.insert(pod.slot) {
            later(ctx, REACTION, Due::Bound(pod.slot));
        }
    }

    pub(crate) fn handle(&mut self, ctx: &mut Ctx<'_>, due: Due) {
        match due {
            // One that was put down before an earlier one was is not due any more: that one has put down its successor.
            Due::Monitor if self.next_round != Some(ctx.api.now()) => {}
            Due::Monitor => self.monitor(ctx),
            Due::Taint => self.taint(ctx),
            Due::Sweep(slot) => {
                self.unswept.remove(&slot);
                taints::sweep(ctx, slot);
            }
            Due::Bound(slot) => self.check_bound(ctx, slot),
        }
    }

    fn see_node(&mut self, ctx: &mut Ctx<'_>, slot: u32, old: Option<&Node>, new: &Node) {
        let is_swept = old.is_some_and(|old| {
            old.status.conditions == new.status.conditions
                && old.spec.unschedulable == new.spec.unschedulable
                && old.spec.taints == new.spec.taints
        });
        if !is_swept && self.unswept.insert(slot) {
            later(ctx, REACTION, Due::Sweep(slot));
        }
        let is_marked = |node: &Node| {
            taints::has_no_execute(node, taints::NOT_READY)
                || taints::has_no_execute(node, taints::UNREACHABLE)
        };
        let is_known = old.is_some_and(|old| {
            old.meta.uid == new.meta.uid
                && old.ready() == new.ready()
                && is_marked(old) == is_marked(new)
                && (old.meta.labels.same(&new.meta.labels) || zone::key(old) == zone::key(new))
        });
        if !is_known {
            let name = new.name();
            if old.is_none() && new.ready() == ConditionStatus::Unknown && !new.status.conditions.is_empty() {
                // It was lost before the world began.
                self.silent.insert(name.clone(), Self::guessed_renewal(ctx, new));
            }
            self.look_at(ctx, &name);
        }
    }

    /// Puts the first pass over the taint queues at or after a moment on the agenda.
    fn pass_at(&mut self, ctx: &mut Ctx<'_>, from: Time) {
        let at = Phase::of(ctx.draws, "node taints", TAINT_PERIOD).next(from);
        if self.next_pass.is_none_or(|known| at < known) {
            self.next_pass = Some(at);
            ctx.agenda.at(at, Event::Control(ControlDue::Nodes(Due::Taint)));
        }
    }

    fn check_bound(&mut self, ctx: &mut Ctx<'_>, slot: u32) {
        self.bound.remove(slot);
        let Some(pod) = ctx.view().pods.get(Ix::<Pod>::new(slot)) else { return };
        let Some(node) = &pod.node else { return };
        // One that has become Ready since the last round marks the pod upstream too; its kubelet takes that back within 10 s
        // (pkg/kubelet/status `syncPeriod`), and nobody waits for it here.
        let now = ctx.view().node(node).and_then(|node| condition::find(&node.status.conditions, "Ready"));
        let is_lost = now.is_some_and(|ready| ready.status != ConditionStatus::True);
        if is_lost && self.lost.contains(node) {
            let pod = pod.clone();
            monitor::mark_pod_unready(ctx, &pod);
        }
    }
}

fn later(ctx: &mut Ctx<'_>, span: Span, due: Due) {
    ctx.agenda.after(span, Event::Control(ControlDue::Nodes(due)));
}

#[cfg(test)]
mod tests;
