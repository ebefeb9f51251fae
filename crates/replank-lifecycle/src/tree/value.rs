//! Trees to and from `serde_json`'s values.

use serde_json::Value;

use super::{Entry, Tree, What};

impl Tree {
    /// The value, without order and places.
    pub fn value(&self) -> Value {
        match &self.what {
            What::Null => Value::Null,
            What::Bool(value) => Value::Bool(*value),
            What::Number(number) => Value::Number(number.clone()),
            What::Text(text) => Value::String((**text).to_owned()),
            What::List(items) => Value::Array(items.iter().map(Tree::value).collect()),
            What::Map(entries) => Value::Object(
                entries.iter().map(|entry| ((*entry.key).to_owned(), entry.value.value())).collect(),
            ),
        }
    }

    /// A tree of a value, whose keys are in its order.
    pub fn from_value(value: &Value) -> Self {
        Self::of(match value {
            Value::Null => What::Null,
            Value::Bool(value) => What::Bool(*value),
            Value::Number(number) => What::Number(number.clone()),
            Value::String(text) => What::Text((**text).into()),
            Value::Array(items) => What::List(items.iter().map(Self::from_value).collect()),
            Value::Object(map) => {
                What::Map(map.iter().map(|(key, value)| Entry::new(key, Self::from_value(value))).collect())
            }
        })
    }

    /// Whether two trees say the same; the order of keys does not matter.
    pub fn says(&self, other: &Tree) -> bool {
        match (&self.what, &other.what) {
            (What::Null, What::Null) => true,
            (What::Bool(a), What::Bool(b)) => a == b,
            (What::Number(a), What::Number(b)) => a == b,
            (What::Text(a), What::Text(b)) => a == b,
            (What::List(a), What::List(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.says(b)),
            (What::Map(a), What::Map(b)) => {
                a.len() == b.len()
                    && a.iter().enumerate().all(|(index, entry)| {
                        // Mostly they stand in the same order.
                        let found = b
                            .get(index)
                            .filter(|of| of.key == entry.key)
                            .or_else(|| b.iter().find(|of| of.key == entry.key));
                        found.is_some_and(|found| found.value.says(&entry.value))
                    })
            }
            (
                What::Null | What::Bool(_) | What::Number(_) | What::Text(_) | What::List(_) | What::Map(_),
                _,
            ) => false,
        }
    }
}
