//! What the server refuses as invalid, with the causes in its words (`pkg/apis/*/validation`).
//!
//! Checked is what a script or a plan gets wrong: names, selectors, numbers below zero, members that cannot be changed.
//! What a client library would not even let through (a malformed port, a bad quantity in an annotation) is not.

use replank_model::object::Kind;
use replank_model::selector::LabelSelector;
use replank_model::validation::{Refusal, validate};
use serde_json::Value;

use super::pod_update;
use super::policies;
use super::rules;
use super::{custom, form};
use crate::server::Cause;
use crate::server::ResourceType;

const IMMUTABLE: &str = "field is immutable";

/// What is wrong with a new object.
pub(super) fn new_object(resource: &ResourceType, value: &Value) -> Vec<Cause> {
    if has_pods(resource.kind) {
        return invalid(value);
    }
    if &*resource.name.plural == "podtemplates" {
        return invalid(value);
    }
    let of_metadata = rules::metadata(resource, value);
    let is_apart = rules::checks_metadata_last(resource);
    let mut causes = if is_apart { Vec::new() } else { of_metadata.clone() };
    causes.extend(rules::check(resource, value));
    if resource.kind == Kind::Service {
        causes.extend(rules::service(None, value));
    }
    causes.extend(content(resource.kind, value));
    causes.extend(other(resource, value));
    causes.extend(definition(resource.kind, None, value));
    let of_custom = custom::check(resource, None, value);
    let is_blocked = |cause: &Cause| {
        matches!(
            cause.reason,
            "FieldValueRequired"
                | "FieldValueNotSupported"
                | "FieldValueTooLong"
                | "FieldValueTooMany"
                | "FieldValueTypeInvalid"
        )
    };
    let is_told = of_custom.iter().any(|cause| cause.field.as_deref() == Some("<nil>"));
    let blocks = !is_told && causes.iter().any(is_blocked);
    causes.extend(of_custom);
    causes.extend(custom::unchecked(resource).filter(|_| blocks));
    // Their metadata is looked at when there is nothing else to be said.
    if is_apart && causes.is_empty() { of_metadata } else { causes }
}

/// Kinds that are held untyped.
fn other(resource: &ResourceType, value: &Value) -> Vec<Cause> {
    match &*resource.name.group {
        "admissionregistration.k8s.io" if value.get("webhooks").is_some() => {
            policies::valid::check_webhooks(value)
        }
        "admissionregistration.k8s.io" => policies::valid::check_policy(&resource.name.kind, value),
        _ => Vec::new(),
    }
}

fn definition(kind: Kind, old: Option<&Value>, value: &Value) -> Vec<Cause> {
    if kind != Kind::CustomResourceDefinition {
        return Vec::new();
    }
    replank_custom::definition::check(value, old).into_iter().map(custom::cause).collect()
}

/// What is wrong with a change. What was wrong before may stay.
pub(super) fn update(resource: &ResourceType, old: &Value, new: &Value, given: &Value) -> Vec<Cause> {
    // What a client gives of what only the server writes is looked at, too.
    let mut causes = rules::metadata_changed(resource, old, given);
    if &*resource.name.plural == "podtemplates" && old.get("template") != new.get("template") {
        let was = invalid(old);
        causes.extend(invalid(new).into_iter().filter(|cause| !was.contains(cause)));
    } else if has_pods(resource.kind) && old.get("spec") != new.get("spec") {
        let was = invalid(old);
        let is_of_meta = |cause: &Cause| cause.field.as_deref().is_some_and(|at| at.starts_with("metadata"));
        let found = invalid(new).into_iter().filter(|cause| !was.contains(cause) && !is_of_meta(cause));
        // `ValidateJob` and `ValidateJobUpdate` both look at the spec.
        let times = if resource.kind == Kind::Job { 2 } else { 1 };
        causes.extend(found.flat_map(|cause| std::iter::repeat_n(cause, times)));
        if resource.kind == Kind::Job {
            causes.extend(job_selector(new));
        }
    } else {
        causes.extend(content(resource.kind, new));
        let was = rules::check(resource, old);
        causes.extend(rules::check(resource, new).into_iter().filter(|cause| !was.contains(cause)));
    }
    causes.extend(rules::changed(resource, old, new));
    if resource.kind == Kind::Service {
        causes.extend(rules::service(Some(old), new));
    }
    if old.get("spec") != new.get("spec") || old.get("webhooks") != new.get("webhooks") {
        causes.extend(other(resource, new));
        // Compared is what Go compares: what a client sends back has the members that are never left out.
        let (mut was, mut is) = (old.clone(), new.clone());
        form::encode_kind(resource, &mut was);
        form::encode_kind(resource, &mut is);
        causes.extend(unchangeable(resource.kind, &was, &is));
    } else if resource.kind == Kind::PriorityClass {
        causes.extend(unchangeable(resource.kind, old, new));
    }
    causes.extend(definition(resource.kind, Some(old), new));
    causes.extend(custom::check(resource, Some(old), new));
    causes
}

