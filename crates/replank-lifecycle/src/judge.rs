//! What the table says of a use, for the versions that matter.

use std::collections::{BTreeMap, BTreeSet};

use crate::finding::{Confidence, Range, Severity};
use crate::release::Release;
use crate::table::{Product, Row, Stage, Table};

/// What uses are judged by.
#[derive(Clone, Debug)]
pub struct Measure {
    /// The rows.
    pub table: Table,
    /// Versions of the cluster.
    pub range: Range,
    /// Versions of products that are or will be installed, by the product's name.
    pub products: BTreeMap<String, Release>,
}

/// A use that is not as it should be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Judged<'m> {
    pub(crate) row: &'m Row,
    pub(crate) severity: Severity,
    /// The most that can be said without knowing more.
    pub(crate) confidence: Confidence,
}

impl Measure {
    /// Judges a use by its `apiVersion` and kind. `None` where nothing is to be said.
    pub(crate) fn judge(&self, api_version: &str, kind: &str) -> Option<Judged<'_>> {
        self.judge_row(self.table.lookup(api_version, kind)?)
    }

    pub(crate) fn judge_row<'m>(&'m self, row: &'m Row) -> Option<Judged<'m>> {
        let (stage, confidence) = match &row.product {
            Product::Kubernetes => (row.stage(self.range.target), Confidence::High),
            Product::Named(name) => match self.products.get(name) {
                Some(version) => (row.stage(*version), Confidence::High),
                // Which version is installed is not known. What the newest has removed count as removed.
                None if row.removed.is_some() => (Stage::Removed, Confidence::Medium),
                None if row.deprecated.is_some() => (Stage::Deprecated, Confidence::Medium),
                None => (Stage::Served, Confidence::Medium),
            },
        };
        let severity = match stage {
            Stage::ToCome | Stage::Served => return None,
            Stage::Deprecated => Severity::Deprecated,
            Stage::Removed if row.product == Product::Kubernetes && self.is_gone(row) => Severity::Gone,
            Stage::Removed => Severity::Removed,
        };
        Some(Judged { row, severity, confidence })
    }

    /// Versions that something is to be said of, of some kind.
    pub(crate) fn old_versions(&self) -> BTreeSet<String> {
        let rows = self.table.rows().iter().filter(|row| self.judge_row(row).is_some());
        rows.map(|row| row.gvk.api_version()).collect()
    }

    fn is_gone(&self, row: &Row) -> bool {
        self.range.current.is_some_and(|current| row.stage(current) == Stage::Removed)
    }

    /// Whether a kind has versions that something is to be said of.
    pub(crate) fn has_old_versions(&self, kind: &str) -> bool {
        let rows = self.table.rows().iter().filter(|row| row.gvk.kind == kind);
        rows.filter(|row| row.product == Product::Kubernetes)
            .any(|row| self.judge(&row.gvk.api_version(), kind).is_some())
    }

    /// Whether a version of a kind is served at the target, as far as is known.
    pub(crate) fn is_served(&self, api_version: &str, kind: &str) -> bool {
        self.judge(api_version, kind).is_none_or(|judged| judged.severity == Severity::Deprecated)
    }
}
