//! Rows from JSON.

use replank_model::version::VersionError;
use serde::Deserialize;

use super::{Gvk, Product, Row};
use crate::release::Release;

/// Why rows cannot be taken in.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// Not a list of rows.
    #[error(
        "expected a list of lifecycle rows (group, version, kind, introduced, deprecated, removed, replacement): {0}"
    )]
    Form(#[from] serde_json::Error),
    /// A version that is none.
    #[error("the row of {row}: `{field}`: expected a version such as 1.22")]
    Version {
        /// What the row is about.
        row: Box<Gvk>,
        /// The field.
        field: &'static str,
        /// Why it is none.
        #[source]
        source: VersionError,
    },
}

/// A row as it is written. `source` (where the facts come from) is for those who check them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    product: Option<String>,
    group: String,
    version: String,
    kind: String,
    introduced: Option<String>,
    deprecated: Option<String>,
    removed: Option<String>,
    replacement: Option<WrittenGvk>,
    #[serde(default)]
    note: String,
    #[serde(default, rename = "source")]
    _source: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenGvk {
    group: String,
    version: String,
    kind: String,
}

pub(super) fn rows(text: &str) -> Result<Vec<Row>, TableError> {
    serde_json::from_str::<Vec<Written>>(text)?.into_iter().map(row).collect()
}

fn row(written: Written) -> Result<Row, TableError> {
    let gvk = Gvk { group: written.group, version: written.version, kind: written.kind };
    let version = |field: &'static str, text: Option<String>| {
        let read = |text: String| text.parse::<Release>();
        text.map(read).transpose().map_err(|source| TableError::Version {
            row: Box::new(gvk.clone()),
            field,
            source,
        })
    };
    Ok(Row {
        introduced: version("introduced", written.introduced)?,
        deprecated: version("deprecated", written.deprecated)?,
        removed: version("removed", written.removed)?,
        product: written.product.map_or(Product::Kubernetes, Product::Named),
        replacement: written.replacement.map(|of| Gvk {
            group: of.group,
            version: of.version,
            kind: of.kind,
        }),
        note: written.note,
        gvk,
    })
}
