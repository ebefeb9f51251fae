//! Zones: how many of their nodes are ready, and how fast the others may be tainted for it
//! (pkg/controller/nodelifecycle `ComputeZoneState`, `handleDisruption`).

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use replank_model::object::node::{LABEL_REGION, LABEL_ZONE, Node};
use replank_model::text::{NodeName, Text};
use replank_model::time::{Span, Time};

use super::limiter::Limiter;

/// Time between two nodes of a zone (`--node-eviction-rate` 0.1).
const NORMAL: Span = Span::from_secs(10);
/// The same in a large zone that is partly lost (`--secondary-node-eviction-rate` 0.01).
const REDUCED: Span = Span::from_secs(100);
/// Zones of more nodes are large (`--large-cluster-size-threshold`).
const LARGE_ABOVE: usize = 50;
/// Part of a zone's nodes, in percent, whose loss makes the zone partly lost (`--unhealthy-zone-threshold` 0.55).
const UNHEALTHY_PERCENT: usize = 55;
/// Label that keeps a node out of the count.
const EXCLUDED: &str = "node.kubernetes.io/exclude-disruption";

/// Region and zone of a node; nodes without labels share one (component-helpers `GetZoneKey`).
pub(super) type ZoneKey = (Text, Text);

/// The zone of a node.
pub(super) fn key(node: &Node) -> ZoneKey {
    let labels = &node.meta.labels;
    let label = |name, old| labels.get(name).or_else(|| labels.get(old)).cloned().unwrap_or_default();
    let region = label(LABEL_REGION, "failure-domain.beta.kubernetes.io/region");
    let zone = label(LABEL_ZONE, "failure-domain.beta.kubernetes.io/zone");
    (region, zone)
}

/// How much of a zone is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Not looked at yet.
    Initial,
    /// Little or nothing.
    Normal,
    /// More than half.
    Partial,
    /// All of it.
    Full,
}

/// One zone.
#[derive(Debug)]
pub(super) struct Zone {
    state: State,
    limiter: Limiter,
    /// Nodes that wait for their NoExecute taint, first come first.
    waiting: VecDeque<NodeName>,
    /// Nodes that wait or have had their turn, and are not put down again before they were taken off.
    listed: BTreeSet<NodeName>,
    /// Nodes that are ready.
    ready: usize,
    /// Nodes that are not.
    lost: usize,
}

impl Zone {
    fn new_state(&self) -> State {
        state((self.ready, self.lost))
    }

    /// Time between two nodes of the zone; `None`: none is tainted.
    fn interval(&self, state: State) -> Option<Span> {
        match state {
            State::Initial | State::Normal | State::Full => Some(NORMAL),
            State::Partial => (self.ready + self.lost > LARGE_ABOVE).then_some(REDUCED),
        }
    }

    fn count(&mut self, member: Member) -> Option<&mut usize> {
        match member {
            Member::Ready => Some(&mut self.ready),
            Member::Lost => Some(&mut self.lost),
            Member::Excluded => None,
        }
    }
}

/// What the change of the zones' states asks of all nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Nothing.
    Nothing,
    /// The whole cluster has just fallen silent: the fault may be on this side, so nobody is evicted.
    AllLost,
    /// The first nodes are back after the whole cluster was silent: all silences count from now.
    SomeBack,
}

/// All zones.
#[derive(Debug, Default)]
pub(super) struct Zones {
    zones: BTreeMap<ZoneKey, Zone>,
    /// Zone of each node, as the monitor saw it last.
    members: BTreeMap<NodeName, (ZoneKey, Member)>,
}

/// What a node is to its zone's count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Member {
    /// Ready.
    Ready,
    /// Not ready, or not heard of.
    Lost,
    /// Not counted.
    Excluded,
}

impl Member {
    /// What a node is, given whether it is ready.
    pub(super) fn of(node: &Node, is_ready: bool) -> Self {
        if node.meta.labels.contains_key(EXCLUDED) {
            Self::Excluded
        } else if is_ready {
            Self::Ready
        } else {
            Self::Lost
        }
    }
}

impl Zones {
    /// Notes what a node is; its zone appears if it is new.
    pub(super) fn put(&mut self, name: &NodeName, key: ZoneKey, member: Member, now: Time) {
        self.remove_member(name, &key);
        let new = || Zone {
            state: State::Initial,
            limiter: Limiter::new(Some(NORMAL), now),
            waiting: VecDeque::new(),
            listed: BTreeSet::new(),
            ready: 0,
            lost: 0,
        };
        let zone = self.zones.entry(key.clone()).or_insert_with(new);
        if let Some(count) = zone.count(member) {
            *count += 1;
        }
        self.members.insert(name.clone(), (key, member));
    }

    /// A node is gone.
    pub(super) fn remove(&mut self, name: &NodeName) {
        self.unlist(name);
        self.remove_member(name, &ZoneKey::default());
    }

    /// Takes a node out of its zone's count; where it moves to another zone, out of the queue too.
    fn remove_member(&mut self, name: &NodeName, to: &ZoneKey) {
        if self.members.get(name).is_some_and(|(key, _)| key != to) {
            self.unlist(name);
        }
        let Some((key, member)) = self.members.remove(name) else { return };
        let zone = self.zones.get_mut(&key).expect("a member's zone is there");
        if let Some(count) = zone.count(member) {
            *count -= 1;
        }
    }

    /// Puts a node down for its NoExecute taint; one that has had its turn is put down again only after [`Zones::unlist`].
    pub(super) fn list(&mut self, name: &NodeName) {
        let Some(zone) = self.members.get(name).and_then(|(key, _)| self.zones.get_mut(key)) else { return };
        if zone.listed.insert(name.clone()) {
            zone.waiting.push_back(name.clone());
        }
    }

