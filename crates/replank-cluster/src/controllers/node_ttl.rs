//! The annotation that tells a kubelet how long it may keep Secrets and ConfigMaps without asking again (pkg/controller/ttl): the longer, the more nodes there
//! are.

use replank_apiserver::Api;
use replank_model::object::meta::Key;
use replank_model::object::node::Node;

const TTL: &str = "node.alpha.kubernetes.io/ttl";

/// From how many nodes on, up to how many, and how many seconds (`ttlBoundaries`). They overlap, so that a node more or less changes nothing.
const STEPS: [(usize, usize, u32); 5] =
    [(0, 100, 0), (90, 500, 15), (450, 1_000, 30), (900, 2_000, 60), (1_800, usize::MAX, 300)];

/// The step that the number of nodes is at.
#[derive(Debug, Default)]
pub(super) struct NodeTtl {
    nodes: usize,
    step: usize,
}

impl NodeTtl {
    /// A node was or is there.
    pub(super) fn count(&mut self, was: bool, is: bool) {
        match (was, is) {
            (false, true) => self.nodes += 1,
            (true, false) => self.nodes = self.nodes.saturating_sub(1),
            (true, true) | (false, false) => {}
        }
        if self.nodes > STEPS[self.step].1 {
            self.step += 1;
        }
        if self.nodes < STEPS[self.step].0 {
            self.step -= 1;
        }
    }

    /// Writes the annotation of a node. Others follow when they change, as upstream.
    pub(super) fn keep(&self, api: &mut Api, key: &Key) {
        let seconds = STEPS[self.step].2.to_string();
        let Some(node) = api.view().nodes.by_key(key) else { return };
        if node.meta.annotations.value(TTL) != Some(&*seconds) {
            drop(api.modify::<Node>(key, |node| {
                node.meta.annotations = node.meta.annotations.with(TTL, seconds);
            }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_step_follows_the_number_with_some_slack() {
        let mut ttl = NodeTtl::default();
        (0..101).for_each(|_| ttl.count(false, true));
        assert_eq!(STEPS[ttl.step].2, 15);
        (0..10).for_each(|_| ttl.count(true, false));
        assert_eq!((ttl.nodes, STEPS[ttl.step].2), (91, 15));
        (0..2).for_each(|_| ttl.count(true, false));
        assert_eq!(STEPS[ttl.step].2, 0);
    }
}
