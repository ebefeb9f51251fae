//! JSON into trees.

use std::ops::Range;
use std::sync::Arc;

use super::{Entry, EntryAt, From, Notation, Origins, Style, Tree, What};

/// Levels: serde_json's own bound.
const DEPTH_MAX: u32 = 128;

pub(super) fn read(text: &str, range: Range<usize>) -> Result<(Tree, Origins), String> {
    let text = &text[..range.end];
    let mut reader = Reader { text, at: range.start, origins: Origins::new(Notation::Json) };
    reader.white();
    let tree = reader.value(DEPTH_MAX)?;
    Ok((tree, reader.origins))
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    origins: Origins,
}

impl Reader<'_> {
    fn next(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn white(&mut self) {
        while matches!(self.next(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn symbol(&mut self, symbol: u8) -> Result<(), String> {
        if self.next() != Some(symbol) {
            return Err(format!("invalid JSON: expected `{}` at byte {}", char::from(symbol), self.at));
        }
        self.at += 1;
        Ok(())
    }

    fn value(&mut self, depth: u32) -> Result<Tree, String> {
        if depth == 0 {
            return Err("nested too deeply".to_owned());
        }
        let start = self.at;
        match self.next() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => {
                let text = self.string()?;
                Ok(self.scalar(start, Style::DoubleQuoted, What::Text(text.into())))
            }
            Some(_) | None => {
                let rest = &self.text[start..];
                let length = rest
                    .find(|char: char| char.is_ascii_whitespace() || matches!(char, ',' | ']' | '}'))
                    .unwrap_or(rest.len());
                self.at += length;
                let value: serde_json::Value = serde_json::from_str(&rest[..length])
                    .map_err(|error| format!("invalid JSON: {error}"))?;
                Ok(self.scalar(start, Style::Plain, Tree::from_value(&value).what))
            }
        }
    }

    fn scalar(&mut self, start: usize, style: Style, what: What) -> Tree {
        let from = self.origins.node(start..self.at, style, what.clone());
        Tree { what, from: Some(from) }
    }

    fn string(&mut self) -> Result<String, String> {
        let start = self.at;
        self.symbol(b'"')?;
        loop {
            match self.next() {
                Some(b'"') => break,
                Some(b'\\') => self.at += 2,
                Some(_) => self.at += 1,
                None => return Err("invalid JSON: unterminated string".to_owned()),
            }
        }
        self.at += 1;
        serde_json::from_str(&self.text[start..self.at]).map_err(|error| format!("invalid JSON: {error}"))
    }

    fn object(&mut self, depth: u32) -> Result<Tree, String> {
        let start = self.at;
        self.symbol(b'{')?;
        let (mut entries, mut written) = (Vec::<Entry>::new(), Vec::new());
        self.white();
        while self.next() != Some(b'}') {
            if !entries.is_empty() {
                self.symbol(b',')?;
                self.white();
            }
            let key_start = self.at;
            let key = self.string()?;
            let key_range = key_start..self.at;
            if entries.iter().any(|entry| *entry.key == key) {
                return Err(format!("duplicate key `{key}`"));
            }
            let key: Arc<str> = key.into();
            self.white();
            self.symbol(b':')?;
            let colon = self.at;
            self.white();
            let value = self.value(depth - 1)?;
            let at = EntryAt {
                key: key_range,
                key_style: Style::DoubleQuoted,
                says: key.clone(),
                colon,
                end: self.at,
                value: value.from.unwrap_or_default(),
                merge: false,
            };
            let index = self.origins.entry(at);
            written.push(index);
            entries.push(Entry { key, value, from: From::Text(index) });
            self.white();
        }
        self.at += 1;
        let from = self.origins.node(start..self.at, Style::FlowMap, What::Null);
        self.origins.nodes[from].entries = written;
        Ok(Tree { what: What::Map(entries), from: Some(from) })
    }

    fn array(&mut self, depth: u32) -> Result<Tree, String> {
        let start = self.at;
        self.symbol(b'[')?;
        let mut items = Vec::new();
        self.white();
        while self.next() != Some(b']') {
            if !items.is_empty() {
                self.symbol(b',')?;
                self.white();
            }
            items.push(self.value(depth - 1)?);
            self.white();
        }
        self.at += 1;
        let from = self.origins.node(start..self.at, Style::FlowList, What::Null);
        self.origins.nodes[from].items = items.iter().filter_map(|item: &Tree| item.from).collect();
        Ok(Tree { what: What::List(items), from: Some(from) })
    }
}
