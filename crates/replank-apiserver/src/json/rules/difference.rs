//! What differs between two texts, as `diff -u` tells it (apimachinery `pkg/util/diff`): three lines around each change.

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

/// The longest common subsequence, line by line.
fn steps<'t>(old: &[&'t str], new: &[&'t str]) -> Vec<Step<'t>> {
    let width = new.len() + 1;
    let mut common = vec![0_u32; (old.len() + 1) * width];
    for (i, left) in old.iter().enumerate().rev() {
        for (j, right) in new.iter().enumerate().rev() {
            common[i * width + j] = if left == right {
                common[(i + 1) * width + j + 1] + 1
            } else {
                common[(i + 1) * width + j].max(common[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut steps = Vec::new();
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            steps.push(Step::Same(old[i]));
            (i, j) = (i + 1, j + 1);
        } else if i < old.len()
            && (j == new.len() || common[(i + 1) * width + j] >= common[i * width + j + 1])
        {
            steps.push(Step::Gone(old[i]));
            i += 1;
        } else {
            steps.push(Step::Come(new[j]));
            j += 1;
        }
    }
    steps
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
}
