//! Where the nodes of one group stand: on shelves, by what they are to the run.

use std::collections::{BTreeMap, BTreeSet};

use replank_model::text::{GroupName, InstanceId, NodeName, Zone};
use replank_model::time::Time;

use super::held_pods::HeldPods;
use super::member::{Member, NodeState, Rank, Scope, Worth};
use super::sets::{narrow, put, tally};

/// One group's nodes, sorted by what they are to the run; and where nodes move into another group, the nodes of all groups
/// that they leave and of that one.
#[derive(Debug, Default, PartialEq)]
pub(super) struct GroupNodes {
    pub(super) found: BTreeSet<NodeName>,
    /// How many of these could be begun at once.
    pub(super) found_free: u32,
    /// Queued nodes that can be begun, by zone in the order of the plan.
    pub(super) queue: BTreeMap<Zone, BTreeSet<(Rank, NodeName)>>,
    /// Queued nodes on which something has to be waited for beforehand.
    pub(super) held: BTreeSet<NodeName>,
    /// How many of these take pods.
    pub(super) held_open: u32,
    /// How many queued nodes do not serve, those that can be begun and those that cannot.
    pub(super) queued_idle: u32,
    pub(super) draining: BTreeSet<NodeName>,
    /// How many of these there are in each zone.
    pub(super) draining_in: BTreeMap<Zone, u32>,
    /// Those of the found, queued and draining ones that are not Ready: few, and asked for several times in a decision.
    pub(super) unready: BTreeSet<NodeName>,
    /// Nodes whose drain is postponed: they take pods again.
    pub(super) postponed: BTreeSet<NodeName>,
    pub(super) skipped: BTreeSet<NodeName>,
    /// Old nodes that are replaced, empty, and kept for a while.
    pub(super) retained: BTreeSet<NodeName>,
    /// Old nodes that are empty, and that somebody else is to replace.
    pub(super) drained: BTreeSet<NodeName>,
    /// Old nodes that are by now as the plan says, and Ready: they are to be uncordoned.
    pub(super) upgraded: BTreeSet<NodeName>,
    /// Old nodes that are not ours to touch.
    pub(super) aside: BTreeSet<NodeName>,
    /// Chosen nodes that their provisioners replace.
    pub(super) kept: BTreeSet<NodeName>,
    pub(super) usable: BTreeSet<NodeName>,
    /// New nodes that do not count, and old ones that are as the plan says and not Ready.
    pub(super) arriving: BTreeSet<NodeName>,
    pub(super) surplus: BTreeSet<NodeName>,
    pub(super) leaving: BTreeSet<NodeName>,
    /// Of the held, draining and postponed nodes those with pods that are waited for, and whose instances can be protected and are not.
    pub(super) unprotected: BTreeSet<(InstanceId, NodeName)>,
    /// Ready nodes by zone, those that are being drained or leaving aside.
    pub(super) ready: BTreeMap<Zone, u32>,
    /// New nodes by zone, of use or not.
    pub(super) new: BTreeMap<Zone, u32>,
    /// Alive instances without a node, of the old kind, and when they were launched.
    pub(super) loose_old: BTreeMap<InstanceId, Option<Time>>,
    /// Alive instances without a node, of the new kind, and when they were launched.
    pub(super) loose_new: BTreeMap<InstanceId, Option<Time>>,
    /// How many of these there are in each zone.
    pub(super) booting_in: BTreeMap<Zone, u32>,
    /// Instances without a node that are being ended.
    pub(super) loose_leaving: BTreeSet<InstanceId>,
    /// Nodes and instances that were in the group before others moved into it, and do not serve: no loss of the run's.
    pub(super) broken: u32,
    /// Alive instances by their group, with nodes or without.
    pub(super) alive: BTreeMap<GroupName, u32>,
    /// Old nodes that the plan chooses, whatever has become of them.
    chosen: u32,
}

impl GroupNodes {
    /// Alive instances of a group, with nodes or without.
    pub(super) fn alive(&self, group: &GroupName) -> u32 {
        self.alive.get(group).copied().unwrap_or(0)
    }

    /// Queued nodes that can be begun.
    pub(super) fn queued(&self) -> usize {
        self.queue.values().map(BTreeSet::len).sum()
    }

    /// Old instances that are there, those left out aside: what is still to be replaced.
    pub(super) fn old_left(&self) -> u32 {
        let count = self.found.len()
            + self.queued()
            + self.held.len()
            + self.draining.len()
            + self.postponed.len()
            + self.drained.len()
            + self.aside.len()
            + self.loose_old.len();
        narrow(count)
    }

    /// Ready nodes that are not being drained.
    pub(super) fn ready_total(&self) -> u32 {
        self.ready.values().sum()
    }

