//! What became of one object.

use super::outcome::{Change, Why};
use crate::convert::Note;
use crate::source::Place;
use crate::table::Gvk;

/// A change that was made, but for its place.
pub(super) struct Done {
    pub(super) name: String,
    pub(super) namespace: Option<String>,
    pub(super) field: Option<&'static str>,
    pub(super) from: Gvk,
    pub(super) to: Gvk,
    pub(super) notes: Vec<Note>,
}

impl Done {
    pub(super) fn at(self, place: Place) -> Change {
        let Done { name, namespace, field, from, to, notes } = self;
        Change { place, name, namespace, field, from, to, notes }
    }
}

pub(super) type Outcome = Result<Done, Box<(Gvk, Why)>>;
