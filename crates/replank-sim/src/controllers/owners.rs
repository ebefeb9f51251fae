//! Where the owners of objects are: found by name once, and known until one of their kinds comes or goes.

use replank_model::object::Kind;
use replank_model::object::meta::Meta;
use replank_model::view::View;

use super::index::resolve;

/// The owners of the objects in one table, by slot.
#[derive(Debug, Default)]
pub(super) struct Owners {
    known: Vec<Option<Known>>,
    /// Counts the owners that came or went: what was found before may be elsewhere since.
    round: u32,
}

#[derive(Clone, Copy, Debug)]
struct Known {
    round: u32,
    owner: u32,
}

impl Owners {
    /// The slot of an object's managing owner, if it is one of a kind and is there.
    pub(super) fn of(&mut self, view: &View, slot: u32, meta: &Meta, kind: Kind) -> Option<u32> {
        let owner = meta.controller().filter(|owner| &*owner.kind == kind.as_str())?;
        let at = slot as usize;
        let known = self.known.get(at).copied().flatten();
        if let Some(known) = known.filter(|known| known.round == self.round) {
            return Some(known.owner);
        }
        let found = resolve(view, kind, &meta.namespace, Some(owner))?;
        if self.known.len() <= at {
            self.known.resize(at + 1, None);
        }
        self.known[at] = Some(Known { round: self.round, owner: found });
        Some(found)
    }

    /// The object in a slot is another one now, or has other owners.
    pub(super) fn forget(&mut self, slot: u32) {
        if let Some(known) = self.known.get_mut(slot as usize) {
            *known = None;
        }
    }

    /// An object that may be an owner came or went.
    pub(super) fn forget_all(&mut self) {
        self.round += 1;
    }
}
