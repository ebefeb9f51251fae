//! What a pod does from its deletion on, as far as its spec tells.

use std::collections::BTreeMap;

use replank_model::object::pod::{Container, Pod, RestartPolicy};
use replank_model::text::Text;
use replank_model::time::Span;
use serde_json::Value;

use super::SIGNAL_MIN;

/// Istio's `terminationDrainDuration`, by default.
pub const ISTIO_DRAIN: Span = Span::from_secs(5);
/// Istio's `drainDuration`, by default: for so long Envoy accepts connections while it drains.
const ISTIO_ACCEPTS: Span = Span::from_secs(45);

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

/// How long a process serves what is open after SIGTERM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Serving {
    /// For so long, then it ends, whatever is open.
    For(Span),
    /// Until nothing is open any more (Istio: `EXIT_ON_ZERO_ACTIVE_CONNECTIONS`).
    UntilIdle {
        /// For so long in any case (Istio: `MINIMUM_DRAIN_DURATION`).
        at_least: Span,
    },
}

/// Until when a process accepts connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listener {
    /// SIGTERM closes it: what most servers do that end in peace.
    ClosesAtSignal,
    /// For so long after SIGTERM (Istio: `drainDuration`).
    For(Span),
}

impl Leave {
    /// What a pod's spec tells, its sidecar proxy before its other containers: Istio's accepts and serves for as long as its
    /// settings say, from the end of its own hook on, for no container waits for the hook of another. One that is a native sidecar gets its
    /// signal after the others, so that these decide. Of other processes nobody knows how long they take; `serving` is the
    /// caller's assumption.
    #[must_use]
    pub fn of(pod: &Pod, serving: Span) -> Self {
        let grace = Span::from_secs(pod.grace_seconds());
        let Some(proxy) = proxy_of(pod).filter(|proxy| !is_native_sidecar(proxy)) else {
            let pre_stop = pod.spec.containers.iter().filter_map(pre_stop).max().unwrap_or_default();
            let serving = Serving::For(serving);
            return Self { pre_stop, serving, listener: Listener::ClosesAtSignal, grace };
        };
        let pre_stop = pre_stop(proxy).unwrap_or_default();
        let config = pod.meta.annotations.value("proxy.istio.io/config").unwrap_or_default();
        let env = env_of(pod, &proxy.name);
        // The mesh's own defaults are written into PROXY_CONFIG when the proxy is injected.
        let value = |name: &str| {
            let of_mesh = || setting(env.get("PROXY_CONFIG")?, name);
            setting(config, name).or_else(|| env.get(name).map(String::as_str)).or_else(of_mesh)
        };
        let waits = value("EXIT_ON_ZERO_ACTIVE_CONNECTIONS") == Some("true");
        let span = |name| value(name).and_then(|text| text.parse::<Span>().ok());
        let serving = if waits {
            Serving::UntilIdle { at_least: span("MINIMUM_DRAIN_DURATION").unwrap_or(ISTIO_DRAIN) }
        } else {
            Serving::For(span("terminationDrainDuration").unwrap_or(ISTIO_DRAIN))
        };
        let listener = Listener::For(span("drainDuration").unwrap_or(ISTIO_ACCEPTS));
        Self { pre_stop, serving, listener, grace }
    }

