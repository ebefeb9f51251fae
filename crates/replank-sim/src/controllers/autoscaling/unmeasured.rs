//! Horizontal pod autoscalers in a cluster without a metrics API (pkg/controller/podautoscaler `reconcileAutoscaler`):
//! replicas are kept within their bounds, and the conditions say what is missing.

use replank_model::object::autoscaling::{HorizontalPodAutoscaler, HorizontalPodAutoscalerStatus};
use replank_model::object::condition::ConditionStatus;
use replank_model::object::meta::Key;
use replank_model::object::{Object, render};
use replank_model::time::Time;
use serde_json::{Value, json};

use super::super::Ctx;
use super::address;
use replank_apiserver::ApiError;
use replank_apiserver::condition;
use replank_apiserver::json::{Effect, PatchType};

/// What a look found.
enum Found {
    /// The target cannot be read.
    NoScale(ApiError),
    /// The target is not scaled: it is at 0.
    Disabled,
    /// The target is within its bounds, and nothing says more.
    NoMetrics { replicas: i32 },
    /// The target is out of its bounds.
    OutOfBounds { replicas: i32, wanted: i32 },
}

/// Looks at an autoscaler's target.
pub(super) fn look(ctx: &mut Ctx<'_>, scaler: &HorizontalPodAutoscaler) {
    let address = address(ctx.api, scaler);
    let scale = address.as_ref().map_err(Clone::clone).and_then(|address| ctx.api.get_scale(address));
    let mut status = scaler.status.clone();
    let now = ctx.api.timestamp();
    match judge(scaler, scale) {
        Found::NoScale(error) => {
            let message = format!("the HPA controller was unable to get the target's current scale: {error}");
            say(&mut status, now, "AbleToScale", ConditionStatus::False, "FailedGetScale", &message);
        }
        Found::Disabled => {
            got_scale(&mut status, now);
            let message = "scaling is disabled since the replica count of the target is zero";
            say(&mut status, now, "ScalingActive", ConditionStatus::False, "ScalingDisabled", message);
            (status.current_replicas, status.desired_replicas) = (0, 0);
        }
        Found::NoMetrics { replicas } => {
            got_scale(&mut status, now);
            let (reason, message) = missing_metric(scaler);
            say(&mut status, now, "ScalingActive", ConditionStatus::False, reason, &message);
            status.current_replicas = replicas;
        }
        Found::OutOfBounds { replicas, wanted } => {
            let patch = json!({"spec": {"replicas": wanted}});
            let patched = address
                .and_then(|address| ctx.api.patch_scale(&address, PatchType::Merge, &patch, Effect::Real));
            match patched {
                Ok(_) => {
                    let message =
                        format!("the HPA controller was able to update the target scale to {wanted}");
                    say(&mut status, now, "AbleToScale", ConditionStatus::True, "SucceededRescale", &message);
                    (status.current_replicas, status.desired_replicas) = (replicas, wanted);
                    status.last_scale_time = Some(now);
                }
                Err(error) => {
                    let message =
                        format!("the HPA controller was unable to update the target scale: {error}");
                    say(
                        &mut status,
                        now,
                        "AbleToScale",
                        ConditionStatus::False,
                        "FailedUpdateScale",
                        &message,
                    );
                }
            }
        }
    }
    let key: Key = scaler.meta.key();
    let written = ctx.api.modify::<HorizontalPodAutoscaler>(&key, |scaler| scaler.status = status);
    debug_assert!(written.is_ok(), "the autoscaler was just read");
}

fn judge(scaler: &HorizontalPodAutoscaler, scale: Result<Value, ApiError>) -> Found {
    let scale = match scale {
        Ok(scale) => scale,
        Err(error) => return Found::NoScale(error),
    };
    let replicas = scale.pointer("/spec/replicas").and_then(Value::as_i64).unwrap_or(0);
    let replicas = i32::try_from(replicas).unwrap_or(i32::MAX);
    let (least, most) = (scaler.spec.min_replicas.unwrap_or(1), scaler.spec.max_replicas);
    if replicas == 0 && least != 0 {
        Found::Disabled
    } else if replicas > most {
        Found::OutOfBounds { replicas, wanted: most }
    } else if replicas < least {
        Found::OutOfBounds { replicas, wanted: least }
    } else {
        Found::NoMetrics { replicas }
    }
}

fn got_scale(status: &mut HorizontalPodAutoscalerStatus, now: Time) {
    let message = "the HPA controller was able to get the target's current scale";
    say(status, now, "AbleToScale", ConditionStatus::True, "SucceededGetScale", message);
}

