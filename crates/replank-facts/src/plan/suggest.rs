//! The nearest of some names: for "did you mean".

/// The candidate that is least far from `name`, if it is near enough to have been meant: a third of the letters may be
/// wrong, missing, added or swapped; capitals do not count. Of equally near ones the first.
#[must_use]
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name = name.to_lowercase();
    let limit = (name.chars().count() / 3).clamp(1, 4);
    candidates
        .into_iter()
        .map(|candidate| (distance(&name, &candidate.to_lowercase()), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Number of edits from one text to the other; a swap of neighbours is one (optimal string alignment).
fn distance(from: &str, to: &str) -> usize {
    let (from, to): (Vec<char>, Vec<char>) = (from.chars().collect(), to.chars().collect());
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=to.len()).collect();
    for (i, letter) in from.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, other) in to.iter().enumerate() {
            let substituted = last[j] + usize::from(letter != other);
            let mut best = substituted.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *letter == to[j - 1] && from[i - 1] == *other {
                best = best.min(before_last[j - 1] + 1);
            }
            row.push(best);
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_found_and_far_ones_are_not() {
        let fields = ["maxUnavailable", "minReadyPerZone", "surge"];
        assert_eq!(nearest("maxUnavailble", fields), Some("maxUnavailable"));
        assert_eq!(nearest("MAXUNAVAILABLE", fields), Some("maxUnavailable"));
        assert_eq!(nearest("sugre", fields), Some("surge"));
        assert_eq!(nearest("colour", fields), None);
        assert_eq!(nearest("", fields), None);
    }
}
