//! Fields that several kinds of volumes have.

use super::error::{Causes, Shown};
use super::field::Field;
use super::{env, mounts};

/// Fields of a pod that a file can have.
pub(super) const FIELDS_IN_FILES: [&str; 5] =
    ["metadata.name", "metadata.namespace", "metadata.labels", "metadata.annotations", "metadata.uid"];

/// A member that may not be empty.
pub(super) fn required(field: &Field<'_>, name: &str, causes: &mut Causes) {
    let member = field.child(name);
    if member.is_empty() {
        causes.required(member.path, "");
    }
}

/// `validateKeyToPath`.
pub(super) fn key_to_path(item: &Field<'_>, causes: &mut Causes) {
    required(item, "key", causes);
    required(item, "path", causes);
    mounts::not_reserved(&item.child("path"), causes);
    mode(&item.child("mode"), causes);
}

/// A file's mode.
pub(super) fn mode(field: &Field<'_>, causes: &mut Causes) {
    if let Some(mode) = field.number().filter(|mode| !(0..=0o777).contains(mode)) {
        let why = "must be a number between 0 and 0777 (octal), both inclusive";
        causes.invalid(&field.path, Shown::plain(mode), why);
    }
}

/// A file about the pod itself (`validateDownwardAPIVolumeFile`); upstream calls each by the path of all.
pub(super) fn downward_file(file: &Field<'_>, causes: &mut Causes) {
    required(file, "path", causes);
    mounts::not_reserved(&file.child("path"), causes);
    let (field, resource) = (file.child("fieldRef"), file.child("resourceFieldRef"));
    match (field.is_set(), resource.is_set()) {
        (true, both) => {
            env::field_reference(&field, &FIELDS_IN_FILES, causes);
            if both {
                let why = "fieldRef and resourceFieldRef can not be specified simultaneously";
                causes.invalid(&file.path, Shown::text("resource"), why);
            }
        }
        (false, true) => env::resource_in_volume(&resource, causes),
        (false, false) => causes.required(&file.path, "one of fieldRef and resourceFieldRef is required"),
    }
    mode(&file.child("mode"), causes);
}
