//! Rows of the table of API versions.

use std::fmt;

use crate::release::Release;

/// Group, version and kind of an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Gvk {
    /// The group; empty for the core group.
    pub group: String,
    /// The version within the group.
    pub version: String,
    /// The kind.
    pub kind: String,
}

impl Gvk {
    /// As a manifest's `apiVersion` says it.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }
}

impl fmt::Display for Gvk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.api_version(), self.kind)
    }
}

/// Whose versions the numbers of a row are.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Product {
    /// The cluster's own.
    Kubernetes,
    /// Those of something that is installed into it.
    Named(String),
}

impl fmt::Display for Product {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kubernetes => f.write_str("Kubernetes"),
            Self::Named(name) => f.write_str(name),
        }
    }
}

/// The life of one version of a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// What it is about.
    pub gvk: Gvk,
    /// Whose versions the numbers below are.
    pub product: Product,
    /// First version that serves it, where that is known.
    pub introduced: Option<Release>,
    /// First version that warns of it.
    pub deprecated: Option<Release>,
    /// First version that does not serve it.
    pub removed: Option<Release>,
    /// What the row itself names as its successor; [`Table::replacement`] follows it on.
    pub replacement: Option<Gvk>,
    /// What else is known.
    pub note: String,
}
