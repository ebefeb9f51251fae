//! All that waits at one decision.
//!
//! Hundreds of things may wait, and at the next decision hardly one of them waits for another reason. So what is likely to stay is put on shelves, parts of the
//! list that one decision hands on to the next: copies of a list share them, and who asks what has changed between two lists passes over what they share.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::subject::Subject;
use crate::waiting::Waiting;

/// See the module's page. One entry for every thing that waits, sorted by these.
#[derive(Clone, Default)]
pub struct WaitList {
    /// What was found for this decision alone.
    own: Arc<Own>,
    /// What others have, too; nothing of it is among the former.
    shelves: Shelves,
}

/// What was found for one decision.
#[derive(Clone, Default)]
struct Own {
    waits: Vec<Waiting>,
    /// The place of each, in the order in which they were found; empty where nobody says.
    found: Vec<u32>,
}

/// What many decisions say alike, sorted and in parts.
#[derive(Clone, Debug, Default)]
pub struct Shelves(Arc<Vec<Shelf>>);

/// A part of what waits, sorted: as long as nothing of it changes, it stays at its address.
pub type Shelf = Arc<Vec<Waiting>>;

impl WaitList {
    /// What is found for one decision, sorted, and what is on shelves besides: of each thing one reason, here or there.
    #[must_use]
    pub fn new(own: Vec<Waiting>, shelves: Shelves) -> Self {
        Self::found_as(own, Vec::new(), shelves)
    }

    /// As [`WaitList::new`], with the place of each of the former in the order in which they were found.
    #[must_use]
    pub fn found_as(own: Vec<Waiting>, found: Vec<u32>, shelves: Shelves) -> Self {
        Self { own: Arc::new(Own { waits: own, found }), shelves }
    }

    /// What was found for one decision alone, in order.
    #[must_use]
    pub fn own(&self) -> &[Waiting] {
        &self.own.waits
    }

    /// The place of each of these, in the order in which they were found: the next decision finds most of it again, in that order. Empty where nobody said.
    #[must_use]
    pub fn found(&self) -> &[u32] {
        &self.own.found
    }

    /// All of it, in order.
    #[must_use]
    pub fn iter(&self) -> Iter<'_> {
        Iter { own: self.own(), shelf: &[], shelves: &self.shelves.0 }
    }

    /// The first.
    #[must_use]
    pub fn first(&self) -> Option<&Waiting> {
        self.iter().next()
    }

    /// How many things wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.own().len() + self.shelves.0.iter().map(|shelf| shelf.len()).sum::<usize>()
    }

    /// Whether nothing waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.own().is_empty() && self.shelves.is_empty()
    }

    /// A copy that shares nothing.
    #[must_use]
    pub fn to_vec(&self) -> Vec<Waiting> {
        self.iter().cloned().collect()
    }

    /// This list, and what is only in another one.
    #[must_use]
    pub fn joined(self, next: Self) -> Self {
        if self.is_empty() {
            return next;
        }
        if next.is_empty() {
            return self;
        }
        let (mut own, mut more) =
            (Arc::unwrap_or_clone(self.own).waits, Arc::unwrap_or_clone(next.own).waits);
        let mut shelves = self.shelves;
        if shelves.is_empty() {
            shelves = next.shelves;
            own.iter().for_each(|one| shelves.remove(&one.what));
        } else {
            more.extend(next.shelves.0.iter().flat_map(|shelf| shelf.iter()).cloned());
            more.retain(|one| !shelves.has(&one.what));
        }
        own.extend(more);
        // Stable: of two reasons for one thing the first stays.
        own.sort_by(|a, b| a.what.cmp(&b.what));
        own.dedup_by(|later, first| later.what == first.what);
        Self::new(own, shelves)
    }

    /// Tells of each thing that does not wait as in an earlier list what it waited on, if it did, and what it waits on now.
    pub fn changes_since(&self, earlier: &Self, mut tell: impl FnMut(Option<&Waiting>, Option<&Waiting>)) {
        let (after, before) = self.shelves.unlike(&earlier.shelves);
        let mut before = Iter { own: earlier.own(), shelf: &[], shelves: &before }.peekable();
        let mut after = Iter { own: self.own(), shelf: &[], shelves: &after }.peekable();
        loop {
            let order = match (before.peek(), after.peek()) {
                (None, None) => return,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                // Nearly all are the same, of which one look at the address of a name tells.
                (Some(was), Some(is)) if was.what == is.what => Ordering::Equal,
                (Some(was), Some(is)) => was.what.cmp(&is.what),
            };
            let was = if order == Ordering::Greater { None } else { before.next() };
            let is = if order == Ordering::Less { None } else { after.next() };
            if was.map(|was| &was.on) != is.map(|is| &is.on) {
                tell(was, is);
            }
        }
    }
}

