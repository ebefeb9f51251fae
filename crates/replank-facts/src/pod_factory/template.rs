//! Where each kind keeps its pod template, and how its pods are named and owned.

use std::sync::Arc;

use replank_model::object::meta::{Meta, OwnerReference};
use replank_model::object::pod::{Pod, PodTemplate};
use replank_model::object::volume::PersistentVolumeClaimTemplate;
use replank_model::object::workload::{Deployment, ReplicaSet, ReplicaSetSpec};
use replank_model::object::{Kind, Object, render};
use replank_model::text::{Name, Text, Uid};
use replank_model::view::View;
use serde_json::{Map, Value, json};

use super::admit::admit;
use super::{Naming, PodFactory, SubjectError, anew, daemon};
use crate::finding::ObjectName;

/// Label by which the pods of a Deployment's templates are told apart.
const HASH_LABEL: &str = "pod-template-hash";
/// Its value for a template that no ReplicaSet of the snapshot has.
const NEW: &str = "new";
/// Annotation of a ReplicaSet: which of its Deployment's it is.
const REVISION: &str = "deployment.kubernetes.io/revision";

/// Where kinds keep their templates; the first place at which there is one counts.
const PLACES: [&str; 3] = ["/spec/template", "/spec/jobTemplate/spec/template", "/template"];

/// Whether an object makes pods, or is one.
pub fn is_workload(object: &Value) -> bool {
    let is_pod = object["kind"] == "Pod" && object["apiVersion"] == "v1";
    is_pod || template_of(object).is_some()
}

fn template_of(object: &Value) -> Option<&Value> {
    let mut found = PLACES.iter().filter_map(|place| object.pointer(place));
    found.find(|template| template.pointer("/spec/containers").is_some_and(Value::is_array))
}

/// The factory of an object, and what has to be in the View for its pods to count as siblings.
pub(super) fn factory(view: &View, object: &Object) -> Result<(PodFactory, Vec<Object>), SubjectError> {
    let name = ObjectName { kind: Text::from(object.kind_name()), key: object.meta().key() };
    if let Object::Pod(pod) = object {
        return bare(view, name, pod).map(|factory| (factory, Vec::new()));
    }
    let value = render(object);
    let Some(template) = template_of(&value) else { return Err(SubjectError::NoTemplate { object: name }) };
    let mut template = template.clone();
    let mut siblings = Vec::new();
    let mut owner = reference(object, object.meta());
    let (naming, wanted) = naming(object, &value);
    if let Object::Deployment(deployment) = object {
        let set = replica_set(view, deployment);
        owner = reference(&Object::from(set.clone()), &set.meta);
        for (key, text) in set.spec.template.meta.labels.iter() {
            label(&mut template, key, text);
        }
        siblings.push(Object::from(set));
    }
    if let (Object::DaemonSet(_), Some(Value::Object(spec))) = (object, template.get_mut("spec")) {
        daemon::tolerate(spec);
    }
    if let Object::Job(_) = object {
        label(&mut template, "batch.kubernetes.io/job-name", name.key.name.as_str());
        label(&mut template, "job-name", name.key.name.as_str());
    }
    siblings.push(with_uid(object));
    let mut pod = pod_of(&template, &name, &owner);
    admit(view, &mut pod)?;
    let mut pod = anew(&read(pod)?);
    if naming == Naming::PerNode {
        Arc::make_mut(&mut pod).spec = Arc::new(daemon::to_be_pinned(&pod.spec));
    }
    Ok((PodFactory { object: name, wanted, naming, pod, claims: claims(object) }, siblings))
}

/// A pod that nobody else makes, as submitted or as it is in the snapshot.
fn bare(view: &View, name: ObjectName, pod: &Arc<Pod>) -> Result<PodFactory, SubjectError> {
    let is_stored = view.pods.by_key(&name.key).is_some_and(|known| known.meta.uid == pod.meta.uid);
    let pod = if is_stored {
        anew(pod)
    } else {
        let mut value = render(&Object::from(pod.clone()));
        admit(view, &mut value)?;
        // A node that the spec names is not where it is yet.
        anew(&read(value)?)
    };
    Ok(PodFactory { object: name, wanted: 1, naming: Naming::Itself, pod, claims: Vec::new() })
}

fn read(pod: Value) -> Result<Arc<Pod>, SubjectError> {
    let object = Object::from_json(pod)?;
    let Object::Pod(pod) = object else { unreachable!("expected a Pod, found {}", object.kind_name()) };
    Ok(pod)
}

/// How pods are named, and how many are wanted.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "every other kind with a template has replicas, or is one pod"
)]
fn naming(object: &Object, value: &Value) -> (Naming, usize) {
    let number = |place: &str| value.pointer(place).and_then(Value::as_i64);
    let wanted = |count: i64| usize::try_from(count).unwrap_or(0);
    if let Object::StatefulSet(set) = object {
        let start = set.spec.ordinals.as_ref().map_or(0, |ordinals| i64::from(ordinals.start));
        return (Naming::Ordinals(start), wanted(number("/spec/replicas").unwrap_or(1)));
    }
    match object.kind() {
        Kind::DaemonSet => (Naming::PerNode, 0),
        Kind::Job => (Naming::Numbered, wanted(at_once(value.pointer("/spec")))),
        Kind::CronJob => (Naming::Numbered, wanted(at_once(value.pointer("/spec/jobTemplate/spec")))),
        _ => (Naming::Numbered, wanted(number("/spec/replicas").unwrap_or(1))),
    }
}

