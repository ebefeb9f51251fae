//! Sets of fields, as managers own them (structured-merge-diff's `fieldpath.Set`), and their form in `fieldsV1`.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// One step of a path into an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::json) enum Step {
    /// A member.
    Field(String),
    /// The item of a list with these keys: a JSON object in text.
    Keys(String),
    /// The item of a set: JSON in text.
    Item(String),
    /// The item at a place of a list.
    Index(u64),
}

/// A value as structured-merge-diff tells it.
fn told(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(told).collect();
            format!("[{}]", items.join(","))
        }
        Value::Object(members) => {
            members.iter().map(|(name, value)| format!("{name}={}", told(value))).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
    }
}

impl Step {
    /// The name in `fieldsV1`.
    fn written(&self) -> String {
        match self {
            Self::Field(name) => format!("f:{name}"),
            Self::Keys(keys) => format!("k:{keys}"),
            Self::Item(item) => format!("v:{item}"),
            Self::Index(index) => format!("i:{index}"),
        }
    }

    fn read(text: &str) -> Option<Self> {
        let (kind, rest) = text.split_at_checked(2)?;
        let plain = |text: &str| serde_json::from_str::<Value>(text).ok().map(|value| value.to_string());
        match kind {
            "f:" => Some(Self::Field(rest.to_owned())),
            "k:" => plain(rest).map(Self::Keys),
            "v:" => plain(rest).map(Self::Item),
            "i:" => rest.parse().ok().map(Self::Index),
            _ => None,
        }
    }

    /// As conflicts name it: `.spec`, `[name="a"]`.
    fn shown(&self) -> String {
        match self {
            Self::Field(name) => format!(".{name}"),
            Self::Index(index) => format!("[{index}]"),
            Self::Item(item) => format!("[={item}]"),
            Self::Keys(keys) => {
                let keys: Map<String, Value> = serde_json::from_str(keys).unwrap_or_default();
                let pairs: Vec<String> =
                    keys.iter().map(|(name, value)| format!("{name}={}", told(value))).collect();
                format!("[{}]", pairs.join(","))
            }
        }
    }
}

/// A set of paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::json) struct Set(pub(super) BTreeMap<Step, Node>);

/// What a set has at a step: the path that ends here, and longer ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::json) struct Node {
    pub(super) is_member: bool,
    pub(super) below: Set,
}

impl Set {
    pub(super) fn is_empty(&self) -> bool {
        // Branches without members are never kept.
        self.0.is_empty()
    }

    /// Adds a path.
    pub(super) fn insert(&mut self, path: &[Step]) {
        let Some((first, rest)) = path.split_first() else { return };
        let node = self.0.entry(first.clone()).or_default();
        match rest {
            [] => node.is_member = true,
            rest => node.below.insert(rest),
        }
    }

    pub(super) fn has(&self, path: &[Step]) -> bool {
        match path {
            [] => false,
            [only] => self.0.get(only).is_some_and(|node| node.is_member),
            [first, rest @ ..] => self.0.get(first).is_some_and(|node| node.below.has(rest)),
        }
    }

    /// What is below a step.
    pub(super) fn below(&self, step: &Step) -> Option<&Set> {
        self.0.get(step).map(|node| &node.below)
    }

    pub(super) fn union(&self, other: &Self) -> Self {
        let mut all = self.clone();
        for (step, node) in &other.0 {
            let here = all.0.entry(step.clone()).or_default();
            here.is_member |= node.is_member;
            if !node.below.is_empty() {
                here.below = here.below.union(&node.below);
            }
        }
        all
    }

    pub(super) fn intersection(&self, other: &Self) -> Self {
        self.combine(
            other,
            |here, there| here && there,
            |here, there| match there {
                Some(there) => here.intersection(there),
                None => Self::default(),
            },
        )
    }

    /// What the other has not.
    pub(super) fn difference(&self, other: &Self) -> Self {
        self.combine(
            other,
            |here, there| here && !there,
            |here, there| match there {
                Some(there) => here.difference(there),
                None => here.clone(),
            },
        )
    }

