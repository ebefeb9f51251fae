//! Quotas: counting what is used (pkg/controller/resourcequota). The API server charges new objects itself; here the count
//! is set right when a quota is new or changed, and when something that was charged is gone.

use replank_model::object::Object;
use replank_model::object::pod::Pod;
use replank_model::object::policy::ResourceQuota;
use replank_model::view::{Change, Ix};
use rustc_hash::FxHashSet;

use super::{Ctx, REACTION};
use crate::event::ControlDue;
use crate::event::Event;
use replank_apiserver::quota;

/// The controller.
#[derive(Debug, Default)]
pub(crate) struct Quotas {
    /// Quotas with a count on the agenda, by slot.
    due: FxHashSet<u32>,
}

impl Quotas {
    pub(crate) fn watch(&mut self, ctx: &mut Ctx<'_>, change: &Change) {
        let Change::Object { slot, old, new } = change else { return };
        match (old, new) {
            (old, Some(Object::ResourceQuota(quota))) => {
                let is_counted = match old {
                    Some(Object::ResourceQuota(old)) => old.spec == quota.spec,
                    Some(_) | None => false,
                };
                if !is_counted {
                    self.count_soon(ctx, *slot);
                }
            }
            _ if ctx.view().resource_quotas.is_empty() => {}
            (Some(Object::Pod(old)), Some(Object::Pod(new))) => {
                if has_ended(old, new) {
                    self.replenish(ctx, &Object::Pod(new.clone()));
                }
            }
            (Some(gone), None) => self.replenish(ctx, gone),
            (Some(_) | None, Some(_) | None) => {}
        }
    }

    pub(crate) fn handle(&mut self, ctx: &mut Ctx<'_>, slot: u32) {
        self.due.remove(&slot);
        let Some(known) = ctx.view().resource_quotas.get(Ix::<ResourceQuota>::new(slot)).cloned() else {
            return;
        };
        let used = quota::used_of(ctx.view(), &known, ctx.api.now());
        if used != known.status.used || known.spec.hard != known.status.hard {
            let written = ctx.api.modify::<ResourceQuota>(&known.meta.key(), |quota| {
                quota.status.hard = quota.spec.hard.clone();
                quota.status.used = used;
            });
            debug_assert!(written.is_ok(), "the quota was just read");
        }
    }

    fn replenish(&mut self, ctx: &mut Ctx<'_>, object: &Object) {
        for known in quota::quotas_in(ctx.view(), &object.meta().namespace) {
            if let Some(ix) = ctx.view().resource_quotas.find(&known.meta.key()) {
                self.count_soon(ctx, ix.raw());
            }
        }
    }

    fn count_soon(&mut self, ctx: &mut Ctx<'_>, slot: u32) {
        if self.due.insert(slot) {
            ctx.agenda.after(REACTION, Event::Control(ControlDue::Quota(slot)));
        }
    }
}

fn has_ended(old: &Pod, new: &Pod) -> bool {
    !old.is_terminal() && new.is_terminal()
}

#[cfg(test)]
mod tests {
    use replank_model::object::Kind;
    use replank_model::time::Span;
    use serde_json::{Value, json};

    use super::*;
    use crate::World;
    use crate::testing::world;
    use replank_apiserver::json::{Method, Response};

    const PODS: &str = "/api/v1/namespaces/shop/pods";

    fn limited(hard: &Value) -> World {
        let mut world = world(Vec::new());
        world.apply(json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {"hard": hard}}));
        world.pass(Span::from_secs(1));
        world
    }

    fn create(world: &mut World, name: &str, requests: &Value) -> Response {
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
            "spec": {"containers": [{"name": "c", "image": "i", "resources": {"requests": requests}}]}});
        world.send(Method::Post, PODS, pod)
    }

    fn used(world: &World) -> Vec<String> {
        let Some(Object::ResourceQuota(quota)) = world.get(Kind::ResourceQuota, "q") else {
            panic!("it is there")
        };
        quota.status.used.iter().map(|(name, quantity)| format!("{name}={quantity}")).collect()
    }

    #[test]
    fn what_is_left_decides_and_comes_back() {
        let mut world = limited(&json!({"pods": "2"}));
        let nothing = json!({});
        assert_eq!(create(&mut world, "a", &nothing).code, 201);
        assert_eq!(create(&mut world, "b", &nothing).code, 201);
        let refused = create(&mut world, "c", &nothing);
        let words =
            "pods \"c\" is forbidden: exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2";
        assert_eq!((refused.code, refused.body["message"].as_str()), (403, Some(words)));
        world.send(Method::Delete, &format!("{PODS}/a"), Value::Null);
        assert_eq!(used(&world), ["pods=2"], "the controller has not counted yet");
        world.pass(Span::from_millis(20));
        assert_eq!(used(&world), ["pods=1"]);
        assert_eq!(create(&mut world, "c", &nothing).code, 201);
    }

    #[test]
    fn a_raised_quota_counts_once_the_controller_has_seen_it() {
        let mut world = limited(&json!({"pods": "1"}));
        assert_eq!(create(&mut world, "a", &json!({})).code, 201);
        let raised = json!({"spec": {"hard": {"pods": "2"}}});
        world.send(Method::Patch, "/api/v1/namespaces/shop/resourcequotas/q", raised);
        assert_eq!(create(&mut world, "b", &json!({})).code, 403);
        world.pass(Span::from_millis(20));
        assert_eq!(create(&mut world, "b", &json!({})).code, 201);
    }

    #[test]
    fn compute_resources_must_be_said_and_add_up() {
        let mut world = limited(&json!({"requests.cpu": "1", "count/configmaps": "1"}));
        let words = "pods \"a\" is forbidden: failed quota: q: must specify requests.cpu for: c";
        assert_eq!(create(&mut world, "a", &json!({})).body["message"].as_str(), Some(words));
        assert_eq!(create(&mut world, "a", &json!({"cpu": "600m"})).code, 201);
        let words = "pods \"b\" is forbidden: exceeded quota: q, requested: requests.cpu=600m, used: \
                     requests.cpu=600m, limited: requests.cpu=1";
        assert_eq!(create(&mut world, "b", &json!({"cpu": "600m"})).body["message"].as_str(), Some(words));
        let map = |name: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
        let maps = "/api/v1/namespaces/shop/configmaps";
        assert_eq!(world.send(Method::Post, maps, map("x")).code, 201);
        assert_eq!(world.send(Method::Post, maps, map("y")).code, 403);
    }
}
