//! Walks over a pod, and how upstream puts names into sentences.

use std::collections::BTreeSet;

use serde_json::Value;

/// Something that a level does not allow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Violation {
    /// In short.
    pub(super) reason: &'static str,
    /// Where, and what; empty for nothing more.
    pub(super) detail: String,
}

/// All violations in short.
pub(crate) fn reason(violations: &[Violation]) -> String {
    violations.iter().map(|one| one.reason).collect::<Vec<_>>().join(", ")
}

/// All violations with where they are.
pub(crate) fn detail(violations: &[Violation]) -> String {
    let one = |violation: &Violation| match violation.detail.as_str() {
        "" => violation.reason.to_owned(),
        detail => format!("{} ({detail})", violation.reason),
    };
    violations.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// A pod as checks look at it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pod<'p> {
    /// `metadata`.
    pub(super) meta: &'p Value,
    /// `spec`.
    pub(super) spec: &'p Value,
}

impl<'p> Pod<'p> {
    /// All its containers.
    pub(super) fn containers(self) -> impl Iterator<Item = &'p Value> {
        let lists = ["initContainers", "containers", "ephemeralContainers"].into_iter();
        lists.filter_map(move |list| self.spec.get(list)?.as_array()).flatten()
    }

    /// A member of the pod's own security context.
    pub(super) fn security(self, name: &str) -> Option<&'p Value> {
        member(self.spec, name)
    }

    /// Whether it runs on Windows.
    pub(super) fn is_windows(self) -> bool {
        self.spec.pointer("/os/name").is_some_and(|name| name == "windows")
    }

    /// Whether it has a user namespace of its own.
    pub(super) fn has_own_users(self) -> bool {
        self.spec.get("hostUsers") == Some(&Value::Bool(false))
    }

    /// Its annotations.
    pub(super) fn annotations(self) -> impl Iterator<Item = (&'p str, &'p str)> {
        let all = self.meta.get("annotations").and_then(Value::as_object).into_iter().flatten();
        all.filter_map(|(name, value)| Some((name.as_str(), value.as_str()?)))
    }
}

/// A member of the security context of a container, or of a pod's spec.
pub(super) fn member<'v>(of: &'v Value, name: &str) -> Option<&'v Value> {
    of.get("securityContext")?.get(name).filter(|value| !value.is_null())
}

/// A text in an object; empty where it is not there.
pub(super) fn text<'v>(of: &'v Value, name: &str) -> &'v str {
    of.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Names of containers, as a sentence has them: `container "a"`, `containers "a", "b"`.
pub(super) fn containers(names: &[&str]) -> String {
    format!("{} {}", plural("container", "containers", names.len()), quoted(names))
}

/// Texts in quotes.
pub(super) fn quoted<T: AsRef<str>>(all: &[T]) -> String {
    let all: Vec<&str> = all.iter().map(AsRef::as_ref).collect();
    if all.is_empty() { String::new() } else { format!("\"{}\"", all.join("\", \"")) }
}

/// Texts of a set in quotes.
pub(super) fn quoted_set<T: AsRef<str>>(all: &BTreeSet<T>) -> String {
    quoted(&all.iter().map(AsRef::as_ref).collect::<Vec<&str>>())
}

/// The one word or the other.
pub(super) fn plural(one: &'static str, many: &'static str, count: usize) -> &'static str {
    if count == 1 { one } else { many }
}

/// Who sets something: the pod, containers, or both.
pub(super) fn setters(is_pod: bool, names: &[&str]) -> Vec<String> {
    let mut setters = Vec::new();
    if is_pod {
        setters.push("pod".to_owned());
    }
    if !names.is_empty() {
        setters.push(containers(names));
    }
    setters
}