impl Shelves {
    /// Puts them together, each after what is on the one before.
    #[must_use]
    pub fn new(shelves: impl Iterator<Item = Shelf>) -> Self {
        Self(Arc::new(shelves.filter(|shelf| !shelf.is_empty()).collect()))
    }

    /// Whether nothing is on them.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All that is on them, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Waiting> {
        self.0.iter().flat_map(|shelf| shelf.iter())
    }

    /// Whether something is said of a thing.
    #[must_use]
    pub fn has(&self, what: &Subject) -> bool {
        self.find(what).is_some()
    }

    /// Takes away what is said of a thing; others that have these shelves keep it.
    pub fn remove(&mut self, what: &Subject) {
        let Some((shelf, place)) = self.find(what) else { return };
        let shelves = Arc::make_mut(&mut self.0);
        Arc::make_mut(&mut shelves[shelf]).remove(place);
        if shelves[shelf].is_empty() {
            shelves.remove(shelf);
        }
    }

    /// On which shelf something is said of a thing, and where there.
    fn find(&self, what: &Subject) -> Option<(usize, usize)> {
        let begins = |shelf: &Shelf| shelf.first().is_some_and(|first| first.what <= *what);
        let shelf = self.0.partition_point(begins).checked_sub(1)?;
        let place = self.0[shelf].binary_search_by(|one| one.what.cmp(what)).ok()?;
        Some((shelf, place))
    }

    /// The shelves that only these have, and those that only others have.
    fn unlike(&self, others: &Self) -> (Vec<Shelf>, Vec<Shelf>) {
        let mut only = (Vec::new(), Vec::new());
        if Arc::ptr_eq(&self.0, &others.0) {
            return only;
        }
        let (mut these, mut those) = (self.0.iter().peekable(), others.0.iter().peekable());
        loop {
            let order = match (these.peek(), those.peek()) {
                (None, None) => return only,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(this), Some(that)) if Arc::ptr_eq(this, that) => {
                    these.next();
                    those.next();
                    continue;
                }
                (Some(this), Some(that)) => this[0].what.cmp(&that[0].what),
            };
            // Both are in order, so one that both have is come to on both sides at once.
            if order != Ordering::Greater {
                only.0.extend(these.next().cloned());
            }
            if order != Ordering::Less {
                only.1.extend(those.next().cloned());
            }
        }
    }
}

/// Goes through all that waits, in order.
#[derive(Clone, Debug)]
pub struct Iter<'w> {
    own: &'w [Waiting],
    /// What is left of the present shelf.
    shelf: &'w [Waiting],
    /// The shelves after that.
    shelves: &'w [Shelf],
}

impl<'w> Iterator for Iter<'w> {
    type Item = &'w Waiting;

    fn next(&mut self) -> Option<&'w Waiting> {
        if self.shelf.is_empty()
            && let Some((shelf, rest)) = self.shelves.split_first()
        {
            (self.shelf, self.shelves) = (shelf, rest);
        }
        let is_shelved = match (self.own.first(), self.shelf.first()) {
            (Some(own), Some(shelved)) => shelved.what < own.what,
            (None, _) => true,
            (Some(_), None) => false,
        };
        let from = if is_shelved { &mut self.shelf } else { &mut self.own };
        let (first, rest) = from.split_first()?;
        *from = rest;
        Some(first)
    }
}

