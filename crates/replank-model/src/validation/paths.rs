//! Paths within a container or a volume.

use super::error::{Causes, Shown};
use super::field::Field;

pub(super) fn has_backsteps(path: &str) -> bool {
    path.split('/').any(|part| part == "..")
}

/// `validatePathNoBacksteps`.
pub(super) fn no_backsteps(path: &Field<'_>, causes: &mut Causes) {
    if has_backsteps(path.text()) {
        causes.invalid(&path.path, Shown::text(path.text()), "must not contain '..'");
    }
}

/// A path downwards from where it starts (`validateLocalDescendingPath`).
pub(super) fn descending(path: &Field<'_>, causes: &mut Causes) {
    if path.text().starts_with('/') {
        causes.invalid(&path.path, Shown::text(path.text()), "must be a relative path");
    }
    no_backsteps(path, causes);
}

/// The same, of a file that is written beside the kubelet's own (`ValidateLocalNonReservedPath`).
pub(super) fn not_reserved(path: &Field<'_>, causes: &mut Causes) {
    descending(path, causes);
    if path.text().starts_with("..") && !path.text().starts_with("../") {
        causes.invalid(&path.path, Shown::text(path.text()), "must not start with '..'");
    }
}
