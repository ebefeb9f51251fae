//! Nodes by label: topology domains, and the answer to "which nodes have this label".

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::labels::Labels;
use crate::object::node::Node;
use crate::text::Text;
use crate::view::table::Ix;

/// Label key → value → nodes.
#[derive(Clone, Debug, Default)]
pub(super) struct Topology {
    /// Nodes in order of their slots: that one is found fast among thousands.
    domains: FxHashMap<Text, BTreeMap<Text, Vec<Ix<Node>>>>,
    /// Labels under which each node is listed, by slot.
    listed: Vec<Option<Labels>>,
}

impl Topology {
    pub(super) fn nodes_with(&self, key: &str, value: &str) -> &[Ix<Node>] {
        self.domains.get(key).and_then(|values| values.get(value)).map_or(&[], Vec::as_slice)
    }

    pub(super) fn domains(&self, key: &str) -> impl Iterator<Item = (&str, &[Ix<Node>])> {
        self.domains.get(key).into_iter().flatten().map(|(value, nodes)| (&**value, nodes.as_slice()))
    }

    pub(super) fn put(&mut self, node: Ix<Node>, labels: &Labels) {
        if self.listed.len() <= node.slot() {
            self.listed.resize(node.slot() + 1, None);
        }
        if self.listed[node.slot()].as_ref() == Some(labels) {
            return;
        }
        self.remove(node);
        for (key, value) in labels.pairs() {
            let nodes = self.domains.entry(key.clone()).or_default().entry(value.clone()).or_default();
            if let Err(at) = nodes.binary_search(&node) {
                nodes.insert(at, node);
            }
        }
        self.listed[node.slot()] = Some(labels.clone());
    }

    pub(super) fn remove(&mut self, node: Ix<Node>) {
        let Some(labels) = self.listed.get_mut(node.slot()).and_then(Option::take) else { return };
        for (key, value) in labels.pairs() {
            let Some(values) = self.domains.get_mut(key) else { continue };
            if let Some(nodes) = values.get_mut(value) {
                if let Ok(at) = nodes.binary_search(&node) {
                    nodes.remove(at);
                }
                if nodes.is_empty() {
                    values.remove(value);
                }
            }
            if values.is_empty() {
                self.domains.remove(key);
            }
        }
    }
}
