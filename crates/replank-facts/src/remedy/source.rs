//! Where people change an object: what is changed in the cluster only is put back, at once or by the next release.

use std::fmt;

use replank_model::object::meta::{Key, Meta};
use replank_model::view::View;
use replank_protocol::hindrance::Keeper;
use serde_json::Value;

use crate::keeper::keeper;

/// Annotations and the label by which Helm knows what it has installed (helm.sh/docs/topics/charts: "Labels and annotations").
const RELEASE: &str = "meta.helm.sh/release-name";
const RELEASE_NAMESPACE: &str = "meta.helm.sh/release-namespace";
const MANAGED_BY: &str = "app.kubernetes.io/managed-by";

/// Where an object is changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// What renders it from files.
    Rendered(Renderer),
    /// The `manifest` of a `kubernetes_manifest` of Terraform (its field manager is `Terraform` by default: docs of the resource).
    Manifest,
    /// Another resource of Terraform's Kubernetes provider, which writes as `HashiCorp` (its user agent: `HashiCorp/1.0 Terraform/…`).
    Resource,
}

/// What renders objects from files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Renderer {
    /// Argo CD or Flux, from a repository.
    Repository(Keeper),
    /// A Helm release, from its chart and values.
    Release(Key),
}

impl fmt::Display for Renderer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Repository(keeper) => keeper.fmt(f),
            Self::Release(release) => write!(f, "Helm release {release}"),
        }
    }
}

impl Renderer {
    /// The tool: `argocd`, `flux` or `helm`.
    pub(super) fn tool(&self) -> &'static str {
        match self {
            Self::Repository(Keeper::Application { .. }) => "argocd",
            Self::Repository(Keeper::Kustomization { .. } | Keeper::HelmRelease { .. }) => "flux",
            Self::Release(_) => "helm",
        }
    }

    /// Whether Argo CD is it. It renders charts itself: what a release of the same name has rendered is nothing to it.
    pub(super) fn is_argo(&self) -> bool {
        match self {
            Self::Repository(Keeper::Application { .. }) => true,
            Self::Repository(Keeper::Kustomization { .. } | Keeper::HelmRelease { .. })
            | Self::Release(_) => false,
        }
    }
}

impl Source {
    /// Where an object is changed; `None` where nothing says so, and where something in the cluster has made it.
    pub(super) fn of(view: &View, meta: &Meta) -> Option<Self> {
        if meta.controller().is_some() {
            return None;
        }
        if let Some((keeper, _)) = keeper(view, meta) {
            return Some(Self::Rendered(Renderer::Repository(keeper)));
        }
        if let Some(release) = release(meta) {
            return Some(Self::Rendered(Renderer::Release(release)));
        }
        let managers = managers(meta);
        let is_of = |name: &str| managers.iter().any(|manager| manager == name);
        if is_of("Terraform") {
            return Some(Self::Manifest);
        }
        is_of("HashiCorp").then_some(Self::Resource)
    }
}

/// The release that has installed an object.
pub(super) fn release(meta: &Meta) -> Option<Key> {
    let name = meta.annotations.value(RELEASE).filter(|_| meta.labels.value(MANAGED_BY) == Some("Helm"))?;
    let namespace = meta.annotations.value(RELEASE_NAMESPACE).unwrap_or(meta.namespace.as_str());
    Some(Key::new(namespace, name))
}

/// Who has written the object, as far as it was dumped with its managed fields.
pub(super) fn managers(meta: &Meta) -> Vec<String> {
    let raw: Value =
        meta.raw.0.as_deref().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    let entries = raw.pointer("/metadata/managedFields").and_then(Value::as_array);
    let names = entries.into_iter().flatten().filter_map(|entry| entry["manager"].as_str());
    names.map(str::to_owned).collect()
}
