//! A change as it is committed where people change an object, or the add-on that an object belongs to.

use std::fmt;

use replank_model::text::Text;
use replank_protocol::hindrance::Keeper;

use super::eks_addon::EksAddon;
use super::hcl;
use super::source::Renderer;
use super::target::Target;

/// A change as it is committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    /// The object: kind, namespace and name.
    pub object: Target,
    /// Where that is written, and in which form.
    pub place: Place,
    /// What is written there. Empty where something is taken away.
    pub text: String,
}

/// Where a change is written, and in which form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the files that something renders.
    Rendered(Renderer, InFiles),
    /// In the configuration of Terraform, for its Kubernetes provider.
    Terraform(InTerraform),
    /// In the configuration values of an add-on of EKS.
    Addon(InAddon),
}

/// A change in files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InFiles {
    /// A manifest of its own is added.
    Added,
    /// Members are set by one of the patches of a kustomization.
    Patch,
    /// Members are set by values of a Helm release, in YAML; of Flux with the members of the HelmRelease about them.
    Values,
    /// The object is taken away, by one of the patches of a kustomization.
    Gone,
}

/// A change in the configuration of Terraform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InTerraform {
    /// A resource is added.
    AddedResource,
    /// A `kubernetes_manifest` is added: there is no resource of its own.
    AddedManifest,
    /// Members are set in a `kubernetes_manifest`.
    Manifest,
    /// Blocks and arguments are set in a resource.
    Resource,
    /// Members are set as a manifest has them: the resource has no argument for one of them.
    Members,
    /// The resource is taken away.
    Gone,
}

/// Values of an add-on of EKS, which are set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InAddon {
    /// By a command.
    Command(EksAddon),
    /// As JSON: the cluster's name is not known.
    Values(EksAddon),
    /// As a property of CloudFormation's `AWS::EKS::Addon`.
    Stack {
        /// The stack's name.
        name: Text,
        /// The name in its template.
        logical_id: Option<Text>,
    },
    /// As the argument of Terraform's `aws_eks_addon`.
    Terraform,
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

impl Commit {
    /// The tool: `argocd`, `flux`, `helm`, `terraform`, `eks` or `cloudformation`.
    #[must_use]
    pub fn tool(&self) -> &'static str {
        match &self.place {
            Place::Rendered(renderer, _) => renderer.tool(),
            Place::Terraform(_) | Place::Addon(InAddon::Terraform) => "terraform",
            Place::Addon(InAddon::Command(_) | InAddon::Values(_)) => "eks",
            Place::Addon(InAddon::Stack { .. }) => "cloudformation",
        }
    }

    /// What of the tool's keeps the object, where the object says so.
    #[must_use]
    pub fn keeper(&self) -> Option<String> {
        match &self.place {
            Place::Rendered(renderer, _) => Some(renderer.to_string()),
            Place::Terraform(_) | Place::Addon(InAddon::Terraform) => None,
            Place::Addon(InAddon::Command(addon) | InAddon::Values(addon)) => {
                Some(format!("EKS add-on {}", addon.name()))
            }
            Place::Addon(InAddon::Stack { name, .. }) => Some(format!("CloudFormation stack {name}")),
        }
    }

    /// What becomes of the object.
    #[must_use]
    pub fn change(&self) -> Change {
        match &self.place {
            Place::Rendered(_, InFiles::Added)
            | Place::Terraform(InTerraform::AddedResource | InTerraform::AddedManifest) => Change::Added,
            Place::Rendered(_, InFiles::Patch | InFiles::Values)
            | Place::Terraform(InTerraform::Manifest | InTerraform::Resource | InTerraform::Members)
            | Place::Addon(_) => Change::Set,
            Place::Rendered(_, InFiles::Gone) | Place::Terraform(InTerraform::Gone) => Change::Gone,
        }
    }

    /// What leads to the text.
    fn lead(&self) -> String {
        let object = &self.object;
        match &self.place {
            Place::Rendered(renderer, how) => in_files(object, renderer, *how),
            Place::Terraform(how) => in_terraform(object, *how),
            Place::Addon(how) => in_addon(object, how),
        }
    }
}