    /// What is neither in the other nor below one of its paths.
    pub(super) fn recursive_difference(&self, other: &Self) -> Self {
        let mut rest = Self::default();
        for (step, node) in &self.0 {
            let there = other.0.get(step);
            if there.is_some_and(|there| there.is_member) {
                continue;
            }
            let below = match there {
                Some(there) => node.below.recursive_difference(&there.below),
                None => node.below.clone(),
            };
            rest.keep(step, node.is_member, below);
        }
        rest
    }

    fn combine(
        &self,
        other: &Self,
        member: impl Fn(bool, bool) -> bool,
        below: impl Fn(&Self, Option<&Self>) -> Self,
    ) -> Self {
        let mut rest = Self::default();
        for (step, node) in &self.0 {
            let there = other.0.get(step);
            let is_member = member(node.is_member, there.is_some_and(|there| there.is_member));
            rest.keep(step, is_member, below(&node.below, there.map(|there| &there.below)));
        }
        rest
    }

    pub(super) fn keep(&mut self, step: &Step, is_member: bool, below: Self) {
        if is_member || !below.is_empty() {
            self.0.insert(step.clone(), Node { is_member, below });
        }
    }

    /// All paths, as conflicts name them.
    pub(super) fn shown(&self) -> Vec<String> {
        // Paths that end here come before longer ones.
        let ends = self.0.iter().filter(|(_, node)| node.is_member).map(|(step, _)| step.shown());
        let longer = self.0.iter().flat_map(|(step, node)| {
            let here = step.shown();
            node.below.shown().into_iter().map(move |rest| format!("{here}{rest}"))
        });
        ends.chain(longer).collect()
    }

    /// As `fieldsV1`.
    pub(super) fn to_json(&self) -> Value {
        let mut members = Map::new();
        for (step, node) in &self.0 {
            let mut below = node.below.to_json().as_object().cloned().unwrap_or_default();
            if node.is_member && !below.is_empty() {
                below.insert(".".to_owned(), Value::Object(Map::new()));
            }
            members.insert(step.written(), Value::Object(below));
        }
        Value::Object(members)
    }

    /// From `fieldsV1`; `None` where it is none.
    pub(super) fn from_json(value: &Value) -> Option<Self> {
        let mut set = Self::default();
        for (name, below) in value.as_object()?.iter().filter(|(name, _)| *name != ".") {
            let step = Step::read(name)?;
            let is_member = below.as_object()?.is_empty() || below.get(".").is_some();
            let node = Node { is_member, below: Self::from_json(below)? };
            set.0.insert(step, node);
        }
        Some(set)
    }
}

/// Paths of members, for the sets that are written down here: `metadata.name`.
pub(super) fn of_paths(paths: &[&str]) -> Set {
    let mut set = Set::default();
    for path in paths {
        let steps: Vec<Step> = path.split('.').map(|name| Step::Field(name.to_owned())).collect();
        set.insert(&steps);
    }
    set
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_set_is_written_and_read() {
        let written = json!({"f:metadata": {"f:labels": {".": {}, "f:a": {}}},
            "f:spec": {"f:ports": {"k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}, "f:port": {}}},
                "f:finalizers": {"v:\"a/b\"": {}}}});
        let set = Set::from_json(&written).expect("it can be read");
        assert_eq!(set.to_json(), written);
        assert!(set.shown().contains(&".spec.ports[port=80,protocol=\"TCP\"].port".to_owned()));
    }

    #[test]
    fn sets_are_combined_path_by_path() {
        let (a, b) = (of_paths(&["spec.a", "spec.b", "meta"]), of_paths(&["spec.b", "spec"]));
        assert_eq!(a.difference(&b), of_paths(&["spec.a", "meta"]));
        assert_eq!(a.intersection(&b), of_paths(&["spec.b"]));
        assert_eq!(a.recursive_difference(&b), of_paths(&["meta"]));
        assert_eq!(a.union(&b), of_paths(&["spec", "spec.a", "spec.b", "meta"]));
    }
}