    /// Takes a node off.
    pub(super) fn unlist(&mut self, name: &NodeName) {
        let Some(zone) = self.members.get(name).and_then(|(key, _)| self.zones.get_mut(key)) else { return };
        if zone.listed.remove(name) {
            zone.waiting.retain(|waiting| waiting != name);
        }
    }

    /// The nodes whose turn it is, at most one of each zone.
    pub(super) fn take(&mut self, now: Time) -> Vec<NodeName> {
        let mut taken = Vec::new();
        for zone in self.zones.values_mut() {
            if !zone.waiting.is_empty() && zone.limiter.try_accept(now) {
                taken.extend(zone.waiting.pop_front());
            }
        }
        taken
    }

    /// When the next node's turn is.
    pub(super) fn next_turn(&self) -> Option<Time> {
        let waiting = self.zones.values().filter(|zone| !zone.waiting.is_empty());
        waiting.filter_map(|zone| zone.limiter.available_at()).min()
    }

    /// Computes the states of all zones and sets their rates.
    pub(super) fn judge(&mut self, now: Time) -> Verdict {
        let is_member = |key: &ZoneKey| self.members.values().any(|(member, _)| member == key);
        let empty: Vec<ZoneKey> = self
            .zones
            .iter()
            .filter(|(_, zone)| zone.ready + zone.lost == 0)
            .map(|(key, _)| key.clone())
            .filter(|key| !is_member(key))
            .collect();
        self.zones.retain(|key, _| !empty.contains(key));
        let mut counted = self.zones.values().filter(|zone| zone.ready + zone.lost > 0).peekable();
        let all_are_lost = counted.peek().is_some() && counted.all(|zone| zone.new_state() == State::Full);
        let all_were_lost = self.zones.values().all(|zone| zone.state == State::Full);
        if all_are_lost && all_were_lost {
            return Verdict::Nothing;
        }
        for zone in self.zones.values_mut() {
            let state = zone.new_state();
            if all_are_lost {
                zone.limiter.swap(None, now);
            } else if all_were_lost || zone.state != state {
                zone.limiter.swap(zone.interval(state), now);
            }
            zone.state = if all_are_lost { State::Full } else { state };
        }
        match (all_are_lost, all_were_lost) {
            (true, _) => Verdict::AllLost,
            (false, true) => Verdict::SomeBack,
            (false, false) => Verdict::Nothing,
        }
    }
}

fn state((ready, lost): (usize, usize)) -> State {
    if ready == 0 && lost > 0 {
        State::Full
    } else if lost > 2 && lost * 100 >= UNHEALTHY_PERCENT * (ready + lost) {
        State::Partial
    } else {
        State::Normal
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_go_by_the_lost_nodes() {
        let cases = [
            ((3, 0), State::Normal),
            ((0, 1), State::Full),
            ((1, 2), State::Normal),
            ((1, 3), State::Partial),
            ((9, 10), State::Normal),
            ((9, 11), State::Partial),
            ((0, 0), State::Normal),
        ];
        for (count, expected) in cases {
            assert_eq!(state(count), expected, "{count:?}");
        }
    }

    fn at(seconds: i64) -> Time {
        Time::from_millis(seconds * 1000)
    }

    fn zones(members: &[(&str, &str, Member)]) -> Zones {
        let mut zones = Zones::default();
        put(&mut zones, members);
        zones.judge(at(0));
        zones
    }

    fn put(zones: &mut Zones, members: &[(&str, &str, Member)]) {
        for (name, zone, member) in members {
            zones.put(&NodeName::from(*name), (Text::default(), Text::from(*zone)), *member, at(0));
        }
    }

    #[test]
    fn a_lost_zone_beside_a_healthy_one_goes_node_by_node() {
        let mut zones =
            zones(&[("a1", "a", Member::Lost), ("a2", "a", Member::Lost), ("b", "b", Member::Ready)]);
        for name in ["a1", "a2"] {
            zones.list(&NodeName::from(name));
        }
        assert_eq!(zones.take(at(1)), [NodeName::from("a1")]);
        assert_eq!(zones.next_turn(), Some(at(11)));
        assert!(zones.take(at(10)).is_empty());
        assert_eq!(zones.take(at(11)), [NodeName::from("a2")]);
        zones.list(&NodeName::from("a2"));
        assert_eq!(zones.next_turn(), None, "it has had its turn");
    }

    #[test]
    fn a_small_zone_that_is_partly_lost_stands_still() {
        let mut zones = zones(&[
            ("1", "a", Member::Lost),
            ("2", "a", Member::Lost),
            ("3", "a", Member::Lost),
            ("4", "a", Member::Ready),
        ]);
        zones.list(&NodeName::from("1"));
        assert_eq!(zones.next_turn(), None);
    }

    #[test]
    fn a_lost_cluster_stands_still_until_a_node_is_back() {
        let mut zones = zones(&[("a", "a", Member::Ready), ("b", "b", Member::Ready)]);
        put(&mut zones, &[("a", "a", Member::Lost), ("b", "b", Member::Lost)]);
        assert_eq!(zones.judge(at(1)), Verdict::AllLost);
        assert_eq!(zones.judge(at(2)), Verdict::Nothing);
        zones.list(&NodeName::from("a"));
        assert_eq!(zones.next_turn(), None);
        put(&mut zones, &[("b", "b", Member::Ready)]);
        assert_eq!(zones.judge(at(3)), Verdict::SomeBack);
        assert_eq!(zones.next_turn(), Some(at(13)), "the first token is an interval away");
    }
}