    /// How long it would take without a grace, if the last request has its answer at `idle`.
    pub(super) fn wanted(&self, idle: Span) -> Span {
        match self.serving {
            Serving::For(span) => self.pre_stop + span,
            Serving::UntilIdle { at_least } => (self.pre_stop + at_least).max(idle),
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

/// Istio's proxy among the containers of a pod, by its name or, as in gateways that are not injected, by its image. A native
/// sidecar counts; `istio-init`, which has the same image and runs once, does not.
#[must_use]
pub fn proxy_of(pod: &Pod) -> Option<&Container> {
    let native = pod.spec.init_containers.iter().filter(|container| is_native_sidecar(container));
    let mut all = pod.spec.containers.iter().chain(native);
    all.find(|container| &*container.name == "istio-proxy" || is_proxy_image(&container.image))
}

/// Among init containers: one that stays until the others have ended (KEP-753).
fn is_native_sidecar(container: &Container) -> bool {
    container.restart_policy == Some(RestartPolicy::Always)
}

/// `docker.io/istio/proxyv2:1.28.0`, from whatever registry, by tag or digest.
fn is_proxy_image(image: &str) -> bool {
    let last = image.rsplit('/').next().unwrap_or_default();
    last.split([':', '@']).next() == Some("proxyv2")
}

/// The variables of a container that have a value of their own.
fn env_of(pod: &Pod, container: &str) -> BTreeMap<String, String> {
    let spec = pod.spec.raw.as_deref().and_then(|raw| serde_json::from_str::<Value>(raw).ok());
    let spec = spec.unwrap_or_default();
    let lists = [&spec["containers"], &spec["initContainers"]];
    let containers = lists.into_iter().filter_map(Value::as_array).flatten();
    let own = containers.filter(|one| one["name"].as_str() == Some(container));
    let env = own.filter_map(|one| one["env"].as_array()).flatten();
    env.filter_map(|one| Some((one["name"].as_str()?.to_owned(), one["value"].as_str()?.to_owned())))
        .collect()
}

/// Whether a hook runs before the signal of which the spec does not tell how long it takes.
#[must_use]
pub fn has_untold_hook(pod: &Pod) -> bool {
    let has_hook = |container: &Container| {
        container.lifecycle.as_ref().is_some_and(|lifecycle| lifecycle.pre_stop.is_some())
    };
    pod.spec.containers.iter().any(|container| has_hook(container) && pre_stop(container).is_none())
}

/// How long a container's hook takes, where it says so: a sleep, or a command that sleeps.
fn pre_stop(container: &Container) -> Option<Span> {
    let hook = container.lifecycle.as_ref()?.pre_stop.as_ref()?;
    if let Some(sleep) = &hook.sleep {
        return Some(Span::from_secs(sleep.seconds));
    }
    slept(&hook.exec.as_ref()?.command)
}

/// `["sleep", "15"]`, `["/bin/sh", "-c", "sleep 15"]`, `["sh", "-c", "sleep 15; nginx -s quit"]`.
fn slept(command: &[Text]) -> Option<Span> {
    let words: Vec<&str> = command.iter().flat_map(|text| text.split([' ', ';', '&', '\n'])).collect();
    let at = words.iter().position(|word| *word == "sleep" || word.ends_with("/sleep"))?;
    let seconds = words.get(at + 1)?.trim_end_matches('s');
    seconds.parse::<f64>().ok().filter(|seconds| (0.0..1e6).contains(seconds)).map(|seconds| {
        // Below a million seconds: the cast holds.
        Span::from_millis((seconds * 1000.0) as i64)
    })
}

/// A member of Istio's proxy configuration, which stands in an annotation as YAML or JSON; its names are unambiguous.
fn setting<'a>(config: &'a str, name: &str) -> Option<&'a str> {
    let mut rest = config;
    loop {
        let at = rest.find(name)?;
        let is_whole = rest[..at].chars().next_back().is_none_or(|before| !before.is_ascii_alphanumeric());
        let (value, is_member) = match rest[at + name.len()..].trim_start_matches('"').strip_prefix(':') {
            Some(value) => (value, is_whole),
            None => ("", false),
        };
        if is_member {
            let quotes = [' ', '"', '\''];
            let value = value.trim_start_matches(quotes);
            let end = value.find(['\n', ',', '}']).unwrap_or(value.len());
            return Some(value[..end].trim_end_matches(quotes).trim());
        }
        rest = &rest[at + name.len()..];
    }
}

#[cfg(test)]
mod tests {
    use replank_model::object::Object;
    use serde_json::{Value, json};

    use super::*;

    fn leave(annotations: &Value, containers: &Value) -> Leave {
        let pod = json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "p", "namespace": "shop", "uid": "p", "annotations": annotations},
            "spec": {"terminationGracePeriodSeconds": 40, "containers": containers}});
        match Object::from_json(pod) {
            Ok(Object::Pod(pod)) => Leave::of(&pod, Span::from_secs(3)),
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
        assert_eq!(idle.serving, Serving::UntilIdle { at_least: Span::from_secs(20) });
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
        let native = Leave::of(&native, Span::from_secs(3));
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
        assert_eq!(leave(&json!({}), &proxy(&idle)).serving, Serving::UntilIdle { at_least: ISTIO_DRAIN });
        let of_another =
            json!([{"name": "istio-proxy", "image": "p"}, {"name": "a", "image": "i", "env": idle}]);
        assert_eq!(leave(&json!({}), &of_another).serving, Serving::For(ISTIO_DRAIN));
    }
}
