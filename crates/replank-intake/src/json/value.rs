//! From the text of one JSON value to a tree, noticing keys that are there twice.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::map::Entry;
use serde_json::{Map, Number, Value};

use crate::limits::Limits;

/// A tree and what was odd about its text.
pub(crate) struct Parsed {
    pub(crate) value: Value,
    /// Paths of keys that were there before in their object, such as `spec.containers[0].image`.
    pub(crate) duplicates: Vec<String>,
}

/// Duplicates kept of one document: more say nothing new.
const DUPLICATES_MAX: usize = 10;

/// Why there is no tree.
pub(crate) enum ParseError {
    /// serde_json's error, whose line and column count from the start of the text.
    Syntax(serde_json::Error),
    /// More values than [`Limits::nodes_max`].
    TooManyNodes,
}

/// Parses one value. A key that is there twice has its last value, as encoding/json (and so kubectl) has it.
pub(crate) fn parse(text: &str, limits: &Limits) -> Result<Parsed, ParseError> {
    let mut notes = Notes { duplicates: Vec::new(), nodes: 0, nodes_max: limits.nodes_max };
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let parsed = Tree(&mut notes).deserialize(&mut deserializer);
    let value = match parsed.and_then(|value| deserializer.end().map(|()| value)) {
        Ok(value) => value,
        Err(_) if notes.nodes > notes.nodes_max => return Err(ParseError::TooManyNodes),
        Err(error) => return Err(ParseError::Syntax(error)),
    };
    let duplicates = notes
        .duplicates
        .into_iter()
        .map(|mut path| {
            path.reverse();
            path.concat().trim_start_matches('.').to_owned()
        })
        .collect();
    Ok(Parsed { value, duplicates })
}

struct Notes {
    /// Each as the parts of its path, innermost first.
    duplicates: Vec<Vec<String>>,
    nodes: usize,
    nodes_max: usize,
}

struct Tree<'a>(&'a mut Notes);

impl<'de> DeserializeSeed<'de> for Tree<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        self.0.nodes += 1;
        if self.0.nodes > self.0.nodes_max {
            return Err(D::Error::custom("too many values"));
        }
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Tree<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a json value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("number out of range"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let notes = self.0;
        let mut values = Vec::new();
        loop {
            let before = notes.duplicates.len();
            let Some(value) = items.next_element_seed(Tree(notes))? else { break };
            for path in &mut notes.duplicates[before..] {
                path.push(format!("[{}]", values.len()));
            }
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let notes = self.0;
        let mut map = Map::new();
        while let Some(key) = members.next_key::<String>()? {
            let before = notes.duplicates.len();
            let value = members.next_value_seed(Tree(notes))?;
            for path in &mut notes.duplicates[before..] {
                path.push(format!(".{key}"));
            }
            match map.entry(key) {
                Entry::Vacant(entry) => {
                    entry.insert(value);
                }
                Entry::Occupied(mut entry) => {
                    if notes.duplicates.len() < DUPLICATES_MAX {
                        notes.duplicates.push(vec![format!(".{}", entry.key())]);
                    }
                    entry.insert(value);
                }
            }
        }
        Ok(Value::Object(map))
    }
}
