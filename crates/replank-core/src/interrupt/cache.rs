//! What may be dropped at any time, and is found again.

use std::collections::{BTreeMap, BTreeSet};

use replank_facts::budget::Healths;
use replank_facts::room::Room;
use replank_model::text::{InstanceId, MessageId, NodeName};
use replank_model::time::Time;
use replank_protocol::command::CommandKey;

use super::Options;
use super::inbox::Inbox;
use super::notice::{HealthStatus, News};

/// Everything that can be dropped at any time.
#[derive(Debug, Default)]
pub(super) struct Cache {
    pub(super) inbox: Inbox,
    /// Instances that hooks hold.
    pub(super) held: BTreeSet<InstanceId>,
    /// Nodes that bear a mark of ours.
    pub(super) marked: BTreeSet<NodeName>,
    /// The nodes of an instance: it may have registered under another name before.
    nodes_of: BTreeMap<InstanceId, BTreeSet<NodeName>>,
    pub(super) healths: Healths,
    /// Only while there is something to be placed.
    pub(super) room: Option<Room>,
    /// Instances that were seen to end: what is said of them still is over.
    pub(super) ended: BTreeSet<InstanceId>,
    /// Heartbeats that were taken. One that is not known to be is sent again.
    pub(super) beats: BTreeSet<CommandKey>,
    /// When an instance was first seen held of which no message says since when.
    pub(super) first_seen: BTreeMap<InstanceId, Time>,
    /// When the node of an instance was first seen empty.
    pub(super) emptied: BTreeMap<InstanceId, Time>,
    pub(super) is_stale: bool,
    /// As of the last decision: see [`Interrupt::is_pressing`].
    pub(super) is_pressing: bool,
}

impl Cache {
    /// Nothing is known yet.
    pub(super) fn of(options: &Options) -> Self {
        Self { is_stale: true, inbox: Inbox::of(options.home.clone()), ..Self::default() }
    }

    /// The node of an instance: of several the last in the order of names.
    pub(super) fn node_of(&self, instance: &InstanceId) -> Option<&NodeName> {
        self.nodes_of.get(instance)?.last()
    }

    pub(super) fn node_came(&mut self, instance: InstanceId, node: NodeName) {
        self.nodes_of.entry(instance).or_default().insert(node);
    }

    pub(super) fn node_went(&mut self, instance: &InstanceId, node: &NodeName) {
        if let Some(nodes) = self.nodes_of.get_mut(instance) {
            nodes.remove(node);
            if nodes.is_empty() {
                self.nodes_of.remove(instance);
            }
        }
    }

    /// Whether there is nothing to be done: no message is there, no hook holds an instance, and no node bears a mark.
    pub(super) fn is_quiet(&self) -> bool {
        self.inbox.read.is_empty() && self.held.is_empty() && self.marked.is_empty()
    }

    /// Messages that cancelled an event, while a node still carries a mark: nothing else says that the mark can be removed.
    pub(super) fn calls_off(&self) -> Vec<MessageId> {
        let is_marked =
            |instance: &&InstanceId| self.node_of(instance).is_some_and(|node| self.marked.contains(node));
        let notices = self.inbox.notices().filter(|(_, notice)| {
            matches!(&notice.news, News::Health(health) if health.status == HealthStatus::Closed)
                && notice.news.instances().iter().any(is_marked)
        });
        notices.map(|(message, _)| message.id.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instance_keeps_its_node_when_the_one_that_it_was_before_goes() {
        let mut cache = Cache::default();
        let instance = InstanceId::from("i-1");
        for node in ["a", "b"] {
            cache.node_came(instance.clone(), node.into());
        }
        assert_eq!(cache.node_of(&instance), Some(&"b".into()));
        cache.node_went(&instance, &"a".into());
        assert_eq!(cache.node_of(&instance), Some(&"b".into()));
        cache.node_went(&instance, &"b".into());
        assert_eq!(cache.node_of(&instance), None);
    }
}
