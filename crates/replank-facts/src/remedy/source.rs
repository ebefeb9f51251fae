//! Where people change an object, and how a change is written there: what is changed in the cluster only is put back, at once or by the next release.

use std::fmt;

use replank_model::object::Kind;
use replank_model::object::meta::{Key, Meta};
use replank_model::text::Text;
use replank_model::view::View;
use replank_protocol::hindrance::Keeper;
use serde_json::{Map, Value, json};

use super::edit::{Edit, Verb};
use super::hcl;
use super::managers::Managers;
use super::new_budget::budget;
use super::target::Target;
use crate::cluster_name::cluster_name;
use crate::keeper::keeper;

/// Annotations and the label by which Helm knows what it has installed (helm.sh/docs/topics/charts: "Labels and annotations").
const RELEASE: &str = "meta.helm.sh/release-name";
const RELEASE_NAMESPACE: &str = "meta.helm.sh/release-namespace";
const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// The field manager of what EKS's add-ons have written (EKS user guide, "Determine fields you can customize for Amazon EKS add-ons").
const EKS: &str = "eks";

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
    Addon(Text),
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
            Self::Addon(name) => Some(format!("EKS add-on {name}")),
            Self::Stack { name, .. } => Some(format!("CloudFormation stack {name}")),
        }
    }
}

/// The release that has installed an object.
fn release(meta: &Meta) -> Option<Key> {
    let name = meta.annotations.value(RELEASE).filter(|_| meta.labels.value(MANAGED_BY) == Some("Helm"))?;
    let namespace = meta.annotations.value(RELEASE_NAMESPACE).unwrap_or(meta.namespace.as_str());
    Some(Key::new(namespace, name))
}

