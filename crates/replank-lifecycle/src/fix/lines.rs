//! Which lines a set of edits changes, as a comparison shows it.

use rustc_hash::FxHashMap;

use super::lay::{Edit, apply};

/// Lines that go, and lines that come in their place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hunk {
    /// The first line, from 1, of those that go; where none goes, the line before which others come.
    pub line: usize,
    /// Lines that go, with their ends.
    pub old: Lines,
    /// Lines that come, with their ends.
    pub new: Lines,
}

/// Lines with their ends, as one text: a change may have very many.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lines {
    text: String,
    count: usize,
}

impl Lines {
    fn push(&mut self, line: &str) {
        self.text.push_str(line);
        self.count += 1;
    }

    /// How many they are.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Each of them.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.text.split_inclusive('\n')
    }
}

/// Products of lines up to which the longest common sequence is looked for. Beyond it the lines that are on both sides once are found first, and what
/// stands between them is compared; where there are none, lines go and come as a whole.
const COMPARED_MAX: usize = 40_000;

/// A text with its edits made, and its hunks.
pub(super) fn edited(text: &str, mut edits: Vec<Edit>) -> (String, Vec<Hunk>) {
    edits.sort_by_key(|edit| edit.range.start);
    let hunks = hunks(text, &edits);
    (apply(text, 0..text.len(), &edits), hunks)
}

/// How many line ends a text has.
pub(super) fn line_ends(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'\n').count()
}

/// The hunks of edits, in order.
fn hunks(text: &str, edits: &[Edit]) -> Vec<Hunk> {
    let mut hunks = Vec::new();
    let (mut at, mut line) = (0, 1);
    for (start, end) in spans(text, edits) {
        line += line_ends(&text[at..start]);
        at = start;
        let new = apply(text, start..end, edits);
        let old: Vec<&str> = text[start..end].split_inclusive('\n').collect();
        let new: Vec<&str> = new.split_inclusive('\n').collect();
        compare(&old, &new, line, &mut hunks);
    }
    hunks
}

/// Whole lines that hold all edits; those that touch are one.
fn spans(text: &str, edits: &[Edit]) -> Vec<(usize, usize)> {
    let mut spans: Vec<(usize, usize)> = Vec::new();
    for edit in edits {
        let start = text[..edit.range.start].rfind('\n').map_or(0, |newline| newline + 1);
        let end = edit.range.end;
        let at_line_start = end == 0 || text[..end].ends_with('\n');
        let end = if at_line_start && (end > start || edit.range.is_empty()) {
            end
        } else {
            text[end..].find('\n').map_or(text.len(), |newline| end + newline + 1)
        };
        match spans.last_mut() {
            Some((_, last)) if start <= *last => *last = end.max(*last),
            Some(_) | None => spans.push((start, end)),
        }
    }
    spans
}

fn owned(lines: &[&str]) -> Lines {
    Lines { text: lines.concat(), count: lines.len() }
}

fn compare(old: &[&str], new: &[&str], line: usize, hunks: &mut Vec<Hunk>) {
    let same = |(a, b): &(&&str, &&str)| a == b;
    let head = old.iter().zip(new).take_while(same).count();
    let (old, new) = (&old[head..], &new[head..]);
    let tail = old.iter().rev().zip(new.iter().rev()).take_while(same).count();
    let (old, new) = (&old[..old.len() - tail], &new[..new.len() - tail]);
    let line = line + head;
    if old.is_empty() && new.is_empty() {
        return;
    }
    if old.len().saturating_mul(new.len()) <= COMPARED_MAX {
        return common(old, new, line, hunks);
    }
    let (mut from, mut to) = (0, 0);
    let anchors = anchors(old, new);
    if anchors.is_empty() {
        return hunks.push(Hunk { line, old: owned(old), new: owned(new) });
    }
    for (a, b) in anchors {
        compare(&old[from..a], &new[to..b], line + from, hunks);
        (from, to) = (a + 1, b + 1);
    }
    compare(&old[from..], &new[to..], line + from, hunks);
}

/// The longest sequence of lines that both sides have once, by their indexes.
fn anchors(old: &[&str], new: &[&str]) -> Vec<(usize, usize)> {
    // Counts on both sides, and the last index.
    let mut seen: FxHashMap<&str, ([usize; 2], [usize; 2])> = FxHashMap::default();
    for (side, lines) in [old, new].into_iter().enumerate() {
        for (index, line) in lines.iter().enumerate() {
            let (counts, at) = seen.entry(line).or_default();
            counts[side] += 1;
            at[side] = index;
        }
    }
    let once = old.iter().filter_map(|line| match seen[line] {
        ([1, 1], [a, b]) => Some((a, b)),
        _ => None,
    });
    // Ends of the best sequences of each length, each with the pair before it.
    let mut ends: Vec<usize> = Vec::new();
    let mut pairs: Vec<(usize, usize, Option<usize>)> = Vec::new();
    for (a, b) in once {
        let length = ends.partition_point(|end| pairs[*end].1 < b);
        let before = length.checked_sub(1).map(|before| ends[before]);
        pairs.push((a, b, before));
        match ends.get_mut(length) {
            Some(end) => *end = pairs.len() - 1,
            None => ends.push(pairs.len() - 1),
        }
    }
    let mut longest = Vec::new();
    let mut next = ends.last().copied();
    while let Some(index) = next {
        let (a, b, before) = pairs[index];
        longest.push((a, b));
        next = before;
    }
    longest.reverse();
    longest
}

