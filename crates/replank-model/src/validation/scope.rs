//! What a pod's spec is part of.

use super::error::{Causes, Shown};
use super::field::Field;

/// What a spec stands in.
#[derive(Clone, Copy)]
pub(super) enum Scope<'a> {
    /// A pod, with its metadata.
    Pod(&'a Field<'a>),
    /// A template of pods.
    Template,
}

impl Scope<'_> {
    pub(super) fn is_pod(self) -> bool {
        match self {
            Self::Pod(_) => true,
            Self::Template => false,
        }
    }

    /// The pod's name, where it is known.
    pub(super) fn name(self) -> Option<String> {
        match self {
            Self::Pod(metadata) => {
                Some(metadata.child("name").text().to_owned()).filter(|name| !name.is_empty())
            }
            Self::Template => None,
        }
    }
}

/// A word out of a few; none is another cause than a wrong one.
pub(super) fn one_of(field: &Field<'_>, known: &[&str], causes: &mut Causes) {
    match field.text() {
        "" => causes.required(&field.path, ""),
        word if known.contains(&word) => {}
        word => causes.not_supported(&field.path, Shown::word(word), known),
    }
}
