//! Quotas: counting what is used (pkg/controller/resourcequota). The API server charges new objects itself; here the count
//! is set right when a quota is new or changed, and when something that was charged is gone.

use replank_model::object::Object;
use replank_model::object::pod::Pod;
use replank_model::object::policy::ResourceQuota;
use replank_model::object::resources::Resources;
use replank_model::time::{Span, Time};
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
                } else if old_hard(old.as_ref()) != Some(&quota.status.hard)
                    && quota.status.hard != quota.spec.hard
                {
                    // Somebody else wrote the status: nobody looks before the next turn of all quotas.
                    ctx.agenda.at(next_turn(ctx.api.now()), Event::Control(ControlDue::Quota(*slot)));
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

/// When all quotas are counted again (flag `--resource-quota-sync-period`).
fn next_turn(now: Time) -> Time {
    let turn = Span::from_minutes(5).as_millis();
    Time::from_millis((now.as_millis().div_euclid(turn) + 1) * turn)
}

fn old_hard(old: Option<&Object>) -> Option<&Resources> {
    match old {
        Some(Object::ResourceQuota(quota)) => Some(&quota.status.hard),
        Some(_) | None => None,
    }
}

fn has_ended(old: &Pod, new: &Pod) -> bool {
    !old.is_terminal() && new.is_terminal()
}

#[cfg(test)]
mod tests {
    use replank_model::object::Kind;
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
    fn a_status_that_somebody_else_wrote_is_set_right_within_five_minutes() {
        let mut world = limited(&json!({"pods": "1"}));
        let other = json!({"status": {"hard": {"pods": "7"}}});
        let path = "/api/v1/namespaces/shop/resourcequotas/q/status";
        assert_eq!(world.send(Method::Patch, path, other).body["status"]["hard"]["pods"], "7");
        let hard = |world: &World| match world.get(Kind::ResourceQuota, "q") {
            Some(Object::ResourceQuota(quota)) => quota.status.hard.get("pods").map(ToString::to_string),
            Some(_) | None => None,
        };
        world.pass(Span::from_secs(1));
        assert_eq!(hard(&world).as_deref(), Some("7"));
        world.pass(Span::from_minutes(5));
        assert_eq!(hard(&world).as_deref(), Some("1"));
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
