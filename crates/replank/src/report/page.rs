//! A page of text: headings, wrapped lines, tables, styles.
//!
//! Lines are wrapped before they are styled, so that escape codes never count as width. Without colour no escape code is
//! written at all: the page is what a file or a test gets. Times in text are shown by the clock that was asked for, before widths are counted;
//! what is to be pasted stays as it is.

use std::collections::BTreeSet;

use anstyle::{AnsiColor, Style};

use crate::zone::times;

/// How a report is to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Look {
    /// Columns of the terminal.
    pub(crate) width: usize,
    /// Whether colours are wanted.
    pub(crate) color: Color,
}

/// Whether colours are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Color {
    /// With escape codes.
    Ansi,
    /// Plain text.
    None,
}

/// Emphasis that text can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    /// None.
    Plain,
    /// A heading or a key figure.
    Strong,
    /// Of less interest.
    Faint,
    /// As it should be.
    Good,
    /// To be looked at.
    Warning,
    /// Wrong.
    Bad,
    /// A hint, a name.
    Note,
}

impl Tone {
    pub(crate) const fn style(self) -> Style {
        match self {
            Self::Plain => Style::new(),
            Self::Strong => Style::new().bold(),
            Self::Faint => Style::new().dimmed(),
            Self::Good => AnsiColor::Green.on_default(),
            Self::Warning => AnsiColor::Yellow.on_default(),
            Self::Bad => AnsiColor::Red.on_default().bold(),
            Self::Note => AnsiColor::Cyan.on_default(),
        }
    }
}

/// A cell of a table.
pub(crate) type Cell = (String, Tone);

/// To which side a column leans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lean {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// Text that grows downwards.
#[derive(Debug)]
pub(crate) struct Page {
    text: String,
    look: Look,
    cells: Cells,
}

/// What becomes of a row too wide for the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cells {
    /// Its first cell is cut.
    Cut,
    /// It is wider than the page.
    Whole,
}

/// Columns between the columns of a table.
const GAP: usize = 2;

impl Page {
    pub(crate) fn new(look: Look) -> Self {
        Self { text: String::new(), look, cells: Cells::Cut }
    }

    /// Its tables may be wider than it is.
    pub(crate) fn with_whole_cells(self) -> Self {
        Self { cells: Cells::Whole, ..self }
    }

    pub(crate) fn width(&self) -> usize {
        self.look.width
    }

    pub(crate) fn into_text(self) -> String {
        self.text
    }

    /// Text with a tone.
    pub(crate) fn paint(&self, text: &str, tone: Tone) -> String {
        self.painted(&times(text), tone)
    }

    fn painted(&self, text: &str, tone: Tone) -> String {
        match (self.look.color, tone) {
            (Color::None, _) | (Color::Ansi, Tone::Plain) => text.to_owned(),
            (Color::Ansi, _) if text.is_empty() => String::new(),
            (Color::Ansi, tone) => {
                let style = tone.style();
                format!("{style}{text}{style:#}")
            }
        }
    }

    /// An empty line, unless one is there or the page is empty.
    pub(crate) fn gap(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }

    /// A heading and what stands beside it.
    pub(crate) fn heading(&mut self, title: &str, beside: &str) {
        self.gap();
        let title = self.paint(title, Tone::Strong);
        let beside = if beside.is_empty() { String::new() } else { format!("  {beside}") };
        self.line(&format!("{title}{beside}"));
    }

    /// A line, not wrapped.
    pub(crate) fn line(&mut self, line: &str) {
        self.push(&times(line));
    }

