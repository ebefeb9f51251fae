//! Paths of the API and what each method of theirs takes.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::table::table;
use serde::Deserialize;

/// Methods, in small letters, and what they do.
pub type Path = BTreeMap<String, Operation>;

/// What a method of a path does.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Operation {
    /// `get`, `list`, `post`, `watch` and so on; none for paths that are no resources.
    pub action: Option<String>,
    /// Content types that it takes.
    pub consumes: Vec<String>,
    /// Group of what it is about.
    pub group: String,
    /// Version of what it is about.
    pub version: String,
    /// Kind of what it is about.
    pub kind: String,
    /// Query and path parameters.
    pub params: Vec<String>,
}

/// All paths, with `{name}` for what varies.
#[must_use]
pub fn paths() -> &'static BTreeMap<String, Path> {
    static PATHS: LazyLock<BTreeMap<String, Path>> =
        LazyLock::new(|| table(include_bytes!("../data/paths.json.gz")));
    &PATHS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_is_patched_in_four_ways() {
        let pod = &paths()["/api/v1/namespaces/{namespace}/pods/{name}"];
        assert_eq!(pod["patch"].consumes.len(), 4);
        assert_eq!(pod["get"].action.as_deref(), Some("get"));
    }
}
