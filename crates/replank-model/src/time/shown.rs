//! Times as text.

use std::fmt;

use serde::de;
use serde::de::Visitor;

/// Enough of a text to find it by, for a message.
pub(super) fn shown(text: &str) -> String {
    const SHOWN: usize = 64;
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Reads a string as whatever `read` makes of it.
pub(super) struct TextVisitor<T, E> {
    pub(super) expecting: &'static str,
    pub(super) read: fn(&str) -> Result<T, E>,
}

impl<T, E: fmt::Display> Visitor<'_> for TextVisitor<T, E> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expecting)
    }

    fn visit_str<Error: de::Error>(self, text: &str) -> Result<T, Error> {
        (self.read)(text).map_err(Error::custom)
    }
}