/// Whether the kind is one in which pods are submitted: these have a validation of their own, word for word upstream's.
pub(super) fn has_pods(kind: Kind) -> bool {
    match kind {
        Kind::Pod
        | Kind::Deployment
        | Kind::ReplicaSet
        | Kind::ReplicationController
        | Kind::StatefulSet
        | Kind::DaemonSet
        | Kind::Job
        | Kind::CronJob => true,
        Kind::Namespace
        | Kind::Node
        | Kind::PriorityClass
        | Kind::StorageClass
        | Kind::CsiDriver
        | Kind::CsiNode
        | Kind::NodeClaim
        | Kind::CsiStorageCapacity
        | Kind::VolumeAttachment
        | Kind::PersistentVolume
        | Kind::CustomResourceDefinition
        | Kind::PersistentVolumeClaim
        | Kind::ResourceQuota
        | Kind::ControllerRevision
        | Kind::HorizontalPodAutoscaler
        | Kind::PodDisruptionBudget
        | Kind::Service
        | Kind::EndpointSlice
        | Kind::Other => false,
    }
}

/// What the server finds wrong with an object that pods come from. What cannot be read at all is refused before.
pub(super) fn invalid(value: &Value) -> Vec<Cause> {
    match validate(value) {
        Ok(()) | Err(Refusal::BadRequest { .. }) => Vec::new(),
        Err(Refusal::Invalid { causes, .. }) => causes
            .into_iter()
            .map(|error| Cause {
                reason: error.kind.reason(),
                message: error.body(),
                field: Some(error.path),
            })
            .collect(),
    }
}

fn content(kind: Kind, value: &Value) -> Vec<Cause> {
    if kind == Kind::PodDisruptionBudget { budget(value) } else { Vec::new() }
}

fn unchangeable(kind: Kind, old: &Value, new: &Value) -> Vec<Cause> {
    let fixed: &[&str] = match kind {
        Kind::Deployment | Kind::ReplicaSet | Kind::DaemonSet => &["spec.selector"],
        Kind::Job => &[
            "spec.selector",
            "spec.completionMode",
            "spec.podFailurePolicy",
            "spec.backoffLimitPerIndex",
            "spec.managedBy",
            "spec.successPolicy",
        ],
        Kind::PriorityClass => {
            let number = |value: &Value| at(value, "value").and_then(Value::as_i64).unwrap_or(0);
            return (number(old) != number(new))
                .then(|| Cause::forbidden("value", "may not be changed in an update."))
                .into_iter()
                .collect();
        }
        Kind::StatefulSet => return stateful_set(old, new),
        Kind::Pod => return pod_update::check(old, new),
        Kind::Namespace
        | Kind::Node
        | Kind::StorageClass
        | Kind::CsiDriver
        | Kind::CsiNode
        | Kind::NodeClaim
        | Kind::CsiStorageCapacity
        | Kind::VolumeAttachment
        | Kind::PersistentVolume
        | Kind::CustomResourceDefinition
        | Kind::PersistentVolumeClaim
        | Kind::ResourceQuota
        | Kind::ReplicationController
        | Kind::ControllerRevision
        | Kind::CronJob
        | Kind::HorizontalPodAutoscaler
        | Kind::PodDisruptionBudget
        | Kind::Service
        | Kind::EndpointSlice
        | Kind::Other => &[],
    };
    let mut causes: Vec<Cause> = fixed
        .iter()
        .filter(|path| changed(old, new, path))
        .map(|path| Cause::invalid(*path, &shown(at(new, path)), IMMUTABLE))
        .collect();
    if kind == Kind::Job {
        causes.extend(completions(old, new));
    }
    if kind == Kind::Job {
        causes.extend(job_template(old, new));
    }
    causes
}

