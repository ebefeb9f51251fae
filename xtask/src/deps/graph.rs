//! cargo's dependency graph, by name.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};

/// Dependencies between crates, without dev-dependencies. Versions of one crate are one.
#[derive(Debug, Default)]
pub(super) struct Graph {
    members: BTreeSet<String>,
    edges: BTreeMap<String, BTreeSet<String>>,
}

impl Graph {
    /// From the output of `cargo tree --workspace --prefix depth`: a line per crate, its depth in front.
    ///
    /// Below a crate that was shown before nothing is repeated, which loses no edge.
    pub(super) fn read(tree: &str) -> Result<Self> {
        let mut graph = Self::default();
        let mut path: Vec<String> = Vec::new();
        for line in tree.lines().filter(|line| !line.is_empty()) {
            let digits = line.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(0);
            let (depth, rest) = line.split_at(digits);
            let depth: usize = depth.parse().with_context(|| format!("cargo tree printed {line:?}"))?;
            let name = rest.split(' ').next().unwrap_or_default().to_owned();
            path.truncate(depth);
            match path.last() {
                None => graph.members.insert(name.clone()),
                Some(parent) => graph.edges.entry(parent.clone()).or_default().insert(name.clone()),
            };
            path.push(name);
        }
        Ok(graph)
    }

    /// Made by hand.
    #[cfg(test)]
    pub(super) fn of(members: &[&str], edges: &[(&str, &[&str])]) -> Self {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Self {
            members: owned(members),
            edges: edges.iter().map(|(from, to)| ((*from).to_owned(), owned(to))).collect(),
        }
    }

    /// The workspace's own crates.
    pub(super) fn members(&self) -> impl Iterator<Item = &str> {
        self.members.iter().map(String::as_str)
    }

    /// What a crate names itself.
    pub(super) fn direct(&self, name: &str) -> Vec<&str> {
        self.edges.get(name).into_iter().flatten().map(String::as_str).collect()
    }

    /// Everything below a crate, with the dependency through which it comes; nothing for direct ones.
    pub(super) fn all(&self, name: &str) -> BTreeMap<&str, &str> {
        let mut found: BTreeMap<&str, &str> = self.direct(name).into_iter().map(|name| (name, "")).collect();
        let mut left = self.direct(name);
        while let Some(next) = left.pop() {
            for below in self.direct(next) {
                if !found.contains_key(below) {
                    found.insert(below, next);
                    left.push(below);
                }
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_makes_edges() {
        let tree = "0a v0.1.0 (/somewhere/a)\n1b v1.0.0\n2c v2.0.0 (proc-macro)\n1d v1.0.0\n\n0d v1.0.0\n1b v1.0.0 (*)\n";
        let graph = Graph::read(tree).expect("it is as cargo prints it");
        assert_eq!(graph.members().collect::<Vec<_>>(), ["a", "d"]);
        assert_eq!(graph.direct("a"), ["b", "d"]);
        assert_eq!(graph.all("d").into_iter().collect::<Vec<_>>(), [("b", ""), ("c", "b")]);
        assert!(Graph::read("a v0.1.0").is_err());
    }
}
