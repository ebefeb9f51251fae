//! Namespaces on their way out (pkg/controller/namespace): a pause, then the pods, then everything else, then the namespace.

use std::collections::BTreeMap;

use replank_model::object::cluster::NamespaceObject;
use replank_model::object::condition::{Condition, ConditionStatus};
use replank_model::object::pod::Pod;
use replank_model::object::{Kind, Object};
use replank_model::text::Namespace;
use replank_model::time::{Span, Time};
use replank_model::view::{Change, Ix, View};
use rustc_hash::FxHashMap;

use super::{Ctx, REACTION};
use crate::event::{ControlDue, Event, NamespacesDue as Due};
use replank_apiserver::condition;
use replank_apiserver::{DeleteOptions, Propagation};

/// Pause after every change of a namespace that is on its way out (`namespaceDeletionGracePeriod`).
const PAUSE: Span = Span::from_secs(5);
/// Seconds that finalizers are expected to take (`finalizerEstimateSeconds`).
const FINALIZERS_TAKE: i64 = 15;
/// Time that the last round takes before the namespace itself goes: a list and a deletion for each of some sixty
/// resources. Recorded: 100 ms.
const LAST_ROUND: Span = Span::from_millis(100);
/// First wait after a round that failed; doubled for each further one (`nsControllerRateLimiter`).
const RETRY_MIN: Span = Span::from_millis(5);
/// Longest wait after a round that failed.
const RETRY_MAX: Span = Span::from_secs(60);
/// The finalizer of this controller.
const KUBERNETES: &str = "kubernetes";

/// The controller.
#[derive(Debug, Default)]
pub(crate) struct Namespaces {
    /// When each namespace is looked at next, by slot.
    due: FxHashMap<u32, Time>,
    /// Rounds in a row that failed, by slot.
    failures: FxHashMap<u32, u32>,
}

/// What is left of a namespace's content after a round.
#[derive(Debug, Default)]
struct Left {
    /// Resource, such as `pods`, and how many objects of it.
    objects: BTreeMap<String, usize>,
    /// Finalizer, and how many objects have it.
    finalizers: BTreeMap<String, usize>,
    /// Seconds until it may be gone; none if nobody knows.
    estimate: i64,
}

impl Namespaces {
    pub(crate) fn watch(&mut self, ctx: &mut Ctx<'_>, change: &Change) {
        let Change::Object { slot, old, new } = change else { return };
        match (old, new) {
            (_, Some(Object::Namespace(namespace))) => {
                if namespace.meta.is_terminating() {
                    self.round_after(ctx, *slot, PAUSE + REACTION);
                }
            }
            (Some(Object::Namespace(_)), None) => {
                self.due.remove(slot);
                self.failures.remove(slot);
            }
            (Some(_) | None, Some(_) | None) => {}
        }
    }

    pub(crate) fn handle(&mut self, ctx: &mut Ctx<'_>, due: Due) {
        match due {
            Due::Round(slot) => {
                let now = ctx.api.now();
                if self.due.get(&slot).is_some_and(|due| *due <= now) {
                    self.due.remove(&slot);
                    self.round(ctx, slot);
                }
            }
            Due::Finalize(slot) => finalize(ctx, slot),
        }
    }

    /// Looks at a namespace after a while, or earlier if that was planned.
    fn round_after(&mut self, ctx: &mut Ctx<'_>, slot: u32, span: Span) {
        let at = ctx.api.now() + span;
        if self.due.get(&slot).is_none_or(|known| at < *known) {
            self.due.insert(slot, at);
            ctx.agenda.at(at, Event::Control(ControlDue::Namespaces(Due::Round(slot))));
        }
    }

    fn round(&mut self, ctx: &mut Ctx<'_>, slot: u32) {
        let Some(namespace) = terminating(ctx.view(), slot) else { return };
        let name = Namespace::new(namespace.meta.name.text().clone());
        let pods = delete_pods(ctx, &namespace, &name);
        if pods.objects.is_empty() {
            let left = delete_others(ctx, &name);
            write_conditions(ctx, &namespace, &left);
            if left.objects.is_empty() {
                self.failures.remove(&slot);
                ctx.agenda.after(LAST_ROUND, Event::Control(ControlDue::Namespaces(Due::Finalize(slot))));
            } else {
                self.again(ctx, slot, left.estimate);
            }
        } else {
            // While pods are left the rest is not looked at, so nothing is said of it.
            write_conditions(ctx, &namespace, &Left::default());
            self.again(ctx, slot, pods.estimate);
        }
    }

    fn again(&mut self, ctx: &mut Ctx<'_>, slot: u32, estimate: i64) {
        if estimate > 0 {
            self.failures.remove(&slot);
            return self.round_after(ctx, slot, Span::from_secs(estimate / 2 + 1));
        }
        let failures = self.failures.entry(slot).or_default();
        *failures += 1;
        let doubled = RETRY_MIN.as_millis() << (*failures - 1).min(20);
        self.round_after(ctx, slot, Span::from_millis(doubled).min(RETRY_MAX));
    }
}

