//! The types of a schema.

use rustc_hash::FxHashMap;

use super::read::{Field, Shape};
use crate::table::Gvk;

/// Number of a type within a schema.
pub(super) type TypeIndex = usize;

/// All types.
#[derive(Debug)]
pub struct Schema {
    pub(super) types: Vec<Shape>,
    pub(super) kinds: FxHashMap<Gvk, TypeIndex>,
}

impl Schema {
    /// Whether a group, version and kind is served, lists of a kind included.
    pub fn serves(&self, gvk: &Gvk) -> bool {
        self.kinds.contains_key(gvk)
    }

    /// Every group, version and kind with a type, in no order.
    pub fn kinds(&self) -> impl Iterator<Item = &Gvk> {
        self.kinds.keys()
    }
}

/// What a member of an object may be.
pub(super) type Members = Vec<(String, Field)>;
