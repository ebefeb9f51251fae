//! What becomes of definitions: which names are accepted, and how one goes with its objects (apiextensions
//! `pkg/controller/{status,establish,apiapproval,finalizer}`).

use std::sync::Arc;

use replank_model::object::cluster::CustomResourceDefinition;
use replank_model::object::meta::Key;
use replank_model::object::{Object, render};
use replank_model::time::Time;
use serde_json::{Value, json};

use super::delete::DeleteOptions;
use super::error::ApiError;
use super::store::Api;

/// Holds a definition until its objects are gone.
const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

impl Api {
    /// Says of every definition of a group which of its names are accepted, and whether it is served.
    pub(crate) fn settle_definitions(&mut self, group: &str) {
        let mut definitions: Vec<Arc<CustomResourceDefinition>> = self
            .view()
            .custom_resource_definitions
            .sorted()
            .into_iter()
            .filter(|(_, definition)| &*definition.spec.group == group)
            .map(|(_, definition)| definition.clone())
            .collect();
        definitions.sort_by_key(|definition| definition.meta.creation_timestamp);
        let mut values: Vec<Value> =
            definitions.into_iter().map(|one| render(&Object::CustomResourceDefinition(one))).collect();
        for index in 0..values.len() {
            let is_going = values[index].pointer("/metadata/deletionTimestamp").is_some();
            let others: Vec<&Value> =
                values.iter().enumerate().filter(|(at, _)| *at != index).map(|(_, one)| one).collect();
            let status = settled(&values[index], &others, self.timestamp());
            if is_going || values[index].get("status") == Some(&status) {
                continue;
            }
            values[index]["status"] = status;
            self.put_definition(&values[index]);
        }
    }

    fn put_definition(&mut self, value: &Value) {
        let Ok(object) = self.projector.object(value.clone()) else { return };
        if let Some(known) = self.known(&object) {
            self.replace(known, object, false);
        }
    }

