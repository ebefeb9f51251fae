//! Which documents are worth a tree before it is known what is in them.

use std::collections::{BTreeMap, BTreeSet};

use crate::judge::Measure;
use crate::source::{Ahead, Way};
use crate::table::{Product, plural};

/// What documents are suspected by. It decides only how often a document is parsed: once where the suspicion is right, and where a document has to be
/// changed that nobody suspected, twice.
pub(super) struct Suspects {
    versions: BTreeSet<String>,
    /// Resources that roles name in a group that they have left, by this group.
    granted: BTreeMap<String, BTreeSet<String>>,
}

/// Bytes at the beginning of a document in which its version mostly stands.
const HEAD_BYTES: usize = 4096;
/// Groups of objects that have rules of roles.
const HOLDERS: [&str; 2] = ["rbac.authorization.k8s.io/", "operators.coreos.com/"];
/// Bytes behind the name of its groups in which a rule mostly has them and its resources.
const RULE_BYTES: usize = 300;

impl Suspects {
    pub(super) fn new(measure: &Measure) -> Self {
        let mut granted: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for row in measure.table.rows().iter().filter(|row| row.product == Product::Kubernetes) {
            let successor = measure.table.replacement(row, measure.range.target);
            let has_left = successor.is_none_or(|to| to.group != row.gvk.group);
            if has_left && !measure.is_served(&row.gvk.api_version(), &row.gvk.kind) {
                granted.entry(row.gvk.group.clone()).or_default().insert(plural(&row.gvk.kind));
            }
        }
        Self { versions: measure.old_versions(), granted }
    }

    /// How a document is read: as a tree, if it is suspected.
    pub(super) fn way(&self, ahead: &Ahead<'_>) -> Way {
        if self.suspects(ahead.content) { Way::Grow } else { Way::Scan }
    }

    /// Whether one of the versions stands near the beginning of a document, or its rules name what has left its group.
    pub(super) fn suspects(&self, document: &str) -> bool {
        let head = &document[..document.floor_char_boundary(HEAD_BYTES)];
        let versions = head.match_indices("apiVersion").map(|(at, key)| {
            let rest = head[at + key.len()..].trim_start_matches(['"', '\'', ' ', ':', '\t']);
            let end =
                rest.find(|char: char| !(char.is_ascii_alphanumeric() || matches!(char, '.' | '/' | '-')));
            &rest[..end.unwrap_or(rest.len())]
        });
        let mut holds = false;
        for version in versions {
            if self.versions.contains(version) {
                return true;
            }
            holds |= HOLDERS.iter().any(|group| version.starts_with(group));
        }
        holds && document.match_indices("apiGroups").any(|(at, _)| self.suspects_rule(&document[at..]))
    }

    fn suspects_rule(&self, rule: &str) -> bool {
        let rule = &rule[..rule.floor_char_boundary(RULE_BYTES)];
        let is_word = |char: char| char.is_ascii_alphanumeric() || matches!(char, '.' | '-' | '*' | '/');
        let words = || rule.split(|char: char| !is_word(char)).filter(|word| !word.is_empty());
        words().filter_map(|word| self.granted.get(word)).any(|resources| {
            words().any(|word| {
                let resource = word.split('/').next().unwrap_or_default();
                resource == "*" || resources.contains(resource)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::measure;
    use super::*;

    #[test]
    fn versions_and_rules_that_end_are_suspected() {
        let suspects = Suspects::new(&measure());
        let role = |group: &str, resource: &str| {
            format!(
                "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nrules:\n- apiGroups:\n  - '{group}'\n  resources: [pods, {resource}]\n"
            )
        };
        for (document, expected) in [
            ("# c\n\"apiVersion\": \"extensions/v1beta1\"\n".to_owned(), true),
            ("apiVersion: apps/v1\nkind: A\n".to_owned(), false),
            (role("extensions", "ingresses/status"), true),
            (role("extensions", "\"*\""), true),
            (role("extensions", "jobs"), false),
            (role("apps", "deployments"), false),
            (role("extensions", "ingresses").replace("rbac.authorization.k8s.io", "example.com"), false),
        ] {
            assert_eq!(suspects.suspects(&document), expected, "{document}");
        }
    }
}
