//! Flow mappings and JSON: put together again from their pieces, with what stood between them.

use super::block::indented;
use super::{InTheWay, Lay};
use crate::tree::{Entry, From, NodeAt, OriginIndex, Style, Tree, What};

impl Lay<'_> {
    /// A value in flow notation. Where each entry is to have a line, at so many blanks, these are given.
    pub(super) fn flow(&self, tree: &Tree, blanks: Option<usize>) -> Result<String, InTheWay> {
        let Some(node) = self.at(tree) else { return self.fresh(tree, blanks) };
        if self.is_unchanged(tree) {
            let text = &self.text[node.range.clone()];
            return Ok(match blanks {
                Some(blanks) => indented(text, self.indentation(node.range.start), blanks),
                None => text.to_owned(),
            });
        }
        match (node.style, &tree.what) {
            (Style::FlowMap, What::Map(entries)) if !node.entries.is_empty() => {
                self.put_together(node, entries, blanks)
            }
            (Style::FlowList, What::List(_)) if super::has_same_items(node, tree) => {
                self.with_edits(tree, node.range.clone())
            }
            (Style::Plain | Style::SingleQuoted | Style::DoubleQuoted, what) => self.scalar(what, node.style),
            (_, _) => self.fresh(tree, blanks),
        }
    }

    fn put_together(
        &self,
        node: &NodeAt,
        entries: &[Entry],
        blanks: Option<usize>,
    ) -> Result<String, InTheWay> {
        let old = |index: OriginIndex| &self.origins.entries[index];
        let (Some(first), Some(last)) = (node.entries.first(), node.entries.last()) else {
            return Err(InTheWay("a mapping has no entries"));
        };
        let open = &self.text[node.range.start + 1..old(*first).key.start];
        let close = &self.text[old(*last).end..node.range.end - 1];
        let between = match &node.entries[..] {
            [a, b, ..] => Some(&self.text[old(*a).end..old(*b).key.start]).filter(|text| !text.contains('#')),
            [] | [_] => None,
        };
        let between = match between {
            Some(text) => text.to_owned(),
            None if open.contains('\n') => format!(",{}", open.trim_start_matches([' ', ','])),
            None if self.is_json() && !self.hand().colon.ends_with(' ') => ",".to_owned(),
            None => ", ".to_owned(),
        };
        // Lines of new entries stand where those of the old ones do.
        let lines = open.rfind('\n').map(|newline| open[newline + 1..].len());
        let mut out = format!("{{{open}");
        let mut before: Option<usize> = None;
        let own: Vec<&Entry> = entries.iter().filter(|entry| entry.from != From::Merged).collect();
        if own.is_empty() {
            return Ok("{}".to_owned());
        }
        for (number, entry) in own.iter().enumerate() {
            let at = match entry.from {
                From::Text(index) => node.entries.iter().position(|of| *of == index),
                From::Nowhere | From::Merged => None,
            };
            if number > 0 {
                match (before, at) {
                    (Some(before), Some(at)) if at == before + 1 => {
                        let (a, b) = (node.entries[before], node.entries[at]);
                        out.push_str(&self.text[old(a).end..old(b).key.start]);
                    }
                    (_, _) => out.push_str(&between),
                }
            }
            out.push_str(&self.flow_entry(entry, lines)?);
            before = at;
        }
        out.push_str(close.trim_start_matches(','));
        out.push('}');
        Ok(match (blanks, lines) {
            (Some(blanks), Some(_)) => indented(&out, self.indentation(node.range.start), blanks),
            (Some(_) | None, _) => out,
        })
    }

    fn flow_entry(&self, entry: &Entry, lines: Option<usize>) -> Result<String, InTheWay> {
        let From::Text(index) = entry.from else {
            let style = if self.is_json() { Style::DoubleQuoted } else { Style::Plain };
            return Ok(format!(
                "{}{}{}",
                self.key(&entry.key, style),
                if self.is_json() { &self.hand().colon } else { ": " },
                self.flow(&entry.value, lines)?
            ));
        };
        let at = &self.origins.entries[index];
        let key = if entry.key == at.says {
            self.text[at.key.clone()].to_owned()
        } else {
            self.key(&entry.key, at.key_style)
        };
        let colon = &self.text[at.key.end..at.colon];
        let colon = if colon.is_empty() { ":" } else { colon };
        if !self.stands(index, &entry.value) {
            return Ok(format!("{key}{colon} {}", self.flow(&entry.value, lines)?));
        }
        let value = match lines {
            Some(lines) => self.moved(index, &entry.value, lines)?,
            None => self.with_edits(&entry.value, at.colon..at.end)?,
        };
        Ok(format!("{key}{colon}{value}"))
    }

    /// What no text says, in flow notation: on lines of its own where lines are given, as JSON is printed.
    fn fresh(&self, tree: &Tree, blanks: Option<usize>) -> Result<String, InTheWay> {
        let inner = blanks.map(|blanks| blanks + self.hand_step());
        let (open, close, parts) = match &tree.what {
            What::Map(entries) => {
                let parts: Result<Vec<String>, InTheWay> =
                    entries.iter().map(|entry| self.flow_entry(entry, inner)).collect();
                ('{', '}', parts?)
            }
            What::List(items) => {
                let parts: Result<Vec<String>, InTheWay> =
                    items.iter().map(|item| self.flow(item, inner)).collect();
                ('[', ']', parts?)
            }
            What::Null | What::Bool(_) | What::Number(_) | What::Text(_) => {
                let style = if self.is_json() { Style::DoubleQuoted } else { Style::Plain };
                return self.scalar(&tree.what, style);
            }
        };
        let line = |blanks: usize| format!("{}{}", self.hand().line_end, " ".repeat(blanks));
        Ok(match (inner, blanks) {
            (Some(inner), Some(blanks)) if !parts.is_empty() => {
                let parts = parts.join(&format!(",{}", line(inner)));
                format!("{open}{}{parts}{}{close}", line(inner), line(blanks))
            }
            (_, _) => {
                let compact = self.is_json() && !self.hand().colon.ends_with(' ');
                format!("{open}{}{close}", parts.join(if compact { "," } else { ", " }))
            }
        })
    }

    /// Blanks by which printed JSON goes in.
    fn hand_step(&self) -> usize {
        let mut outer: Option<usize> = None;
        for node in self.origins.nodes.iter().rev().filter(|node| node.style == Style::FlowMap) {
            let Some(first) = node.entries.first() else { continue };
            let key = self.origins.entries[*first].key.start;
            if self.line_start(key) > node.range.start {
                outer =
                    self.column(key).checked_sub(self.indentation(node.range.start)).filter(|step| *step > 0);
                break;
            }
        }
        outer.unwrap_or(2)
    }
}