/// Pods that a Job runs at once: its parallelism, but no more than the completions it waits for.
fn at_once(spec: Option<&Value>) -> i64 {
    let number = |key: &str| spec.and_then(|spec| spec.get(key)).and_then(Value::as_i64);
    let parallelism = number("parallelism").unwrap_or(1);
    number("completions").map_or(parallelism, |completions| parallelism.min(completions))
}

fn claims(object: &Object) -> Vec<Arc<PersistentVolumeClaimTemplate>> {
    if let Object::StatefulSet(set) = object { set.spec.volume_claim_templates.clone() } else { Vec::new() }
}

/// The ReplicaSet of a Deployment's present template: the newest of the snapshot if that has it, otherwise one that is made up.
fn replica_set(view: &View, deployment: &Deployment) -> Arc<ReplicaSet> {
    let owns = |set: &ReplicaSet| {
        !deployment.meta.uid.is_empty()
            && set.meta.controller().is_some_and(|owner| owner.uid == deployment.meta.uid)
    };
    let revision = |set: &ReplicaSet| {
        let text = set.meta.annotations.value(REVISION);
        text.and_then(|text| text.parse::<i64>().ok()).unwrap_or(0)
    };
    let sets = view.replica_sets.unordered().map(|(_, set)| set);
    let newest = sets.filter(|set| owns(set)).max_by_key(|set| (revision(set), set.meta.name.clone()));
    newest.filter(|set| is_of(set, &deployment.spec.template)).cloned().unwrap_or_else(|| made_up(deployment))
}

/// Whether a ReplicaSet has a Deployment's template, but for the hash.
fn is_of(set: &ReplicaSet, template: &PodTemplate) -> bool {
    set.spec.template.spec == template.spec
        && set.spec.template.meta.labels.without(HASH_LABEL) == template.meta.labels
}

fn made_up(deployment: &Deployment) -> Arc<ReplicaSet> {
    let mut selector = deployment.spec.selector.clone().unwrap_or_default();
    selector.match_labels.insert(Text::from(HASH_LABEL), Text::from(NEW));
    let mut template = deployment.spec.template.clone();
    template.meta.labels = template.meta.labels.with(HASH_LABEL, NEW);
    let owner = reference(&Object::from(deployment.clone()), &deployment.meta);
    let name = Name::from(format!("{}-{NEW}", deployment.meta.name));
    Arc::new(ReplicaSet {
        meta: Meta {
            uid: uid("ReplicaSet", &deployment.meta, &name),
            name,
            namespace: deployment.meta.namespace.clone(),
            labels: template.meta.labels.clone(),
            owner_references: vec![owner].into(),
            ..Meta::default()
        },
        spec: ReplicaSetSpec { selector: Some(selector), template, ..ReplicaSetSpec::default() }.into(),
        ..ReplicaSet::default()
    })
}

fn uid(kind: &str, of: &Meta, name: &Name) -> Uid {
    Uid::from(format!("place-{kind}-{}-{name}", of.namespace))
}

/// The object with an identity: what a manifest does not give it.
fn with_uid(object: &Object) -> Object {
    let kind = object.kind_name().to_owned();
    object.clone().map_meta(|meta| {
        if meta.uid.is_empty() {
            meta.uid = uid(&kind, meta, &meta.name);
        }
    })
}

fn reference(object: &Object, meta: &Meta) -> OwnerReference {
    let identified = with_uid(object);
    OwnerReference {
        api_version: Text::from(object.api_version()),
        kind: Text::from(object.kind_name()),
        name: meta.name.clone(),
        uid: identified.meta().uid.clone(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    }
}

fn label(template: &mut Value, key: &str, value: &str) {
    let Value::Object(members) = template else { return };
    let metadata = members.entry("metadata").or_insert_with(|| json!({}));
    if let Value::Object(metadata) = metadata
        && let Value::Object(labels) = metadata.entry("labels").or_insert_with(|| json!({}))
    {
        labels.insert(key.to_owned(), Value::from(value));
    }
}

/// The pod of a template, as its controller submits it.
fn pod_of(template: &Value, owner: &ObjectName, reference: &OwnerReference) -> Value {
    let member = |place: &str| template.pointer(place).filter(|value| value.is_object()).cloned();
    let nothing = || Value::Object(Map::new());
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": owner.key.name.as_str(),
            "namespace": owner.key.namespace.as_str(),
            "labels": member("/metadata/labels").unwrap_or_else(nothing),
            "annotations": member("/metadata/annotations").unwrap_or_else(nothing),
            "ownerReferences": [reference],
        },
        "spec": member("/spec").unwrap_or_else(nothing),
    })
}
