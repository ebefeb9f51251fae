//! What somebody may have meant: spellings that are near each other.

/// How many letters may be wrong: one of four, two of eight or more; short words are not guessed at.
fn tolerance(letters: usize) -> usize {
    match letters {
        0..3 => 0,
        3..8 => 1,
        8.. => 2,
    }
}

/// The word among the known that is meant most likely, if one is near: another case, another separator, a prefix left out, or
/// a letter or two wrong. Never the word itself.
pub(super) fn nearest<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let mut best: Option<(usize, &str)> = None;
    for word in known.into_iter().filter(|word| *word != wanted && !word.is_empty()) {
        let Some(distance) = distance(wanted, word) else { continue };
        if best.is_none_or(|(least, known)| (distance, word) < (least, known)) {
            best = Some((distance, word));
        }
    }
    best.map(|(_, word)| word)
}

fn distance(wanted: &str, word: &str) -> Option<usize> {
    let (a, b) = (plain(wanted), plain(word));
    if a == b {
        return Some(0);
    }
    // The same name under another prefix, or under none.
    let (tail_a, tail_b) = (plain(tail(wanted)), plain(tail(word)));
    if tail_a == tail_b && tail_a.len() >= 3 {
        return Some(1);
    }
    let most = tolerance(a.chars().count().min(b.chars().count()));
    let found = edits(&a, &b);
    (found <= most).then_some(1 + found)
}

fn tail(key: &str) -> &str {
    key.rsplit('/').next().unwrap_or(key)
}

fn plain(word: &str) -> String {
    word.chars().filter(|letter| !matches!(letter, '-' | '_' | '.')).flat_map(char::to_lowercase).collect()
}

/// Letters to be put in, left out, replaced or swapped with their neighbour (optimal string alignment).
fn edits(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut next = vec![i];
        for j in 1..=b.len() {
            let cost = usize::from(a[i - 1] != b[j - 1]);
            let mut least = (row[j] + 1).min(next[j - 1] + 1).min(row[j - 1] + cost);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(before[j - 2] + 1);
            }
            next.push(least);
        }
        before = std::mem::replace(&mut row, next);
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_spellings_are_found_and_far_ones_are_not() {
        let keys = ["kubernetes.io/role", "dedicated", "lifecycle", "eks.amazonaws.com/capacityType"];
        for (wanted, meant) in [
            ("dedicted", Some("dedicated")),
            ("dedciated", Some("dedicated")),
            ("Dedicated", Some("dedicated")),
            ("role", Some("kubernetes.io/role")),
            ("life-cycle", Some("lifecycle")),
            ("eks.amazonaws.com/capacitytype", Some("eks.amazonaws.com/capacityType")),
            ("team", None),
            ("dedicated", None),
        ] {
            assert_eq!(nearest(wanted, keys), meant, "{wanted}");
        }
        assert_eq!(nearest("sclaer", ["master", "scaler"]), Some("scaler"));
        assert_eq!(nearest("analyst", ["master", "scaler", "infra", "gateway"]), None);
        assert_eq!(nearest("a", ["b"]), None, "short words are not guessed at");
    }
}
