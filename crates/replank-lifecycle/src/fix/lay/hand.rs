//! How a document is written: what is put in is written in the same way.

use std::collections::BTreeMap;

use crate::tree::{Origins, Style};

/// Habits of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hand {
    /// Blanks by which a mapping within a mapping stands further in.
    pub(super) step: usize,
    /// Blanks by which the dashes of a list stand further in than its key.
    pub(super) dash: usize,
    /// What ends its lines.
    pub(super) line_end: &'static str,
    /// What stands between key and value in JSON.
    pub(super) colon: String,
}

/// Blanks where the document shows none.
const STEP: usize = 2;

impl Hand {
    pub(super) fn of(text: &str, origins: &Origins) -> Self {
        let column = |at: usize| at - text[..at].rfind('\n').map_or(0, |newline| newline + 1);
        let (mut steps, mut dashes) = (Habit::default(), Habit::default());
        let mut colon = None;
        for entry in &origins.entries {
            let node = &origins.nodes[entry.value];
            let own_line = text[..entry.key.start].ends_with([' ', '\n']) && !entry.merge;
            if !own_line {
                continue;
            }
            let key = column(entry.key.start);
            match node.style {
                Style::BlockMap => {
                    steps.seen(column(node.range.start).checked_sub(key).filter(|step| *step > 0));
                }
                Style::BlockList => {
                    let dash = first_dash(text, entry.colon).map(column);
                    dashes.seen(dash.and_then(|at| at.checked_sub(key)));
                }
                Style::FlowMap
                | Style::FlowList
                | Style::Plain
                | Style::SingleQuoted
                | Style::DoubleQuoted
                | Style::BlockText
                | Style::Alias => {}
            }
        }
        for entry in &origins.entries {
            let value = origins.nodes[entry.value].range.start;
            let between = text.get(entry.key.end..value.max(entry.key.end)).unwrap_or(": ");
            if colon.is_none() && between.trim() == ":" && !between.contains('\n') {
                colon = Some(between.to_owned());
            }
        }
        let starts = origins.nodes.iter().map(|node| node.range.start);
        let ends = origins.nodes.iter().map(|node| node.range.end);
        let (start, end) = (starts.min().unwrap_or(0), ends.max().unwrap_or(text.len()));
        let end = text[end..].find('\n').map_or(text.len(), |newline| end + newline + 1);
        Self {
            step: steps.most().unwrap_or(STEP),
            dash: dashes.most().unwrap_or(0),
            line_end: if text[start..end].contains("\r\n") { "\r\n" } else { "\n" },
            colon: colon.unwrap_or_else(|| ": ".to_owned()),
        }
    }
}

/// How often which number of blanks was seen.
#[derive(Default)]
struct Habit(BTreeMap<usize, usize>);

impl Habit {
    fn seen(&mut self, blanks: Option<usize>) {
        if let Some(blanks) = blanks {
            *self.0.entry(blanks).or_default() += 1;
        }
    }

    /// The most frequent; of equals the smallest.
    fn most(&self) -> Option<usize> {
        self.0
            .iter()
            .max_by_key(|(blanks, count)| (**count, std::cmp::Reverse(**blanks)))
            .map(|(blanks, _)| *blanks)
    }
}

/// The first dash on a line of its own behind a colon.
fn first_dash(text: &str, colon: usize) -> Option<usize> {
    let mut at = colon + text[colon..].find('\n')? + 1;
    loop {
        let line = text[at..].lines().next()?;
        let blanks = line.len() - line.trim_start().len();
        match line.trim_start().chars().next() {
            Some('-') => return Some(at + blanks),
            Some('#') | None => at += text[at..].find('\n')? + 1,
            Some(_) => return None,
        }
    }
}
