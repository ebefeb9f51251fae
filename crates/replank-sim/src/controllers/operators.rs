//! Operators: the controllers of custom resources, which are not simulated, only assumed.
//!
//! An evicted pod of a custom resource comes back in a real cluster, so a rehearsal in which it did not would warn of things
//! that never happen. What is assumed is the least that every operator does:
//!
//! - a pod that is kept up (restartPolicy Always) is made again as it was, under a new name as soon as it is on its way out where
//!   its name was generated, else under its own name when it is gone;
//! - a pod that ends by itself (Never, OnFailure) is not made again: what its operator does about a lost run differs.
//!
//! What Argo's workflow controller does is in [`super::workflows`].
//!
//! Nothing of this happens unless [`Operators::assume`] is called: recordings of a control plane have no operators.

use std::collections::BTreeMap;

use replank_model::object::meta::{Key, Meta};
use replank_model::object::pod::{Pod, RestartPolicy};
use replank_model::object::{Kind, Object};
use replank_model::time::Span;
use replank_model::view::{Change, View};

use super::Ctx;
use crate::event::{ControlDue, Event, OperatorsDue as Due};
use replank_apiserver::draw::Purpose;

/// Time that an operator takes to notice a change and to act on it: one look, with the writes that come before a pod.
pub const REACTION: (Span, Span) = (Span::from_secs(1), Span::from_secs(5));

/// All of them.
#[derive(Debug, Default)]
pub(crate) struct Operators {
    is_assumed: bool,
    /// Pods that are to be made, by number.
    making: BTreeMap<u64, Pod>,
    next: u64,
}

impl Operators {
    /// Assumes operators from now on.
    pub(crate) fn assume(&mut self) {
        self.is_assumed = true;
    }

    pub(crate) fn watch(&mut self, ctx: &mut Ctx<'_>, change: &Change) {
        let Change::Object { old, new, .. } = change else { return };
        if !self.is_assumed {
            return;
        }
        match (old, new) {
            (Some(Object::Pod(old)), Some(Object::Pod(new))) => {
                if !old.is_terminating() && new.is_terminating() && new.meta.generate_name.is_some() {
                    self.make_soon(ctx, new);
                }
            }
            (Some(Object::Pod(gone)), None)
                if gone.meta.generate_name.is_none() || !gone.is_terminating() =>
            {
                self.make_soon(ctx, gone);
            }
            (Some(_) | None, Some(_) | None) => {}
        }
    }

    pub(crate) fn handle(&mut self, ctx: &mut Ctx<'_>, Due(number): Due) {
        let Some(pod) = self.making.remove(&number) else { return };
        if is_wanted(ctx.view(), &pod) {
            // A name that is taken meanwhile, or a namespace on its way out: the operator has nothing to do.
            let _refused = ctx.api.create(pod);
        }
    }

    fn make_soon(&mut self, ctx: &mut Ctx<'_>, pod: &Pod) {
        if !is_kept_up(pod) || !is_wanted(ctx.view(), pod) {
            return;
        }
        let number = self.next;
        self.next += 1;
        self.making.insert(number, again(pod));
        let draw = ctx.draws.draw(pod.meta.uid.as_str(), Purpose::Operator, 0);
        let after = draw.between(REACTION.0, REACTION.1);
        ctx.agenda.after(after, Event::Control(ControlDue::Operators(Due(number))));
    }
}

/// Whether a pod belongs to a custom resource that keeps it up.
#[must_use]
pub fn is_kept_up(pod: &Pod) -> bool {
    let is_custom =
        pod.meta.controller().is_some_and(|owner| Kind::of(&owner.api_version, &owner.kind).is_none());
    is_custom && pod.spec.restart_policy.is_none_or(|policy| policy == RestartPolicy::Always)
}

/// Whether the owner of a pod is there and is to stay.
fn is_wanted(view: &View, pod: &Pod) -> bool {
    let owner = pod.meta.controller();
    let found = owner.and_then(|owner| {
        let group = owner.api_version.split_once('/').map_or("", |(group, _)| group);
        let key = Key { namespace: pod.meta.namespace.clone(), name: owner.name.clone() };
        view.other(group, &owner.kind, &key).filter(|found| found.meta.uid == owner.uid)
    });
    found.is_some_and(|found| found.meta.deletion_timestamp.is_none())
}

