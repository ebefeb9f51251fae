//! The rows of the calendar of EKS.

use std::collections::BTreeMap;
use std::fmt;

use replank_model::time::Time;

use crate::release::Release;

/// A day, in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Day(pub(super) Time);

impl Day {
    /// The moment at which it begins.
    pub const fn begin(self) -> Time {
        self.0
    }
}

/// `2026-11-26`
impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0.to_string()[..10])
    }
}

/// The life of one minor version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The minor version.
    pub version: Release,
    /// When Kubernetes released it.
    pub upstream_release: Option<Day>,
    /// When Kubernetes makes no more patches for it.
    pub upstream_end: Option<Day>,
    /// When EKS offered it.
    pub release: Option<Day>,
    /// First day that is not in standard support any more.
    pub standard_end: Option<Day>,
    /// First day that is not in extended support any more.
    pub extended_end: Option<Day>,
    /// Where the dates are from.
    pub source: String,
    /// What else is known.
    pub note: String,
}

/// All rows, by version.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Calendar {
    pub(super) rows: BTreeMap<Release, Row>,
}

impl Calendar {
    /// The rows that are built in.
    pub fn embedded() -> Self {
        let mut calendar = Self::default();
        calendar
            .overlay(include_str!("../../data/eks-calendar.json"))
            .expect("the rows that are built in can be read (tests::the_rows_are_all_there)");
        calendar
    }

    /// All rows, the oldest version first.
    pub fn rows(&self) -> impl DoubleEndedIterator<Item = &Row> + Clone {
        self.rows.values()
    }

    /// The row of a version, whatever its patch.
    pub fn row(&self, version: Release) -> Option<&Row> {
        self.rows.get(&Release::minor(version.major, version.minor))
    }
}
