//! One kind's objects: dense slots for speed, names for look-up, sorted walks where order is seen.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{BuildHasher, Hash, Hasher};
use std::marker::PhantomData;
use std::sync::Arc;

use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::object::Resource;
use crate::object::meta::Key;
use crate::text::{self, Text};

/// Position of an object in its [`Table`]. It stays the object's for as long as an object of that name is there, and
/// is given to another afterwards: keep the uid beside it where that matters.
pub struct Ix<T>(u32, PhantomData<fn() -> T>);

impl<T> Ix<T> {
    /// The index of slot `slot`.
    #[must_use]
    pub fn new(slot: u32) -> Self {
        Self(slot, PhantomData)
    }

    /// The slot as a number.
    #[must_use]
    pub fn slot(self) -> usize {
        self.0 as usize
    }

    /// The slot as it is stored.
    #[must_use]
    pub fn raw(self) -> u32 {
        self.0
    }
}

impl<T> Clone for Ix<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Ix<T> {}
impl<T> PartialEq for Ix<T> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}
impl<T> Eq for Ix<T> {}
impl<T> PartialOrd for Ix<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl<T> Ord for Ix<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.cmp(&other.0)
    }
}
impl<T> Hash for Ix<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}
impl<T> fmt::Debug for Ix<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

/// All objects of one kind.
#[derive(Clone, Debug)]
pub struct Table<T> {
    slots: Vec<Option<Arc<T>>>,
    free: Vec<u32>,
    /// Slots by the hash of the object's name, which is in the object: nothing is kept twice.
    by_hash: FxHashMap<u64, u32>,
    /// After each slot, the next one whose object's name has the same hash.
    next: Vec<u32>,
    len: usize,
}

/// No slot: the end of a list of names with the same hash.
const END: u32 = u32::MAX;

/// A name that was looked for, and where it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    hash: u64,
    slot: u32,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self { slots: Vec::new(), free: Vec::new(), by_hash: FxHashMap::default(), next: Vec::new(), len: 0 }
    }
}

impl<T: Resource> Table<T> {
    /// The slot of a name.
    #[must_use]
    pub fn find(&self, key: &Key) -> Option<Ix<T>> {
        self.find_at(self.place_of(key))
    }

    /// The object of a name without namespace.
    #[must_use]
    pub fn named(&self, name: &Text) -> Option<&Arc<T>> {
        self.at(self.place(&Text::default(), name))
    }

    /// Looks for an object's name.
    pub(super) fn place_of(&self, key: &Key) -> Place {
        self.place(key.namespace.text(), key.name.text())
    }

    /// As [`Table::place_of`].
    pub(super) fn place(&self, namespace: &Text, name: &Text) -> Place {
        self.place_with(FxBuildHasher.hash_one((namespace, name)), namespace, name)
    }

    fn place_with(&self, hash: u64, namespace: &Text, name: &Text) -> Place {
        let mut slot = self.by_hash.get(&hash).copied().unwrap_or(END);
        // Names are compared first: namespaces are few.
        while let Some(object) = self.slots.get(slot as usize).and_then(Option::as_ref)
            && !(text::same(object.meta().name.text(), name)
                && text::same(object.meta().namespace.text(), namespace))
        {
            slot = self.next[slot as usize];
        }
        Place { hash, slot }
    }

    fn find_at(&self, place: Place) -> Option<Ix<T>> {
        (place.slot != END).then(|| Ix::new(place.slot))
    }

    /// The object of a name that was looked for.
    pub(super) fn at(&self, place: Place) -> Option<&Arc<T>> {
        self.find_at(place).and_then(|ix| self.get(ix))
    }

    /// The object in a slot, if it is taken.
    #[must_use]
    pub fn get(&self, ix: Ix<T>) -> Option<&Arc<T>> {
        self.slots.get(ix.slot()).and_then(Option::as_ref)
    }