fn terminating(view: &View, slot: u32) -> Option<NamespaceObject> {
    let namespace = view.namespaces.get(Ix::<NamespaceObject>::new(slot))?;
    let is_ours = namespace.spec.finalizers.iter().any(|name| &**name == KUBERNETES);
    (namespace.meta.is_terminating() && is_ours).then(|| NamespaceObject::clone(namespace))
}

fn pods_in(view: &View, name: &Namespace) -> Vec<Object> {
    let slots = view.label_classes(name).flat_map(|class| class.pods().iter().copied());
    let mut pods: Vec<Object> = slots.filter_map(|ix| view.pods.get(ix).cloned().map(Object::Pod)).collect();
    pods.sort_by(|a, b| a.meta().name.cmp(&b.meta().name));
    pods
}

/// Deletes all pods; what is left of them, and for how long.
fn delete_pods(ctx: &mut Ctx<'_>, namespace: &NamespaceObject, name: &Namespace) -> Left {
    let estimate = estimate(ctx, namespace, name);
    for pod in pods_in(ctx.view(), name) {
        delete(ctx, &pod);
    }
    let mut left = Left::default();
    for pod in pods_in(ctx.view(), name) {
        left.add("pods.", &pod);
    }
    if estimate > 0 && !left.objects.is_empty() {
        left.estimate = estimate;
    }
    left
}

/// The longest grace of a pod that has not ended; nothing once the namespace has been waiting for longer
/// (`estimateGracefulTermination`).
fn estimate(ctx: &Ctx<'_>, namespace: &NamespaceObject, name: &Namespace) -> i64 {
    let graces = pods_in(ctx.view(), name).into_iter().filter_map(|pod| {
        let Object::Pod(pod) = pod else { return None };
        (!pod.is_terminal()).then(|| Pod::grace_seconds(&pod))
    });
    let longest = graces.max().unwrap_or(0);
    let asked = namespace.meta.deletion_timestamp.unwrap_or(ctx.api.now());
    if ctx.api.now() - asked >= Span::from_secs(longest) { 0 } else { longest }
}

/// Deletes everything but pods; what is left of it.
fn delete_others(ctx: &mut Ctx<'_>, name: &Namespace) -> Left {
    for object in others_in(ctx.view(), name) {
        delete(ctx, &object);
    }
    let mut left = Left::default();
    for object in others_in(ctx.view(), name) {
        let group = object.api_version().split_once('/').map_or("", |(group, _)| group).to_owned();
        let kind = object.kind();
        let plural = if kind == Kind::Other {
            let known = ctx.api.resource_type(object.api_version(), object.kind_name());
            let guess = |_| format!("{}s", object.kind_name().to_lowercase());
            known.map_or_else(guess, |known| known.name.plural.to_string())
        } else {
            kind.plural().to_owned()
        };
        left.add(&format!("{plural}.{group}"), &object);
    }
    left
}

fn others_in(view: &View, name: &Namespace) -> Vec<Object> {
    let kinds = Kind::TYPED.iter().filter(|kind| kind.is_namespaced() && **kind != Kind::Pod);
    let typed = kinds.flat_map(|kind| view.objects_of(*kind));
    let others = view.others().cloned().map(Object::Other);
    typed.chain(others).filter(|object| object.meta().namespace == *name).collect()
}

fn delete(ctx: &mut Ctx<'_>, object: &Object) {
    // An earlier deletion may have taken this one along.
    let options = DeleteOptions { propagation: Some(Propagation::Background), ..DeleteOptions::default() };
    let deleted = ctx.api.delete_known(object, &options);
    debug_assert!(deleted.is_ok(), "without preconditions nothing is refused");
}

impl Left {
    fn add(&mut self, resource: &str, object: &Object) {
        *self.objects.entry(resource.to_owned()).or_default() += 1;
        for finalizer in &object.meta().finalizers {
            *self.finalizers.entry(finalizer.to_string()).or_default() += 1;
            self.estimate = FINALIZERS_TAKE;
        }
    }

    fn conditions(&self) -> [Condition; 5] {
        let fine =
            |r#type, reason, message| condition::condition(r#type, ConditionStatus::False, reason, message);
        let said = |all: &BTreeMap<String, usize>, what: &str| {
            let parts: Vec<String> =
                all.iter().map(|(name, count)| format!("{name} {what} {count}")).collect();
            parts.join(", ")
        };
        let remaining = if self.objects.is_empty() {
            fine("NamespaceContentRemaining", "ContentRemoved", "All content successfully removed")
        } else {
            let message = format!(
                "Some resources are remaining: {}",
                said(&self.objects, "has") + " resource instances"
            );
            condition::condition(
                "NamespaceContentRemaining",
                ConditionStatus::True,
                "SomeResourcesRemain",
                &message,
            )
        };
        let finalizers = if self.finalizers.is_empty() {
            fine(
                "NamespaceFinalizersRemaining",
                "ContentHasNoFinalizers",
                "All content-preserving finalizers finished",
            )
        } else {
            let message = format!(
                "Some content in the namespace has finalizers remaining: {}",
                said(&self.finalizers, "in") + " resource instances"
            );
            condition::condition(
                "NamespaceFinalizersRemaining",
                ConditionStatus::True,
                "SomeFinalizersRemain",
                &message,
            )
        };
        [
            fine(
                "NamespaceDeletionDiscoveryFailure",
                "ResourcesDiscovered",
                "All resources successfully discovered",
            ),
            fine(
                "NamespaceDeletionGroupVersionParsingFailure",
                "ParsedGroupVersions",
                "All legacy kube types successfully parsed",
            ),
            fine(
                "NamespaceDeletionContentFailure",
                "ContentDeleted",
                "All content successfully deleted, may be waiting on finalization",
            ),
            remaining,
            finalizers,
        ]
    }
}

