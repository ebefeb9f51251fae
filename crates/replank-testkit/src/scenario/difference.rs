//! What differs between two texts, line by line.

/// Equal lines that are shown around a difference.
const CONTEXT: usize = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step<'a> {
    Same(&'a str),
    Gone(&'a str),
    New(&'a str),
}

/// `- expected`, `+ found`, with a few equal lines around; empty where nothing differs.
pub(super) fn difference(expected: &str, found: &str) -> String {
    let steps = steps(&expected.lines().collect::<Vec<_>>(), &found.lines().collect::<Vec<_>>());
    let is_near = |at: usize| {
        let (low, high) = (at.saturating_sub(CONTEXT), (at + CONTEXT + 1).min(steps.len()));
        steps[low..high].iter().any(|step| !matches!(step, Step::Same(_)))
    };
    let mut text = String::new();
    let mut was_near = true;
    for (at, step) in steps.iter().enumerate() {
        if !is_near(at) {
            was_near = false;
            continue;
        }
        if !was_near {
            text.push_str("  ...\n");
        }
        was_near = true;
        let (sign, line) = match step {
            Step::Same(line) => (' ', line),
            Step::Gone(line) => ('-', line),
            Step::New(line) => ('+', line),
        };
        text.push_str(&format!("{sign} {line}\n"));
    }
    text
}

/// The shortest way from one text to the other, by their longest common subsequence.
fn steps<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<Step<'a>> {
    let width = new.len() + 1;
    let mut common = vec![0_u32; (old.len() + 1) * width];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            common[i * width + j] = if old[i] == new[j] {
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
        } else if j == new.len()
            || (i < old.len() && common[(i + 1) * width + j] >= common[i * width + j + 1])
        {
            steps.push(Step::Gone(old[i]));
            i += 1;
        } else {
            steps.push(Step::New(new[j]));
            j += 1;
        }
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::difference;

    #[test]
    fn only_what_differs_is_shown_with_a_little_around() {
        assert_eq!(difference("a\nb\n", "a\nb\n"), "");
        let old = "a\nb\nc\nd\ne\nf\ng\n";
        assert_eq!(difference(old, "a\nb\nc\nd\ne\nX\ng\n"), "  ...\n  d\n  e\n- f\n+ X\n  g\n");
        assert_eq!(difference("", "a\n"), "+ a\n");
    }
}
