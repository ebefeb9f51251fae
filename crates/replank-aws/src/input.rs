//! What a call asks, whichever protocol it came by: a tree whose leaves are texts where the protocol knows nothing else.

use serde_json::Value;

use crate::fault::Fault;

/// The members of a call, or of a structure in it.
#[derive(Clone, Copy, Debug)]
pub struct Input<'v>(pub &'v Value);

impl<'v> Input<'v> {
    /// A member, if it is there.
    #[must_use]
    pub fn get(self, name: &str) -> Option<&'v Value> {
        self.0.get(name).filter(|value| !value.is_null())
    }

    /// A structure; empty where it is absent.
    #[must_use]
    pub fn inner(self, name: &str) -> Input<'v> {
        Input(self.0.get(name).unwrap_or(&Value::Null))
    }

    /// Whether a member is there.
    #[must_use]
    pub fn has(self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// A text.
    #[must_use]
    pub fn text(self, name: &str) -> Option<&'v str> {
        self.get(name).and_then(Value::as_str)
    }

    /// A text that has to be there.
    ///
    /// # Errors
    /// AWS' words for a missing parameter.
    pub fn required(self, name: &str) -> Result<&'v str, Fault> {
        let missing = || {
            Fault::validation(format!(
                "1 validation error detected: Value null at '{}' failed to satisfy constraint: Member must not be null",
                lower_first(name)
            ))
        };
        self.text(name).ok_or_else(missing)
    }

    /// The elements of a list; none where it is absent. A single value is a list of one.
    #[must_use]
    pub fn list(self, name: &str) -> Vec<&'v Value> {
        match self.get(name) {
            Some(Value::Array(all)) => all.iter().collect(),
            Some(Value::String(text)) if text.is_empty() => Vec::new(),
            Some(one) => vec![one],
            None => Vec::new(),
        }
    }

    /// The elements of a list of structures.
    pub fn inputs(self, name: &str) -> impl Iterator<Item = Input<'v>> {
        self.list(name).into_iter().map(Input)
    }

    /// The elements of a list of texts.
    #[must_use]
    pub fn texts(self, name: &str) -> Vec<String> {
        self.list(name).into_iter().filter_map(Value::as_str).map(str::to_owned).collect()
    }

    /// A whole number.
    ///
    /// # Errors
    /// Where it is none.
    pub fn number(self, name: &str) -> Result<Option<i64>, Fault> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => text.parse().map(Some).map_err(|_| malformed(name, text)),
            Some(value) => value.as_i64().map(Some).ok_or_else(|| malformed(name, &value.to_string())),
        }
    }

    /// A number that is not negative.
    ///
    /// # Errors
    /// Where it is none.
    pub fn count(self, name: &str) -> Result<Option<u32>, Fault> {
        let wrong = |number: i64| {
            Fault::validation(format!(
                "1 validation error detected: Value '{number}' at '{}' failed to satisfy constraint: Member must have value greater than or equal to 0",
                lower_first(name)
            ))
        };
        self.number(name)?.map(|number| u32::try_from(number).map_err(|_| wrong(number))).transpose()
    }

    /// A truth value.
    ///
    /// # Errors
    /// Where it is none.
    pub fn flag(self, name: &str) -> Result<Option<bool>, Fault> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(*flag)),
            Some(Value::String(text)) if text.eq_ignore_ascii_case("true") => Ok(Some(true)),
            Some(Value::String(text)) if text.eq_ignore_ascii_case("false") => Ok(Some(false)),
            Some(other) => Err(malformed(name, &other.to_string())),
        }
    }
}

fn malformed(name: &str, found: &str) -> Fault {
    Fault::bad("MalformedInput", format!("{name} cannot be read: {found}"))
}

fn lower_first(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}