/// Hunks between the lines of the longest common sequence.
fn common(old: &[&str], new: &[&str], line: usize, hunks: &mut Vec<Hunk>) {
    // Lengths of the longest common sequences of the ends of both.
    let width = new.len() + 1;
    let mut common = vec![0u32; (old.len() + 1) * width];
    for a in (0..old.len()).rev() {
        for b in (0..new.len()).rev() {
            common[a * width + b] = if old[a] == new[b] {
                common[(a + 1) * width + b + 1] + 1
            } else {
                common[(a + 1) * width + b].max(common[a * width + b + 1])
            };
        }
    }
    let (mut a, mut b) = (0, 0);
    let mut open: Option<Hunk> = None;
    while a < old.len() || b < new.len() {
        if a < old.len() && b < new.len() && old[a] == new[b] {
            hunks.extend(open.take());
            (a, b) = (a + 1, b + 1);
            continue;
        }
        let hunk =
            open.get_or_insert_with(|| Hunk { line: line + a, old: Lines::default(), new: Lines::default() });
        let goes =
            a < old.len() && (b == new.len() || common[(a + 1) * width + b] >= common[a * width + b + 1]);
        if goes {
            hunk.old.push(old[a]);
            a += 1;
        } else {
            hunk.new.push(new[b]);
            b += 1;
        }
    }
    hunks.extend(open);
}

/// Lines around a change that a comparison shows.
const CONTEXT: usize = 3;

/// The hunks as a unified diff of a text, as `patch` takes it.
pub fn unified(name: &str, text: &str, hunks: &[Hunk]) -> String {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut out = format!("--- a/{name}\n+++ b/{name}\n");
    let put = |sign: char, line: &str, out: &mut String| {
        out.push(sign);
        out.push_str(line);
        if !line.ends_with('\n') {
            out.push_str("\n\\ No newline at end of file\n");
        }
    };
    let (mut from, mut grown) = (0, 0isize);
    while let Some(first) = hunks.get(from) {
        let mut to = from + 1;
        let mut end = first.line - 1 + first.old.len();
        while let Some(next) = hunks.get(to)
            && next.line - 1 <= end + 2 * CONTEXT
        {
            end = next.line - 1 + next.old.len();
            to += 1;
        }
        let start = (first.line - 1).saturating_sub(CONTEXT);
        let end = (end + CONTEXT).min(lines.len());
        let part = &hunks[from..to];
        let more: isize = part.iter().map(|hunk| hunk.new.len() as isize - hunk.old.len() as isize).sum();
        let header =
            |start: usize, count: usize| format!("{},{count}", if count == 0 { start } else { start + 1 });
        let new_count = (end - start).saturating_add_signed(more);
        out.push_str(&format!(
            "@@ -{} +{} @@\n",
            header(start, end - start),
            header(start.saturating_add_signed(grown), new_count)
        ));
        let mut at = start;
        for hunk in part {
            lines[at..hunk.line - 1].iter().for_each(|line| put(' ', line, &mut out));
            hunk.old.iter().for_each(|line| put('-', line, &mut out));
            hunk.new.iter().for_each(|line| put('+', line, &mut out));
            at = hunk.line - 1 + hunk.old.len();
        }
        lines[at..end].iter().for_each(|line| put(' ', line, &mut out));
        grown += more;
        from = to;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hunks as `LINE -OLD +NEW`.
    fn compared(old: &[String], new: &[String]) -> Vec<String> {
        let lines = |lines: &[String]| lines.iter().map(|line| format!("{line}\n")).collect::<Vec<_>>();
        let (old, new, mut hunks) = (lines(old), lines(new), Vec::new());
        let old: Vec<&str> = old.iter().map(String::as_str).collect();
        let new: Vec<&str> = new.iter().map(String::as_str).collect();
        compare(&old, &new, 1, &mut hunks);
        hunks.iter().map(|hunk| format!("{} -{} +{}", hunk.line, hunk.old.len(), hunk.new.len())).collect()
    }

    #[test]
    fn of_many_lines_those_that_stay_are_found() {
        let old: Vec<String> = (0..3000).map(|number| format!("{number}")).collect();
        let mut new = old.clone();
        new[10] = "x".to_owned();
        new.insert(1500, "y".to_owned());
        drop(new.drain(2000..2010));
        assert_eq!(compared(&old, &new), ["11 -1 +1", "1501 -0 +1", "2000 -10 +0"]);
        // Two that have changed places: one of them goes and comes.
        let mut swapped = old.clone();
        swapped.swap(100, 2500);
        assert_eq!(compared(&old, &swapped).len(), 2);
    }

    #[test]
    fn where_no_line_stays_all_go_and_come() {
        let lines =
            |indentation: &str| (0..500).map(|number| format!("{indentation}{number}")).collect::<Vec<_>>();
        assert_eq!(compared(&lines(""), &lines("  ")), ["1 -500 +500"]);
        assert_eq!(compared(&vec!["a".to_owned(); 300], &vec!["a".to_owned(); 200]), ["201 -100 +0"]);
    }
}
