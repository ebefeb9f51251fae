//! What a converter works with, and for what.

use super::note::Note;
use crate::release::Release;
use crate::tree::Tree;

/// What a conversion is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A server of the newer version is to take the object: what it demands must be there.
    Write,
    /// An object that a server has is read. What only the newer version demands, and what changes nothing of what the object
    /// does, is not missed.
    Read,
}

/// What a converter works with.
pub(crate) struct Work<'w> {
    /// The version of Kubernetes that is to take the object.
    pub(super) target: Release,
    pub(super) purpose: Purpose,
    pub(super) notes: &'w mut Vec<Note>,
}

impl Work<'_> {
    pub(super) fn note(&mut self, note: Note) {
        self.notes.push(note);
    }
}

/// The greatest 32-bit number: what `extensions/v1beta1` had for "no limit".
pub(super) const NO_LIMIT: i64 = 2_147_483_647;

/// Writes out a field that had a default.
pub(super) fn default(of: &mut Tree, key: &str, value: Tree, behind: &[&str]) {
    let is_there = |key: &str| of.entries().iter().any(|entry| &*entry.key == key);
    // Short fields stand before the long template, unless that comes first: the text before it is not disturbed.
    let template = of.entries().iter().position(|entry| &*entry.key == "template").filter(|at| *at > 0);
    match template {
        Some(at) if !is_there(key) && !behind.iter().any(|key| is_there(key)) => {
            of.insert_at(at, crate::tree::Entry::new(key, value));
        }
        Some(_) | None => of.set_default(key, value, behind),
    }
}

/// The mapping of a key, made where it is not there.
pub(super) fn map_of<'t>(of: &'t mut Tree, key: &str, behind: &[&str]) -> Option<&'t mut Tree> {
    if of.get(key).is_none() {
        default(of, key, Tree::map([]), behind);
    }
    of.get_mut(key).filter(|value| value.is_map())
}
