//! One kind's objects: dense slots for speed, names for look-up, sorted walks where order is seen.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{BuildHasher, Hash, Hasher};
use std::marker::PhantomData;
use std::sync::Arc;

use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::object::Resource;
use crate::object::meta::{Hint, Key, Meta};
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
    /// Slots that were left; some may have been taken again since.
    free: Vec<u32>,
    /// Slots by the hash of the object's name, which is in the object: nothing is kept twice.
    by_hash: FxHashMap<u32, u32>,
    links: Vec<Link>,
    /// Slots by the hints of their objects, where these name other slots. A hint may lead to another object, or nowhere.
    by_hint: Vec<u32>,
    len: usize,
}

/// How a slot is found by the name of its object.
#[derive(Clone, Copy, Debug)]
struct Link {
    hash: u32,
    /// The next slot whose object's name has the same hash.
    next: u32,
}

/// So many slots more than are in use take up next to no room.
const NEAR: usize = 1024;

/// No slot: the end of a list of names with the same hash.
const END: u32 = u32::MAX;

/// Where a name that was looked for is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    /// In this slot.
    Taken(u32),
    /// Nowhere; its hash.
    Free(u32),
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            by_hash: FxHashMap::default(),
            links: Vec::new(),
            by_hint: Vec::new(),
            len: 0,
        }
    }
}

impl<T: Resource> Table<T> {
    /// The slot of a name.
    #[must_use]
    pub fn find(&self, key: &Key) -> Option<Ix<T>> {
        self.find_at(self.place_of(key))
    }