    /// The object of a name.
    #[must_use]
    pub fn by_key(&self, key: &Key) -> Option<&Arc<T>> {
        self.at(self.place_of(key))
    }

    /// All objects, in the order of their slots: only for work whose order is not seen.
    pub fn unordered(&self) -> impl Iterator<Item = (Ix<T>, &Arc<T>)> {
        (0_u32..).zip(&self.slots).filter_map(|(slot, object)| Some((Ix::new(slot), object.as_ref()?)))
    }

    /// All objects, sorted by namespace and name.
    #[must_use]
    pub fn sorted(&self) -> Vec<(Ix<T>, &Arc<T>)> {
        let mut all: Vec<_> = self.unordered().collect();
        all.sort_by(|(_, a), (_, b)| {
            let (a, b) = (a.meta(), b.meta());
            a.namespace.cmp(&b.namespace).then_with(|| a.name.cmp(&b.name))
        });
        all
    }

    /// Number of objects.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no objects.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// One more than the largest slot ever used: the length of arrays that run beside the table.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.slots.len()
    }

    /// Stores an object under its name, which was looked for, and returns what was there.
    pub(super) fn put(&mut self, place: Place, object: Arc<T>) -> (Ix<T>, Option<Arc<T>>) {
        if let Some(known) = self.slots.get_mut(place.slot as usize) {
            return (Ix::new(place.slot), known.replace(object));
        }
        let slot = match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = Some(object);
                slot
            }
            None => {
                let slot = u32::try_from(self.slots.len()).ok().filter(|slot| *slot != END);
                self.slots.push(Some(object));
                self.next.push(END);
                slot.expect("fewer than 2^32 - 1 objects of one kind fit in memory")
            }
        };
        self.next[slot as usize] = self.by_hash.insert(place.hash, slot).unwrap_or(END);
        self.len += 1;
        (Ix::new(slot), None)
    }

    /// Takes out an object whose name was looked for.
    pub(super) fn take(&mut self, place: Place) -> Option<(Ix<T>, Arc<T>)> {
        let object = self.slots.get_mut(place.slot as usize)?.take()?;
        let after = std::mem::replace(&mut self.next[place.slot as usize], END);
        let first = self.by_hash.get_mut(&place.hash).expect("every object is listed");
        if *first != place.slot {
            let mut before = *first;
            while self.next[before as usize] != place.slot {
                before = self.next[before as usize];
            }
            self.next[before as usize] = after;
        } else if after == END {
            self.by_hash.remove(&place.hash);
        } else {
            *first = after;
        }
        self.free.push(place.slot);
        self.len -= 1;
        Some((Ix::new(place.slot), object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::cluster::NamespaceObject;

    /// Names of one hash, put and taken in every order.
    #[test]
    fn names_with_the_same_hash_are_told_apart() {
        let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
        let names = ["a", "b", "c"].map(Text::from);
        let none = Text::default();
        for (put, taken) in orders.iter().flat_map(|put| orders.iter().map(move |taken| (put, taken))) {
            let mut table = Table::<NamespaceObject>::default();
            let is_there = |table: &Table<NamespaceObject>, at: usize| {
                let found = table.at(table.place_with(7, &none, &names[at]));
                assert!(found.is_none_or(|found| *found.meta.name.text() == names[at]));
                found.is_some()
            };
            for at in *put {
                assert!(!is_there(&table, at));
                let mut object = NamespaceObject::default();
                object.meta.name = names[at].clone().into();
                table.put(table.place_with(7, &none, &names[at]), object.into());
            }
            for (number, at) in taken.iter().enumerate() {
                assert!(taken[number..].iter().all(|at| is_there(&table, *at)));
                let (_, object) = table.take(table.place_with(7, &none, &names[*at])).expect("it is there");
                assert_eq!(*object.meta.name.text(), names[*at]);
                assert!(!is_there(&table, *at) && table.len() == 2 - number);
            }
            assert!(table.by_hash.is_empty());
        }
    }
}
