//! What a tree or a value says, borrowed: for checks that read it once, without a copy of every text.

use serde_json::{Number, Value};

use super::{Tree, What};

/// A value without order and places; texts and numbers are those of where it was taken from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Plain<'v> {
    /// Nothing.
    Null,
    /// True or false.
    Bool(bool),
    /// A number.
    Number(&'v Number),
    /// Text.
    Text(&'v str),
    /// A list.
    List(Vec<Plain<'v>>),
    /// A mapping, in the order of its keys; each key once.
    Map(Vec<(&'v str, Plain<'v>)>),
}

impl<'v> Plain<'v> {
    pub(crate) fn of_tree(tree: &'v Tree) -> Self {
        match &tree.what {
            What::Null => Self::Null,
            What::Bool(value) => Self::Bool(*value),
            What::Number(number) => Self::Number(number),
            What::Text(text) => Self::Text(text),
            What::List(items) => Self::List(items.iter().map(Self::of_tree).collect()),
            What::Map(entries) => {
                Self::map(entries.iter().map(|entry| (&*entry.key, Self::of_tree(&entry.value))).collect())
            }
        }
    }

    pub(crate) fn of_value(value: &'v Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(*value),
            Value::Number(number) => Self::Number(number),
            Value::String(text) => Self::Text(text),
            Value::Array(items) => Self::List(items.iter().map(Self::of_value).collect()),
            Value::Object(map) => {
                Self::map(map.iter().map(|(key, value)| (&**key, Self::of_value(value))).collect())
            }
        }
    }

    fn map(mut entries: Vec<(&'v str, Plain<'v>)>) -> Self {
        entries.sort_by_key(|(key, _)| *key);
        // Of one that a conversion has made twice the last one counts, as in a value.
        entries.dedup_by(|later, kept| {
            let is_same = later.0 == kept.0;
            if is_same {
                std::mem::swap(later, kept);
            }
            is_same
        });
        Self::Map(entries)
    }

    /// The value of a key.
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        let entries = self.as_map()?;
        let at = entries.binary_search_by(|(name, _)| (*name).cmp(key)).ok()?;
        Some(&entries[at].1)
    }

    pub(crate) fn as_text(&self) -> Option<&'v str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::List(_) | Self::Map(_) => None,
        }
    }

    pub(crate) fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(value) => Some(*value),
            Self::Null | Self::Number(_) | Self::Text(_) | Self::List(_) | Self::Map(_) => None,
        }
    }

    pub(crate) fn as_number(&self) -> Option<&'v Number> {
        match self {
            Self::Number(number) => Some(number),
            Self::Null | Self::Bool(_) | Self::Text(_) | Self::List(_) | Self::Map(_) => None,
        }
    }

    pub(crate) fn as_i64(&self) -> Option<i64> {
        self.as_number()?.as_i64()
    }

    pub(crate) fn as_f64(&self) -> Option<f64> {
        self.as_number()?.as_f64()
    }

    pub(crate) fn as_list(&self) -> Option<&[Self]> {
        match self {
            Self::List(items) => Some(items),
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::Text(_) | Self::Map(_) => None,
        }
    }

    pub(crate) fn as_map(&self) -> Option<&[(&'v str, Self)]> {
        match self {
            Self::Map(entries) => Some(entries),
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::Text(_) | Self::List(_) => None,
        }
    }

    pub(crate) fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    pub(crate) fn is_text(&self) -> bool {
        matches!(self, Self::Text(_))
    }

    pub(crate) fn is_map(&self) -> bool {
        matches!(self, Self::Map(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Entry;

    #[test]
    fn a_tree_and_its_value_say_the_same() {
        let text = |text: &str| Tree::text(text);
        let tree = Tree::map([
            ("z", Tree::list(vec![Tree::number(1), text("a"), Tree::of(What::Null)])),
            ("a", Tree::map([("b", Tree::of(What::Bool(true)))])),
        ]);
        let value = tree.value();
        assert_eq!(Plain::of_tree(&tree), Plain::of_value(&value));
        let plain = Plain::of_tree(&tree);
        assert_eq!(plain.get("a").and_then(|of| of.get("b")).and_then(Plain::as_bool), Some(true));
        assert_eq!(plain.get("y"), None);
    }

    #[test]
    fn of_a_key_that_is_there_twice_the_last_one_counts() {
        let mut tree = Tree::map([("b", Tree::number(0)), ("a", Tree::number(1))]);
        for number in [2, 3] {
            tree.insert_behind(Entry::new("a", Tree::number(number)), &["a"]);
        }
        let value = tree.value();
        assert_eq!(value["a"], 3);
        assert_eq!(Plain::of_tree(&tree), Plain::of_value(&value));
    }
}
