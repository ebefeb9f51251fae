//! What the kinds that can be migrated have in common: a selector, a template, a number of pods.

use std::sync::Arc;

use replank_model::admission::default_pod_template;
use replank_model::object::pod::PodTemplate;
use replank_model::object::volume::PersistentVolumeClaimTemplate;
use replank_model::object::{Kind, Object, render};
use replank_model::selector::LabelSelector;
use serde_json::{Value, json};

use super::Goal;

/// Kinds whose selector cannot be changed in place, and can be by a migration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Migrated {
    /// apps/v1 Deployment.
    Deployment,
    /// apps/v1 StatefulSet.
    StatefulSet,
    /// apps/v1 DaemonSet.
    DaemonSet,
    /// apps/v1 ReplicaSet that nobody owns.
    ReplicaSet,
}

impl Migrated {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Deployment, Self::StatefulSet, Self::DaemonSet, Self::ReplicaSet];

    /// The kind of its objects.
    #[must_use]
    pub fn kind(self) -> Kind {
        match self {
            Self::Deployment => Kind::Deployment,
            Self::StatefulSet => Kind::StatefulSet,
            Self::DaemonSet => Kind::DaemonSet,
            Self::ReplicaSet => Kind::ReplicaSet,
        }
    }
}

/// What of an object decides about its pods.
pub(super) struct Parts<'a> {
    pub(super) selector: Option<&'a LabelSelector>,
    pub(super) template: &'a PodTemplate,
    /// Pods wanted; `None` where nodes say how many.
    pub(super) replicas: Option<i32>,
    /// Whether its controller has seen its present state.
    pub(super) is_seen: bool,
    /// Pods of the present template, and how many there are to be.
    pub(super) settled: (i32, i32),
    pub(super) claims: &'a [Arc<PersistentVolumeClaimTemplate>],
}

/// The parts of an object; `None` for kinds that are not migrated.
#[expect(clippy::wildcard_enum_match_arm, reason = "no other kind is migrated")]
pub(super) fn parts(object: &Object) -> Option<Parts<'_>> {
    let generation = object.meta().generation;
    match object {
        Object::Deployment(it) => {
            let wanted = it.spec.replicas.unwrap_or(1);
            Some(Parts {
                selector: it.spec.selector.as_ref(),
                template: &it.spec.template,
                replicas: Some(wanted),
                is_seen: it.status.observed_generation >= generation,
                settled: (it.status.updated_replicas, wanted),
                claims: &[],
            })
        }
        Object::StatefulSet(it) => {
            let wanted = it.spec.replicas.unwrap_or(1);
            let is_one = it.status.current_revision == it.status.update_revision;
            let settled = if is_one { it.status.replicas } else { it.status.updated_replicas };
            Some(Parts {
                selector: it.spec.selector.as_ref(),
                template: &it.spec.template,
                replicas: Some(wanted),
                is_seen: it.status.observed_generation >= generation,
                settled: (settled, wanted),
                claims: &it.spec.volume_claim_templates,
            })
        }
        Object::DaemonSet(it) => Some(Parts {
            selector: it.spec.selector.as_ref(),
            template: &it.spec.template,
            replicas: None,
            is_seen: it.status.observed_generation >= generation,
            settled: (it.status.updated_number_scheduled, it.status.desired_number_scheduled),
            claims: &[],
        }),
        Object::ReplicaSet(it) => {
            let wanted = it.spec.replicas.unwrap_or(1);
            Some(Parts {
                selector: it.spec.selector.as_ref(),
                template: &it.spec.template,
                replicas: Some(wanted),
                is_seen: it.status.observed_generation >= generation,
                settled: (it.status.replicas, wanted),
                claims: &[],
            })
        }
        _ => None,
    }
}

/// The selector of an object.
pub(super) fn selector(object: &Object) -> Option<&LabelSelector> {
    parts(object).and_then(|parts| parts.selector)
}

/// Whether two templates make the same pods.
pub(super) fn makes_the_same(a: &Object, b: &Object) -> bool {
    match (parts(a), parts(b)) {
        (Some(a), Some(b)) => {
            a.template.spec == b.template.spec
                && a.template.meta.annotations == b.template.meta.annotations
                && a.template.meta.labels == b.template.meta.labels
        }
        (Some(_) | None, Some(_) | None) => false,
    }
}

/// Whether two sets of claim templates make the same claims, as far as `after` says something.
pub(super) fn same_claims(before: &Object, after: &Object) -> bool {
    let (Some(before), Some(after)) = (parts(before), parts(after)) else { return false };
    let is_same = |(old, new): (&Arc<PersistentVolumeClaimTemplate>, &Arc<PersistentVolumeClaimTemplate>)| {
        old.meta.name == new.meta.name
            && old.spec.access_modes == new.spec.access_modes
            && old.spec.resources == new.spec.resources
            && new
                .spec
                .storage_class_name
                .as_ref()
                .is_none_or(|name| old.spec.storage_class_name.as_ref() == Some(name))
            && new.spec.volume_mode.as_ref().is_none_or(|mode| old.spec.volume_mode.as_ref() == Some(mode))
    };
    before.claims.len() == after.claims.len() && before.claims.iter().zip(after.claims).all(is_same)
}

/// An object as one would write it down: without what only the API server or a controller writes.
pub(super) fn bare(object: &Object) -> Object {
    const KEPT: [&str; 5] = ["name", "namespace", "labels", "annotations", "ownerReferences"];
    changed(object, |value| {
        if let Some(members) = value.as_object_mut() {
            members.remove("status");
        }
        if let Some(meta) = value.get_mut("metadata").and_then(Value::as_object_mut) {
            meta.retain(|name, _| KEPT.contains(&name.as_str()));
        }
    })
}

/// The object as it is to be: a manifest, with as many replicas as there are.
pub(super) fn after(live: &Object, goal: &Goal) -> Object {
    match goal {
        Goal::Selector(selector) => changed(&bare(live), |value| {
            value["spec"]["selector"] = json!(selector);
            for (name, label) in &selector.match_labels {
                value["spec"]["template"]["metadata"]["labels"][&**name] = (&**label).into();
            }
        }),
        Goal::Manifest(manifest) => {
            let replicas = parts(live).and_then(|parts| parts.replicas);
            let named = (live.meta().name.as_str(), live.meta().namespace.as_str());
            changed(&bare(manifest), |value| {
                value["metadata"]["name"] = named.0.into();
                value["metadata"]["namespace"] = named.1.into();
                if let Some(replicas) = replicas {
                    value["spec"]["replicas"] = replicas.into();
                }
                let template = value.pointer_mut("/spec/template").and_then(Value::as_object_mut);
                template.into_iter().for_each(default_pod_template);
            })
        }
        // No Rollout takes over from these kinds: judged so.
        Goal::Rollout(_) => bare(live),
    }
}

/// The object with its JSON changed.
fn changed(object: &Object, change: impl FnOnce(&mut Value)) -> Object {
    let mut value = render(object);
    change(&mut value);
    match Object::from_json(value) {
        Ok(object) => object,
        Err(_) => unreachable!("an object that was rendered can be read"),
    }
}