    /// The slot of an object that may be there in another state, found without its name where it was stored here first.
    #[must_use]
    pub fn slot_of(&self, object: &T) -> Option<Ix<T>> {
        self.find_at(self.place_like(object.meta()))
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

    /// As [`Table::place_of`], for an object that may be there in another state.
    pub(super) fn place_like(&self, object: &Meta) -> Place {
        let (namespace, name) = (object.namespace.text(), object.name.text());
        let has = |slot: &u32| self.has(*slot, namespace, name);
        let elsewhere = |hint: u32| self.by_hint.get(hint as usize).copied();
        let hinted =
            object.hint.0.and_then(|hint| Some(hint).filter(has).or_else(|| elsewhere(hint).filter(has)));
        match hinted {
            Some(slot) => Place::Taken(slot),
            None => self.place(namespace, name),
        }
    }

    fn place(&self, namespace: &Text, name: &Text) -> Place {
        // Half of the bits tell enough names apart, and the map is half as large.
        self.place_with(FxBuildHasher.hash_one((namespace, name)) as u32, namespace, name)
    }

    fn place_with(&self, hash: u32, namespace: &Text, name: &Text) -> Place {
        let mut slot = self.by_hash.get(&hash).copied().unwrap_or(END);
        while slot != END {
            if self.has(slot, namespace, name) {
                return Place::Taken(slot);
            }
            slot = self.links[slot as usize].next;
        }
        Place::Free(hash)
    }

    /// Whether the object in a slot has this name.
    fn has(&self, slot: u32, namespace: &Text, name: &Text) -> bool {
        // Names are compared first: namespaces are few.
        self.get(Ix::new(slot)).is_some_and(|object| {
            let meta = object.meta();
            text::same(meta.name.text(), name) && text::same(meta.namespace.text(), namespace)
        })
    }

    fn find_at(&self, place: Place) -> Option<Ix<T>> {
        match place {
            Place::Taken(slot) => Some(Ix::new(slot)),
            Place::Free(_) => None,
        }
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
    pub(super) fn put(&mut self, place: Place, mut object: Arc<T>) -> (Ix<T>, Option<Arc<T>>) {
        let is_hinted = matches!(place, Place::Taken(_)) && object.meta().hint.0.is_some();
        // One that somebody else holds may be stored elsewhere, and keeps the hint from there.
        let own = if is_hinted { None } else { Arc::get_mut(&mut object) };
        let slot = match (place, own) {
            (Place::Taken(slot), None) => slot,
            (Place::Free(hash), None) => {
                let hinted = self.hinted(object.meta().hint);
                self.enter(hash, hinted)
            }
            (Place::Taken(slot), Some(own)) => {
                own.meta_mut().hint = Hint(Some(slot));
                slot
            }
            (Place::Free(hash), Some(own)) => {
                let slot = self.enter(hash, None);
                own.meta_mut().hint = Hint(Some(slot));
                slot
            }
        };
        self.note(object.meta().hint, slot);
        let old = self.slots[slot as usize].replace(object);
        (Ix::new(slot), old)
    }

    /// The slot that the object has in another view, if nobody has it here: views of one store have their objects in the same slots then, and find them there at
    /// once.
    fn hinted(&mut self, hint: Hint) -> Option<u32> {
        let slot = hint.0?;
        let at = slot as usize;
        // Few objects of many are not to take up room for all.
        if at > 4 * self.len + NEAR {
            return None;
        }
        while self.slots.len() <= at {
            let vacant = self.extend();
            self.free.push(vacant);
        }
        self.slots[at].is_none().then_some(slot)
    }

    /// One more slot.
    fn extend(&mut self) -> u32 {
        let slot = u32::try_from(self.slots.len()).ok().filter(|slot| *slot != END);
        self.slots.push(None);
        self.links.push(Link { hash: 0, next: END });
        slot.expect("fewer than 2^32 - 1 objects of one kind fit in memory")
    }

    /// A slot that nobody has.
    fn vacant(&mut self) -> u32 {
        while let Some(slot) = self.free.pop() {
            if self.slots[slot as usize].is_none() {
                return slot;
            }
        }
        self.extend()
    }

    /// A slot for a name with this hash that is not there yet: the one that is wanted, or another.
    fn enter(&mut self, hash: u32, wanted: Option<u32>) -> u32 {
        let slot = wanted.unwrap_or_else(|| self.vacant());
        let next = self.by_hash.insert(hash, slot).unwrap_or(END);
        self.links[slot as usize] = Link { hash, next };
        self.len += 1;
        slot
    }

    /// Notes where the object with a hint is, unless the hint says so.
    fn note(&mut self, hint: Hint, slot: u32) {
        let Some(at) = hint.0.filter(|hint| *hint != slot).map(|hint| hint as usize) else { return };
        if self.by_hint.len() <= at {
            self.by_hint.resize(at + 1, END);
        }
        if self.by_hint[at] != slot {
            self.by_hint[at] = slot;
        }
    }

    /// Notes that a slot was left. One may be left several times before it is looked for among those.
    fn leave(&mut self, slot: u32) {
        self.free.push(slot);
        if self.free.len() > 2 * self.slots.len() + NEAR {
            self.free.sort_unstable();
            self.free.dedup();
            self.free.retain(|slot| self.slots[*slot as usize].is_none());
        }
    }

    /// Takes out an object whose name was looked for.
    pub(super) fn take(&mut self, place: Place) -> Option<(Ix<T>, Arc<T>)> {
        let ix = self.find_at(place)?;
        let object = self.slots.get_mut(ix.slot())?.take()?;
        let Link { hash, next } = self.links[ix.slot()];
        let first = self.by_hash.get_mut(&hash).expect("every object is listed");
        if *first != ix.raw() {
            let mut before = *first as usize;
            while self.links[before].next != ix.raw() {
                before = self.links[before].next as usize;
            }
            self.links[before].next = next;
        } else if next == END {
            self.by_hash.remove(&hash);
        } else {
            *first = next;
        }
        self.leave(ix.raw());
        self.len -= 1;
        Some((ix, object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::cluster::NamespaceObject;

    fn named(name: &str) -> Arc<NamespaceObject> {
        let mut object = NamespaceObject::default();
        object.meta.name = name.into();
        object.into()
    }

    fn put(table: &mut Table<NamespaceObject>, object: &Arc<NamespaceObject>) -> u32 {
        let place = table.place_like(&object.meta);
        table.put(place, object.clone()).0.raw()
    }

    /// As a store has its objects, and a view that sees them in another order, some never.
    #[test]
    fn views_of_one_store_have_objects_in_the_same_slots() {
        let mut store = Table::<NamespaceObject>::default();
        let names: Vec<String> = (0..40).map(|number| format!("n{number}")).collect();
        let mut stored = Vec::new();
        for name in &names {
            let (ix, _) = store.put(store.place_like(&named(name).meta), named(name));
            stored.push((ix, store[ix].clone()));
        }
        let mut view = Table::<NamespaceObject>::default();
        for (ix, object) in stored.iter().rev().filter(|(ix, _)| ix.raw() % 3 > 0) {
            assert_eq!(put(&mut view, object), ix.raw());
            assert_eq!(put(&mut view, object), ix.raw(), "it is found there");
        }
        // A slot that is left is given to another that the store has there.
        for (ix, object) in stored.iter().filter(|(ix, _)| ix.raw() % 3 == 1) {
            store.take(store.place_like(&object.meta)).expect("it is there");
            let (next, _) = store.put(Place::Free(7), named(&format!("next-{}", ix.raw())));
            assert_eq!(next, *ix);
            view.take(view.place_like(&object.meta)).expect("it is there");
            assert_eq!(put(&mut view, &store[next].clone()), ix.raw());
        }
        assert!(view.by_hint.is_empty());
        // One whose slot is taken goes elsewhere, and is found there.
        let foreign = {
            let mut other = Table::default();
            let (ix, _) = other.put(Place::Free(1), named("other"));
            other[ix].clone()
        };
        let mut taken = Table::<NamespaceObject>::default();
        taken.put(Place::Free(2), named("first"));
        let slot = put(&mut taken, &foreign);
        assert!(slot != 0 && put(&mut taken, &foreign) == slot && taken.len() == 2);
        // Slots that nobody has are used before new ones are made.
        let slots = view.slots();
        while view.len() < slots {
            let name = format!("more-{}", view.len());
            let fresh = named(&name);
            view.put(view.place_like(&fresh.meta), fresh);
        }
        assert_eq!(view.slots(), slots);
    }

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