    /// Deletes a definition: it stays until its objects are gone. What it is while it waits.
    pub(super) fn delete_definition(
        &mut self,
        known: &Object,
        options: &DeleteOptions,
    ) -> Result<Object, ApiError> {
        let mut value = render(known);
        if value.pointer("/metadata/deletionTimestamp").is_none() {
            value["metadata"]["deletionTimestamp"] = self.timestamp().to_string().into();
            let mut finalizers = value["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
            if !finalizers.iter().any(|one| one == CLEANUP) {
                finalizers.push(CLEANUP.into());
            }
            value["metadata"]["finalizers"] = finalizers.into();
            let why = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon";
            terminating(&mut value, "InstanceDeletionPending", why, self.timestamp());
        }
        let Ok(object) = self.projector.object(value.clone()) else { return Ok(known.clone()) };
        let marked = self.replace(known.clone(), object, false);
        let Object::CustomResourceDefinition(definition) = &marked else { return Ok(marked) };
        for instance in self.instances(definition) {
            // What cannot be deleted now holds the definition.
            let _is_deleted = self.delete_known(&instance, options).is_ok();
        }
        if self.known(&marked).is_some() && !self.instances(definition).is_empty() {
            terminating(
                &mut value,
                "InstanceDeletionInProgress",
                "CustomResource deletion is in progress",
                self.timestamp(),
            );
            self.put_definition(&value);
        }
        self.finish_definition(&marked.meta().key());
        Ok(marked)
    }

    fn instances(&self, definition: &CustomResourceDefinition) -> Vec<Object> {
        let is_one = |group: &str, kind: &str| {
            group == &*definition.spec.group && kind == &*definition.spec.names.kind
        };
        let others = self.view().others().filter(|other| is_one(other.group(), &other.kind));
        others.cloned().map(Object::Other).collect()
    }

    /// Lets a definition go that waits for objects, if none is left.
    fn finish_definition(&mut self, key: &Key) {
        let Some(definition) = self.view().custom_resource_definitions.by_key(key).cloned() else { return };
        let is_held = definition.meta.finalizers.iter().any(|one| &**one == CLEANUP);
        if !definition.meta.is_terminating() || !is_held || !self.instances(&definition).is_empty() {
            return;
        }
        let group = definition.spec.group.clone();
        let known = Object::CustomResourceDefinition(definition);
        let freed = known.clone().map_meta(|meta| meta.finalizers.retain(|one| &**one != CLEANUP));
        self.replace(known, freed, false);
        self.settle_definitions(&group);
    }

    /// An object has gone: its definition may have waited for it.
    pub(super) fn instance_gone(&mut self, gone: &Object) {
        let Object::Other(other) = gone else { return };
        let waiting: Vec<Key> = self
            .view()
            .custom_resource_definitions
            .unordered()
            .filter(|(_, one)| {
                one.meta.is_terminating()
                    && &*one.spec.group == other.group()
                    && one.spec.names.kind == other.kind
            })
            .map(|(_, one)| one.meta.key())
            .collect();
        waiting.iter().for_each(|key| self.finish_definition(key));
    }
}

fn terminating(value: &mut Value, reason: &str, message: &str, now: Time) {
    let condition = json!({"type": "Terminating", "status": "True", "lastTransitionTime": now.to_string(),
        "reason": reason, "message": message});
    let mut conditions =
        value.pointer("/status/conditions").and_then(Value::as_array).cloned().unwrap_or_default();
    match conditions.iter_mut().find(|one| one["type"] == "Terminating") {
        Some(one) => {
            one["reason"] = reason.into();
            one["message"] = message.into();
        }
        None => conditions.push(condition),
    }
    value["status"]["conditions"] = conditions.into();
}

/// The status of a definition among others of its group.
fn settled(value: &Value, others: &[&Value], now: Time) -> Value {
    let names = &value["spec"]["names"];
    let mut status = value.get("status").cloned().unwrap_or_else(|| json!({}));
    let mut accepted =
        status.get("acceptedNames").cloned().unwrap_or_else(|| json!({"plural": "", "kind": ""}));
    let taken = |word: &str, members: &[&str]| {
        others.iter().any(|other| {
            let accepted = &other["status"]["acceptedNames"];
            members.iter().any(|member| match &accepted[*member] {
                Value::Array(all) => all.iter().any(|one| one == word),
                Value::String(one) => one == word,
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
            })
        })
    };
    const RESOURCES: [&str; 3] = ["plural", "singular", "shortNames"];
    const KINDS: [&str; 2] = ["kind", "listKind"];
    let mut conflict: Option<(&str, String)> = None;
    for (member, among, reason) in [
        ("plural", &RESOURCES[..], "PluralConflict"),
        ("singular", &RESOURCES[..], "SingularConflict"),
        ("kind", &KINDS[..], "KindConflict"),
        ("listKind", &KINDS[..], "ListKindConflict"),
    ] {
        let word = names[member].as_str().unwrap_or_default();
        if !word.is_empty() && taken(word, among) {
            conflict = Some((reason, format!("{word:?} is already in use")));
        } else {
            accepted[member] = word.into();
        }
    }
    let short = names["shortNames"].as_array().cloned().unwrap_or_default();
    let clash = short.iter().filter_map(Value::as_str).find(|word| taken(word, &RESOURCES));
    match clash {
        Some(word) => {
            conflict =
                conflict.or_else(|| Some(("ShortNamesConflict", format!("{word:?} is already in use"))));
        }
        None if short.is_empty() => {
            accepted.as_object_mut().and_then(|members| members.remove("shortNames"));
        }
        None => accepted["shortNames"] = short.into(),
    }
    match names.get("categories").filter(|one| one.as_array().is_some_and(|all| !all.is_empty())) {
        Some(categories) => accepted["categories"] = categories.clone(),
        None => {
            accepted.as_object_mut().and_then(|members| members.remove("categories"));
        }
    }
    status["acceptedNames"] = accepted;
    let mut conditions = status["conditions"].as_array().cloned().unwrap_or_default();
    let is_established = conditions.iter().any(|one| one["type"] == "Established" && one["status"] == "True");
    let mut set = |kind: &str, status: &str, reason: &str, message: &str| {
        set_condition(&mut conditions, [kind, status, reason, message], now);
    };
    match &conflict {
        Some((reason, message)) => {
            set("NamesAccepted", "False", reason, message);
            if !is_established {
                set("Established", "False", "NotAccepted", "not all names are accepted");
            }
        }
        None => {
            set("NamesAccepted", "True", "NoConflicts", "no conflicts found");
            if !is_established {
                set("Established", "True", "InitialNamesAccepted", "the initial names have been accepted");
            }
        }
    }
    if let Some((status, reason, message)) = approval(value) {
        set("KubernetesAPIApprovalPolicyConformant", status, reason, &message);
    }
    status["conditions"] = conditions.into();
    status
}

/// Sets a condition; its time changes with its status.
fn set_condition(conditions: &mut Vec<Value>, [kind, status, reason, message]: [&str; 4], now: Time) {
    let at = conditions.iter().position(|one| one["type"] == kind);
    let kept = at.and_then(|at| {
        let one = &conditions[at];
        (one["status"] == status).then(|| one["lastTransitionTime"].clone())
    });
    let time = kept.unwrap_or_else(|| now.to_string().into());
    let condition = json!({"type": kind, "status": status, "lastTransitionTime": time, "reason": reason,
        "message": message});
    match at {
        Some(at) => conditions[at] = condition,
        None => conditions.push(condition),
    }
}

/// Whether a protected group has been approved (KEP-1111).
fn approval(value: &Value) -> Option<(&'static str, &'static str, String)> {
    let group = value["spec"]["group"].as_str()?;
    let is_within =
        |suffix: &str| group.strip_suffix(suffix).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    if !is_within("k8s.io") && !is_within("kubernetes.io") {
        return None;
    }
    let word = value["metadata"]["annotations"]["api-approved.kubernetes.io"].as_str().unwrap_or_default();
    Some(match word {
        "" => {
            let why = "protected groups must have approval annotation \"api-approved.kubernetes.io\", see \
                       https://github.com/kubernetes/enhancements/pull/1111";
            ("False", "MissingAnnotation", why.to_owned())
        }
        word if word.starts_with("unapproved") => {
            ("False", "UnapprovedAnnotation", format!("not approved: {word:?}"))
        }
        word => ("True", "ApprovedAnnotation", format!("approved in {word}")),
    })
}
