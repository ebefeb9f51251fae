//! What a pod does from its deletion on, as far as its spec and the settings of its proxy tell.

use replank_model::object::pod::{Container, Pod};
use replank_model::time::Span;
use replank_model::view::View;

use super::drain::{Drain, Listener, Serving};
use super::hook::pre_stop;
use super::istio::{self, is_native_sidecar, proxy_of};
use super::{SIGNAL_MIN, ingress_nginx};

/// How a pod takes its leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leave {
    /// How long the preStop hook takes.
    pub pre_stop: Span,
    /// How long it serves after SIGTERM.
    pub serving: Serving,
    /// How long it accepts connections after SIGTERM.
    pub listener: Listener,
    /// `terminationGracePeriodSeconds`.
    pub grace: Span,
}

impl Leave {
    /// What a pod's spec tells, its sidecar proxy before its other containers: Istio's accepts and serves for as long as its
    /// settings say, from the end of its own hook on, for no container waits for the hook of another. One that is a native sidecar gets its
    /// signal after the others, so that these decide. Of processes whose settings are not known nobody knows how long they take;
    /// `serving` is the caller's assumption.
    #[must_use]
    pub fn of(view: &View, pod: &Pod, serving: Span) -> Self {
        let grace = Span::from_secs(grace_seconds(pod));
        let proxy = proxy_of(pod).filter(|proxy| !is_native_sidecar(proxy));
        if let Some(proxy) = proxy.or_else(|| ingress_nginx::controller_of(pod)) {
            let (pre_stop, drain) = (pre_stop(proxy).unwrap_or_default(), drain_of(view, pod, proxy));
            let drain = drain.unwrap_or(Drain::assumed(serving));
            return Self { pre_stop, serving: drain.serving, listener: drain.listener, grace };
        }
        let pre_stop = pod.spec.containers.iter().filter_map(pre_stop).max().unwrap_or_default();
        let drain = Drain::assumed(serving);
        Self { pre_stop, serving: drain.serving, listener: drain.listener, grace }
    }

    /// How long it would take without a grace, if the last request has its answer at `idle`.
    pub(super) fn wanted(&self, idle: Span) -> Span {
        match self.serving {
            Serving::For(span) => self.pre_stop + span,
            Serving::UntilIdle { at_least, at_most } => {
                let idle = (self.pre_stop + at_least).max(idle);
                at_most.map_or(idle, |most| idle.min(self.pre_stop + most))
            }
        }
    }

    /// When its last container ends, if the last request has its answer at `idle`.
    #[must_use]
    pub fn exit(&self, idle: Span) -> Span {
        if self.pre_stop >= self.grace && self.pre_stop > Span::ZERO {
            return self.grace + SIGNAL_MIN;
        }
        self.wanted(idle).min(self.grace)
    }

    /// From when it accepts no connection, if its last container ends at `exit`.
    #[must_use]
    pub fn accepts_until(&self, exit: Span) -> Span {
        match self.listener {
            Listener::ClosesAtSignal => self.pre_stop.min(exit),
            Listener::For(span) => (self.pre_stop + span).min(exit),
        }
    }
}

/// What a container does after SIGTERM as its settings say, if it is one whose settings are known.
fn drain_of(view: &View, pod: &Pod, container: &Container) -> Option<Drain> {
    if proxy_of(pod).is_some_and(|proxy| proxy.name == container.name) {
        return Some(istio::drain(view, pod, container));
    }
    let is_controller = ingress_nginx::controller_of(pod).is_some_and(|one| one.name == container.name);
    is_controller.then(|| ingress_nginx::drain(view, pod, container))
}

/// How long a pod would take to stop without a grace, if nobody is connected: its slowest container, each with its own hook and settings. `own`
/// is what a process takes of which nothing is known. A native sidecar ends after the others, and Istio's at once.
#[must_use]
pub fn stops_after(view: &View, pod: &Pod, own: Span) -> Span {
    let of = |container: &Container| {
        let drain = drain_of(view, pod, container).unwrap_or(Drain::assumed(own));
        let serves = match drain.serving {
            Serving::For(span) => span,
            Serving::UntilIdle { at_least, .. } => at_least,
        };
        pre_stop(container).unwrap_or_default() + serves
    };
    pod.spec.containers.iter().map(of).max().unwrap_or(own)
}

