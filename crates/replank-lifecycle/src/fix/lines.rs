//! Which lines a set of edits changes, as a comparison shows it.

use super::lay::{Edit, apply};

/// Lines that go, and lines that come in their place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hunk {
    /// The first line, from 1, of those that go; where none goes, the line before which others come.
    pub line: usize,
    /// Lines that go, with their ends.
    pub old: Vec<String>,
    /// Lines that come, with their ends.
    pub new: Vec<String>,
}

/// Products of lines up to which the longest common sequence is looked for; beyond it, lines go and come as a whole.
const COMPARED_MAX: usize = 4_000_000;

/// A text with its edits made, and its hunks.
pub(super) fn edited(text: &str, mut edits: Vec<Edit>) -> (String, Vec<Hunk>) {
    edits.sort_by_key(|edit| edit.range.start);
    let hunks = hunks(text, &edits);
    (apply(text, 0..text.len(), &edits), hunks)
}

/// The hunks of edits, in order.
fn hunks(text: &str, edits: &[Edit]) -> Vec<Hunk> {
    let mut hunks = Vec::new();
    let (mut at, mut line) = (0, 1);
    for (start, end) in spans(text, edits) {
        line += text[at..start].matches('\n').count();
        at = start;
        let new = apply(text, start..end, edits);
        let lines = |text: &str| text.split_inclusive('\n').map(str::to_owned).collect::<Vec<_>>();
        compare(&lines(&text[start..end]), &lines(&new), line, &mut hunks);
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

fn compare(old: &[String], new: &[String], line: usize, hunks: &mut Vec<Hunk>) {
    let same = |(a, b): &(&String, &String)| a == b;
    let head = old.iter().zip(new).take_while(same).count();
    let (old, new) = (&old[head..], &new[head..]);
    let tail = old.iter().rev().zip(new.iter().rev()).take_while(same).count();
    let (old, new) = (&old[..old.len() - tail], &new[..new.len() - tail]);
    let line = line + head;
    if old.is_empty() && new.is_empty() {
        return;
    }
    if old.len().saturating_mul(new.len()) > COMPARED_MAX {
        hunks.push(Hunk { line, old: old.to_vec(), new: new.to_vec() });
        return;
    }
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
        let hunk = open.get_or_insert_with(|| Hunk { line: line + a, old: Vec::new(), new: Vec::new() });
        let goes =
            a < old.len() && (b == new.len() || common[(a + 1) * width + b] >= common[a * width + b + 1]);
        if goes {
            hunk.old.push(old[a].clone());
            a += 1;
        } else {
            hunk.new.push(new[b].clone());
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
