//! What is found in a part of an object.

use crate::problem::Problem;

/// What was found, and how much was looked at: of alternatives that all fail, the one with most is told of.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) problems: Vec<Problem>,
    pub(super) looked_at: usize,
}

impl Found {
    pub(super) fn merge(&mut self, other: Self) {
        self.problems.extend(other.problems);
        self.looked_at += other.looked_at;
    }
}