    /// Whether the plan chooses a node of the group.
    pub(super) fn is_chosen(&self) -> bool {
        self.chosen > 0
    }

    /// Puts a node on the shelves where it belongs, or takes it off.
    pub(super) fn shelve(
        &mut self,
        held_pods: &mut HeldPods,
        scope: &Scope,
        member: &Member,
        is_there: bool,
    ) {
        self.shelve_by_pods(held_pods, scope, (member, member.rank(scope.plan.order)), is_there);
        let name = member.name.clone();
        if member.unready.is_some() && member.is_to_go() {
            put(&mut self.unready, name.clone(), is_there);
        }
        if matches!(member.state, NodeState::Queued { .. }) && !member.serves() {
            count(&mut self.queued_idle, is_there);
        }
        let (counts_ready, is_alive, is_old) = match &member.state {
            NodeState::Bystander => {
                if scope.plan.target.lands_in(&member.group) && member.worth == Worth::Nothing {
                    count(&mut self.broken, is_there);
                }
                (true, true, false)
            }
            NodeState::Kept { .. } => {
                put(&mut self.kept, name, is_there);
                (true, true, false)
            }
            NodeState::Usable => {
                put(&mut self.usable, name, is_there);
                (true, true, false)
            }
            NodeState::Arriving { .. } | NodeState::Closed => {
                put(&mut self.arriving, name, is_there);
                (false, true, false)
            }
            NodeState::Surplus { .. } => {
                put(&mut self.surplus, name, is_there);
                (false, true, false)
            }
            NodeState::Found { .. } => {
                put(&mut self.found, name, is_there);
                (true, true, true)
            }
            NodeState::Queued { .. } => (true, true, true),
            NodeState::Draining { .. } => {
                put(&mut self.draining, name, is_there);
                tally(&mut self.draining_in, &member.zone, is_there);
                (false, true, true)
            }
            NodeState::Postponed { .. } => {
                put(&mut self.postponed, name, is_there);
                (true, true, true)
            }
            NodeState::Skipped { .. } => {
                put(&mut self.skipped, name, is_there);
                (true, true, true)
            }
            NodeState::Retained { .. } => {
                put(&mut self.retained, name, is_there);
                (false, true, true)
            }
            NodeState::Drained { .. } => {
                put(&mut self.drained, name, is_there);
                (false, true, true)
            }
            NodeState::Upgraded => {
                put(&mut self.upgraded, name, is_there);
                (false, true, false)
            }
            NodeState::Reopened
            | NodeState::OtherRun { .. }
            | NodeState::Newer { .. }
            | NodeState::OtherNode => {
                put(&mut self.aside, name, is_there);
                (true, true, true)
            }
            // What the cloud does not list is none of the nodes that the group wants.
            NodeState::NoInstance => {
                put(&mut self.aside, name, is_there);
                (false, false, true)
            }
            NodeState::Leaving => {
                put(&mut self.leaving, name, is_there);
                (false, false, false)
            }
        };
        let is_new = matches!(member.state, NodeState::Usable | NodeState::Arriving { .. });
        for (by_zone, counts) in [(&mut self.ready, counts_ready && member.serves()), (&mut self.new, is_new)]
        {
            if counts {
                tally(by_zone, &member.zone, is_there);
            }
        }
        if is_alive {
            tally(&mut self.alive, &member.group, is_there);
        }
        if is_old {
            count(&mut self.chosen, is_there);
        }
    }

    /// The same for the shelves on which it is for the pods on it; a queued node has such a rank.
    pub(super) fn shelve_by_pods(
        &mut self,
        held_pods: &mut HeldPods,
        scope: &Scope,
        (member, rank): (&Member, Rank),
        is_there: bool,
    ) {
        if member.is_unprotected() {
            put(&mut self.unprotected, (member.instance.clone(), member.name.clone()), is_there);
        }
        if let NodeState::Found { node_pods } = &member.state {
            if node_pods.is_free() {
                count(&mut self.found_free, is_there);
            }
        } else if let NodeState::Queued { since, node_pods } = &member.state {
            let name = member.name.clone();
            if node_pods.is_free() {
                let zone = self.queue.entry(member.zone.clone()).or_default();
                put(zone, (rank, name), is_there);
                if zone.is_empty() {
                    self.queue.remove(&member.zone);
                }
                return;
            }
            put(&mut self.held, name, is_there);
            if member.is_open {
                count(&mut self.held_open, is_there);
            }
            held_pods.shelve(scope, member, (*since, node_pods), is_there);
        }
    }
}

fn count(counter: &mut u32, is_there: bool) {
    if is_there {
        *counter += 1;
    } else {
        *counter -= 1;
    }
}