/// An elastic Job: indexed, and its completions change together with its parallelism (`validateCompletions`).
fn completions(old: &Value, new: &Value) -> Option<Cause> {
    let path = "spec.completions";
    let is_indexed = at(new, "spec.completionMode").is_some_and(|mode| mode == "Indexed");
    let is_elastic = is_indexed && at(new, path) == at(new, "spec.parallelism");
    if !changed(old, new, path) || is_elastic {
        return None;
    }
    let why = if is_indexed { "can only be modified in tandem with spec.parallelism" } else { IMMUTABLE };
    Some(Cause::invalid(path, &shown(at(new, path)), why))
}

/// A Job that is there has a selector, which its template fits: two checks look at it.
fn job_selector(new: &Value) -> Vec<Cause> {
    let selector = at(new, "spec.selector");
    let labels = at(new, "spec.template.metadata.labels");
    let mut causes = Vec::new();
    if selector.is_none() {
        causes.push(Cause::required("spec.selector", ""));
    }
    let fits = selector.is_some_and(|selector| {
        let read = serde_json::from_value::<LabelSelector>(selector.clone()).ok();
        let compiled = read.and_then(|read| read.compile().ok());
        let value = |key: &str| labels.and_then(|labels| labels.get(key)).and_then(Value::as_str);
        compiled.is_some_and(|compiled| compiled.matches(value))
    });
    if !fits {
        let why = "`selector` does not match template `labels`";
        causes.push(Cause::invalid("spec.template.metadata.labels", &shown(labels), why));
    }
    causes.iter().flat_map(|cause| [cause.clone(), cause.clone()]).collect()
}

/// A Job's template may change while it is suspended and has never run: where its pods go, and what they request (`validatePodTemplateUpdate`).
fn job_template(old: &Value, new: &Value) -> Option<Cause> {
    let is_suspended = at(old, "spec.suspend").and_then(Value::as_bool).unwrap_or(false);
    let (mut was, is) = (at(old, "spec.template")?.clone(), at(new, "spec.template")?.clone());
    if !is_suspended || at(old, "status.startTime").is_some() {
        let cause = || Cause::invalid("spec.template", &is.to_string(), IMMUTABLE);
        return (was != is).then(cause);
    }
    let (was, is) = (was.get_mut("spec")?, is.get("spec")?);
    for free in ["nodeSelector", "tolerations", "schedulingGates"] {
        copy(is, was, free);
    }
    let kept = was.get("affinity").cloned();
    let given = is.get("affinity").and_then(|affinity| affinity.get("nodeAffinity")).cloned();
    let mut affinity = kept.unwrap_or_else(|| serde_json::json!({}));
    if let Value::Object(members) = &mut affinity {
        members.remove("nodeAffinity");
        if let Some(given) = given {
            members.insert("nodeAffinity".to_owned(), given);
        }
        let is_none = members.is_empty() && is.get("affinity").is_none();
        match was.as_object_mut() {
            Some(spec) if is_none => drop(spec.remove("affinity")),
            Some(spec) if is.get("affinity").is_some() || !members.is_empty() => {
                spec.insert("affinity".to_owned(), affinity);
            }
            Some(_) | None => {}
        }
    }
    for list in ["containers", "initContainers"] {
        let given = is.get(list).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let kept = was.get_mut(list).and_then(Value::as_array_mut);
        let Some(kept) = kept.filter(|kept| kept.len() == given.len()) else { continue };
        for (kept, given) in kept.iter_mut().zip(given) {
            if kept.get("name") == given.get("name") {
                copy(given, kept, "resources");
            }
        }
    }
    (*was != *is).then(|| Cause::invalid("spec.template.spec", &is.to_string(), IMMUTABLE))
}