    fn push(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    /// Text in lines of the page's width, each indented.
    pub(crate) fn wrapped(&mut self, indent: usize, text: &str, tone: Tone) {
        for line in wrap(&times(text), self.look.width.saturating_sub(indent)) {
            let line = self.paint(&line, tone);
            self.line(&format!("{:indent$}{line}", ""));
        }
    }

    /// `label` at an indentation of 2, text beside it from column `at` on, wrapped.
    pub(crate) fn labelled(&mut self, at: usize, label: &str, text: &str) {
        let lines = wrap(&times(text), self.look.width.saturating_sub(at));
        for (number, line) in lines.iter().enumerate() {
            let label = if number == 0 { label } else { "" };
            self.line(&format!("  {label:pad$}{line}", pad = at.saturating_sub(2)));
        }
    }

    /// Text that is to be pasted: never wrapped.
    pub(crate) fn verbatim(&mut self, indent: usize, text: &str, tone: Tone) {
        for line in text.trim_end().lines() {
            let line = self.painted(line, tone);
            self.push(&format!("{:indent$}{line}", ""));
        }
    }

    /// Parts of a line side by side; those that do not fit go on below, indented.
    pub(crate) fn beside(&mut self, indent: usize, parts: &[(&str, Tone)]) {
        let mut line = format!("{:indent$}", "");
        let mut used = indent;
        for (number, (text, tone)) in parts.iter().enumerate() {
            let text = times(text);
            let wide = text.chars().count();
            if number > 0 && used + GAP + wide > self.look.width {
                self.line(&line);
                line = format!("{:indent$}", "", indent = indent + GAP);
                used = indent + GAP;
            } else if number > 0 {
                line.push_str(&" ".repeat(GAP));
                used += GAP;
            }
            line.push_str(&self.painted(&text, *tone));
            used += wide;
        }
        self.line(&line);
    }

    /// A table, indented by two. Of a row too wide for the page, the first column is cut, unless the page has whole cells; where rows would look alike then, what
    /// does not fit stands on a line above the rest of its row.
    pub(crate) fn table(&mut self, leans: &[Lean], rows: &[Vec<Cell>]) {
        let width = |row: &Vec<Cell>, column: usize| {
            row.get(column).map_or(0, |(text, _)| times(text).chars().count())
        };
        let mut widths: Vec<usize> = (0..leans.len())
            .map(|column| rows.iter().map(|row| width(row, column)).max().unwrap_or(0))
            .collect();
        let total = 2 + widths.iter().sum::<usize>() + GAP * leans.len().saturating_sub(1);
        let beyond = match self.cells {
            Cells::Cut => total.saturating_sub(self.look.width),
            Cells::Whole => 0,
        };
        if beyond > 0 {
            const LEAST: usize = 12;
            widths[0] = widths[0].saturating_sub(beyond).max(LEAST);
        }
        let is_told_apart = {
            let names = rows.iter().filter_map(|row| Some(times(&row.first()?.0).into_owned()));
            let names: BTreeSet<String> = names.collect();
            let shown: BTreeSet<String> = names.iter().map(|name| cut(name, widths[0])).collect();
            shown.len() == names.len()
        };
        for row in rows {
            let mut line = String::from("  ");
            let is_above = !is_told_apart && width(row, 0) > widths[0];
            if let Some((name, tone)) = row.first().filter(|_| is_above) {
                let name = self.paint(&times(name), *tone);
                self.line(&format!("  {name}"));
            }
            for (column, (text, tone)) in row.iter().enumerate() {
                let text = if is_above && column == 0 { "" } else { text };
                let text = cut(&times(text), widths[column]);
                let pad = " ".repeat(widths[column] - text.chars().count());
                let text = self.paint(&text, *tone);
                let is_last = row[column + 1..].iter().all(|(text, _)| text.is_empty());
                match leans[column] {
                    Lean::Left if is_last => line.push_str(&text),
                    Lean::Left => line.push_str(&format!("{text}{pad}")),
                    Lean::Right => line.push_str(&format!("{pad}{text}")),
                }
                if is_last {
                    break;
                }
                line.push_str(&" ".repeat(GAP));
            }
            self.line(&line);
        }
    }
}

/// Text cut to so many characters, the last of which says that it was.
pub(crate) fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(width.saturating_sub(1)).collect();
    short.push('…');
    short
}

/// Lines of at most `width` characters, broken at blanks; a word that is longer than a line stays whole.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for paragraph in text.lines() {
        let mut line = String::new();
        for word in paragraph.split(' ') {
            let is_full = line.chars().count() + 1 + word.chars().count() > width;
            if !line.is_empty() && is_full {
                lines.push(std::mem::take(&mut line));
            } else if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        lines.push(line);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    const NARROW: Look = Look { width: 24, color: Color::None };

    #[test]
    fn lines_break_at_blanks_and_long_words_stay_whole() {
        assert_eq!(
            wrap("evicting web-7 waits on the budget", 14),
            ["evicting web-7", "waits on the", "budget"]
        );
        assert_eq!(wrap("a poddisruptionbudget b", 6), ["a", "poddisruptionbudget", "b"]);
        assert_eq!(wrap("one\ntwo", 10), ["one", "two"]);
    }

    #[test]
    fn a_wide_table_gives_up_its_first_column() {
        let mut page = Page::new(NARROW);
        let row =
            |name: &str, number: &str| vec![(name.to_owned(), Tone::Plain), (number.to_owned(), Tone::Bad)];
        page.table(&[Lean::Left, Lean::Right], &[row("a-name-that-is-far-too-long", "1"), row("b", "1,000")]);
        assert_eq!(page.into_text(), "  a-name-that-is…      1\n  b                1,000\n");
        let mut page = Page::new(NARROW).with_whole_cells();
        page.table(&[Lean::Left, Lean::Right], &[row("a-name-that-is-far-too-long", "1")]);
        assert_eq!(page.into_text(), "  a-name-that-is-far-too-long  1\n");
    }

    #[test]
    fn names_that_would_look_alike_are_told_in_full() {
        let mut page = Page::new(NARROW);
        let row =
            |name: &str, number: &str| vec![(name.to_owned(), Tone::Plain), (number.to_owned(), Tone::Bad)];
        let rows = [
            row("Deployment argo/workflow", "1 of 3"),
            row("Deployment argo/server", "2"),
            row("verdict", "3"),
        ];
        page.table(&[Lean::Left, Lean::Right], &rows);
        assert_eq!(
            page.into_text(),
            "  Deployment argo/workflow\n                  1 of 3\n  Deployment argo/server\n                       2\n  verdict              3\n"
        );
    }

    #[test]
    fn colour_is_all_or_nothing() {
        let plain = Page::new(NARROW).paint("x", Tone::Bad);
        let ansi = Page::new(Look { color: Color::Ansi, ..NARROW }).paint("x", Tone::Bad);
        assert_eq!(plain, "x");
        assert!(ansi.starts_with('\u{1b}') && ansi.ends_with("\u{1b}[0m"), "{ansi:?}");
    }
}
