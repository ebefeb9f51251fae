//! What is to be committed for a change: which objects it changes, who manages each, and how that is written there.

use replank_model::object::Kind;
use replank_model::object::meta::Meta;
use replank_model::view::View;
use serde_json::{Map, Value, json};

use super::commit::{Change, Commit, InFiles, InTerraform, Place};
use super::edit::{Edit, Verb};
use super::hcl;
use super::installed::Installed;
use super::new_budget::budget;
use super::source::{Renderer, Source, managers, release};
use super::target::Target;

/// The field manager of what EKS's add-ons have written (EKS user guide, "Determine fields you can customize for Amazon EKS add-ons").
const EKS: &str = "eks";

/// What is to be committed for a change, for each object that somebody keeps. A new object is kept by whoever keeps the object it is for.
#[must_use]
pub fn commits(installed: &mut Installed<'_>, edit: &Edit, found_at: Option<&Target>) -> Vec<Commit> {
    let view = installed.view;
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
        if is_of_addon(installed, (&object, source.as_ref()), &meta) {
            // Where it is one of the add-on's values, the change says so itself.
            if !matches!(edit, Edit::Configure { .. }) {
                let cluster = installed.cluster.as_ref();
                commits.extend(installed.addons.commits((&object, change), &body, cluster));
            }
            continue;
        }
        let Some(source) = source else { continue };
        let (place, text) = match source {
            Source::Rendered(renderer) => {
                let (how, text) = in_files(installed, &renderer, (&object, &meta), (body, change), edit);
                (Place::Rendered(renderer, how), text)
            }
            Source::Manifest => terraform(in_manifest(&object, body, change)),
            Source::Resource => terraform(in_resource(&object, body, change)),
        };
        commits.push(Commit { object, place, text });
    }
    commits
}

fn terraform((how, text): (InTerraform, String)) -> (Place, String) {
    (Place::Terraform(how), text)
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

/// Whether EKS manages an object with an add-on: it has written it, or the account has the add-on and the dump does not say who has written the object.
fn is_of_addon(installed: &Installed<'_>, (object, source): (&Target, Option<&Source>), meta: &Meta) -> bool {
    if meta.controller().is_some() || matches!(source, Some(Source::Rendered(_))) {
        return false;
    }
    match managers(meta).as_slice() {
        [] => installed.addons.has(object, installed.cluster.as_ref()),
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

/// The change in the files of what renders an object: as values of the release, where its chart proves them.
fn in_files(
    installed: &mut Installed<'_>,
    renderer: &Renderer,
    (object, meta): (&Target, &Meta),
    (body, change): (Value, Change),
    edit: &Edit,
) -> (InFiles, String) {
    let how = match change {
        Change::Added => return (InFiles::Added, named(object, body).to_string()),
        Change::Gone => InFiles::Gone,
        Change::Set => {
            let release = release(meta).filter(|_| !renderer.is_argo());
            match (release.and_then(|release| installed.values(&release, object, &body)), renderer) {
                (Some(values), Renderer::Repository(_)) => {
                    return (InFiles::Values, yaml(&json!({"spec": {"values": values}}), 0));
                }
                (Some(values), Renderer::Release(_)) => return (InFiles::Values, yaml(&values, 0)),
                (None, Renderer::Repository(_) | Renderer::Release(_)) => InFiles::Patch,
            }
        }
    };
    let replaces = edit.writes().iter().all(|write| write.verb == Verb::MergePatch);
    let body = if replaces { replacing(body) } else { body };
    let patch = named(object, body).to_string().replace('\'', "''");
    (how, format!("- patch: '{patch}'"))
}

/// The change of a `kubernetes_manifest` of Terraform.
fn in_manifest(object: &Target, body: Value, change: Change) -> (InTerraform, String) {
    match change {
        Change::Added => (InTerraform::AddedManifest, hcl::manifest(&named(object, body))),
        Change::Set => (InTerraform::Manifest, hcl::manifest(&body)),
        Change::Gone => (InTerraform::Gone, String::new()),
    }
}

/// The change of another resource of Terraform's Kubernetes provider.
fn in_resource(object: &Target, body: Value, change: Change) -> (InTerraform, String) {
    match change {
        Change::Added => {
            let whole = named(object, body);
            match hcl::resource(object.kind, object.key.name.as_str(), &whole) {
                Some(text) => (InTerraform::AddedResource, text),
                None => (InTerraform::AddedManifest, hcl::manifest(&whole)),
            }
        }
        Change::Set => match hcl::blocks(&body, 0) {
            Some(text) => (InTerraform::Resource, text.trim_end().to_owned()),
            None => (InTerraform::Members, hcl::manifest(&body)),
        },
        Change::Gone => (InTerraform::Gone, String::new()),
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
