//! Block mappings: entries go with their lines, and come as lines.

use super::{InTheWay, Lay};
use crate::tree::{Entry, From, NodeAt, OriginIndex, Tree};

/// The entries that come in at one place: behind one that stays, or before all.
struct Run<'e> {
    behind: Option<usize>,
    entries: Vec<&'e Entry>,
}

impl Lay<'_> {
    pub(super) fn block_map(&mut self, node: &NodeAt, tree: &Tree) -> Result<(), InTheWay> {
        let old = &node.entries[..];
        let (stays, runs) = self.aligned(old, tree);
        let Some(first) = old.first().copied() else { return Err(InTheWay("a mapping has no entries")) };
        let merges = old.iter().any(|index| self.origins.entries[*index].merge);
        if tree.entries().iter().all(|entry| entry.from == From::Merged) && !merges {
            self.edit(node.range.clone(), "{}");
            return Ok(());
        }
        for entry in tree.entries() {
            if let From::Text(index) = entry.from
                && old.iter().position(|of| *of == index).is_some_and(|at| stays[at])
            {
                self.kept(index, entry)?;
            }
        }
        let column = self.column(self.origins.entries[first].key.start);
        let mut runs = runs.into_iter().peekable();
        let head = self.is_head(first);
        let mut begin = 0;
        if head && !stays[0] {
            let run = runs.next_if(|run| run.behind.is_none());
            begin = self.head_goes(old, &stays, run, column)?;
        }
        for (at, index) in old.iter().enumerate().skip(begin) {
            if !stays[at] {
                let entry = &self.origins.entries[*index];
                self.edit(self.line_start(entry.key.start)..self.next_line(entry.end), "");
            }
        }
        for run in runs {
            self.run(&run, old, column)?;
        }
        Ok(())
    }

    /// Which of the written entries stay where they are, and what comes in between.
    fn aligned<'e>(&self, old: &[OriginIndex], tree: &'e Tree) -> (Vec<bool>, Vec<Run<'e>>) {
        let mut stays: Vec<bool> = old.iter().map(|index| self.origins.entries[*index].merge).collect();
        let mut runs: Vec<Run<'e>> = Vec::new();
        let mut last = None;
        for entry in tree.entries() {
            let at = match entry.from {
                From::Merged => continue,
                From::Nowhere => None,
                From::Text(index) => old.iter().position(|of| *of == index),
            };
            match at.filter(|at| last.is_none_or(|last| *at > last)) {
                Some(at) => {
                    stays[at] = true;
                    last = Some(at);
                }
                None => match runs.last_mut() {
                    Some(run) if run.behind == last => run.entries.push(entry),
                    Some(_) | None => runs.push(Run { behind: last, entries: vec![entry] }),
                },
            }
        }
        (stays, runs)
    }

    /// Whether an entry stands behind something on its line: a dash.
    fn is_head(&self, index: OriginIndex) -> bool {
        let key = self.origins.entries[index].key.start;
        !self.text[self.line_start(key)..key].bytes().all(|byte| byte == b' ')
    }

    /// The first entry stands behind a dash, and goes: something else has to take its place there. The number of entries
    /// that are dealt with.
    fn head_goes(
        &mut self,
        old: &[OriginIndex],
        stays: &[bool],
        run: Option<Run<'_>>,
        column: usize,
    ) -> Result<usize, InTheWay> {
        let first = &self.origins.entries[old[0]];
        let end = self.line_end(first.end);
        if let Some(run) = run {
            let text = self.lines(&run.entries, column)?;
            self.edit(first.key.start..end, text);
            return Ok(1);
        }
        let Some(next) = stays.iter().position(|stays| *stays) else {
            return Err(InTheWay("an entry after a dash would be removed"));
        };
        let next_key = self.origins.entries[old[next]].key.start;
        // Comments between them stay, behind the bare dash.
        let mut between = String::new();
        let mut at = self.next_line(first.end);
        for index in &old[1..next] {
            let entry = &self.origins.entries[*index];
            between.push_str(&self.text[at..self.line_start(entry.key.start)]);
            at = self.next_line(entry.end);
        }
        let start_of_next = self.line_start(next_key);
        between.push_str(&self.text[at.min(start_of_next)..start_of_next]);
        if between.trim().is_empty() {
            self.edit(first.key.start..next_key, "");
        } else {
            let dash_end = self.text[..first.key.start].trim_end_matches(' ').len();
            self.edit(dash_end..start_of_next, format!("{}{between}", self.hand().line_end));
        }
        Ok(next)
    }

    /// Puts new entries in.
    fn run(&mut self, run: &Run<'_>, old: &[OriginIndex], column: usize) -> Result<(), InTheWay> {
        let text = self.lines(&run.entries, column)?;
        let blanks = " ".repeat(column);
        let line_end = self.hand().line_end;
        match run.behind {
            Some(at) => {
                let at = self.next_line(self.origins.entries[old[at]].end);
                if at == self.text.len() && !self.text.ends_with('\n') {
                    self.edit(at..at, format!("{line_end}{blanks}{text}"));
                } else {
                    self.edit(at..at, format!("{blanks}{text}{line_end}"));
                }
            }
            None => {
                // What stands before the first key (blanks, a dash) serves the first of the new ones.
                let at = self.origins.entries[old[0]].key.start;
                let at = if self.is_head(old[0]) { at } else { self.line_start(at) };
                if at == self.line_start(at) {
                    self.edit(at..at, format!("{blanks}{text}{line_end}"));
                } else {
                    self.edit(at..at, format!("{text}{line_end}{blanks}"));
                }
            }
        }
        Ok(())
    }

    /// Entries, each beginning a line but the first.
    fn lines(&self, entries: &[&Entry], column: usize) -> Result<String, InTheWay> {
        let mut out = String::new();
        for (number, entry) in entries.iter().enumerate() {
            if number > 0 {
                self.put_line(&mut out, column);
            }
            self.put_entry(&mut out, entry, column)?;
        }
        Ok(out)
    }

    /// An entry at a column.
    pub(super) fn put_entry(&self, out: &mut String, entry: &Entry, column: usize) -> Result<(), InTheWay> {
        let From::Text(index) = entry.from else {
            out.push_str(&self.key(&entry.key, crate::tree::Style::Plain));
            out.push(':');
            return self.put_value(out, &entry.value, column);
        };
        let at = &self.origins.entries[index];
        if entry.key == at.says && !self.is_json() {
            out.push_str(&self.text[at.key.clone()]);
        } else {
            out.push_str(&self.key(&entry.key, at.key_style));
        }
        out.push(':');
        if self.stands(index, &entry.value) {
            out.push_str(&self.moved(index, &entry.value, column)?);
            return Ok(());
        }
        self.put_value(out, &entry.value, column)
    }

    /// The value of a written entry as it is to stand elsewhere: its text from the colon on, with its comments, its lines moved
    /// in or out.
    pub(super) fn moved(&self, index: OriginIndex, value: &Tree, column: usize) -> Result<String, InTheWay> {
        let at = &self.origins.entries[index];
        let end = if self.is_in_flow(index) { at.end } else { self.next_line(at.end) };
        let text = self.with_edits(value, at.colon..end)?;
        let text = text.strip_suffix('\n').unwrap_or(&text);
        let text = text.strip_suffix('\r').unwrap_or(text);
        let from =
            if self.is_in_flow(index) { self.indentation(at.key.start) } else { self.column(at.key.start) };
        Ok(indented(text, from, column))
    }
}

/// Moves all lines but the first from one column to another. Blank lines stay blank.
pub(super) fn indented(text: &str, from: usize, to: usize) -> String {
    let mut out = String::with_capacity(text.len());
    for (number, line) in text.split('\n').enumerate() {
        if number == 0 {
            out.push_str(line);
            continue;
        }
        out.push('\n');
        let blanks = line.len() - line.trim_start_matches(' ').len();
        if line.trim().is_empty() {
            out.push_str(line.trim_start_matches(' '));
        } else {
            let blanks = (blanks + to).saturating_sub(from);
            out.extend(std::iter::repeat_n(' ', blanks));
            out.push_str(line.trim_start_matches(' '));
        }
    }
    out
}
