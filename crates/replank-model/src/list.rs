//! Lists that versions of an object share.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A list of which a copy costs nothing until one of the two is changed. Most writes of an object leave its owners, conditions and
/// containers as they are, and a simulation makes many such versions. It reads, and is written, as the `Vec` that it holds.
pub struct List<T>(Option<Arc<Vec<T>>>);

impl<T: 'static> List<T> {
    const NOTHING: &'static Vec<T> = &Vec::new();
}

impl<T: 'static> List<T> {
    /// Whether both are one list (the cheap, sufficient test of equality).
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        std::ptr::eq::<Vec<T>>(&**self, &**other)
    }
}

impl<T: Clone + 'static> List<T> {
    /// Gives back what was set aside for items that did not come.
    pub fn shrink(&mut self) {
        if let Some(items) = &mut self.0 {
            Arc::make_mut(items).shrink_to_fit();
        }
    }
}

impl<T> Default for List<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T> Clone for List<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T: 'static> Deref for List<T> {
    type Target = Vec<T>;

    fn deref(&self) -> &Vec<T> {
        self.0.as_deref().unwrap_or(Self::NOTHING)
    }
}

impl<T: Clone + 'static> DerefMut for List<T> {
    fn deref_mut(&mut self) -> &mut Vec<T> {
        Arc::make_mut(self.0.get_or_insert_default())
    }
}

impl<T> From<Vec<T>> for List<T> {
    fn from(items: Vec<T>) -> Self {
        Self((!items.is_empty()).then(|| Arc::new(items)))
    }
}

impl<T> FromIterator<T> for List<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Vec::from_iter(items).into()
    }
}

impl<T: Clone + 'static> Extend<T> for List<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, items: I) {
        (**self).extend(items);
    }
}

impl<'a, T: 'static> IntoIterator for &'a List<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a, T: Clone + 'static> IntoIterator for &'a mut List<T> {
    type Item = &'a mut T;
    type IntoIter = std::slice::IterMut<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        // None are none: nothing is allocated for them.
        self.0.as_mut().map(Arc::make_mut).map_or_else(Default::default, |items| items.iter_mut())
    }
}

impl<T: PartialEq + 'static> PartialEq for List<T> {
    fn eq(&self, other: &Self) -> bool {
        self.is_same(other) || **self == **other
    }
}

impl<T: Eq + 'static> Eq for List<T> {}

impl<T: Hash + 'static> Hash for List<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl<T: fmt::Debug + 'static> fmt::Debug for List<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: Serialize + 'static> Serialize for List<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (**self).serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::deserialize(deserializer).map(Self::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_made_when_one_of_two_changes() {
        let one: List<u32> = vec![1, 2].into();
        let mut other = one.clone();
        assert!(std::ptr::eq(one.as_ptr(), other.as_ptr()), "both are one list");
        other.push(3);
        assert_eq!((&one[..], &other[..]), (&[1, 2][..], &[1, 2, 3][..]));
        other.pop();
        assert_eq!(one, other, "what is in them counts");
    }

    #[test]
    fn nothing_reads_as_an_empty_list() {
        let mut none: List<u32> = Vec::new().into();
        assert_eq!((&mut none).into_iter().count(), 0);
        assert!(none.0.is_none(), "nothing is allocated");
        assert!(none.is_empty() && none == List::default());
        assert_eq!(serde_json::to_string(&none).expect("json"), "[]");
        none.push(1);
        none.clear();
        assert_eq!(none, List::default());
        let read: List<u32> = serde_json::from_str("[4]").expect("a list");
        assert_eq!(read.iter().sum::<u32>(), 4);
    }
}
