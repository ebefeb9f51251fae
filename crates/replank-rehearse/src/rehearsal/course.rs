//! How a number of pods goes on over time, second by second.

use replank_model::time::Time;
use serde::Serialize;

/// A number of pods from a moment on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CountAt {
    /// The moment.
    pub at: Time,
    /// Pods.
    pub pods: i32,
}

/// Which of the numbers that a second has seen matters beside the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Worst {
    /// The fewest.
    Least,
    /// The most.
    Most,
}

/// A number over time. A second has two entries at most, its worst and its last, so that it does not grow with the number of changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Course(Vec<CountAt>);

impl Course {
    /// The number from a moment on.
    pub(super) fn note(&mut self, at: Time, pods: i32, worst: Worst) {
        let at = at.floor_seconds();
        if self.0.last().is_some_and(|last| last.pods == pods) {
            return;
        }
        self.0.push(CountAt { at, pods });
        let is_worse = |one: i32, other: i32| match worst {
            Worst::Least => one < other,
            Worst::Most => one > other,
        };
        if let [.., first, second, last] = *self.0.as_slice()
            && first.at == last.at
        {
            let kept = if is_worse(first.pods, second.pods) { first } else { second };
            self.0.truncate(self.0.len() - 3);
            self.0.extend([kept, last]);
        }
        // What does not stand out against the last one says nothing.
        if let [.., first, last] = *self.0.as_slice()
            && first.at == last.at
            && !is_worse(first.pods, last.pods)
        {
            self.0.truncate(self.0.len() - 2);
            if self.0.last().is_none_or(|before| before.pods != last.pods) {
                self.0.push(last);
            }
        }
    }

    /// Its entries, in order.
    pub(super) fn entries(&self) -> Vec<CountAt> {
        self.0.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn course(notes: &[(i64, i32)], worst: Worst) -> Vec<(i64, i32)> {
        let mut course = Course::default();
        for (at, pods) in notes {
            course.note(Time::from_millis(*at), *pods, worst);
        }
        course.entries().iter().map(|entry| (entry.at.as_millis(), entry.pods)).collect()
    }

    #[test]
    fn a_dip_within_a_second_is_kept_with_what_it_ends_in() {
        let notes = [(0, 5), (1_100, 4), (1_200, 3), (1_300, 4), (1_900, 5), (7_000, 4)];
        assert_eq!(course(&notes, Worst::Least), [(0, 5), (1_000, 3), (1_000, 5), (7_000, 4)]);
        assert_eq!(course(&notes, Worst::Most), [(0, 5), (7_000, 4)]);
    }

    #[test]
    fn a_second_has_two_entries_at_most() {
        let up: Vec<(i64, i32)> =
            (0..900).map(|number| (number, i32::try_from(number).expect("small"))).collect();
        assert_eq!(course(&up, Worst::Least).last(), Some(&(0, 899)));
        assert!(course(&up, Worst::Least).len() <= 2);
        assert_eq!(course(&up, Worst::Most), [(0, 899)]);
    }

    #[test]
    fn what_does_not_change_is_not_noted() {
        assert_eq!(course(&[(0, 5), (2_000, 5), (3_000, 6)], Worst::Least), [(0, 5), (3_000, 6)]);
    }
}
