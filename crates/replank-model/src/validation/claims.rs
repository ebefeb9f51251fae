//! Claims on storage inside other objects: a StatefulSet's templates and ephemeral volumes
//! (`ValidatePersistentVolumeClaimSpec`, `ValidatePersistentVolumeClaimTemplate`).

use super::error::{Causes, Shown};
use super::field::Field;
use super::{names, resources, selectors};

/// What the metadata of a template may not have, in the order of the Go struct, with upstream's way of writing it.
const NOT_IN_TEMPLATE: [(&str, &str); 13] = [
    ("name", "name"),
    ("generateName", "generateName"),
    ("namespace", "namespace"),
    ("selfLink", "selfLink"),
    ("uid", "uID"),
    ("resourceVersion", "resourceVersion"),
    ("generation", "generation"),
    ("creationTimestamp", "creationTimestamp"),
    ("deletionTimestamp", "deletionTimestamp"),
    ("deletionGracePeriodSeconds", "deletionGracePeriodSeconds"),
    ("ownerReferences", "ownerReferences"),
    ("finalizers", "finalizers"),
    ("managedFields", "managedFields"),
];

/// The template of an ephemeral volume's claim.
pub(super) fn template(template: &Field<'_>, causes: &mut Causes) {
    let metadata = template.child("metadata");
    names::annotations(&metadata.child("annotations"), causes);
    names::labels(&metadata.child("labels"), causes);
    for (name, shown) in NOT_IN_TEMPLATE {
        let member = metadata.child(name);
        let is_zero = member.value == "" || member.value == 0;
        if member.is_set() && !is_zero {
            causes.forbidden(metadata.at(shown), "cannot be set");
        }
    }
    spec(&template.child("spec"), causes);
}

/// What is claimed.
pub(super) fn spec(spec: &Field<'_>, causes: &mut Causes) {
    let modes = spec.child("accessModes");
    if modes.is_empty() {
        causes.required(&modes.path, "at least 1 access mode is required");
    }
    selectors::at(&spec.child("selector"), causes);
    access_modes(&modes, causes);
    resources::storage(&spec.child("resources"), causes);
    let class = spec.child("storageClassName");
    if !class.is_empty() {
        names::subdomain_at(&class, causes);
    }
    let mode = spec.child("volumeMode");
    if mode.is_set() && !matches!(mode.text(), "Block" | "Filesystem") {
        causes.not_supported(&mode.path, Shown::word(mode.text()), &["Block", "Filesystem"]);
    }
    data_sources(spec, causes);
    let class = spec.child("volumeAttributesClassName");
    if !class.is_empty() {
        names::subdomain_at(&class, causes);
    }
}

fn access_modes(modes: &Field<'_>, causes: &mut Causes) {
    let known = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];
    for mode in modes.texts().filter(|mode| !known.contains(mode)) {
        causes.not_supported(&modes.path, Shown::word(mode), &known);
    }
    let (single, several): (Vec<&str>, Vec<&str>) =
        modes.texts().filter(|mode| known.contains(mode)).partition(|mode| *mode == "ReadWriteOncePod");
    if !single.is_empty() && !several.is_empty() {
        causes.forbidden(&modes.path, "may not use ReadWriteOncePod with other access modes");
    }
}

fn data_sources(spec: &Field<'_>, causes: &mut Causes) {
    let (source, reference) = (spec.child("dataSource"), spec.child("dataSourceRef"));
    for one in [&source, &reference].into_iter().filter(|one| one.is_set()) {
        data_source(one, causes);
    }
    let namespace = reference.child("namespace");
    if !namespace.is_empty() {
        names::label_at(&namespace, causes);
    }
    // Shown is a path of upstream's, whose members are private.
    let shown = || Shown::json("{}".to_owned());
    if !source.is_set() || !reference.is_set() {
        return;
    }
    let same = |name: &str| source.child(name).value == reference.child(name).value;
    if !namespace.is_empty() {
        let why = "may not be specified when dataSourceRef.namespace is specified";
        causes.invalid(&spec.path, shown(), why);
    } else if !["apiGroup", "kind", "name"].into_iter().all(same) {
        causes.invalid(&spec.path, shown(), "must match dataSourceRef");
    }
}

fn data_source(source: &Field<'_>, causes: &mut Causes) {
    for name in ["name", "kind"] {
        let member = source.child(name);
        if member.is_empty() {
            causes.required(member.path, "");
        }
    }
    let (group, kind) = (source.child("apiGroup"), source.child("kind").text());
    if group.is_empty() {
        if kind != "PersistentVolumeClaim" {
            let why = "must be 'PersistentVolumeClaim' when referencing the default apiGroup";
            causes.invalid(&source.path, Shown::text(kind), why);
        }
    } else {
        names::subdomain_at(&group, causes);
    }
}
