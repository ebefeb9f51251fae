//! Completion indexes: sets of numbers written as `0,2-4` (`indexed_job_utils.go`).

use std::collections::BTreeSet;
use std::fmt;

use replank_model::object::pod::Pod;

/// Annotation and label with a pod's index.
pub(super) const INDEX: &str = "batch.kubernetes.io/job-completion-index";
/// Annotation with the failures of the index that counted before this pod.
pub(super) const FAILURES: &str = "batch.kubernetes.io/job-index-failure-count";
/// Annotation with those that did not count.
pub(super) const IGNORED_FAILURES: &str = "batch.kubernetes.io/job-index-ignored-failure-count";

/// A set of indexes, as ordered intervals, bounds included.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Indexes(Vec<(i32, i32)>);

impl Indexes {
    /// Reads a text; what cannot be read and what is beyond `completions` is left out.
    pub(super) fn parse(text: &str, completions: i32) -> Self {
        let mut found = Self::default();
        for part in text.split(',').filter(|part| !part.is_empty()) {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (Ok(first), Ok(last)) = (first.parse::<i32>(), last.parse::<i32>()) else { continue };
            if first >= completions {
                break;
            }
            found.push((first, last.min(completions - 1)));
        }
        found
    }

    fn push(&mut self, (first, last): (i32, i32)) {
        match self.0.last_mut() {
            Some(known) if first <= known.1 + 1 => known.1 = known.1.max(last),
            Some(_) | None => self.0.push((first, last)),
        }
    }

    pub(super) fn union(&self, other: &Self) -> Self {
        let mut all: Vec<_> = self.0.iter().chain(&other.0).copied().collect();
        all.sort_unstable();
        let mut union = Self::default();
        all.into_iter().for_each(|interval| union.push(interval));
        union
    }

    /// How many there are.
    pub(super) fn total(&self) -> i32 {
        self.0.iter().map(|(first, last)| last - first + 1).sum()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn has(&self, index: i32) -> bool {
        let at = self.0.partition_point(|(_, last)| *last < index);
        self.0.get(at).is_some_and(|(first, _)| *first <= index)
    }

    /// How many both have.
    pub(super) fn common(&self, other: &Self) -> i32 {
        let overlap = |a: &(i32, i32), b: &(i32, i32)| (a.1.min(b.1) - a.0.max(b.0) + 1).max(0);
        self.0.iter().map(|a| other.0.iter().map(|b| overlap(a, b)).sum::<i32>()).sum()
    }

    /// The first `count` numbers below `completions` that are missing.
    pub(super) fn missing(&self, count: usize, completions: i32) -> Vec<i32> {
        let mut missing = Vec::new();
        let mut next = 0;
        for (first, last) in self.0.iter().copied().chain([(completions, completions)]) {
            missing.extend((next..first.min(completions)).take(count - missing.len()));
            next = next.max(last + 1);
        }
        missing
    }
}

impl FromIterator<i32> for Indexes {
    fn from_iter<I: IntoIterator<Item = i32>>(indexes: I) -> Self {
        let mut all = Self::default();
        for index in indexes.into_iter().collect::<BTreeSet<_>>() {
            all.push((index, index));
        }
        all
    }
}

impl fmt::Display for Indexes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, (first, last)) in self.0.iter().enumerate() {
            let comma = if number > 0 { "," } else { "" };
            match last - first {
                0 => write!(f, "{comma}{first}")?,
                1 => write!(f, "{comma}{first},{last}")?,
                _ => write!(f, "{comma}{first}-{last}")?,
            }
        }
        Ok(())
    }
}

/// The index of a pod.
pub(super) fn index_of(pod: &Pod) -> Option<i32> {
    pod.meta.annotations.value(INDEX)?.parse().ok().filter(|index| *index >= 0)
}

/// The indexes of pods.
pub(super) fn indexes_of<'a>(pods: impl Iterator<Item = &'a Pod>) -> Indexes {
    pods.filter_map(index_of).collect()
}

/// Failures of a pod's index before it: those that counted and those that did not.
pub(super) fn failures_before(pod: &Pod) -> (i32, i32) {
    let number = |name: &str| {
        let number = pod.meta.annotations.value(name).and_then(|text| text.parse::<i32>().ok());
        number.filter(|number| *number >= 0).unwrap_or(0)
    };
    (number(FAILURES), number(IGNORED_FAILURES))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_written_as_upstream_writes_them() {
        let all: Indexes = [7, 0, 1, 3, 4, 5].into_iter().collect();
        assert_eq!(all.to_string(), "0,1,3-5,7");
        assert_eq!(Indexes::parse("0,1,3-5,7", 5).to_string(), "0,1,3,4");
        assert_eq!(all.total(), 6);
        assert!(all.has(4) && !all.has(6) && !all.has(8));
        assert_eq!(all.missing(3, 10), [2, 6, 8]);
        assert_eq!(all.missing(9, 8), [2, 6]);
    }

    #[test]
    fn unions_join_neighbours() {
        let (odd, even): (Indexes, Indexes) = ([1, 3].into_iter().collect(), [0, 2].into_iter().collect());
        assert_eq!(odd.union(&even).to_string(), "0-3");
        assert_eq!(odd.union(&even).common(&odd), 2);
    }
}
