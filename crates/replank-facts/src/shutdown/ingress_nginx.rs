//! The controller of ingress-nginx: how long it serves after SIGTERM.
//!
//! From the signal on it is not ready; after `--shutdown-grace-period` it tells nginx to quit, which closes the listener and serves
//! what is open for `worker-shutdown-timeout`; it ends `--post-shutdown-grace-period` later. Its hook, `/wait-shutdown`, sends the signal itself and waits
//! for that end.
//!
//! Sources: ingress-nginx `internal/ingress/controller/nginx.go`, `pkg/flags/flags.go`, `internal/ingress/controller/config/config.go`.

use replank_model::object::pod::{Container, Pod};
use replank_model::time::Span;
use replank_model::view::View;
use serde_json::Value;

use super::drain::{Drain, Listener, Serving};
use super::settings::config_map;

/// `worker-shutdown-timeout`, by default.
const WORKERS: Span = Span::from_secs(240);
/// `--post-shutdown-grace-period`, by default.
const POST: Span = Span::from_secs(10);

/// The controller among the containers of a pod, by its image.
pub(super) fn controller_of(pod: &Pod) -> Option<&Container> {
    pod.spec.containers.iter().find(|container| {
        let name = container.image.split(['@']).next().unwrap_or_default();
        let mut parts = name.rsplit('/');
        let last = parts.next().unwrap_or_default().split(':').next().unwrap_or_default();
        last == "nginx-ingress-controller"
            || (matches!(last, "controller" | "controller-chroot") && parts.next() == Some("ingress-nginx"))
    })
}

/// What it does after SIGTERM.
pub(super) fn drain(view: &View, pod: &Pod, container: &Container) -> Drain {
    let arguments = arguments(pod, container);
    let flag = |name: &str| arguments.iter().find_map(|one| one.strip_prefix(name)?.strip_prefix('='));
    let seconds = |name| flag(name).and_then(|text| text.parse().ok()).map(Span::from_secs);
    let accepts = seconds("--shutdown-grace-period").unwrap_or_default();
    let post = seconds("--post-shutdown-grace-period").unwrap_or(POST);
    let named = flag("--configmap").and_then(|name| name.rsplit('/').next());
    let data = named.and_then(|name| config_map(view, pod.meta.namespace.text(), name));
    let set = data.as_ref().and_then(|data| data["worker-shutdown-timeout"].as_str());
    let workers = set.and_then(|text| text.parse::<Span>().ok()).unwrap_or(WORKERS);
    Drain {
        serving: Serving::UntilIdle { at_least: accepts + post, at_most: Some(accepts + workers + post) },
        listener: Listener::For(accepts),
    }
}

fn arguments(pod: &Pod, container: &Container) -> Vec<String> {
    let spec = pod.spec.raw.as_deref().and_then(|raw| serde_json::from_str::<Value>(raw).ok());
    let spec = spec.unwrap_or_default();
    let all = spec["containers"].as_array().into_iter().flatten();
    let own = all.filter(|one| one["name"].as_str() == Some(&container.name));
    let args = own.flat_map(|one| [&one["command"], &one["args"]]).filter_map(Value::as_array).flatten();
    args.filter_map(|one| one.as_str().map(str::to_owned)).collect()
}
