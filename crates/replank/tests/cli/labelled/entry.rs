//! An object whose members are taken one by one, so that a misspelt one is told.

use replank_model::time::{Span, Time};
use serde_json::{Map, Value};

use super::NOW;

/// What is left of an object.
pub(crate) struct Entry {
    members: Map<String, Value>,
    place: String,
}

impl Entry {
    /// All of it.
    pub(crate) fn of(value: Value, place: &str) -> Self {
        match value {
            Value::Object(members) => Self { members, place: place.to_owned() },
            other
            @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
                panic!("{place}: expected an object, not {other}")
            }
        }
    }

    /// The same with a better name for its place.
    pub(crate) fn at(self, place: &str) -> Self {
        Self { place: place.to_owned(), ..self }
    }

    /// Takes a member.
    pub(crate) fn take(&mut self, name: &str) -> Option<Value> {
        self.members.remove(name)
    }

    /// Takes a member that is an object to be merged into another; an empty one where there is none.
    pub(crate) fn patch(&mut self, name: &str) -> Value {
        self.take(name).unwrap_or_else(|| Value::Object(Map::new()))
    }

    /// Takes a text.
    pub(crate) fn text(&mut self, name: &str) -> Option<String> {
        let value = self.take(name)?;
        match value.as_str() {
            Some(text) => Some(text.to_owned()),
            None => panic!("{}: {name} is text, not {value}", self.place),
        }
    }

    /// Takes what is so or not; it is not where nothing is said.
    pub(crate) fn flag(&mut self, name: &str) -> bool {
        match self.take(name) {
            None => false,
            Some(Value::Bool(flag)) => flag,
            Some(other) => panic!("{}: {name} is true or false, not {other}", self.place),
        }
    }

    /// Takes a number.
    pub(crate) fn number(&mut self, name: &str) -> Option<usize> {
        let value = self.take(name)?;
        let number = value.as_u64().and_then(|number| usize::try_from(number).ok());
        Some(number.unwrap_or_else(|| panic!("{}: {name} is a number, not {value}", self.place)))
    }

    /// Takes a list; an empty one where there is none.
    pub(crate) fn list(&mut self, name: &str) -> Vec<Value> {
        match self.take(name) {
            None => Vec::new(),
            Some(Value::Array(items)) => items,
            Some(other) => panic!("{}: {name} is a list, not {other}", self.place),
        }
    }

    /// Takes a list of texts; none where nothing is said, not even that it is empty.
    pub(crate) fn texts_if_given(&mut self, name: &str) -> Option<Vec<String>> {
        self.members.contains_key(name).then(|| self.texts(name))
    }

    /// Takes a list of texts.
    pub(crate) fn texts(&mut self, name: &str) -> Vec<String> {
        let items = self.list(name);
        items
            .iter()
            .map(|item| item.as_str().unwrap_or_else(|| panic!("{}: {name}", self.place)).to_owned())
            .collect()
    }

    /// Takes a list of ordinals, from 1.
    pub(crate) fn ordinals(&mut self, name: &str) -> Vec<u64> {
        let items = self.list(name);
        items.iter().map(|item| item.as_u64().unwrap_or_else(|| panic!("{}: {name}", self.place))).collect()
    }

    /// Takes a duration, and says when that long ago was.
    pub(crate) fn ago(&mut self, name: &str) -> Option<Time> {
        let text = self.text(name)?;
        let span: Span =
            text.parse().unwrap_or_else(|_| panic!("{}: {name} is a duration, not {text:?}", self.place));
        Some(now() - span)
    }

    /// Takes `namespace/name NUMBER`; `shop` is the namespace and 1 the number where there is none.
    pub(crate) fn counted(&mut self, name: &str) -> Option<(String, String, usize)> {
        let text = self.text(name)?;
        let (path, number) = match text.split_once(' ') {
            Some((path, number)) => {
                (path, number.parse().unwrap_or_else(|_| panic!("{}: {text}", self.place)))
            }
            None => (text.as_str(), 1),
        };
        let (namespace, own) = path.split_once('/').unwrap_or(("shop", path));
        Some((namespace.to_owned(), own.to_owned(), number))
    }

    /// Nothing may be left.
    pub(crate) fn end(&self) {
        let left: Vec<&String> = self.members.keys().collect();
        assert!(left.is_empty(), "{}: unknown words {left:?}", self.place);
    }
}

/// The snapshot's time.
pub(crate) fn now() -> Time {
    NOW.parse().expect("a time")
}

/// Merges as a merge patch does: `null` takes a member away, a list replaces a list.
pub(crate) fn merge(into: &mut Value, patch: Value) {
    let Value::Object(patch) = patch else {
        *into = patch;
        return;
    };
    if !into.is_object() {
        *into = Value::Object(Map::new());
    }
    let members = into.as_object_mut().expect("it has just been made one");
    for (name, value) in patch {
        if value.is_null() {
            members.remove(&name);
        } else {
            merge(members.entry(name).or_insert(Value::Null), value);
        }
    }
}
