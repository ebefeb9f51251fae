//! What is new, in the hand of the document.

use replank_intake::scalar;
use serde_json::Value;

use super::{InTheWay, Lay};
use crate::tree::{Style, Tree, What};

impl Lay<'_> {
    /// A scalar with the quotes that another one had.
    pub(super) fn scalar(&self, what: &What, style: Style) -> Result<String, InTheWay> {
        Ok(match what {
            What::Null => "null".to_owned(),
            What::Bool(value) => value.to_string(),
            What::Number(number) => number.to_string(),
            What::Text(text) => self.quoted(text, style),
            What::List(_) | What::Map(_) => {
                return Err(InTheWay("a list or mapping would replace a value"));
            }
        })
    }

    fn quoted(&self, text: &str, style: Style) -> String {
        let one_line = !text.chars().any(char::is_control);
        match style {
            Style::SingleQuoted if one_line && !self.is_json() => format!("'{}'", text.replace('\'', "''")),
            Style::Plain if is_plain(text) && !self.is_json() => text.to_owned(),
            Style::Plain
            | Style::SingleQuoted
            | Style::DoubleQuoted
            | Style::BlockText
            | Style::FlowList
            | Style::FlowMap
            | Style::BlockList
            | Style::BlockMap
            | Style::Alias => Value::from(text).to_string(),
        }
    }

    /// A key with the quotes that another one had.
    pub(super) fn key(&self, key: &str, style: Style) -> String {
        self.quoted(key, style)
    }

    /// What stands behind the colon of a key at a column.
    pub(super) fn value(&self, tree: &Tree, column: usize) -> Result<String, InTheWay> {
        let mut out = String::new();
        self.put_value(&mut out, tree, column)?;
        Ok(out)
    }

    /// The same, behind what is written already.
    pub(super) fn put_value(&self, out: &mut String, tree: &Tree, column: usize) -> Result<(), InTheWay> {
        if let Some(from) = tree.from {
            // It moved alone: its entry's text goes with it.
            if let Some(holder) = self.known.holders.get(&from).copied()
                && self.stands(holder, tree)
            {
                out.push_str(&self.moved(holder, tree, column)?);
                return Ok(());
            }
        }
        match &tree.what {
            What::Map(entries) if entries.is_empty() => out.push_str(" {}"),
            What::List(items) if items.is_empty() => out.push_str(" []"),
            What::Map(entries) => {
                let column = column + self.hand().step;
                for entry in entries {
                    self.put_line(out, column);
                    self.put_entry(out, entry, column)?;
                }
            }
            What::List(items) => {
                let column = column + self.hand().dash;
                for item in items {
                    self.put_line(out, column);
                    self.put_item(out, item, column)?;
                }
            }
            what @ (What::Null | What::Bool(_) | What::Number(_) | What::Text(_)) => {
                out.push(' ');
                out.push_str(&self.scalar(what, Style::Plain)?);
            }
        }
        Ok(())
    }

    /// The end of a line, and blanks up to a column.
    pub(super) fn put_line(&self, out: &mut String, column: usize) {
        out.push_str(self.hand().line_end);
        out.extend(std::iter::repeat_n(' ', column));
    }

    /// An item of a list whose dashes stand at a column.
    fn put_item(&self, out: &mut String, item: &Tree, column: usize) -> Result<(), InTheWay> {
        out.push_str("- ");
        match &item.what {
            What::Map(entries) if !entries.is_empty() => {
                let column = column + 2;
                for (number, entry) in entries.iter().enumerate() {
                    if number > 0 {
                        self.put_line(out, column);
                    }
                    self.put_entry(out, entry, column)?;
                }
            }
            What::Map(_) => out.push_str("{}"),
            What::List(_) => return Err(InTheWay("a list inside a list would be written")),
            what @ (What::Null | What::Bool(_) | What::Number(_) | What::Text(_)) => {
                out.push_str(&self.scalar(what, Style::Plain)?);
            }
        }
        Ok(())
    }
}

/// Whether a text can stand without quotes, anywhere, and be read as text.
fn is_plain(text: &str) -> bool {
    let inner = |char: char| {
        char.is_ascii_alphanumeric() || matches!(char, '_' | '.' | '/' | '-' | '%' | '+' | '=' | '@' | ' ')
    };
    let first = |char: char| char.is_ascii_alphanumeric() || matches!(char, '_' | '/' | '.');
    text.chars().next().is_some_and(first)
        && text.chars().all(inner)
        && !text.ends_with(' ')
        && scalar::value(text).is_some_and(|value| value.is_string())
        && text != "..."
}
