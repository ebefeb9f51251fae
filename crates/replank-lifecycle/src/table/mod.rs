//! The lifecycle table: one row for each group, version and kind that Kubernetes or a well-known product has served.
//!
//! The rows are built in (`data/`); a file in the same form replaces or adds rows ([`Table::overlay`]), since products go
//! on after a build. `List` kinds have no rows of their own: they live and end with the kind they list.

mod read;
mod resource;
mod row;

pub use row::{Gvk, Product, Row};
#[cfg(test)]
mod tests;

use std::cmp::Ordering;

use replank_model::version::compare_api_versions;
use rustc_hash::FxHashMap;

pub use read::TableError;
pub use resource::plural;

use crate::release::Release;

/// Day on which the rows that are built in were put together.
pub const DATA_DATE: &str = "2026-11-20";

/// Newest Kubernetes version of which the rows that are built in know.
pub const DATA_NEWEST: &str = "1.37";

impl Gvk {
    /// From the two fields of a manifest.
    pub fn of(api_version: &str, kind: &str) -> Self {
        let (group, version) = split(api_version);
        Self { group: group.to_owned(), version: version.to_owned(), kind: kind.to_owned() }
    }
}

/// Group and version of an `apiVersion`.
pub fn split(api_version: &str) -> (&str, &str) {
    api_version.split_once('/').unwrap_or(("", api_version))
}

/// Where a row stands at one version of its product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Not yet there.
    ToCome,
    /// Served without a warning.
    Served,
    /// Served with a warning.
    Deprecated,
    /// Gone.
    Removed,
}

impl Row {
    /// Where it stands at a version of its product. Where nobody knows when it came, it has always been there.
    pub fn stage(&self, at: Release) -> Stage {
        let reached = |version: Option<Release>| version.is_some_and(|version| at >= version);
        if reached(self.removed) {
            Stage::Removed
        } else if reached(self.deprecated) {
            Stage::Deprecated
        } else if self.introduced.is_some() && !reached(self.introduced) {
            Stage::ToCome
        } else {
            Stage::Served
        }
    }
}

/// All rows.
#[derive(Clone, Debug, Default)]
pub struct Table {
    rows: Vec<Row>,
    by_gvk: FxHashMap<Gvk, usize>,
    /// Rows by their group, each with the name of its resource.
    by_group: FxHashMap<String, Vec<(String, usize)>>,
}

impl Table {
    /// The rows that are built in.
    pub fn embedded() -> Self {
        let mut table = Self::default();
        for text in [
            include_str!("../../data/api-lifecycle.json"),
            include_str!("../../data/api-lifecycle-thirdparty.json"),
        ] {
            table
                .overlay(text)
                .expect("the rows that are built in can be read (tests::the_rows_are_all_there)");
        }
        table
    }

    /// Takes in rows in the form of the files that are built in: those of the same group, version and kind are
    /// replaced. The number of rows taken in.
    ///
    /// # Errors
    /// Where the text is not such a list; nothing is taken in then.
    pub fn overlay(&mut self, text: &str) -> Result<usize, TableError> {
        let rows = read::rows(text)?;
        let count = rows.len();
        for row in rows {
            match self.by_gvk.get(&row.gvk) {
                Some(&index) => self.rows[index] = row,
                None => {
                    let of_group = self.by_group.entry(row.gvk.group.clone()).or_default();
                    of_group.push((plural(&row.gvk.kind), self.rows.len()));
                    self.by_gvk.insert(row.gvk.clone(), self.rows.len());
                    self.rows.push(row);
                }
            }
        }
        Ok(count)
    }

    /// All rows, in the order in which they were read.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The row of an object with this `apiVersion` and kind, or of the objects that a list of that kind holds.
    pub fn lookup(&self, api_version: &str, kind: &str) -> Option<&Row> {
        self.lookup_gvk(&Gvk::of(api_version, kind))
    }

    /// The same for a group, version and kind.
    pub fn lookup_gvk(&self, gvk: &Gvk) -> Option<&Row> {
        let index = self.by_gvk.get(gvk).or_else(|| {
            let kind = gvk.kind.strip_suffix("List")?;
            self.by_gvk.get(&Gvk { kind: kind.to_owned(), ..gvk.clone() })
        })?;
        Some(&self.rows[*index])
    }

    /// The rows of a resource, named as in URLs and rules (`ingresses`), in a group; of one version or of all.
    pub fn lookup_resource<'t>(
        &'t self,
        group: &str,
        version: Option<&str>,
        resource: &str,
    ) -> impl Iterator<Item = &'t Row> {
        let of_group = self.by_group.get(group).into_iter().flatten();
        let rows = of_group.filter(move |(name, _)| name == resource).map(|(_, index)| &self.rows[*index]);
        rows.filter(move |row| version.is_none_or(|version| row.gvk.version == version))
    }

    /// What to write instead, so that it is served at `target` (a version of Kubernetes; of products, whose versions that
    /// says nothing of, the newest is taken). Successors that are gone by then are followed on to theirs; where the
    /// successor is not there yet, the best that is. `None` where there is no such thing.
    pub fn replacement(&self, row: &Row, target: Release) -> Option<&Gvk> {
        let mut next = self.rows.get(*self.by_gvk.get(&row.gvk)?)?.replacement.as_ref()?;
        // No chain is longer than the table; overlaid rows could go round in circles.
        for _ in 0..self.rows.len() {
            let Some(row) = self.by_gvk.get(next).map(|&index| &self.rows[index]) else { return Some(next) };
            match (&row.product, row.stage(target)) {
                (Product::Kubernetes, Stage::Removed) => next = row.replacement.as_ref()?,
                (Product::Kubernetes, Stage::ToCome) => return self.best_served(next, target),
                (Product::Kubernetes, Stage::Served | Stage::Deprecated) => return Some(next),
                (Product::Named(_), _) => match (&row.removed, &row.replacement) {
                    (Some(_), Some(further)) => next = further,
                    (Some(_), None) => return None,
                    (None, _) => return Some(next),
                },
            }
        }
        None
    }

    /// The most stable version of the same group and kind that is served at `target`.
    fn best_served(&self, gvk: &Gvk, target: Release) -> Option<&Gvk> {
        let same = |row: &&Row| row.gvk.group == gvk.group && row.gvk.kind == gvk.kind;
        let served = |row: &&Row| match row.stage(target) {
            Stage::Served | Stage::Deprecated => true,
            Stage::ToCome | Stage::Removed => false,
        };
        let by_stability =
            |a: &&Row, b: &&Row| -> Ordering { compare_api_versions(&a.gvk.version, &b.gvk.version) };
        self.rows.iter().filter(same).filter(served).max_by(by_stability).map(|row| &row.gvk)
    }
}
