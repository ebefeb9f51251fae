//! Taint eviction: pods leave nodes whose NoExecute taints they do not bear, or bear for a while only
//! (pkg/controller/tainteviction).
//!
//! A pod's eviction is put down when its node's taints change or when it is bound, and stands once it is put down: a later
//! taint that is borne for a shorter time does not bring it forward.

use std::collections::BTreeMap;

use replank_model::object::affinity::{Taint, TaintEffect, Toleration};
use replank_model::object::condition::{self, ConditionStatus};
use replank_model::object::meta::Key;
use replank_model::object::node::Node;
use replank_model::object::pod::Pod;
use replank_model::object::{Kind, Object};
use replank_model::text::NodeName;
use replank_model::time::{Span, Time};
use replank_model::view::{Change, Ix};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{Ctx, PodChange, REACTION};
use crate::event::{ControlDue, Event, TaintsDue as Due};
use replank_apiserver::DISRUPTION_TARGET;
use replank_apiserver::DeleteOptions;
use replank_apiserver::condition as conditions;

/// Time that the two writes of an eviction take after the decision: the condition, then the deletion. Recorded: the
/// DaemonSet controller, told of a taint at the same moment, is there first.
const WRITE: Span = Span::from_millis(5);

/// The controller.
#[derive(Debug, Default)]
pub(crate) struct TaintEviction {
    /// NoExecute taints of the nodes that have any.
    tainted: BTreeMap<NodeName, Vec<Taint>>,
    /// Evictions that are put down, by the pod's slot.
    queue: FxHashMap<u32, Work>,
    /// Numbers the evictions, so that one that was taken back does not happen.
    next: u32,
    /// Nodes that are to be looked at.
    nodes: FxHashSet<u32>,
    /// Pods that are to be looked at.
    pods: FxHashSet<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Work {
    number: u32,
    created: Time,
}

impl TaintEviction {
    pub(crate) fn watch(&mut self, ctx: &mut Ctx<'_>, change: &Change) {
        let Change::Object { slot, old, new } = change else { return };
        match (old, new) {
            (old, Some(Object::Node(node))) => {
                let before = match old {
                    Some(Object::Node(old)) => no_execute(old),
                    Some(_) | None => Vec::new(),
                };
                let is_settled = before == no_execute(node) && (old.is_some() || before.is_empty());
                if !is_settled && self.nodes.insert(*slot) {
                    later(ctx, REACTION, Due::Node(*slot));
                }
            }
            (Some(Object::Node(node)), None) => {
                self.tainted.remove(&node.name());
            }
            (Some(_) | None, Some(_) | None) => {}
        }
    }

    pub(crate) fn pod_changed(&mut self, ctx: &mut Ctx<'_>, change: &PodChange<'_>) {
        let slot = change.slot;
        let Some(pod) = change.new else {
            self.queue.remove(&slot);
            return;
        };
        let bears_as_before = || change.old.is_none_or(|old| is_same_toleration(old, pod));
        let is_tainted = || pod.node.as_ref().is_some_and(|node| self.tainted.contains_key(node));
        if (change.is_moved() || !bears_as_before()) && is_tainted() && self.pods.insert(slot) {
            later(ctx, REACTION, Due::Pod(slot));
        }
    }

    pub(crate) fn handle(&mut self, ctx: &mut Ctx<'_>, due: Due) {
        match due {
            Due::Node(slot) => self.look_at_node(ctx, slot),
            Due::Pod(slot) => self.look_at_pod(ctx, slot),
            Due::Evict { slot, number } => {
                if self.queue.get(&slot).is_some_and(|work| work.number == number) {
                    self.queue.remove(&slot);
                    evict(ctx, slot);
                }
            }
        }
    }

    fn look_at_node(&mut self, ctx: &mut Ctx<'_>, slot: u32) {
        self.nodes.remove(&slot);
        let Some(node) = ctx.view().nodes.get(Ix::<Node>::new(slot)).cloned() else { return };
        let (name, taints) = (node.name(), no_execute(&node));
        let mut pods = ctx.view().pods_on(&name).to_vec();
        pods.sort_by(|a, b| ctx.view().pods[*a].meta.key().cmp(&ctx.view().pods[*b].meta.key()));
        if taints.is_empty() {
            self.tainted.remove(&name);
            for pod in pods {
                self.queue.remove(&pod.raw());
            }
            return;
        }
        self.tainted.insert(name, taints.clone());
        for pod in pods {
            self.judge(ctx, pod.raw(), &taints);
        }
    }

    fn look_at_pod(&mut self, ctx: &mut Ctx<'_>, slot: u32) {
        self.pods.remove(&slot);
        let Some(pod) = ctx.view().pods.get(Ix::<Pod>::new(slot)) else { return };
        let taints = pod.node.as_ref().and_then(|node| self.tainted.get(node)).cloned();
        if let Some(taints) = taints {
            self.judge(ctx, slot, &taints);
        }
    }