impl<'w> IntoIterator for &'w WaitList {
    type Item = &'w Waiting;
    type IntoIter = Iter<'w>;

    fn into_iter(self) -> Iter<'w> {
        self.iter()
    }
}

/// What is given in order.
impl FromIterator<Waiting> for WaitList {
    fn from_iter<I: IntoIterator<Item = Waiting>>(waits: I) -> Self {
        Self::from(Vec::from_iter(waits))
    }
}

/// What is given in order.
impl From<Vec<Waiting>> for WaitList {
    fn from(waits: Vec<Waiting>) -> Self {
        Self::new(waits, Shelves::default())
    }
}

impl PartialEq for WaitList {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl fmt::Debug for WaitList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self).finish()
    }
}

impl Serialize for WaitList {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self)
    }
}

impl<'de> Deserialize<'de> for WaitList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::deserialize(deserializer).map(Self::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::waiting::{RunWait, WaitingOn};

    fn waits(list: &[(&str, &str)]) -> Vec<Waiting> {
        let on = |why: &str| WaitingOn::Run(RunWait::Effect { what: why.into() });
        list.iter()
            .map(|(what, why)| Waiting { what: Subject::Object((*what).into()), on: on(why) })
            .collect()
    }

    fn shelf(list: &[(&str, &str)]) -> Shelf {
        Arc::new(waits(list))
    }

    fn list(own: &[(&str, &str)], shelves: &[&Shelf]) -> WaitList {
        WaitList::new(waits(own), Shelves::new(shelves.iter().copied().cloned()))
    }

    #[test]
    fn what_is_on_shelves_stands_among_the_rest() {
        let all = list(
            &[("b", "1"), ("d", "1"), ("f", "1")],
            &[&shelf(&[("a", "2"), ("c", "2")]), &shelf(&[("e", "2")])],
        );
        let names: Vec<String> = all.iter().map(|one| one.what.to_string()).collect();
        assert_eq!(names, ["a", "b", "c", "d", "e", "f"]);
        assert_eq!(all, WaitList::from(all.to_vec()));
        assert_eq!((all.len(), all.first()), (6, all.to_vec().first()));
    }

    #[test]
    fn of_two_reasons_the_first_list_s_stays() {
        let with = list(&[("b", "1")], &[&shelf(&[("a", "1"), ("c", "1")]), &shelf(&[("e", "1")])]);
        let other = list(&[("c", "2"), ("d", "2")], &[&shelf(&[("b", "2"), ("e", "2"), ("f", "2")])]);
        let plain = list(&[("b", "3"), ("e", "3"), ("g", "3")], &[]);
        for (first, second) in [(&with, &other), (&other, &with), (&with, &plain), (&plain, &with)] {
            let mut wanted: Vec<Waiting> = first.iter().chain(second).cloned().collect();
            wanted.sort_by(|a, b| a.what.cmp(&b.what));
            wanted.dedup_by(|later, first| later.what == first.what);
            assert_eq!(first.clone().joined(second.clone()).to_vec(), wanted);
        }
    }

    #[test]
    fn changes_are_told_wherever_they_are() {
        let (kept, old, new) =
            (shelf(&[("e", "1"), ("f", "1")]), shelf(&[("c", "1")]), shelf(&[("b", "1"), ("c", "2")]));
        let before = list(&[("a", "1"), ("g", "1"), ("h", "1")], &[&old, &kept]);
        let after = list(&[("a", "1"), ("d", "1"), ("g", "2")], &[&new, &kept]);
        let mut found = Vec::new();
        after.changes_since(&before, |was, is| {
            let what = was.or(is).map(|one| one.what.to_string());
            found.push((what.unwrap_or_default(), was.is_some(), is.is_some()));
        });
        let told = [
            ("b", false, true),
            ("c", true, true),
            ("d", false, true),
            ("g", true, true),
            ("h", true, false),
        ];
        assert_eq!(found, told.map(|(what, was, is)| (what.to_owned(), was, is)));
    }
}