fn say(
    status: &mut HorizontalPodAutoscalerStatus,
    now: Time,
    r#type: &str,
    holds: ConditionStatus,
    reason: &str,
    message: &str,
) {
    condition::set(&mut status.conditions, condition::condition(r#type, holds, reason, message), now);
}

/// What the first metric says that cannot be had: reason and message.
fn missing_metric(scaler: &HorizontalPodAutoscaler) -> (&'static str, String) {
    let json = render(&Object::from(scaler.clone()));
    let metric = json.pointer("/spec/metrics/0").cloned().unwrap_or(Value::Null);
    let name = |path: &str| metric.pointer(path).and_then(Value::as_str).unwrap_or("cpu").to_owned();
    let gone = |api: &str, group: &str| {
        format!(
            "the HPA was unable to compute the replica count: unable to fetch metrics from {api} metrics API: the server \
             could not find the requested resource (get {group})"
        )
    };
    match metric.get("type").and_then(Value::as_str) {
        Some("ContainerResource") => {
            ("FailedGetContainerResourceMetric", of_resource(&name("/containerResource/name")))
        }
        Some("Pods") => ("FailedGetPodsMetric", gone("custom", "custom.metrics.k8s.io")),
        Some("Object") => ("FailedGetObjectMetric", gone("custom", "custom.metrics.k8s.io")),
        Some("External") => ("FailedGetExternalMetric", gone("external", "external.metrics.k8s.io")),
        Some(_) | None => ("FailedGetResourceMetric", of_resource(&name("/resource/name"))),
    }
}

fn of_resource(name: &str) -> String {
    format!(
        "the HPA was unable to compute the replica count: failed to get {name} utilization: unable to get metrics for \
         resource {name}: unable to fetch metrics from resource metrics API: the server could not find the requested \
         resource (get pods.metrics.k8s.io)"
    )
}

#[cfg(test)]
mod tests {
    use replank_model::object::{Kind, condition as conditions};
    use replank_model::time::Span;

    use super::super::PERIOD;
    use super::*;
    use crate::World;
    use crate::testing::world;
    use replank_apiserver::json::Method;

    fn scaler(world: &mut World, least: i32, most: i32) {
        world.apply(json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "h"},
            "spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web"},
                "minReplicas": least, "maxReplicas": most}}));
    }

    fn target(world: &mut World, replicas: i32) {
        world.apply(json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "web"},
            "spec": {"replicas": replicas, "serviceName": "web", "selector": {"matchLabels": {"app": "x"}},
                "template": {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}}));
    }

    fn status(world: &World) -> HorizontalPodAutoscalerStatus {
        let Some(Object::HorizontalPodAutoscaler(found)) = world.get(Kind::HorizontalPodAutoscaler, "h")
        else {
            panic!("it is there")
        };
        found.status.clone()
    }

    fn reason(world: &World, r#type: &str) -> String {
        let status = status(world);
        let found = conditions::find(&status.conditions, r#type);
        found.map_or_else(String::new, |condition| format!("{}/{}", condition.status, condition.reason))
    }

    fn replicas(world: &World) -> Option<i32> {
        match world.get(Kind::StatefulSet, "web") {
            Some(Object::StatefulSet(set)) => set.spec.replicas,
            _ => None,
        }
    }

    #[test]
    fn the_first_look_is_a_period_after_the_creation() {
        let mut world = world(Vec::new());
        target(&mut world, 2);
        scaler(&mut world, 1, 5);
        world.pass(PERIOD - Span::from_millis(10));
        assert!(status(&world).conditions.is_empty());
        world.pass(Span::from_millis(20));
        assert_eq!(reason(&world, "AbleToScale"), "True/SucceededGetScale");
        assert_eq!(reason(&world, "ScalingActive"), "False/FailedGetResourceMetric");
        assert_eq!((status(&world).current_replicas, status(&world).desired_replicas), (2, 0));
        let before = world.events();
        world.pass(Span::from_secs(3600));
        assert_eq!(world.events(), before, "nothing changes, so nobody looks");
    }

    #[test]
    fn a_target_that_appears_is_brought_within_its_bounds() {
        let mut world = world(Vec::new());
        scaler(&mut world, 2, 5);
        world.pass(Span::from_secs(16));
        assert_eq!(reason(&world, "AbleToScale"), "False/FailedGetScale");
        target(&mut world, 1);
        world.pass(PERIOD);
        assert_eq!(replicas(&world), Some(2));
        assert_eq!(reason(&world, "AbleToScale"), "True/SucceededRescale");
        assert_eq!((status(&world).current_replicas, status(&world).desired_replicas), (1, 2));
        world.pass(Span::from_secs(15));
        assert_eq!(reason(&world, "AbleToScale"), "True/SucceededGetScale");
        assert_eq!(status(&world).current_replicas, 2);
    }

    #[test]
    fn bounds_hold_above_and_zero_is_left_alone() {
        let mut world = world(Vec::new());
        target(&mut world, 9);
        scaler(&mut world, 2, 5);
        world.pass(Span::from_secs(16));
        assert_eq!(replicas(&world), Some(5));
        let none = json!({"spec": {"replicas": 0}});
        world.send(Method::Patch, "/apis/apps/v1/namespaces/shop/statefulsets/web/scale", none);
        world.pass(Span::from_secs(16));
        assert_eq!(replicas(&world), Some(0));
        assert_eq!(reason(&world, "ScalingActive"), "False/ScalingDisabled");
    }
}
