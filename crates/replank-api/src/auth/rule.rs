//! One rule of a role, and what it allows (plugin/pkg/auth/authorizer/rbac).

use serde::{Deserialize, Serialize};

use super::attributes::{Attributes, Place};

/// rbac.authorization.k8s.io/v1 PolicyRule.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Rule {
    /// What may be done; `*` for anything.
    #[serde(deserialize_with = "list")]
    pub verbs: Vec<String>,
    /// API groups; `*` for all.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "list")]
    pub api_groups: Vec<String>,
    /// Resources, `resource/part`, `*/part`; `*` for all.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "list")]
    pub resources: Vec<String>,
    /// Names; none for all.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "list")]
    pub resource_names: Vec<String>,
    /// Paths that lead to no resource; `/x/*` for all below, `*` for all.
    #[serde(rename = "nonResourceURLs", skip_serializing_if = "Vec::is_empty", deserialize_with = "list")]
    pub paths: Vec<String>,
}

/// A list whose absence may be written as `null`.
fn list<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    Option::<Vec<String>>::deserialize(from).map(Option::unwrap_or_default)
}

impl Rule {
    /// Whether the rule allows a request.
    #[must_use]
    pub fn allows(&self, asked: &Attributes) -> bool {
        if !has(&self.verbs, &asked.verb) {
            return false;
        }
        match &asked.place {
            Place::Path(path) => self.paths.iter().any(|pattern| matches_path(pattern, path)),
            Place::Resource { group, resource, part, name, .. } => {
                has(&self.api_groups, group)
                    && self.resources.iter().any(|known| matches_resource(known, resource, part))
                    && (self.resource_names.is_empty() || self.resource_names.iter().any(|one| one == name))
            }
        }
    }
}

fn has(list: &[String], word: &str) -> bool {
    list.iter().any(|known| known == "*" || known == word)
}

fn matches_resource(known: &str, resource: &str, part: &str) -> bool {
    if known == "*" {
        return true;
    }
    match known.split_once('/') {
        None => part.is_empty() && known == resource,
        Some(("*", of)) => of == part && !part.is_empty(),
        Some((plural, of)) => plural == resource && of == part,
    }
}

/// Whether a pattern of a path covers a path, or a narrower pattern.
#[must_use]
pub(crate) fn matches_path(pattern: &str, path: &str) -> bool {
    pattern == "*"
        || pattern == path
        || pattern.strip_suffix('*').is_some_and(|prefix| path.starts_with(prefix.trim_end_matches('*')))
}