/// The pod as it was made first.
pub(super) fn again(pod: &Pod) -> Pod {
    let known = &pod.meta;
    let name = if known.generate_name.is_some() { Default::default() } else { known.name.clone() };
    Pod {
        meta: Meta {
            name,
            generate_name: known.generate_name.clone(),
            namespace: known.namespace.clone(),
            labels: known.labels.clone(),
            annotations: known.annotations.clone(),
            finalizers: known.finalizers.clone(),
            owner_references: known.owner_references.clone(),
            ..Meta::default()
        },
        spec: pod.spec.clone(),
        ..Pod::default()
    }
}

#[cfg(test)]
mod tests {
    use replank_model::object::meta::Key;
    use replank_model::object::{Kind, Object};
    use serde_json::{Value, json};

    use super::*;
    use crate::World;
    use crate::testing::{node, running, world};
    use replank_apiserver::json::Method;

    fn of(owner: &str, kind: &str, mut pod: Value, more: &Value) -> Value {
        pod["metadata"]["ownerReferences"] = json!([{"apiVersion": "argoproj.io/v1alpha1", "kind": kind, "name": owner, "uid": owner, "controller": true}]);
        for (key, value) in more.as_object().expect("an object") {
            for (name, value) in value.as_object().expect("an object") {
                pod[key][name] = value.clone();
            }
        }
        pod
    }

    fn custom(kind: &str, name: &str) -> Value {
        json!({"apiVersion": "argoproj.io/v1alpha1", "kind": kind, "metadata": {"name": name, "namespace": "shop", "uid": name}})
    }

    fn pods(world: &World) -> Vec<(String, bool)> {
        let pods = world.view().pods.sorted();
        pods.iter().map(|(_, pod)| (pod.meta.name.to_string(), pod.is_terminating())).collect()
    }

    fn delete(world: &mut World, name: &str) {
        let path = format!("/api/v1/namespaces/shop/pods/{name}");
        let response = world.send(Method::Delete, &path, json!({"gracePeriodSeconds": 2}));
        assert_eq!(response.code, 200);
    }

    #[test]
    fn a_pod_that_is_kept_up_comes_back_under_its_own_or_a_generated_name() {
        let generated =
            of("m", "ModelServer", running("m-x1", "n"), &json!({"metadata": {"generateName": "m-"}}));
        let own = of("m", "ModelServer", running("db-0", "n"), &json!({}));
        let mut world = world(vec![node("n", "a"), custom("ModelServer", "m"), generated, own]);
        world.assume_operators();
        delete(&mut world, "m-x1");
        delete(&mut world, "db-0");
        world.pass(Span::from_secs(20));
        let found = pods(&world);
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!(found[0], ("db-0".to_owned(), false));
        assert!(found[1].0.starts_with("m-") && found[1].0 != "m-x1" && !found[1].1, "{found:?}");
        let key = Key::new("shop", "db-0");
        let Some(Object::Pod(again)) = world.view().object(Kind::Pod, &key) else { panic!("it is there") };
        assert_ne!(again.meta.uid.as_str(), "db-0", "another incarnation");
        assert!(again.meta.controller().is_some());
    }

    #[test]
    fn a_pod_that_ends_by_itself_and_one_whose_owner_is_gone_do_not() {
        let once = of("t", "TrainingJob", running("t-0", "n"), &json!({"spec": {"restartPolicy": "Never"}}));
        let orphan = of("gone", "ModelServer", running("g-0", "n"), &json!({}));
        let mut world = world(vec![node("n", "a"), custom("TrainingJob", "t"), once, orphan]);
        world.assume_operators();
        delete(&mut world, "t-0");
        delete(&mut world, "g-0");
        world.pass(Span::from_secs(20));
        assert_eq!(pods(&world), []);
    }

    #[test]
    fn nothing_comes_back_where_operators_are_not_assumed() {
        let mut world = world(vec![
            node("n", "a"),
            custom("ModelServer", "m"),
            of("m", "ModelServer", running("m-0", "n"), &json!({})),
        ]);
        delete(&mut world, "m-0");
        world.pass(Span::from_secs(20));
        assert_eq!(pods(&world), []);
    }
}