impl fmt::Display for Commit {
    /// As a comment for a shell, and the lines to commit.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lead = self.lead();
        match &*self.text {
            "" => write!(f, "# {lead}"),
            text => write!(f, "# {lead}:\n{text}"),
        }
    }
}

fn in_files(object: &Target, renderer: &Renderer, how: InFiles) -> String {
    let back = match renderer {
        Renderer::Release(_) => format!("the next upgrade of {renderer} puts {object} back"),
        Renderer::Repository(_) => format!("{renderer} puts {object} back"),
    };
    match (how, renderer) {
        (InFiles::Added, Renderer::Repository(Keeper::HelmRelease { .. }) | Renderer::Release(_)) => format!(
            "{renderer} manages what it is for, so add it there: a template of its chart, or a manifest that is applied beside the release"
        ),
        (InFiles::Added, Renderer::Repository(Keeper::Application { .. } | Keeper::Kustomization { .. })) => {
            format!(
                "{renderer} manages what it is for, so add it there: a file that the kustomization names under resources"
            )
        }
        (InFiles::Gone, Renderer::Repository(_) | Renderer::Release(_)) => {
            format!("{back}: remove it in the source, or with this patch of a kustomization")
        }
        (InFiles::Values, Renderer::Repository(_)) => format!("{back}: set it in its values"),
        (InFiles::Values, Renderer::Release(release)) => format!(
            "{back}: set it in its values (helm get values {} -n {} shows those that are set)",
            release.name, release.namespace
        ),
        (InFiles::Patch, Renderer::Repository(Keeper::HelmRelease { .. })) => format!(
            "{back}: set it in the values of the release, or with this under spec.postRenderers[].kustomize.patches"
        ),
        (InFiles::Patch, Renderer::Repository(Keeper::Application { .. } | Keeper::Kustomization { .. })) => {
            format!("{back}: commit it to the source of that, as one of the patches of a kustomization")
        }
        (InFiles::Patch, Renderer::Release(release)) => format!(
            "{back}: set it in the values of the release, or render it through a kustomization with this under patches (helm upgrade {} CHART -n {} --post-renderer PROGRAM)",
            release.name, release.namespace
        ),
    }
}

fn in_terraform(object: &Target, how: InTerraform) -> String {
    let back = format!("Terraform puts {object} back");
    match how {
        InTerraform::AddedResource => {
            "Terraform manages what it is for, so add it there: a resource".to_owned()
        }
        InTerraform::AddedManifest => {
            "Terraform manages what it is for, so add it there: a kubernetes_manifest".to_owned()
        }
        InTerraform::Manifest => format!("{back}: merge this into its kubernetes_manifest"),
        InTerraform::Resource => {
            let resource = hcl::resource_type(object.kind).unwrap_or("resource");
            format!("{back}: set this in its {resource}")
        }
        InTerraform::Members => {
            format!("{back}: its resource has no argument for all of this; a kubernetes_manifest takes it")
        }
        InTerraform::Gone => format!("{back}: remove its resource"),
    }
}

fn in_addon(object: &Target, how: &InAddon) -> String {
    let of_eks = |addon: &EksAddon| {
        format!(
            "EKS manages {object} with its add-on {}, and the next add-on update may revert this: set it in the add-on's configuration values",
            addon.name()
        )
    };
    match how {
        InAddon::Command(addon) => of_eks(addon),
        InAddon::Values(addon) => {
            format!("{} (aws eks update-addon, which replaces all of them)", of_eks(addon))
        }
        InAddon::Stack { name, logical_id } => {
            let named = logical_id.as_ref().map_or_else(String::new, |id| format!(" {id}"));
            format!("CloudFormation stack {name} manages the add-on: set this in its AWS::EKS::Addon{named}")
        }
        InAddon::Terraform => {
            "Terraform manages the add-on, as its tags say: set this in its aws_eks_addon".to_owned()
        }
    }
}
