//! Lists of words that get longer: further items are written as the first one is, behind the last one.

use super::{InTheWay, Lay};
use crate::tree::{NodeAt, Style, Tree, What};

impl Lay<'_> {
    /// Items behind those that are written, which stay.
    pub(super) fn grown(&mut self, node: &NodeAt, tree: &Tree) -> Result<(), InTheWay> {
        let items = tree.items();
        let (old, new) = items.split_at(node.items.len());
        old.iter().try_for_each(|item| self.node(item))?;
        let at = |index: &usize| &self.origins.nodes[*index];
        let (Some(first), Some(last)) = (node.items.first().map(at), node.items.last().map(at)) else {
            return Err(InTheWay("a list has no items"));
        };
        let style = match first.style {
            Style::Plain | Style::SingleQuoted | Style::DoubleQuoted => first.style,
            Style::BlockText
            | Style::FlowList
            | Style::FlowMap
            | Style::BlockList
            | Style::BlockMap
            | Style::Alias => Style::Plain,
        };
        let words: Result<Vec<String>, InTheWay> = new
            .iter()
            .map(|item| match &item.what {
                What::List(_) | What::Map(_) => Err(InTheWay("a list would grow")),
                what @ (What::Null | What::Bool(_) | What::Number(_) | What::Text(_)) => {
                    self.scalar(what, style)
                }
            })
            .collect();
        if node.style == Style::BlockList {
            return self.block_items(last, &words?);
        }
        self.flow_items(last, &words?);
        Ok(())
    }

    /// Lines behind that of the last item, with the dash where it has its own.
    fn block_items(&mut self, last: &NodeAt, words: &[String]) -> Result<(), InTheWay> {
        let before = self.text[..last.range.start].trim_end_matches(' ');
        // Not with an anchor or a tag between them.
        if !before.ends_with('-') {
            return Err(InTheWay("a list would grow after an item with an anchor"));
        }
        let dash = before.len() - 1;
        let gap = &self.text[dash + 1..last.range.start];
        let blanks = " ".repeat(self.column(dash));
        let line_end = self.hand().line_end;
        let at = self.next_line(last.range.end);
        let lines: Vec<String> = words.iter().map(|word| format!("{blanks}-{gap}{word}")).collect();
        let lines = lines.join(line_end);
        if at == self.text.len() && !self.text.ends_with('\n') {
            self.edit(at..at, format!("{line_end}{lines}"));
        } else {
            self.edit(at..at, format!("{lines}{line_end}"));
        }
        Ok(())
    }

    /// Behind the last item; where that has a line of its own, so have these.
    fn flow_items(&mut self, last: &NodeAt, words: &[String]) {
        let start = self.line_start(last.range.start);
        let before = &self.text[start..last.range.start];
        let between = match before.trim().is_empty() && !before.is_empty() {
            true => format!(",{}{before}", self.hand().line_end),
            false => ", ".to_owned(),
        };
        let text: String = words.iter().map(|word| format!("{between}{word}")).collect();
        self.edit(last.range.end..last.range.end, text);
    }
}
