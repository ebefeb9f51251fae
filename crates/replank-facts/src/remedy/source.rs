//! Where people change an object, and how a change is written there: what is changed in the cluster only is put back, at once or by the next release.

use std::fmt;

use replank_model::object::meta::{Key, Meta};
use replank_model::text::Text;
use replank_model::view::View;
use replank_protocol::hindrance::Keeper;
use serde_json::Value;

use super::eks_addon::EksAddon;
use super::hcl;
use super::target::Target;
use crate::keeper::keeper;

/// Annotations and the label by which Helm knows what it has installed (helm.sh/docs/topics/charts: "Labels and annotations").
const RELEASE: &str = "meta.helm.sh/release-name";
const RELEASE_NAMESPACE: &str = "meta.helm.sh/release-namespace";
const MANAGED_BY: &str = "app.kubernetes.io/managed-by";

/// Where an object is changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A repository from which Argo CD or Flux keeps it.
    Repository(Keeper),
    /// The values of a Helm release.
    Release(Key),
    /// The `manifest` of a `kubernetes_manifest` of Terraform (its field manager is `Terraform` by default: docs of the resource).
    Manifest,
    /// Another resource of Terraform: of its Kubernetes provider, which writes as `HashiCorp` (its user agent: `HashiCorp/1.0 Terraform/…`), or an `aws_eks_addon`.
    Resource,
    /// The configuration values of an add-on of EKS.
    Addon(EksAddon),
    /// A stack of CloudFormation, in which what is changed has a name.
    Stack {
        /// The stack's name.
        name: Text,
        /// The name in its template.
        logical_id: Option<Text>,
    },
}

impl Source {
    /// Where an object is changed; `None` where nothing says so, and where something in the cluster has made it.
    #[must_use]
    pub fn of(view: &View, meta: &Meta) -> Option<Self> {
        if meta.controller().is_some() {
            return None;
        }
        if let Some((keeper, _)) = keeper(view, meta) {
            return Some(Self::Repository(keeper));
        }
        if let Some(release) = release(meta) {
            return Some(Self::Release(release));
        }
        let managers = managers(meta);
        let is_of = |name: &str| managers.iter().any(|manager| manager == name);
        if is_of("Terraform") {
            return Some(Self::Manifest);
        }
        is_of("HashiCorp").then_some(Self::Resource)
    }
}

impl Source {
    /// The tool: `argocd`, `flux`, `helm`, `terraform`, `eks` or `cloudformation`.
    #[must_use]
    pub fn tool(&self) -> &'static str {
        match self {
            Self::Repository(Keeper::Application { .. }) => "argocd",
            Self::Repository(Keeper::Kustomization { .. } | Keeper::HelmRelease { .. }) => "flux",
            Self::Release(_) => "helm",
            Self::Manifest | Self::Resource => "terraform",
            Self::Addon(_) => "eks",
            Self::Stack { .. } => "cloudformation",
        }
    }

    /// Who keeps the object.
    fn name(&self) -> String {
        self.keeper().unwrap_or_else(|| "Terraform".to_owned())
    }

    /// What of the tool's keeps the object, where the object says so.
    #[must_use]
    pub fn keeper(&self) -> Option<String> {
        match self {
            Self::Repository(keeper) => Some(keeper.to_string()),
            Self::Release(release) => Some(format!("Helm release {release}")),
            Self::Manifest | Self::Resource => None,
            Self::Addon(addon) => Some(format!("EKS add-on {}", addon.name())),
            Self::Stack { name, .. } => Some(format!("CloudFormation stack {name}")),
        }
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

/// A change as it is committed where people change the object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    /// The object: kind, namespace and name.
    pub object: Target,
    /// Where it is changed.
    pub source: Source,
    /// What becomes of it there.
    pub change: Change,
    /// In which form that is written.
    pub form: Form,
    /// What is written there. Empty where something is taken away.
    pub text: String,
}