/// Who has written the object, as far as it was dumped with its managed fields.
fn managers(meta: &Meta) -> Vec<String> {
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
            Source::Addon(name) => format!(
                "EKS manages {object} with its add-on {name}, and the next update of that may put it back: set it in the add-on's configuration values{}",
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

/// What is to be committed for a change, for each object that somebody keeps. A new object is kept by whoever keeps the object it is for.
#[must_use]
pub fn commits(managers: &mut Managers<'_>, edit: &Edit, found_at: Option<&Target>) -> Vec<Commit> {
    let view = managers.view;
    let mut commits = Vec::new();
    for (object, body) in bodies(edit) {
        let kept = if matches!(edit, Edit::CreateBudget { .. }) { found_at } else { Some(&object) };
        let Some(meta) = kept.and_then(|target| meta(view, target)) else { continue };
        let change = match edit {
            Edit::CreateBudget { .. } => Change::Added,
            Edit::Delete { .. } => Change::Gone,
            Edit::Patch { .. }
            | Edit::Merge { .. }
            | Edit::Configure { .. }
            | Edit::Scale { .. }
            | Edit::Annotate { .. }
            | Edit::Untaint { .. }
            | Edit::ResumeProcess { .. }
            | Edit::Uncordon { .. }
            | Edit::Plan { .. } => Change::Set,
        };
        let source = Source::of(view, &meta);
        if is_of_addon(managers, (&object, source.as_ref()), &meta) {
            // Where it is one of the add-on's values, the change says so itself.
            if !matches!(edit, Edit::Configure { .. }) {
                let cluster = cluster_name(view);
                commits.extend(managers.addons.commits((&object, change), &body, cluster.as_deref()));
            }
            continue;
        }
        let Some(source) = source else { continue };
        let of_release = release(&meta).filter(|_| change == Change::Set && !is_of_argo(&source));
        let values = of_release.and_then(|release| managers.values(&release, &object, &body));
        let (form, text) = match (values, &source) {
            (Some(values), Source::Repository(_)) => {
                (Form::Values, yaml(&json!({"spec": {"values": values}}), 0))
            }
            (Some(values), _) => (Form::Values, yaml(&values, 0)),
            (None, _) => written(&source, &object, (body, change), edit),
        };
        commits.push(Commit { object, source, change, form, text });
    }
    commits
}

fn meta(view: &View, target: &Target) -> Option<Meta> {
    let kind = Kind::of(target.api_version(), target.kind.as_str());
    match kind {
        Some(kind) => view.object(kind, &target.key).map(|object| object.meta().clone()),
        None => {
            let group = target.api_version().split_once('/').map_or("", |(group, _)| group);
            view.other(group, target.kind.as_str(), &target.key).map(|other| other.meta.clone())
        }
    }
}

/// The members of each object that a change sets. Nothing keeps nodes, plans and what the cloud does in such a way.
fn bodies(edit: &Edit) -> Vec<(Target, Value)> {
    match edit {
        Edit::Patch { of, patch } | Edit::Merge { of, patch } | Edit::Configure { of, patch, .. } => {
            vec![(of.clone(), patch.clone())]
        }
        Edit::Scale { of, replicas } => vec![(of.clone(), json!({"spec": {"replicas": replicas}}))],
        Edit::CreateBudget { key, selector, bound } => edit
            .targets()
            .into_iter()
            .map(|target| (target, json!({"spec": budget(key, selector, bound)["spec"]})))
            .collect(),
        Edit::Delete { of } => vec![(of.clone(), json!({"$patch": "delete"}))],
        Edit::Annotate { .. } => {
            let of_each = edit.targets().into_iter().zip(edit.writes());
            of_each.map(|(target, write)| (target, write.body)).collect()
        }
        Edit::Untaint { .. } | Edit::ResumeProcess { .. } | Edit::Uncordon { .. } | Edit::Plan { .. } => {
            Vec::new()
        }
    }
}

/// Whether Argo CD manages an object. It renders charts itself: what a release of the same name has rendered is nothing to it.
fn is_of_argo(source: &Source) -> bool {
    matches!(source, Source::Repository(Keeper::Application { .. }))
}

/// Whether EKS manages an object with an add-on: it has written it, or the account has the add-on and the dump does not say who has written the object.
fn is_of_addon(managers: &Managers<'_>, (object, source): (&Target, Option<&Source>), meta: &Meta) -> bool {
    if meta.controller().is_some() || matches!(source, Some(Source::Repository(_) | Source::Release(_))) {
        return false;
    }
    match self::managers(meta).as_slice() {
        [] => managers.addons.has(object),
        all => all.iter().any(|manager| manager == EKS),
    }
}

/// Maps of maps in YAML, a member on each line.
fn yaml(value: &Value, depth: usize) -> String {
    let Value::Object(members) = value else { return value.to_string() };
    let indent = "  ".repeat(depth);
    let lines = members.iter().map(|(key, value)| match value {
        Value::Object(_) => format!("{indent}{key}:\n{}", yaml(value, depth + 1)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            format!("{indent}{key}: {value}")
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The change in the language of its source.
fn written(source: &Source, object: &Target, (body, change): (Value, Change), edit: &Edit) -> (Form, String) {
    match (source, change) {
        (Source::Repository(_) | Source::Release(_), Change::Added) => {
            (Form::Manifest, named(object, body).to_string())
        }
        (Source::Repository(_) | Source::Release(_), Change::Set | Change::Gone) => {
            let replaces = edit.writes().iter().all(|write| write.verb == Verb::MergePatch);
            let body = if replaces { replacing(body) } else { body };
            let patch = named(object, body).to_string().replace('\'', "''");
            (Form::Patch, format!("- patch: '{patch}'"))
        }
        (Source::Manifest | Source::Resource, Change::Gone) => (Form::Nothing, String::new()),
        // They are written before.
        (Source::Addon(_) | Source::Stack { .. }, Change::Added | Change::Set | Change::Gone) => {
            (Form::Members, hcl::manifest(&body))
        }
        (Source::Manifest, Change::Added) => (Form::TerraformManifest, hcl::manifest(&named(object, body))),
        (Source::Manifest, Change::Set) => (Form::TerraformManifest, hcl::manifest(&body)),
        (Source::Resource, Change::Added) => {
            let whole = named(object, body);
            match hcl::resource(object.kind, object.key.name.as_str(), &whole) {
                Some(text) => (Form::TerraformResource, text),
                None => (Form::TerraformManifest, hcl::manifest(&whole)),
            }
        }
        (Source::Resource, Change::Set) => match hcl::blocks(&body, 0) {
            Some(text) => (Form::TerraformResource, text.trim_end().to_owned()),
            None => (Form::Members, hcl::manifest(&body)),
        },
    }
}

/// The members of an object with what names it.
fn named(object: &Target, body: Value) -> Value {
    let mut whole = Map::new();
    whole.insert("apiVersion".to_owned(), object.api_version().into());
    whole.insert("kind".to_owned(), object.kind.as_str().into());
    let mut metadata = json!({"name": object.key.name.as_str()});
    if !object.key.namespace.as_str().is_empty() {
        metadata["namespace"] = object.key.namespace.as_str().into();
    }
    whole.insert("metadata".to_owned(), metadata);
    if let Value::Object(members) = body {
        for (member, value) in members {
            match (&*member, whole.get_mut(&member), value) {
                ("metadata", Some(Value::Object(known)), Value::Object(more)) => known.extend(more),
                (_, _, value) => {
                    whole.insert(member, value);
                }
            }
        }
    }
    Value::Object(whole)
}

/// Lists of pods that a strategic merge joins by a key of their elements (`x-kubernetes-patch-merge-key` in the API's schema), and that remedies set as a whole.
const JOINED: [&str; 8] = [
    "containers",
    "initContainers",
    "volumes",
    "env",
    "volumeMounts",
    "imagePullSecrets",
    "hostAliases",
    "topologySpreadConstraints",
];

/// The same for a kustomization, which merges strategically: where a merge patch replaces a list, it is told to replace it.
fn replacing(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let each = members.into_iter().map(|(member, value)| {
                let joined = value.as_array().filter(|_| JOINED.contains(&&*member)).cloned();
                let value = match joined {
                    Some(mut all) => {
                        all.push(json!({"$patch": "replace"}));
                        Value::Array(all)
                    }
                    None => replacing(value),
                };
                (member, value)
            });
            Value::Object(each.collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => value,
    }
}
