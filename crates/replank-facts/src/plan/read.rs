//! Reading JSON with paths: what was found where, what was expected, and no field unread.

use serde_json::{Map, Value};

use super::error::PlanError;
use super::suggest::nearest;

/// Collects errors; reading goes on after each.
#[derive(Debug, Default)]
pub(super) struct Errors(pub(super) Vec<PlanError>);

impl Errors {
    pub(super) fn add(&mut self, at: At<'_>, expected: &str, remedy: Option<String>) {
        self.0.push(PlanError {
            path: at.path.to_owned(),
            found: describe(at.value),
            expected: expected.to_owned(),
            remedy,
        });
    }
}

/// A value and where it stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct At<'a> {
    pub(super) path: &'a str,
    pub(super) value: &'a Value,
}

/// The members of an object, each of which must be asked for by name before the end.
pub(super) struct Fields<'a> {
    path: String,
    members: &'a Map<String, Value>,
    known: Vec<&'static str>,
}

impl<'a> Fields<'a> {
    /// The members of a value that must be an object.
    pub(super) fn of(at: At<'a>, errors: &mut Errors) -> Option<Self> {
        let Value::Object(members) = at.value else {
            errors.add(at, "an object", None);
            return None;
        };
        Some(Self { path: at.path.to_owned(), members, known: Vec::new() })
    }

    /// A member's value; a null counts as absent.
    pub(super) fn get(&mut self, name: &'static str) -> Option<&'a Value> {
        self.known.push(name);
        self.members.get(name).filter(|value| !value.is_null())
    }

    /// Reads a member that may be absent.
    pub(super) fn read<T>(
        &mut self,
        name: &'static str,
        errors: &mut Errors,
        read: impl FnOnce(At<'_>, &mut Errors) -> Option<T>,
    ) -> Option<T> {
        let value = self.get(name)?;
        read(At { path: &self.path_of(name), value }, errors)
    }

    /// Reads a member that must be there.
    pub(super) fn require<T>(
        &mut self,
        name: &'static str,
        expected: &str,
        errors: &mut Errors,
        read: impl FnOnce(At<'_>, &mut Errors) -> Option<T>,
    ) -> Option<T> {
        if self.members.get(name).is_none_or(Value::is_null) {
            self.known.push(name);
            errors.0.push(PlanError {
                path: self.path_of(name),
                found: "nothing".to_owned(),
                expected: expected.to_owned(),
                remedy: None,
            });
            return None;
        }
        self.read(name, errors, read)
    }

    /// Reports the members that nobody asked for.
    pub(super) fn finish(self, errors: &mut Errors) {
        let mut known = self.known.clone();
        known.sort_unstable();
        known.dedup();
        for name in self.members.keys().filter(|name| !known.contains(&name.as_str())) {
            let meant = nearest(name, known.iter().copied());
            errors.0.push(PlanError {
                path: self.path_of(name),
                found: format!("the unknown field {name:?}"),
                expected: one_of(&known),
                remedy: Some(match meant {
                    Some(meant) => format!("did you mean {meant:?}?"),
                    None => "remove it".to_owned(),
                }),
            });
        }
    }

    pub(super) fn path_of(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }
}

/// A text that is not empty. A number or a bool is named as what YAML makes of unquoted text.
pub(super) fn text(at: At<'_>, expected: &str, errors: &mut Errors) -> Option<String> {
    let remedy = match at.value {
        Value::String(text) if !text.is_empty() => return Some(text.clone()),
        Value::Number(_) => Some("quote it: YAML reads 1.30 as the number 1.3".to_owned()),
        Value::Bool(_) => Some("quote it: YAML reads yes, no, on and off as booleans".to_owned()),
        Value::Null | Value::String(_) | Value::Array(_) | Value::Object(_) => None,
    };
    errors.add(at, expected, remedy);
    None
}

/// A text that is read as something else.
pub(super) fn parsed<T: std::str::FromStr>(at: At<'_>, expected: &str, errors: &mut Errors) -> Option<T> {
    let text = text(at, expected, errors)?;
    let parsed = text.parse().ok();
    if parsed.is_none() {
        errors.add(at, expected, None);
    }
    parsed
}

/// One of a closed set of words.
pub(super) fn word<T: Copy>(at: At<'_>, words: &[(&str, T)], errors: &mut Errors) -> Option<T> {
    let names: Vec<&str> = words.iter().map(|(name, _)| *name).collect();
    let found = at.value.as_str();
    if let Some((_, value)) = words.iter().find(|(name, _)| Some(*name) == found) {
        return Some(*value);
    }
    let meant = found.and_then(|found| nearest(found, names.iter().copied()));
    errors.add(at, &one_of(&names), meant.map(|meant| format!("did you mean {meant:?}?")));
    None
}

/// A whole number that is not negative.
pub(super) fn count(at: At<'_>, least: u32, errors: &mut Errors) -> Option<u32> {
    let value = at.value.as_u64().and_then(|value| u32::try_from(value).ok()).filter(|value| *value >= least);
    if value.is_none() {
        errors.add(at, &format!("a whole number, {least} or more"), None);
    }
    value
}

/// All items of a list.
pub(super) fn items<T>(
    at: At<'_>,
    expected: &str,
    errors: &mut Errors,
    mut read: impl FnMut(At<'_>, &mut Errors) -> Option<T>,
) -> Option<Vec<T>> {
    let Value::Array(items) = at.value else {
        let remedy = at.value.as_str().map(|text| format!("write [{text}]"));
        errors.add(at, expected, remedy);
        return None;
    };
    if items.is_empty() {
        errors.add(at, expected, None);
        return None;
    }
    let path = |index: usize| format!("{}[{index}]", at.path);
    let read_one = |(index, value)| read(At { path: &path(index), value }, errors);
    // Not `collect` into an Option: an item that is wrong must not hide the next one's error.
    let all: Vec<Option<T>> = items.iter().enumerate().map(read_one).collect();
    all.into_iter().collect()
}

fn one_of(names: &[&str]) -> String {
    match names {
        [] => "nothing".to_owned(),
        [only] => (*only).to_owned(),
        [head @ .., last] => format!("{} or {last}", head.join(", ")),
    }
}

/// A value in a few words.
fn describe(value: &Value) -> String {
    const SHOWN: usize = 40;
    match value {
        Value::Null => "nothing".to_owned(),
        Value::Bool(value) => format!("the boolean {value}"),
        Value::Number(number) => format!("the number {number}"),
        Value::String(text) if text.chars().count() > SHOWN => {
            format!("{:?}…", text.chars().take(SHOWN).collect::<String>())
        }
        Value::String(text) => format!("{text:?}"),
        Value::Array(items) if items.is_empty() => "an empty list".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(members) if members.is_empty() => "an empty object".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}
