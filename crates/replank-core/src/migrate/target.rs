//! What there is to be: the Deployment after the migration, and the twin that stands in for it.

use std::sync::Arc;

use replank_model::admission::default_pod_template;
use replank_model::object::meta::{Key, Meta, Raw, ResourceVersion};
use replank_model::object::workload::{Deployment, DeploymentStatus};
use replank_model::object::{Object, render};
use replank_model::selector::LabelSelector;
use replank_model::text::{Name, Text, Uid};
use serde_json::Value;

use super::Goal;
use super::gitops;
use super::record::TWIN_OF;

/// Annotation of the Deployment controller: the number of its template. A new object counts anew.
const REVISION: &str = "deployment.kubernetes.io/revision";
/// Members of the metadata that nobody models and only the API server writes.
const SERVERS_OWN: [&str; 3] = ["managedFields", "selfLink", "generateName"];

/// The Deployment as it is to be: a manifest without anything that only the API server or a controller writes.
#[must_use]
pub fn after(live: &Deployment, goal: &Goal) -> Deployment {
    let mut wanted = match goal {
        Goal::Selector(selector) => {
            let mut wanted = live.clone();
            for (key, value) in &selector.match_labels {
                let labels = &mut wanted.spec.template.meta.labels;
                if labels.get(key) != Some(value) {
                    *labels = labels.with(key.clone(), value.clone());
                }
            }
            wanted.spec.selector = Some(selector.clone());
            wanted
        }
        Goal::Manifest(Object::Deployment(manifest)) => with_defaults(manifest),
        // The manifest of another kind asks nothing of a Deployment.
        Goal::Manifest(_) => live.clone(),
        Goal::Rollout(_) => {
            let mut wanted = live.clone();
            wanted.spec.replicas = Some(0);
            wanted
        }
    };
    wanted.meta.name = live.meta.name.clone();
    wanted.meta.namespace = live.meta.namespace.clone();
    bare(&wanted)
}

/// A Deployment as one would write it down: without what only the API server or a controller writes.
pub(super) fn bare(deployment: &Deployment) -> Deployment {
    let meta = &deployment.meta;
    Deployment {
        meta: Meta {
            name: meta.name.clone(),
            namespace: meta.namespace.clone(),
            labels: meta.labels.clone(),
            annotations: meta.annotations.without(REVISION),
            finalizers: Vec::new(),
            owner_references: meta.owner_references.clone(),
            raw: bare_rest(&meta.raw),
            ..Meta::default()
        },
        spec: deployment.spec.clone(),
        status: DeploymentStatus::default(),
    }
}

/// What nobody models of an object, without the server's own.
fn bare_rest(raw: &Raw) -> Raw {
    let Some(Value::Object(mut members)) = raw.0.as_deref().and_then(|text| serde_json::from_str(text).ok())
    else {
        return Raw::default();
    };
    members.remove("status");
    if let Some(Value::Object(meta)) = members.get_mut("metadata") {
        SERVERS_OWN.iter().for_each(|own| drop(meta.remove(*own)));
    }
    Raw(Some(Arc::from(Value::Object(members).to_string())))
}

fn without_metadata(raw: &Raw) -> Raw {
    let value = raw.0.as_deref().and_then(|text| serde_json::from_str(text).ok());
    let Some(Value::Object(mut members)) = value else { return Raw::default() };
    members.remove("metadata");
    Raw(Some(Arc::from(Value::Object(members).to_string())))
}

/// With the defaults in its template that the API server fills in, so that it can be compared with what is stored.
fn with_defaults(manifest: &Deployment) -> Deployment {
    let mut value = render(&Object::from(manifest.clone()));
    let template = value.pointer_mut("/spec/template").and_then(Value::as_object_mut);
    template.into_iter().for_each(default_pod_template);
    match Object::from_json(value) {
        Ok(Object::Deployment(deployment)) => Deployment::clone(&deployment),
        Ok(_) | Err(_) => unreachable!("a Deployment that was rendered can be read"),
    }
}

/// The name of the twin of a Deployment.
#[must_use]
pub fn twin_name(of: &Name) -> Name {
    Name::from(format!("{of}-twin"))
}

/// The twin of a Deployment: its pods have all labels of the present pods, so that Services and budgets see them, and one of
/// their own, which is all that the twin selects: it never takes pods of the other for its own.
pub(super) fn twin(live: &Deployment) -> Deployment {
    let mut twin = bare(live);
    let of = live.meta.name.text().clone();
    let labels = gitops::unclaimed(&twin.meta.labels).with(TWIN_OF, of.clone());
    // What tools and people have written of the original is not true of the twin.
    twin.meta = Meta {
        name: twin_name(&live.meta.name),
        namespace: live.meta.namespace.clone(),
        labels,
        raw: without_metadata(&twin.meta.raw),
        ..Meta::default()
    };
    let template = &mut twin.spec.template.meta;
    template.labels = template.labels.with(TWIN_OF, of.clone());
    let mut selector = LabelSelector::default();
    selector.match_labels.insert(Text::from(TWIN_OF), of);
    twin.spec.selector = Some(selector);
    twin.spec.paused = false;
    twin
}

/// Whether two pod templates make the same pods, by the comparison of the Deployment controller (`EqualIgnoreHash`).
pub(super) fn makes_the_same(a: &Deployment, template: &replank_model::object::pod::PodTemplate) -> bool {
    const HASH_LABEL: &str = "pod-template-hash";
    let own = &a.spec.template;
    own.spec == template.spec
        && own.meta.annotations == template.meta.annotations
        && own.meta.labels.without(HASH_LABEL) == template.meta.labels.without(HASH_LABEL)
}

/// The manifest as text for a record.
pub(super) fn text(deployment: &Deployment) -> Text {
    Text::from(render(&Object::from(bare(deployment))).to_string())
}

/// The manifest in a record; `None` if it cannot be read.
pub(super) fn read(text: &str) -> Option<Deployment> {
    match Object::from_json(serde_json::from_str(text).ok()?) {
        Ok(Object::Deployment(deployment)) => {
            let mut deployment = Deployment::clone(&deployment);
            deployment.meta.uid = Uid::default();
            deployment.meta.resource_version = ResourceVersion::default();
            Some(deployment)
        }
        Ok(_) | Err(_) => None,
    }
}

/// Namespace and name of the twin.
pub(super) fn twin_key(of: &Key) -> Key {
    Key { namespace: of.namespace.clone(), name: twin_name(&of.name) }
}