/// What the deletion has granted, or else what the spec asks for.
fn grace_seconds(pod: &Pod) -> i64 {
    let granted = pod.meta.deletion_grace_period_seconds.filter(|_| pod.is_terminating());
    granted.unwrap_or_else(|| pod.grace_seconds())
}

#[cfg(test)]
mod tests {
    use replank_model::delta::Delta;
    use replank_model::object::Object;
    use serde_json::{Value, json};

    use super::*;
    use crate::shutdown::ISTIO_DRAIN;

    fn leave(annotations: &Value, containers: &Value) -> Leave {
        let pod = json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "p", "namespace": "shop", "uid": "p", "annotations": annotations},
            "spec": {"terminationGracePeriodSeconds": 40, "containers": containers}});
        match Object::from_json(pod) {
            Ok(Object::Pod(pod)) => Leave::of(&View::default(), &pod, Span::from_secs(3)),
            other => panic!("{other:?}"),
        }
    }

    fn hook(hook: &Value) -> Leave {
        leave(&json!({}), &json!([{"name": "a", "image": "i", "lifecycle": {"preStop": hook}}]))
    }

    #[test]
    fn hooks_that_sleep_tell_how_long() {
        for (told, seconds) in [
            (json!({"sleep": {"seconds": 15}}), 15),
            (json!({"exec": {"command": ["sleep", "15"]}}), 15),
            (json!({"exec": {"command": ["/bin/sleep", "20s"]}}), 20),
            (json!({"exec": {"command": ["/bin/sh", "-c", "sleep 10 && nginx -s quit"]}}), 10),
            (json!({"exec": {"command": ["/bin/sh", "-c", "sleep 1m"]}}), 60),
            (json!({"exec": {"command": ["sh", "-c", "(sleep 5; nginx -s quit); sleep '10'"]}}), 15),
            (json!({"exec": {"command": ["sh", "-c", "while pgrep nginx; do sleep 1; done"]}}), 0),
            (json!({"exec": {"command": ["sh", "-c", "sleep $DELAY"]}}), 0),
            (json!({"exec": {"command": ["/bin/sh", "-c", "nginx -s quit"]}}), 0),
            (json!({"httpGet": {"path": "/quit"}}), 0),
        ] {
            assert_eq!(hook(&told).pre_stop, Span::from_secs(seconds), "{told}");
        }
    }

    #[test]
    fn what_is_no_proxy_closes_its_listener_and_takes_what_is_assumed() {
        let plain = hook(&json!({"sleep": {"seconds": 15}}));
        assert_eq!(plain.serving, Serving::For(Span::from_secs(3)));
        assert_eq!((plain.listener, plain.grace), (Listener::ClosesAtSignal, Span::from_secs(40)));
        assert_eq!(plain.exit(Span::ZERO), Span::from_secs(18));
        assert_eq!(plain.accepts_until(Span::from_secs(18)), Span::from_secs(15));
    }

    #[test]
    fn istios_proxy_serves_as_its_settings_say() {
        let containers = json!([{"name": "a", "image": "i"}, {"name": "istio-proxy", "image": "p"}]);
        let default = leave(&json!({}), &containers);
        assert_eq!(default.serving, Serving::For(Span::from_secs(5)));
        assert_eq!(default.listener, Listener::For(Span::from_secs(45)));
        let yaml = "terminationDrainDuration: 30s\ndrainDuration: 60s\n";
        let set = leave(&json!({"proxy.istio.io/config": yaml}), &containers);
        assert_eq!(set.serving, Serving::For(Span::from_secs(30)));
        assert_eq!(set.listener, Listener::For(Span::from_secs(60)));
        let json_form =
            r#"{"proxyMetadata":{"EXIT_ON_ZERO_ACTIVE_CONNECTIONS":"true","MINIMUM_DRAIN_DURATION":"20s"}}"#;
        let idle = leave(&json!({"proxy.istio.io/config": json_form}), &containers);
        assert_eq!(idle.serving, Serving::UntilIdle { at_least: Span::from_secs(20), at_most: None });
    }

    #[test]
    fn a_proxy_waits_for_no_hook_but_its_own() {
        let sleeps = |seconds: i64| json!({"preStop": {"sleep": {"seconds": seconds}}});
        let app = json!({"name": "a", "image": "i", "lifecycle": sleeps(15)});
        let alone = leave(&json!({}), &json!([app, {"name": "istio-proxy", "image": "p"}]));
        assert_eq!((alone.pre_stop, alone.exit(Span::ZERO)), (Span::ZERO, ISTIO_DRAIN));
        let own = json!({"name": "istio-proxy", "image": "p", "lifecycle": sleeps(20)});
        assert_eq!(leave(&json!({}), &json!([app, own])).pre_stop, Span::from_secs(20));
        let native = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "shop", "uid": "p"},
            "spec": {"containers": [app], "initContainers": [{"name": "istio-proxy", "image": "p", "restartPolicy": "Always"}]}});
        let Ok(Object::Pod(native)) = Object::from_json(native) else { panic!("a pod") };
        let native = Leave::of(&View::default(), &native, Span::from_secs(3));
        assert_eq!((native.pre_stop, native.listener), (Span::from_secs(15), Listener::ClosesAtSignal));
        assert_eq!(native.serving, Serving::For(Span::from_secs(3)));
    }

    #[test]
    fn a_gateway_is_known_by_its_image_and_an_init_container_is_no_proxy() {
        for image in ["docker.io/istio/proxyv2:1.28.0", "proxyv2", "reg:5000/mesh/proxyv2@sha256:00"] {
            let gateway = leave(&json!({}), &json!([{"name": "gateway", "image": image}]));
            assert_eq!(gateway.serving, Serving::For(ISTIO_DRAIN), "{image}");
        }
        for image in ["istio/pilot:1.28.0", "proxyv2-exporter:1", "proxyv2/app:1"] {
            let other = leave(&json!({}), &json!([{"name": "gateway", "image": image}]));
            assert_eq!(other.listener, Listener::ClosesAtSignal, "{image}");
        }
        let with = |init: &Value| {
            let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "shop", "uid": "p"},
                "spec": {"containers": [{"name": "a", "image": "i"}], "initContainers": [init]}});
            match Object::from_json(pod) {
                Ok(Object::Pod(pod)) => proxy_of(&pod).is_some(),
                other => panic!("{other:?}"),
            }
        };
        assert!(!with(&json!({"name": "istio-init", "image": "istio/proxyv2:1"})));
        assert!(with(&json!({"name": "istio-proxy", "image": "istio/proxyv2:1", "restartPolicy": "Always"})));
    }

    #[test]
    fn the_environment_of_the_proxy_speaks_where_the_annotation_is_silent() {
        let proxy = |env: &Value| json!([{"name": "istio-proxy", "image": "p", "env": env}]);
        let of_mesh = json!([{"name": "PROXY_CONFIG", "value": "{\"terminationDrainDuration\":\"20s\",\"drainDuration\":\"60s\"}"}]);
        let mesh = leave(&json!({}), &proxy(&of_mesh));
        assert_eq!(mesh.serving, Serving::For(Span::from_secs(20)));
        assert_eq!(mesh.listener, Listener::For(Span::from_secs(60)));
        let own = json!({"proxy.istio.io/config": "terminationDrainDuration: 30s"});
        assert_eq!(leave(&own, &proxy(&of_mesh)).serving, Serving::For(Span::from_secs(30)));
        let idle = json!([{"name": "EXIT_ON_ZERO_ACTIVE_CONNECTIONS", "value": "true"}]);
        assert_eq!(
            leave(&json!({}), &proxy(&idle)).serving,
            Serving::UntilIdle { at_least: ISTIO_DRAIN, at_most: None }
        );
        let of_another =
            json!([{"name": "istio-proxy", "image": "p"}, {"name": "a", "image": "i", "env": idle}]);
        assert_eq!(leave(&json!({}), &of_another).serving, Serving::For(ISTIO_DRAIN));
    }

    #[test]
    fn a_variable_of_istio_overrides_its_configuration() {
        let seconds = json!([{"name": "TERMINATION_DRAIN_DURATION_SECONDS", "value": "35"},
            {"name": "PROXY_CONFIG", "value": "{\"terminationDrainDuration\":\"20s\"}"}]);
        let proxy = json!([{"name": "istio-proxy", "image": "p", "env": seconds}]);
        let own = json!({"proxy.istio.io/config": "terminationDrainDuration: 30s"});
        assert_eq!(leave(&own, &proxy).serving, Serving::For(Span::from_secs(35)));
        let metadata = json!({"proxy.istio.io/config": r#"{"proxyMetadata":{"TERMINATION_DRAIN_DURATION_SECONDS":"12"}}"#});
        let plain = json!([{"name": "istio-proxy", "image": "p"}]);
        assert_eq!(leave(&metadata, &plain).serving, Serving::For(Span::from_secs(12)));
    }

    /// A pod in a cluster that has a ConfigMap.
    fn beside(map: &Value, pod: &Value) -> (View, replank_model::object::pod::Pod) {
        let mut view = View::default();
        view.apply(Delta::Put(Object::from_json(map.clone()).expect("a ConfigMap")));
        match Object::from_json(pod.clone()) {
            Ok(Object::Pod(pod)) => (view, (*pod).clone()),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_mesh_s_own_configuration_holds_where_nothing_else_is_said() {
        let map = |name: &str| {
            json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": "istio-system", "uid": "m"},
            "data": {"mesh": "defaultConfig:\n  terminationDrainDuration: 25s\n"}})
        };
        let pod = |labels: Value| {
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "shop", "uid": "p", "labels": labels},
            "spec": {"containers": [{"name": "istio-proxy", "image": "p"}]}})
        };
        let serving = |map: &Value, pod: &Value| {
            let (view, pod) = beside(map, pod);
            Leave::of(&view, &pod, Span::ZERO).serving
        };
        let set = Serving::For(Span::from_secs(25));
        assert_eq!(serving(&map("istio"), &pod(json!({}))), set);
        assert_eq!(serving(&map("istio-1-28"), &pod(json!({"istio.io/rev": "1-28"}))), set);
        assert_eq!(serving(&map("istio-1-28"), &pod(json!({}))), Serving::For(ISTIO_DRAIN));
    }

    #[test]
    fn the_nginx_controller_accepts_and_serves_as_its_flags_and_its_configmap_say() {
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", "namespace": "shop", "uid": "m"},
            "data": {"worker-shutdown-timeout": "60s"}});
        let pod = |image: &str, args: Value| {
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "shop", "uid": "p"},
            "spec": {"terminationGracePeriodSeconds": 300, "containers": [{"name": "controller", "image": image, "args": args,
                "lifecycle": {"preStop": {"exec": {"command": ["/wait-shutdown"]}}}}]}})
        };
        let flags = json!([
            "/nginx-ingress-controller",
            "--configmap=$(POD_NAMESPACE)/settings",
            "--shutdown-grace-period=20"
        ]);
        for image in [
            "registry.k8s.io/ingress-nginx/controller:v1.13@sha256:ab",
            "quay.io/x/nginx-ingress-controller:0.26",
        ] {
            let (view, controller) = beside(&map, &pod(image, flags.clone()));
            let leave = Leave::of(&view, &controller, Span::ZERO);
            assert_eq!(leave.accepts_until(leave.exit(Span::ZERO)), Span::from_secs(20));
            assert_eq!(leave.exit(Span::ZERO), Span::from_secs(30), "idle, it ends at once");
            assert_eq!(leave.exit(Span::from_secs(70)), Span::from_secs(70));
            assert_eq!(
                leave.exit(Span::from_minutes(60)),
                Span::from_secs(90),
                "60 s after it began to quit, and 10 s"
            );
            assert_eq!(stops_after(&view, &controller, Span::ZERO), Span::from_secs(30));
        }
        let (view, default) = beside(&map, &pod("registry.k8s.io/ingress-nginx/controller:v1", json!([])));
        assert_eq!(Leave::of(&view, &default, Span::ZERO).exit(Span::from_minutes(60)), Span::from_secs(250));
        let (view, other) = beside(&map, &pod("reg/other/controller:v1", flags));
        assert_eq!(Leave::of(&view, &other, Span::from_secs(3)).listener, Listener::ClosesAtSignal);
    }

    #[test]
    fn a_pod_stops_when_its_slowest_container_has() {
        let stops = |containers: Value| {
            let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "shop", "uid": "p"},
                "spec": {"containers": containers}});
            let Ok(Object::Pod(pod)) = Object::from_json(pod) else { panic!("a pod") };
            stops_after(&View::default(), &pod, Span::from_secs(1))
        };
        let hooked = json!({"name": "a", "image": "i",
            "lifecycle": {"preStop": {"exec": {"command": ["/bin/sh", "-c", "sleep 15"]}}}});
        let proxy = json!({"name": "istio-proxy", "image": "p"});
        assert_eq!(stops(json!([hooked])), Span::from_secs(16));
        assert_eq!(stops(json!([{"name": "a", "image": "i"}, proxy])), ISTIO_DRAIN);
        assert_eq!(stops(json!([hooked, proxy])), Span::from_secs(16));
    }
}
