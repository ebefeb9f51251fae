//! Istio's proxy: which container it is, and how long it drains.
//!
//! Sources: Istio `pkg/envoy/agent.go`, `mesh.go`, `pilot/cmd/pilot-agent/options`.

use replank_model::object::pod::{Container, Pod, RestartPolicy};
use replank_model::time::Span;
use replank_model::view::View;

use super::drain::{Drain, Listener, Serving};
use super::settings::{config_map, env_of};

/// Istio's `terminationDrainDuration`, by default.
pub const ISTIO_DRAIN: Span = Span::from_secs(5);
/// Istio's `drainDuration`, by default: for so long Envoy accepts connections while it drains.
const ISTIO_ACCEPTS: Span = Span::from_secs(45);
/// Where the mesh's own configuration is; a revision's is `istio-REVISION`.
const SYSTEM: (&str, &str) = ("istio-system", "istio");

/// What the proxy does after SIGTERM. An annotation speaks before the container's variables, and these before the mesh's own
/// configuration, which is written into `PROXY_CONFIG` when the proxy is injected. `TERMINATION_DRAIN_DURATION_SECONDS`, a variable or an
/// annotation's `proxyMetadata`, overrides `terminationDrainDuration` wherever that stands.
pub(super) fn drain(view: &View, pod: &Pod, proxy: &Container) -> Drain {
    let config = pod.meta.annotations.value("proxy.istio.io/config").unwrap_or_default();
    let env = env_of(pod, &proxy.name);
    let mesh = mesh(view, pod);
    let value = |name: &str| {
        let of_mesh = || setting(env.get("PROXY_CONFIG")?, name);
        let own = setting(config, name).or_else(|| env.get(name).map(String::as_str));
        own.or_else(of_mesh).or_else(|| setting(mesh.as_deref()?, name))
    };
    let span = |name| value(name).and_then(|text| text.parse::<Span>().ok());
    let overrides = value("TERMINATION_DRAIN_DURATION_SECONDS").and_then(|text| text.parse().ok());
    let serving = if value("EXIT_ON_ZERO_ACTIVE_CONNECTIONS") == Some("true") {
        let at_least = span("MINIMUM_DRAIN_DURATION").unwrap_or(ISTIO_DRAIN);
        Serving::UntilIdle { at_least, at_most: None }
    } else {
        let set = overrides.map(Span::from_secs).or_else(|| span("terminationDrainDuration"));
        Serving::For(set.unwrap_or(ISTIO_DRAIN))
    };
    let listener = Listener::For(span("drainDuration").unwrap_or(ISTIO_ACCEPTS));
    Drain { serving, listener }
}

/// The configuration of the mesh that a pod belongs to, if the snapshot has its ConfigMap.
fn mesh(view: &View, pod: &Pod) -> Option<String> {
    let revision = pod.meta.labels.value("istio.io/rev").filter(|revision| *revision != "default");
    let name = revision.map_or_else(|| SYSTEM.1.to_owned(), |revision| format!("{}-{revision}", SYSTEM.1));
    let data = config_map(view, SYSTEM.0, &name)?;
    data["mesh"].as_str().map(str::to_owned)
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
pub(super) fn is_native_sidecar(container: &Container) -> bool {
    container.restart_policy == Some(RestartPolicy::Always)
}

/// `docker.io/istio/proxyv2:1.28.0`, from whatever registry, by tag or digest.
fn is_proxy_image(image: &str) -> bool {
    let last = image.rsplit('/').next().unwrap_or_default();
    last.split([':', '@']).next() == Some("proxyv2")
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