    fn judge(&mut self, ctx: &mut Ctx<'_>, slot: u32, taints: &[Taint]) {
        let now = ctx.api.now();
        match borne(&ctx.view().pods[Ix::<Pod>::new(slot)].spec.tolerations, taints) {
            Borne::Not => {
                self.queue.remove(&slot);
                self.put_down(ctx, slot, now, now + WRITE);
            }
            Borne::Forever => {
                self.queue.remove(&slot);
            }
            Borne::For(span) => {
                let created = self.queue.get(&slot).map_or(now, |work| work.created);
                if created < now {
                    // One that is put down stands.
                    return;
                }
                self.put_down(ctx, slot, created, now + span + WRITE);
            }
        }
    }

    fn put_down(&mut self, ctx: &mut Ctx<'_>, slot: u32, created: Time, at: Time) {
        self.next = self.next.wrapping_add(1);
        let number = self.next;
        self.queue.insert(slot, Work { number, created });
        ctx.agenda.at(at, Event::Control(ControlDue::Taints(Due::Evict { slot, number })));
    }
}

/// How long a pod tolerates taints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Borne {
    /// Not all of them are borne at all.
    Not,
    /// So long, from now.
    For(Span),
    /// As long as they last.
    Forever,
}

/// The shortest time of the tolerations that match; each taint is matched by the first one that does
/// (`GetMatchingTolerations`, `getMinTolerationTime`).
fn borne(tolerations: &[Toleration], taints: &[Taint]) -> Borne {
    let mut shortest: Option<i64> = None;
    for taint in taints {
        match tolerations.iter().find(|toleration| toleration.tolerates(taint, false)) {
            None => return Borne::Not,
            Some(toleration) => {
                if let Some(seconds) = toleration.toleration_seconds {
                    shortest = Some(shortest.map_or(seconds, |known| known.min(seconds)));
                }
            }
        }
    }
    match shortest {
        None => Borne::Forever,
        Some(seconds) => Borne::For(Span::from_secs(seconds.max(0))),
    }
}

fn no_execute(node: &Node) -> Vec<Taint> {
    node.spec.taints.iter().filter(|taint| taint.effect == TaintEffect::NoExecute).cloned().collect()
}

fn is_same_toleration(a: &Pod, b: &Pod) -> bool {
    std::sync::Arc::ptr_eq(&a.spec, &b.spec) || a.spec.tolerations == b.spec.tolerations
}

fn evict(ctx: &mut Ctx<'_>, slot: u32) {
    let Some(pod) = ctx.view().pods.get(Ix::<Pod>::new(slot)).cloned() else { return };
    let (key, now): (Key, Time) = (pod.meta.key(), ctx.api.timestamp());
    if !condition::is_true(&pod.status.conditions, DISRUPTION_TARGET) {
        let traces = ctx.api.serving().traces;
        let written = ctx.api.modify::<Pod>(&key, |pod| {
            let mut target = conditions::condition(
                DISRUPTION_TARGET,
                ConditionStatus::True,
                "DeletionByTaintManager",
                "Taint manager: deleting due to NoExecute taint",
            );
            if traces {
                target.observed_generation = pod.meta.generation;
            }
            conditions::set(&mut pod.status.conditions, target, now);
        });
        debug_assert!(written.is_ok(), "the pod was just read");
    }
    let message = format!("Marking for deletion Pod {key}");
    ctx.api.tell("taint-eviction-controller", &Object::Pod(pod), "TaintManagerEviction", &message);
    let deleted = ctx.api.delete(Kind::Pod, &key, &DeleteOptions::default());
    debug_assert!(deleted.is_ok(), "the pod was just read");
}

fn later(ctx: &mut Ctx<'_>, span: Span, due: Due) {
    ctx.agenda.after(span, Event::Control(ControlDue::Taints(due)));
}

#[cfg(test)]
mod tests {
    use replank_model::object::affinity::TolerationOperator;

    use super::*;

    fn toleration(key: &str, seconds: Option<i64>) -> Toleration {
        Toleration {
            key: key.into(),
            operator: Some(TolerationOperator::Exists),
            effect: Some(TaintEffect::NoExecute),
            toleration_seconds: seconds,
            ..Toleration::default()
        }
    }

    #[test]
    fn the_shortest_toleration_counts() {
        let taint = |key: &str| Taint::new(key, TaintEffect::NoExecute);
        let taints = [taint("a"), taint("b")];
        let cases: [(&[Toleration], Borne); 6] = [
            (&[], Borne::Not),
            (&[toleration("a", Some(8))], Borne::Not),
            (&[toleration("a", Some(8)), toleration("b", Some(3))], Borne::For(Span::from_secs(3))),
            (&[toleration("a", Some(8)), toleration("b", None)], Borne::For(Span::from_secs(8))),
            (&[toleration("a", None), toleration("b", None)], Borne::Forever),
            (&[toleration("a", Some(-5)), toleration("b", None)], Borne::For(Span::from_secs(0))),
        ];
        for (tolerations, expected) in cases {
            assert_eq!(borne(tolerations, &taints), expected);
        }
    }
}
