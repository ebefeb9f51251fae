//! Metadata of an object (apimachinery `pkg/api/validation/objectmeta.go`).

use super::error::{Causes, Shown};
use super::field::Field;
use super::{names, show};

/// All of it (`ValidateObjectMeta`). `managedFields` are not looked at: the server writes them itself.
pub(super) fn object(metadata: &Field<'_>, name_rules: fn(&str) -> Vec<String>, causes: &mut Causes) {
    let prefix = metadata.child("generateName");
    if !prefix.is_empty() {
        causes.broken_rules(&prefix.path, prefix.text(), names::as_prefix(prefix.text(), name_rules));
    }
    named(metadata, name_rules, causes);
}

/// The same, where what the name is made from is not looked at (`ValidateObjectMetaWithOpts`).
pub(super) fn named(metadata: &Field<'_>, name_rules: fn(&str) -> Vec<String>, causes: &mut Causes) {
    common(metadata, name_rules, causes);
    for finalizer in metadata.child("finalizers").items() {
        let text = finalizer.text();
        let is_standard = matches!(text, "kubernetes" | "orphan" | "foregroundDeletion");
        if !text.contains('/') && !is_standard {
            let why = "name is neither a standard finalizer name nor is it fully qualified";
            causes.invalid(&finalizer.path, Shown::text(text), why);
        }
    }
}

/// What is looked at once more, after all else, for every kind (`ValidateObjectMetaAccessor`). What a name is made from is
/// all that can be wrong by then, where the kind has not looked at it.
pub(super) fn afterwards(metadata: &Field<'_>, causes: &mut Causes) {
    let prefix = metadata.child("generateName");
    causes.broken_rules(&prefix.path, prefix.text(), names::path_segment(prefix.text()));
}

fn common(metadata: &Field<'_>, name_rules: fn(&str) -> Vec<String>, causes: &mut Causes) {
    let name = metadata.child("name");
    if name.is_empty() {
        causes.required(&name.path, "name or generateName is required");
    } else {
        causes.broken_rules(&name.path, name.text(), name_rules(name.text()));
    }
    names::label_at(&metadata.child("namespace"), causes);
    names::labels(&metadata.child("labels"), causes);
    names::annotations(&metadata.child("annotations"), causes);
    owners(&metadata.child("ownerReferences"), causes);
    finalizers(&metadata.child("finalizers"), causes);
}

/// Upstream names the list, not the reference.
fn owners(list: &Field<'_>, causes: &mut Causes) {
    let mut controller: Option<String> = None;
    for owner in list.items() {
        let text = |name: &str| owner.child(name).text();
        let version = text("apiVersion");
        if group_version(version).is_none_or(|(_, version)| version.is_empty()) {
            causes.invalid(list.at("apiVersion"), Shown::text(version), "version must not be empty");
        }
        for name in ["kind", "name"] {
            if text(name).is_empty() {
                causes.invalid(list.at(name), Shown::text(""), "must not be empty");
            }
        }
        if text("uid").is_empty() {
            causes.invalid(list.at("uid"), Shown::word(""), "must not be empty");
        }
        if version == "v1" && text("kind") == "Event" {
            let why = "/v1, Kind=Event is disallowed from being an owner";
            causes.invalid(&list.path, show::shown("v1.OwnerReference", owner.value), why);
        }
        if owner.child("controller").is_true() {
            let name = format!("{}/{}", text("kind"), text("name"));
            match &controller {
                Some(first) => {
                    let why = format!(
                        "Only one reference can have Controller set to true. Found \"true\" in references for {first} \
                         and {name}"
                    );
                    causes.invalid(&list.path, show::owners(list.value), why);
                }
                None => controller = Some(name),
            }
        }
    }
}

/// `schema.ParseGroupVersion`; what it cannot read has no version.
fn group_version(text: &str) -> Option<(&str, &str)> {
    match text.matches('/').count() {
        0 => Some(("", text)),
        1 => text.split_once('/'),
        _ => None,
    }
}

fn finalizers(list: &Field<'_>, causes: &mut Causes) {
    let has = |name: &str| list.texts().any(|finalizer| finalizer == name);
    let both = has("orphan") && has("foregroundDeletion");
    for text in list.texts() {
        names::qualified(&list.path, text, causes);
    }
    if both {
        let why = "finalizer orphan and foregroundDeletion cannot be both set";
        causes.invalid(&list.path, show::texts(list.value), why);
    }
}