fn copy(from: &Value, to: &mut Value, name: &str) {
    match (from.get(name), to.as_object_mut()) {
        (Some(value), Some(members)) => drop(members.insert(name.to_owned(), value.clone())),
        (None, Some(members)) => drop(members.remove(name)),
        (_, None) => {}
    }
}

/// Everything of a StatefulSet's spec is fixed but a few members (`ValidateStatefulSetUpdate`).
fn stateful_set(old: &Value, new: &Value) -> Vec<Cause> {
    const FREE: [&str; 8] = [
        "replicas",
        "ordinals",
        "template",
        "updateStrategy",
        "revisionHistoryLimit",
        "persistentVolumeClaimRetentionPolicy",
        "minReadySeconds",
        "status",
    ];
    let fixed = |value: &Value| {
        let mut spec = at(value, "spec").cloned().unwrap_or_default();
        if let Value::Object(spec) = &mut spec {
            FREE.iter().for_each(|name| {
                spec.remove(*name);
            });
        }
        spec
    };
    if fixed(old) == fixed(new) {
        return Vec::new();
    }
    let why = "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', \
               'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and \
               'minReadySeconds' are forbidden";
    vec![Cause::forbidden("spec", why)]
}

/// `ValidatePodDisruptionBudgetSpec`.
fn budget(value: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let given = |name: &str| at(value, &format!("spec.{name}"));
    for name in ["minAvailable", "maxUnavailable"] {
        causes.extend(given(name).and_then(|number| int_or_percent(&format!("spec.{name}"), number)));
    }
    if let (Some(min), Some(max)) = (given("minAvailable"), given("maxUnavailable")) {
        let go = format!(
            "{{\"MinAvailable\":{min},\"Selector\":null,\"MaxUnavailable\":{max},\
             \"UnhealthyPodEvictionPolicy\":null}}"
        );
        causes.insert(0, Cause::invalid("spec", &go, "minAvailable and maxUnavailable cannot be both set"));
    }
    for name in ["disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"] {
        causes.extend(below_zero(value, &[format!("status.{name}")]));
    }
    causes
}

fn int_or_percent(path: &str, number: &Value) -> Option<Cause> {
    if let Some(number) = number.as_i64() {
        return (number < 0).then(|| below(path, number));
    }
    let text = number.as_str()?;
    let digits = text
        .strip_suffix('%')
        .filter(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()));
    let shown = format!("{text:?}");
    match digits.map(str::parse::<u64>) {
        Some(Ok(percent)) if percent <= 100 => None,
        Some(Ok(_) | Err(_)) => Some(Cause::invalid(path, &shown, "must not be greater than 100%")),
        None => Some(Cause::invalid(
            path,
            &shown,
            "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', \
             regex used for validation is '[0-9]+%')",
        )),
    }
}

fn below_zero(value: &Value, paths: &[impl AsRef<str>]) -> Vec<Cause> {
    let negative = |path: &&str| at(value, path).and_then(Value::as_i64).filter(|number| *number < 0);
    paths
        .iter()
        .map(AsRef::as_ref)
        .filter_map(|path| negative(&path).map(|number| below(path, number)))
        .collect()
}

fn below(path: &str, number: i64) -> Cause {
    Cause::invalid(path, &number.to_string(), "must be greater than or equal to 0")
}

fn at<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(value, |value, name| value.get(name)).filter(|found| !found.is_null())
}

fn changed(old: &Value, new: &Value, path: &str) -> bool {
    at(old, path) != at(new, path)
}

fn shown(value: Option<&Value>) -> String {
    value.map_or_else(|| "null".to_owned(), ToString::to_string)
}