/// In which form a change is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Form {
    /// One of the patches of a kustomization.
    Patch,
    /// A manifest of its own.
    Manifest,
    /// Values of a Helm release, in YAML; of Flux with the members of the HelmRelease about them.
    Values,
    /// The `manifest` of Terraform's `kubernetes_manifest`.
    TerraformManifest,
    /// Blocks and arguments of another resource of Terraform's Kubernetes provider.
    TerraformResource,
    /// The members as a manifest has them: the object's resource of Terraform has no argument for one of them. Of an add-on its values as JSON.
    Members,
    /// A command that makes the change at EKS.
    Command,
    /// A property of CloudFormation's `AWS::EKS::Addon`, or the argument of Terraform's `aws_eks_addon`.
    Property,
    /// Nothing is written.
    Nothing,
}

/// What becomes of an object where people change it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Change {
    /// It is added.
    Added,
    /// Members of it are set.
    Set,
    /// It is taken away.
    Gone,
}

impl fmt::Display for Commit {
    /// As a comment for a shell, and the line to commit.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { object, source, change, form, text } = self;
        if let Some(lead) = self.of_addon() {
            return write!(f, "# {lead}:\n{text}");
        }
        let who = match source {
            Source::Release(release) => format!("the next upgrade of Helm release {release}"),
            Source::Repository(_)
            | Source::Manifest
            | Source::Resource
            | Source::Addon(_)
            | Source::Stack { .. } => source.name(),
        };
        if *change == Change::Added {
            let place = match form {
                Form::Patch | Form::Manifest | Form::Values => {
                    "a file that the kustomization names under resources"
                }
                Form::TerraformResource => "a resource",
                Form::TerraformManifest | Form::Members | Form::Nothing | Form::Command | Form::Property => {
                    "a kubernetes_manifest"
                }
            };
            return write!(
                f,
                "# {} manages what it is for, so add it there: {place}:\n{text}",
                source.name()
            );
        }
        let how = match (form, source) {
            (Form::Values, Source::Release(release)) => format!(
                "set it in its values (helm get values {} -n {} shows those that are set)",
                release.name, release.namespace
            ),
            (Form::Values, _) => "set it in its values".to_owned(),
            (Form::Patch, Source::Repository(Keeper::HelmRelease { .. })) => {
                "set it in the values of the release, or with this under spec.postRenderers[].kustomize.patches".to_owned()
            }
            (Form::Patch, Source::Release(release)) => format!(
                "set it in the values of the release, or render it through a kustomization with this under patches (helm upgrade {} CHART -n {} --post-renderer PROGRAM)",
                release.name, release.namespace
            ),
            (Form::Patch | Form::Manifest, _) => {
                "commit it to the source of that, as one of the patches of a kustomization".to_owned()
            }
            (Form::TerraformManifest, _) => "merge this into its kubernetes_manifest".to_owned(),
            (Form::TerraformResource, _) => match hcl::resource_type(object.kind) {
                Some(resource) => format!("set this in its {resource}"),
                None => "set this in its resource".to_owned(),
            },
            (Form::Members | Form::Command | Form::Property, _) => "its resource has no argument for all of this; a kubernetes_manifest takes it".to_owned(),
            (Form::Nothing, _) => return write!(f, "# {who} puts {object} back: remove its resource"),
        };
        match change {
            Change::Gone => write!(
                f,
                "# {who} puts {object} back: remove it in the source, or with this patch of a kustomization:\n{text}"
            ),
            Change::Set | Change::Added => write!(f, "# {who} puts {object} back: {how}:\n{text}"),
        }
    }
}

impl Commit {
    /// What leads to a change of an add-on, or of what manages the add-on.
    fn of_addon(&self) -> Option<String> {
        let Self { object, source, form, .. } = self;
        let own = match source {
            Source::Addon(addon) => format!(
                "EKS manages {object} with its add-on {}, and the next add-on update may revert this: set it in the add-on's configuration values{}",
                addon.name(),
                if *form == Form::Command {
                    ""
                } else {
                    " (aws eks update-addon, which replaces all of them)"
                }
            ),
            Source::Stack { name, logical_id } => {
                let named = logical_id.as_ref().map_or_else(String::new, |id| format!(" {id}"));
                format!(
                    "CloudFormation stack {name} manages the add-on: set this in its AWS::EKS::Addon{named}"
                )
            }
            Source::Resource if *form == Form::Property => {
                "Terraform manages the add-on, as its tags say: set this in its aws_eks_addon".to_owned()
            }
            Source::Resource | Source::Repository(_) | Source::Release(_) | Source::Manifest => return None,
        };
        Some(own)
    }
}
