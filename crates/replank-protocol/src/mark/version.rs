//! The version of what is written on nodes, groups and objects, so that a reader knows what it can read.
//!
//! On a node or an object it is an annotation ([`VERSION`]); in a tag's value it is the first word, `v1`. A value without a version is read as version
//! 1. What a newer Replank wrote is not guessed at: it is left alone, whatever else is written there, and that is said.

use replank_model::labels::Annotations;
use replank_model::object::cloud::NodeGroup;
use replank_model::object::node::Node;

/// The version that is written. It goes up when a reader of the last one would misread what is written.
pub const WRITTEN: u64 = 1;

/// Annotation on a node, or on an object of Replank's own: the version of what is written there, as a number.
pub const VERSION: &str = "replank.dev/version";
/// How all annotations, labels and tags of ours begin.
pub const OURS: &str = "replank.dev/";

/// What a version says to a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// This one reads it.
    Known,
    /// A newer one wrote it.
    Newer(u64),
    /// It is not a version.
    Unreadable,
}

impl Version {
    fn read(text: Option<&str>) -> Self {
        match text.map(str::parse) {
            None | Some(Ok(WRITTEN)) => Self::Known,
            Some(Ok(0) | Err(_)) => Self::Unreadable,
            Some(Ok(version)) => Self::Newer(version),
        }
    }

    /// As an object's annotations say.
    #[must_use]
    pub fn of(annotations: &Annotations) -> Self {
        Self::read(annotations.value(VERSION))
    }

    /// The version, if a newer Replank wrote it.
    #[must_use]
    pub fn newer(self) -> Option<u64> {
        match self {
            Self::Newer(version) => Some(version),
            Self::Known | Self::Unreadable => None,
        }
    }
}

/// A tag's value with its version.
pub(super) fn written(value: &str) -> String {
    format!("v{WRITTEN} {value}")
}

/// A tag's value apart: its version, and what is behind it. What does not begin with one is version 1.
#[must_use]
pub fn apart(value: &str) -> (Version, &str) {
    let head = value.split_once(' ').and_then(|(head, rest)| Some((head.strip_prefix('v')?, rest)));
    match head {
        Some((digits, rest)) if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            (Version::read(Some(digits)), rest)
        }
        Some(_) | None => (Version::Known, value),
    }
}

/// What is behind the version of a tag's value, if this one reads it.
pub(super) fn known(value: &str) -> Option<&str> {
    match apart(value) {
        (Version::Known, rest) => Some(rest),
        (Version::Newer(_) | Version::Unreadable, _) => None,
    }
}

/// The version of a node's mark, if a newer Replank wrote it.
#[must_use]
pub fn newer_on_node(node: &Node) -> Option<u64> {
    Version::of(&node.meta.annotations).newer()
}

/// The highest version among a group's tags of ours, if a newer Replank wrote one of them.
#[must_use]
pub fn newer_on_group(group: &NodeGroup) -> Option<u64> {
    let ours = group.tags.iter().filter(|(key, _)| key.starts_with(OURS));
    ours.filter_map(|(_, value)| apart(value).0.newer()).max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_taken_apart() {
        for (value, version, rest) in [
            ("v1 run at=x", Version::Known, "run at=x"),
            ("run at=x", Version::Known, "run at=x"),
            ("v1", Version::Known, "v1"),
            ("very long run", Version::Known, "very long run"),
            ("v2 run at=x", Version::Newer(2), "run at=x"),
            ("v10 anything", Version::Newer(10), "anything"),
            ("v0 run", Version::Unreadable, "run"),
            ("v99999999999999999999 run", Version::Unreadable, "run"),
        ] {
            assert_eq!(apart(value), (version, rest), "{value}");
        }
        assert_eq!(known(&written("0/5/3")), Some("0/5/3"));
        assert_eq!(known("v2 0/5/3"), None);
    }
}
