//! Columns of tables, as `kubectl get` asks for them.

use std::sync::LazyLock;

use crate::table::table;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// A column.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    /// What it is headed with.
    pub name: String,
    /// `string`, `integer`, `boolean`, `date`.
    #[serde(rename = "type")]
    pub basic: String,
    /// `name` for the name of the object.
    #[serde(default)]
    pub format: String,
    /// What it says.
    #[serde(default)]
    pub description: String,
    /// 0 where it is shown without `-o wide`.
    pub priority: i32,
}

/// The columns of a resource; `None` for one that the server has none of its own for.
#[must_use]
pub fn columns(group: &str, version: &str, plural: &str) -> Option<&'static [Column]> {
    static COLUMNS: LazyLock<FxHashMap<String, Vec<Column>>> =
        LazyLock::new(|| table(include_bytes!("../data/tables.json.gz")));
    COLUMNS.get(&format!("{group}/{version}/{plural}")).map(Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pods_have_columns() {
        let names: Vec<&str> =
            columns("", "v1", "pods").expect("pods have").iter().map(|one| one.name.as_str()).collect();
        assert_eq!(&names[..5], ["Name", "Ready", "Status", "Restarts", "Age"]);
    }
}
