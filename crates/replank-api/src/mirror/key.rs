//! The order of lists.

use std::cmp::Ordering;

use replank_model::object::meta::Key;

/// Namespace and name in the order in which a server lists them: by the bytes of `namespace/name`, so that `a-b/x` comes before `a/x`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListKey(pub Key);

impl ListKey {
    /// The bytes that it is ordered by.
    fn bytes(&self) -> impl Iterator<Item = u8> + '_ {
        let separator: &[u8] = if self.0.namespace.is_empty() { b"" } else { b"/" };
        let namespace = self.0.namespace.as_str().bytes();
        namespace.chain(separator.iter().copied()).chain(self.0.name.as_str().bytes())
    }
}

impl Ord for ListKey {
    fn cmp(&self, other: &Self) -> Ordering {
        if self.0.namespace == other.0.namespace {
            return self.0.name.as_str().cmp(other.0.name.as_str());
        }
        self.bytes().cmp(other.bytes())
    }
}

impl PartialOrd for ListKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_with_a_hyphen_comes_before_its_prefix() {
        let mut all = [Key::new("a", "x"), Key::new("a-b", "x"), Key::new("a", "b"), Key::new("b", "a")]
            .map(ListKey)
            .to_vec();
        all.sort();
        let told: Vec<String> = all.iter().map(|key| key.0.to_string()).collect();
        assert_eq!(told, ["a-b/x", "a/b", "a/x", "b/a"]);
    }
}