fn write_conditions(ctx: &mut Ctx<'_>, namespace: &NamespaceObject, left: &Left) {
    let now = ctx.api.timestamp();
    let written = ctx.api.modify::<NamespaceObject>(&namespace.meta.key(), |namespace| {
        for new in left.conditions() {
            condition::set(&mut namespace.status.conditions, new, now);
        }
    });
    debug_assert!(written.is_ok(), "the namespace was just read");
}

/// Takes the controller's finalizer off, if the namespace is still empty.
fn finalize(ctx: &mut Ctx<'_>, slot: u32) {
    let Some(namespace) = terminating(ctx.view(), slot) else { return };
    let written = ctx.api.modify::<NamespaceObject>(&namespace.meta.key(), |namespace| {
        namespace.spec.finalizers.retain(|name| &**name != KUBERNETES);
    });
    debug_assert!(written.is_ok(), "the namespace was just read");
}

#[cfg(test)]
mod tests {
    use replank_model::object::condition::find;
    use serde_json::{Value, json};

    use super::*;
    use crate::World;
    use crate::testing::{node, running, world};
    use replank_apiserver::json::Method;

    fn delete_namespace(world: &mut World) {
        let response = world.send(Method::Delete, "/api/v1/namespaces/shop", Value::Null);
        assert_eq!(response.code, 200);
    }

    fn reason(world: &World, r#type: &str) -> Option<String> {
        let Some(Object::Namespace(namespace)) = world.get(Kind::Namespace, "shop") else { return None };
        find(&namespace.status.conditions, r#type).map(|condition| condition.reason.to_string())
    }

    #[test]
    fn pods_go_first_and_the_rest_at_the_next_round() {
        let mut world = world(vec![node("a", "z"), running("p", "a")]);
        world.apply(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}));
        delete_namespace(&mut world);
        world.pass(Span::from_millis(4990));
        let is_terminating = |world: &World| world.get(Kind::Pod, "p").map(|pod| pod.meta().is_terminating());
        assert_eq!(is_terminating(&world), Some(false));
        world.pass(Span::from_millis(20));
        assert_eq!(is_terminating(&world), Some(true));
        assert_eq!(reason(&world, "NamespaceContentRemaining").as_deref(), Some("ContentRemoved"));
        world.pass(Span::from_secs(4));
        let map = "/api/v1/namespaces/shop/configmaps/c";
        assert_eq!(is_terminating(&world), None, "the kubelet has ended the pod");
        assert_eq!(world.send(Method::Get, map, Value::Null).code, 200);
        world.pass(Span::from_millis(1100));
        assert_eq!(world.send(Method::Get, map, Value::Null).code, 404);
        assert!(world.get(Kind::Namespace, "shop").is_none());
    }

    #[test]
    fn finalizers_hold_the_namespace_and_are_named() {
        let mut world = world(Vec::new());
        world.apply(json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "c", "finalizers": ["example.com/hold"]}}));
        delete_namespace(&mut world);
        world.pass(Span::from_millis(5100));
        assert_eq!(reason(&world, "NamespaceFinalizersRemaining").as_deref(), Some("SomeFinalizersRemain"));
        assert_eq!(reason(&world, "NamespaceContentRemaining").as_deref(), Some("SomeResourcesRemain"));
        let free = json!({"metadata": {"finalizers": null}});
        world.send(Method::Patch, "/api/v1/namespaces/shop/configmaps/c", free);
        world.pass(Span::from_secs(6));
        assert!(world.get(Kind::Namespace, "shop").is_none());
    }

    #[test]
    fn nothing_is_made_in_it_and_a_second_deletion_changes_nothing() {
        let mut world = world(Vec::new());
        delete_namespace(&mut world);
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}});
        let response = world.send(Method::Post, "/api/v1/namespaces/shop/configmaps", map);
        assert_eq!(response.code, 403);
        let before = world.get(Kind::Namespace, "shop");
        assert_eq!(world.send(Method::Delete, "/api/v1/namespaces/shop", Value::Null).code, 200);
        assert_eq!(world.get(Kind::Namespace, "shop"), before);
    }
}
