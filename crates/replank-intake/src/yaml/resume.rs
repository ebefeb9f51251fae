//! Where a list in block notation goes on behind an item that is broken.

/// What may be read again, of one document, in search of items behind broken ones: so many times its size...
const AGAIN_TIMES: usize = 4;
/// ... and so many bytes besides, so that a small file may be wrong in every item. A quote that is not closed can
/// make the parser go to the end for each item anew; without a bound that is quadratic.
const AGAIN_BYTES: usize = 64 << 20;

/// Which item is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Broken {
    /// The one that begins on this line (from 0).
    On(u64),
    /// The first one that begins behind a line, unless the text is wrong before that: then the one before, which
    /// had seemed whole.
    Behind {
        /// Line on which the last whole item began.
        line: u64,
        /// Line on which the text is wrong.
        wrong: u64,
    },
}

/// The text that is left of a list.
pub(super) struct Rest<'t> {
    /// From an item on to the end of the items.
    pub(super) text: &'t str,
    /// Lines before it in the text that was searched.
    pub(super) lines: u64,
    /// Items that were not handed on and are not in it: the broken one, unless that had seemed whole.
    pub(super) items: u32,
}

/// Bounds how much is read again.
#[derive(Default)]
pub(super) struct Again {
    bytes: usize,
}

impl Again {
    /// Whether this may be read again.
    pub(super) fn allows(&mut self, rest: &Rest<'_>, document_bytes: usize) -> bool {
        self.bytes = self.bytes.saturating_add(rest.text.len());
        self.bytes <= AGAIN_BYTES.saturating_add(document_bytes.saturating_mul(AGAIN_TIMES))
    }
}

/// What is left behind the broken item. An item begins on a line with a dash at the column of the first item's dash;
/// what is in an item is indented more. The items end at the first line that is indented as little and has no dash.
pub(super) fn behind(text: &str, first_item_line: usize, broken: Broken) -> Option<Rest<'_>> {
    let first = text.lines().nth(first_item_line.checked_sub(1)?)?;
    let column = first.find(|c| c != ' ').filter(|&column| first[column..].starts_with('-'))?;
    let (after, wrong, mut items) = match broken {
        Broken::On(line) => (line, 0, 1),
        Broken::Behind { line, wrong } => (line, wrong, 0),
    };
    let mut start = None;
    let mut offset = 0;
    for (number, line) in (0u64..).zip(text.split_inclusive('\n')) {
        let indent = line.len() - line.trim_start_matches(' ').len();
        let content = line.trim();
        let is_item = indent == column && (content == "-" || content.starts_with("- "));
        let is_content = !content.is_empty() && !content.starts_with('#');
        match start {
            None if is_item && number > after && number <= wrong && items == 0 => items = 1,
            None if is_item && number > after => start = Some((number, offset)),
            Some((lines, start)) if is_content && indent <= column && !is_item => {
                return Some(Rest { text: &text[start..offset], lines, items });
            }
            None | Some(_) => {}
        }
        offset += line.len();
    }
    start.map(|(lines, start)| Rest { text: &text[start..], lines, items })
}
