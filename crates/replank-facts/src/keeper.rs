//! Who keeps an object as it stands in a repository, and would put it back: Argo CD (docs: Resource Tracking, Skip Reconcile) and
//! Flux (docs: Kustomization, HelmRelease).

use replank_model::object::cluster::Other;
use replank_model::object::meta::{Key, Meta};
use replank_model::object::{Object, render};
use replank_model::text::Text;
use replank_model::view::View;
use replank_protocol::hindrance::Keeper;
use replank_protocol::hindrance::Reconciliation;
use serde_json::Value;

/// Annotation by which Argo CD knows an object: `application:group/kind:namespace/name`.
const TRACKING_ID: &str = "argocd.argoproj.io/tracking-id";
/// Labels by which Argo CD knows an object where it tracks by label. The second is everybody's: it counts where there is such an
/// Application.
pub const INSTANCE: [&str; 2] = ["argocd.argoproj.io/instance", "app.kubernetes.io/instance"];
/// Annotation on an Application that holds it.
const SKIP: &str = "argocd.argoproj.io/skip-reconcile";
/// Prefix of Flux' labels of an object from a Kustomization.
pub const KUSTOMIZE: &str = "kustomize.toolkit.fluxcd.io";
/// Prefix of Flux' labels of an object from a HelmRelease.
pub const HELM: &str = "helm.toolkit.fluxcd.io";

/// Who keeps an object, and whether they are held.
#[must_use]
pub fn keeper(view: &View, meta: &Meta) -> Option<(Keeper, Reconciliation)> {
    argo(view, meta).or_else(|| flux(view, meta))
}

fn argo(view: &View, meta: &Meta) -> Option<(Keeper, Reconciliation)> {
    let tracked = meta.annotations.value(TRACKING_ID).and_then(|id| id.split(':').next());
    let (name, is_sure) = match (tracked, meta.labels.value(INSTANCE[0]), meta.labels.value(INSTANCE[1])) {
        (Some(name), ..) | (None, Some(name), _) => (name, true),
        (None, None, Some(name)) => (name, false),
        (None, None, None) => return None,
    };
    // An Application outside of Argo CD's own namespace is called `namespace_name`.
    let (namespace, plain) = name.split_once('_').map_or((None, name), |(space, name)| (Some(space), name));
    let is_it = |other: &&std::sync::Arc<Other>| {
        other.group() == "argoproj.io"
            && &*other.kind == "Application"
            && other.meta.name.as_str() == plain
            && namespace.is_none_or(|namespace| other.meta.namespace.as_str() == namespace)
    };
    let Some(application) = view.others().find(is_it) else {
        let keeper = Keeper::Application { name: Text::from(name) };
        return is_sure.then_some((keeper, Reconciliation::Unknown));
    };
    let value = render(&Object::Other(application.clone()));
    let automated = value.pointer("/spec/syncPolicy/automated");
    let is_automated =
        automated.is_some_and(|automated| automated.get("enabled").and_then(Value::as_bool) != Some(false));
    let is_held = application.meta.annotations.value(SKIP) == Some("true") || !is_automated;
    let keeper = Keeper::Application { name: Text::from(application.meta.key().to_string()) };
    Some((keeper, if is_held { Reconciliation::Paused } else { Reconciliation::Acting }))
}

fn flux(view: &View, meta: &Meta) -> Option<(Keeper, Reconciliation)> {
    let named = |prefix: &str| {
        let name = meta.labels.value(&format!("{prefix}/name"))?;
        let namespace = meta.labels.value(&format!("{prefix}/namespace"))?;
        Some(Key::new(namespace, name))
    };
    let (prefix, kind, key) = match (named(KUSTOMIZE), named(HELM)) {
        (Some(key), _) => (KUSTOMIZE, "Kustomization", key),
        (None, Some(key)) => (HELM, "HelmRelease", key),
        (None, None) => return None,
    };
    let state = if meta.annotations.value(&format!("{prefix}/reconcile")) == Some("disabled") {
        Reconciliation::Paused
    } else {
        match view.other(prefix, kind, &key) {
            None => Reconciliation::Unknown,
            Some(other) => {
                let value = render(&Object::Other(other.clone()));
                let is_held = value.pointer("/spec/suspend").and_then(Value::as_bool) == Some(true);
                if is_held { Reconciliation::Paused } else { Reconciliation::Acting }
            }
        }
    };
    let keeper =
        if prefix == KUSTOMIZE { Keeper::Kustomization { key } } else { Keeper::HelmRelease { key } };
    Some((keeper, state))
}
