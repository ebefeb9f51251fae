//! One kind's objects: dense slots for speed, names for look-up, sorted walks where order is seen.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::object::Resource;
use crate::object::meta::Key;

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
    by_key: FxHashMap<Key, u32>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self { slots: Vec::new(), free: Vec::new(), by_key: FxHashMap::default() }
    }
}

impl<T: Resource> Table<T> {
    /// The slot of a name.
    #[must_use]
    pub fn find(&self, key: &Key) -> Option<Ix<T>> {
        self.by_key.get(key).map(|slot| Ix::new(*slot))
    }

    /// The object in a slot, if it is taken.
    #[must_use]
    pub fn get(&self, ix: Ix<T>) -> Option<&Arc<T>> {
        self.slots.get(ix.slot()).and_then(Option::as_ref)
    }

    /// The object of a name.
    #[must_use]
    pub fn by_key(&self, key: &Key) -> Option<&Arc<T>> {
        self.find(key).and_then(|ix| self.get(ix))
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
        self.by_key.len()
    }

    /// Whether there are no objects.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_key.is_empty()
    }

    /// One more than the largest slot ever used: the length of arrays that run beside the table.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.slots.len()
    }

    /// Stores an object under its name and returns what was there.
    pub(super) fn put(&mut self, object: Arc<T>) -> (Ix<T>, Option<Arc<T>>) {
        let key = object.meta().key();
        if let Some(&slot) = self.by_key.get(&key) {
            let old = self.slots[slot as usize].replace(object);
            return (Ix::new(slot), old);
        }
        let slot = match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = Some(object);
                slot
            }
            None => {
                let slot = u32::try_from(self.slots.len())
                    .expect("fewer than 2^32 objects of one kind fit in memory");
                self.slots.push(Some(object));
                slot
            }
        };
        self.by_key.insert(key, slot);
        (Ix::new(slot), None)
    }

    /// Takes an object out.
    pub(super) fn take(&mut self, key: &Key) -> Option<(Ix<T>, Arc<T>)> {
        let slot = self.by_key.remove(key)?;
        let object = self.slots[slot as usize].take()?;
        self.free.push(slot);
        Some((Ix::new(slot), object))
    }
}
