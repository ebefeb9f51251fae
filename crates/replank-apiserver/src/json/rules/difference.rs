//! What differs between two texts, as `diff -u` tells it (apimachinery `pkg/util/diff`, which has Python's difflib): three lines around each change.

use std::ops::Range;

use rustc_hash::FxHashMap;
use serde_json::Value;

const CONTEXT: usize = 3;

/// A value with an indentation of one space.
pub(super) fn pretty(value: &Value) -> String {
    let mut out = Vec::new();
    let formatter = serde_json::ser::PrettyFormatter::with_indent(b" ");
    let mut serializer = serde_json::Serializer::with_formatter(&mut out, formatter);
    drop(serde::Serialize::serialize(value, &mut serializer));
    String::from_utf8_lossy(&out).into_owned()
}

/// Members in the order given, as Go's encoder writes them with an indentation of one space.
pub(super) fn lines(members: &[(String, Value)]) -> String {
    let line =
        |(name, value): &(String, Value)| format!(" \"{name}\": {}", pretty(value).replace('\n', "\n "));
    let lines: Vec<String> = members.iter().map(line).collect();
    format!("{{\n{}\n}}", lines.join(",\n"))
}

/// The hunks that lead from one text to another.
pub(in super::super) fn of(old: &str, new: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let steps = steps(&old, &new);
    let is_change = |step: &Step<'_>| !matches!(step, Step::Same(_));
    let mut out = String::new();
    let mut at = 0;
    while let Some(first) = (at..steps.len()).find(|index| is_change(&steps[*index])) {
        let begin = first.saturating_sub(CONTEXT).max(at);
        let mut last = first;
        while let Some(next) =
            (last + 1..steps.len().min(last + 2 * CONTEXT + 2)).find(|index| is_change(&steps[*index]))
        {
            last = next;
        }
        let end = (last + CONTEXT + 1).min(steps.len());
        hunk(&steps, begin, end, &mut out);
        at = end;
    }
    out
}

fn hunk(steps: &[Step<'_>], begin: usize, end: usize, out: &mut String) {
    let count = |steps: &[Step<'_>], of_old: bool| {
        steps
            .iter()
            .filter(|step| match step {
                Step::Same(_) => true,
                Step::Gone(_) => of_old,
                Step::Come(_) => !of_old,
            })
            .count()
    };
    let range = |of_old: bool| {
        let before = count(&steps[..begin], of_old);
        let length = count(&steps[begin..end], of_old);
        match length {
            0 => format!("{before},0"),
            1 => format!("{}", before + 1),
            length => format!("{},{length}", before + 1),
        }
    };
    *out += &format!("@@ -{} +{} @@\n", range(true), range(false));
    for step in &steps[begin..end] {
        let (mark, line) = match step {
            Step::Same(line) => (' ', line),
            Step::Gone(line) => ('-', line),
            Step::Come(line) => ('+', line),
        };
        out.push(mark);
        *out += line;
        out.push('\n');
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step<'t> {
    Same(&'t str),
    Gone(&'t str),
    Come(&'t str),
}

/// The steps from one text to another, as difflib finds them: not the fewest, but what lies around the longest common piece.
fn steps<'t>(old: &[&'t str], new: &[&'t str]) -> Vec<Step<'t>> {
    let places = places(new);
    let mut blocks = Vec::new();
    let mut open = vec![(0..old.len(), 0..new.len())];
    while let Some((left, right)) = open.pop() {
        let (i, j, length) = longest(old, new, &places, left.clone(), right.clone());
        if length > 0 {
            blocks.push((i, j, length));
            open.push((left.start..i, right.start..j));
            open.push((i + length..left.end, j + length..right.end));
        }
    }
    blocks.sort_unstable();
    blocks.push((old.len(), new.len(), 0));
    let (mut i, mut j) = (0, 0);
    let mut steps = Vec::new();
    for (left, right, length) in blocks {
        steps.extend(old[i..left].iter().map(|line| Step::Gone(line)));
        steps.extend(new[j..right].iter().map(|line| Step::Come(line)));
        steps.extend(old[left..left + length].iter().map(|line| Step::Same(line)));
        (i, j) = (left + length, right + length);
    }
    steps
}

/// From so many lines on, those that occur in more than one of a hundred are no places to begin at.
const MANY: usize = 200;

/// Where each line is.
fn places<'t>(lines: &[&'t str]) -> FxHashMap<&'t str, Vec<usize>> {
    let mut places: FxHashMap<&str, Vec<usize>> = FxHashMap::default();
    for (at, line) in lines.iter().enumerate() {
        places.entry(line).or_default().push(at);
    }
    if lines.len() >= MANY {
        places.retain(|_, at| at.len() <= lines.len() / 100 + 1);
    }
    places
}

/// The longest piece that both have in common there, the first of several: where it begins in each, and its length.
fn longest(
    old: &[&str],
    new: &[&str],
    places: &FxHashMap<&str, Vec<usize>>,
    left: Range<usize>,
    right: Range<usize>,
) -> (usize, usize, usize) {
    let (mut i, mut j, mut length) = (left.start, right.start, 0);
    let mut before: FxHashMap<usize, usize> = FxHashMap::default();
    for at in left.clone() {
        let mut here = FxHashMap::default();
        for place in places.get(old[at]).into_iter().flatten().filter(|place| right.contains(place)) {
            let run = place.checked_sub(1).and_then(|place| before.get(&place)).unwrap_or(&0) + 1;
            here.insert(*place, run);
            if run > length {
                (i, j, length) = (at + 1 - run, place + 1 - run, run);
            }
        }
        before = here;
    }
    while i > left.start && j > right.start && old[i - 1] == new[j - 1] {
        (i, j, length) = (i - 1, j - 1, length + 1);
    }
    while i + length < left.end && j + length < right.end && old[i + length] == new[j + length] {
        length += 1;
    }
    (i, j, length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_that_are_near_share_a_hunk_and_others_do_not() {
        let old: Vec<String> = (1..=30).map(|number| number.to_string()).collect();
        let mut new = old.clone();
        new[4] = "five".to_owned();
        new[9] = "ten".to_owned();
        new.remove(24);
        let text = of(&old.join("\n"), &new.join("\n"));
        let heads: Vec<&str> = text.lines().filter(|line| line.starts_with("@@")).collect();
        assert_eq!(heads, ["@@ -2,12 +2,12 @@", "@@ -22,7 +22,6 @@"]);
        assert!(text.contains("\n-5\n+five\n"));
    }

    #[test]
    fn a_new_item_at_the_front_begins_with_its_brace() {
        let old = "\"Env\": [\n {\n  \"Name\": \"A\"\n }\n]";
        let new = "\"Env\": [\n {\n  \"Name\": \"B\"\n },\n {\n  \"Name\": \"A\"\n }\n]";
        let text = of(old, new);
        assert!(
            text.starts_with("@@ -1,4 +1,7 @@\n \"Env\": [\n+ {\n+  \"Name\": \"B\"\n+ },\n  {\n"),
            "{text}"
        );
    }
}
