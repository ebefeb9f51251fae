//! Which nodes go, where their pods go, and why the others stay.
//!
//! Nodes are tried out one after the other on one copy of the cluster: what one has given away, the next finds taken. A pod must find
//! a place while its node is still there and cordoned, as it will when it is evicted; so no pod that was moved asks for a node
//! afterwards, and what goes does not come back. Nodes that take in pods of others stay. Those that go now are tried out once more
//! together ([`super::confirm`]).
//!
//! Source: Cluster Autoscaler's FAQ, "How does scale-down work?" and "Is Cluster Autoscaler compatible with node-level opt-outs?".

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use replank_model::object::meta::Key;
use replank_model::object::node::Node;
use replank_model::object::pod::Pod;
use replank_model::text::{GroupName, NodeName, RunId, Text};
use replank_model::time::Time;
use replank_model::view::View;
use rustc_hash::FxHashMap;

use super::blocks::{PodFate, allowed, fate};
use super::confirm::unschedulable;
use super::group::{Group, LeftOut, is_wanted};
use super::in_flight::is_emptied;
use super::limits::Totals;
use super::ownership::RollOwnership;
use super::up::{Given, Up, is_starting};
use super::usage::Usage;
use replank_facts::budget::Ledger;
use replank_facts::plan::Standing;
use replank_protocol::mark;
use replank_protocol::scaling::Event;
use replank_protocol::scaling::Hold;
use replank_protocol::scaling::Limit;
use replank_protocol::waiting::Blocks;
use replank_schedule::{Scheduler, Trial, Unschedulable};

/// Annotation of a node that is never taken away.
const DISABLED: &str = "cluster-autoscaler.kubernetes.io/scale-down-disabled";
/// Taint of a node that Cluster Autoscaler takes away.
const TO_BE_DELETED: &str = "ToBeDeletedByClusterAutoscaler";

/// What is to be taken away.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Down {
    /// Nodes that nobody needs, those that go now first.
    pub unneeded: Vec<Unneeded>,
    /// Nodes that stay, by name.
    pub kept: Vec<(NodeName, Keep)>,
    /// Since when nodes have not been needed: [`super::State::unneeded`] from here on.
    pub since: BTreeMap<NodeName, Time>,
}

/// A node that nobody needs.
#[derive(Clone, Debug, PartialEq)]
pub struct Unneeded {
    /// The node.
    pub node: NodeName,
    /// Its group.
    pub group: GroupName,
    /// How much of it is asked for.
    pub usage: Usage,
    /// Where its pods go; none where it is empty.
    pub moves: Vec<(Key, NodeName)>,
    /// Since when it has not been needed.
    pub since: Time,
    /// What it still waits for; `None` if it goes now.
    pub hold: Option<Hold>,
}

/// Why a node stays.
#[derive(Clone, Debug, PartialEq)]
pub enum Keep {
    /// It is in no group.
    NoGroup,
    /// Its group is left alone.
    LeftOut(LeftOut),
    /// It says so: annotation `scale-down-disabled`.
    Disabled,
    /// Its group is being rolled: its nodes are being added or removed.
    Rolling,
    /// A newer Replank has written on it, or on its group.
    NewerVersion {
        /// The version of what it wrote.
        version: u64,
    },
    /// Somebody has marked it.
    Marked {
        /// Who.
        by: RunId,
        /// Until when that holds.
        until: Time,
    },
    /// Somebody takes it away already.
    Leaving,
    /// It has just come.
    Starting,
    /// It is not ready, and those that are not are left alone.
    Unready,
    /// Its group has no more than its minimum.
    AtMinimum {
        /// The minimum.
        min: u32,
    },
    /// The cluster has no more than it must.
    AtLimit(Limit),
    /// Too much of it is asked for.
    Busy {
        /// How much.
        usage: Usage,
        /// Less than that would do, in parts of a thousand.
        threshold_milli: i64,
    },
    /// A pod keeps it.
    Pod {
        /// The pod.
        pod: Key,
        /// Why.
        why: Blocks,
    },
    /// A pod would find no other place.
    NoPlace {
        /// The pod.
        pod: Key,
        /// The scheduler's words.
        message: Text,
    },
    /// A pod that waits is about to come.
    Awaited {
        /// The pod.
        pod: Key,
    },
    /// It takes in pods of nodes that go.
    Receives {
        /// Of this one first.
        from: NodeName,
    },
}

impl fmt::Display for Keep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoGroup => f.write_str("is in no group"),
            Self::LeftOut(why) => write!(f, "is in a group that is not scaled: {why}"),
            Self::Disabled => f.write_str("is annotated scale-down-disabled"),
            Self::Rolling => f.write_str("is in a group that is being rolled"),
            Self::NewerVersion { version } => {
                write!(
                    f,
                    "is left alone: a newer Replank has written on it, or on its group (version {version})"
                )
            }
            Self::Marked { by, until } => write!(f, "is being changed by {by} until {until}"),
            Self::Leaving => f.write_str("is being removed"),
            Self::Starting => f.write_str("was added recently"),
            Self::Unready => f.write_str("is not ready (--scale-down-unready-enabled=false)"),
            Self::AtMinimum { min } => write!(f, "is in a group at its minimum size of {min}"),
            Self::AtLimit(limit) => write!(f, "cannot be removed: {limit}"),
            Self::Busy { usage, threshold_milli } => {
                write!(f, "is in use: {usage}, the threshold is {}%", threshold_milli / 10)
            }
            Self::Pod { pod, why } => write!(f, "{pod} {why}"),
            Self::NoPlace { pod, message } => {
                write!(f, "{pod} would not be schedulable elsewhere: {message}")
            }
            Self::Awaited { pod } => write!(f, "is reserved for {pod}"),
            Self::Receives { from } => write!(f, "is needed for pods of {from}"),
        }
    }
}

/// Which nodes go, beside pods that bring nodes or find places. The scheduler knows what the View knows, and is as before afterwards;
/// what the ledger is charged with stays charged.
#[must_use]
pub fn down(given: Given<'_>, scheduler: &mut Scheduler, ledger: &mut Ledger<'_>, growth: &Up) -> Down {
    let is_growing = !growth.rounds.is_empty();
    let mut down = Down::default();
    let mut candidates = Vec::new();
    let owners = owners(given);
    for (_, node) in given.view.nodes.sorted() {
        match candidate(given, node, &owners) {
            Ok(candidate) => candidates.push(candidate),
            Err(keep) => down.kept.push((node.name(), keep)),
        }
    }
    // Those without pods first, then those that have not been needed for longest, then the least used.
    candidates.sort_by_key(|one| {
        let since = given.state.unneeded.get(&one.node.name()).copied();
        (!one.moving.is_empty(), since.is_none(), since, one.share, one.node.name())
    });
    let mut tried = Tried {
        given,
        trial: scheduler.trial(),
        ledger,
        totals: Totals::of(given.view, given.options),
        sizes: given.groups.all.iter().map(|group| (group.name.clone(), wanted(given, group))).collect(),
        receivers: BTreeMap::new(),
        awaited: BTreeMap::new(),
        gone: BTreeSet::new(),
    };
    tried.spare_rolled_groups();
    tried.let_in(&growth.fits);
    for one in candidates {
        let name = one.node.name();
        match tried.take(&one) {
            Ok(moves) => {
                let since = given.state.unneeded.get(&name).copied().unwrap_or(given.now);
                down.since.insert(name.clone(), since);
                let (group, usage) = (one.group.name.clone(), one.usage);
                down.unneeded.push(Unneeded { node: name, group, usage, moves, since, hold: None });
            }
            Err(keep) => down.kept.push((name, keep)),
        }
    }
    drop(tried);
    loop {
        hold(given, &mut down.unneeded, is_growing);
        let going: Vec<&Unneeded> = down.unneeded.iter().filter(|one| one.hold.is_none()).collect();
        let moving =
            going.iter().flat_map(|one| one.moves.iter().map(|(pod, _)| (pod.clone(), one.node.clone())));
        let moving: Vec<(Key, NodeName)> = moving.collect();
        let names: Vec<NodeName> = going.iter().map(|one| one.node.clone()).collect();
        let Some(unschedulable) =
            unschedulable(given, scheduler, &names, &moving).filter(|_| !moving.is_empty())
        else {
            break;
        };
        down.unneeded.retain(|one| one.node != unschedulable.node);
        down.since.remove(&unschedulable.node);
        let keep = Keep::NoPlace { pod: unschedulable.pod, message: unschedulable.message };
        down.kept.push((unschedulable.node, keep));
    }
    down.kept.sort_by(|a, b| a.0.cmp(&b.0));
    down
}

/// What a group will want when the nodes are gone that are emptied already.
fn wanted(given: Given<'_>, group: &Group) -> u32 {
    let nodes = group.nodes.values().flatten().filter_map(|name| given.view.node(name));
    let emptied = nodes.filter(|node| is_emptied(node)).count();
    group.size.desired.saturating_sub(u32::try_from(emptied).unwrap_or(u32::MAX))
}

/// A node that might go.
struct Candidate<'a> {
    node: &'a Arc<Node>,
    group: &'a Group,
    usage: Usage,
    share: i64,
    /// Pods that need another place, the largest first.
    moving: Vec<Arc<Pod>>,
}

/// The groups of nodes that may be changed.
fn owners(given: Given<'_>) -> FxHashMap<&NodeName, &Group> {
    let groups = given.groups.all.iter();
    groups.flat_map(|group| group.names().map(move |name| (name, group))).collect()
}

fn candidate<'a>(
    given: Given<'a>,
    node: &'a Arc<Node>,
    owners: &FxHashMap<&NodeName, &'a Group>,
) -> Result<Candidate<'a>, Keep> {
    let Given { view, options, now, .. } = given;
    let name = node.name();
    if given.in_flight.leaving.contains(&name) || !is_wanted(view, node) {
        return Err(Keep::Leaving);
    }
    let Some(group) = owners.get(&name).copied() else {
        return Err(left_out(given, &name));
    };
    if let RollOwnership::Newer { version } = group.ownership {
        return Err(Keep::NewerVersion { version });
    }
    if group.ownership != RollOwnership::Free {
        return Err(Keep::Rolling);
    }
    if let Some(version) = mark::newer_on_node(node) {
        return Err(Keep::NewerVersion { version });
    }
    if let Some(found) = mark::of(node).filter(|found| found.mark.expires > now) {
        return Err(Keep::Marked { by: found.run, until: found.mark.expires });
    }
    if node.meta.annotations.value(DISABLED) == Some("true") {
        return Err(Keep::Disabled);
    }
    if node.spec.taints.iter().any(|taint| &*taint.key == TO_BE_DELETED) || node.meta.is_terminating() {
        return Err(Keep::Leaving);
    }
    if is_starting(node, given) {
        return Err(Keep::Starting);
    }
    if !node.is_ready() && !options.down.unready_enabled {
        return Err(Keep::Unready);
    }
    let pods = view.sorted_pods_on(&name);
    let usage = Usage::of(node, &pods, group, &options.down);
    let (share, threshold_milli) = usage.against(group, &options.down);
    if node.is_ready() && share >= threshold_milli && !options.down.consolidates {
        return Err(Keep::Busy { usage, threshold_milli });
    }
    if let Some(unread) = view.unread_on(&name).next() {
        return Err(Keep::Pod { pod: unread.object.key.clone(), why: Blocks::Unreadable });
    }
    let mut moving = Vec::new();
    for pod in pods {
        match fate(view, &options.down, options.expendable_below, pod, now) {
            PodFate::Goes | PodFate::Ends => {}
            PodFate::Moves => moving.push(pod.clone()),
            PodFate::Keeps(why) => return Err(Keep::Pod { pod: pod.meta.key(), why }),
        }
    }
    Ok(Candidate { node, group, usage, share, moving })
}

fn left_out(given: Given<'_>, node: &NodeName) -> Keep {
    let known = given.view.node(node);
    let names = given.groups.left_out.iter();
    let of = |name: &GroupName| {
        known.is_some_and(|node| node.meta.labels.iter().any(|(_, value)| value == name.as_str()))
    };
    names.clone().find(|(name, _)| of(name)).map_or(Keep::NoGroup, |(_, why)| Keep::LeftOut(why.clone()))
}

/// What has been tried out so far.
struct Tried<'a, 'b, 'l> {
    given: Given<'a>,
    trial: Trial<'b>,
    ledger: &'b mut Ledger<'l>,
    totals: Totals,
    sizes: BTreeMap<GroupName, u32>,
    receivers: BTreeMap<NodeName, NodeName>,
    /// The first pod that is about to come to each node.
    awaited: BTreeMap<NodeName, Key>,
    gone: BTreeSet<NodeName>,
}

impl Tried<'_, '_, '_> {
    /// Leaves out the nodes of groups that a run holds: a pod that is put on an old one would be moved once more, and the room of the new ones is for the
    /// pods of the old.
    fn spare_rolled_groups(&mut self) {
        for group in self.given.groups.all.iter().filter(|group| group.ownership != RollOwnership::Free) {
            for name in group.names() {
                self.trial.exclude(name);
            }
        }
    }

    /// Puts pods where they are about to come.
    fn let_in(&mut self, fits: &[(Key, NodeName)]) {
        let view = self.given.view;
        for (key, _) in fits {
            let Some(pod) = view.pods.by_key(key) else { continue };
            self.trial.take_away(view, key);
            let anew = replank_facts::pod_factory::anew(pod);
            if let Ok(placed) = self.trial.place(view, &anew, 0) {
                self.trial.assume(view, &anew, &placed.node, &placed.volumes);
                self.awaited.entry(placed.node).or_insert_with(|| key.clone());
            }
        }
    }

    /// Takes a node away, if that can be.
    fn take(&mut self, one: &Candidate<'_>) -> Result<Vec<(Key, NodeName)>, Keep> {
        let name = one.node.name();
        if let Some(from) = self.receivers.get(&name) {
            return Err(Keep::Receives { from: from.clone() });
        }
        if let Some(pod) = self.awaited.get(&name) {
            return Err(Keep::Awaited { pod: pod.clone() });
        }
        let size = self.sizes.get(&one.group.name).copied().unwrap_or(0);
        // The cloud takes no instance of a group that is at its own minimum, whatever a flag says.
        let own = self.given.view.groups().get(&one.group.name).map_or(0, |group| group.size.min);
        let min = one.group.size.min.max(own);
        if size <= min {
            return Err(Keep::AtMinimum { min });
        }
        self.totals.may_lose(one.node, self.given.options).map_err(Keep::AtLimit)?;
        let (mark, taken) = (self.trial.mark(), self.ledger.taken());
        self.trial.exclude(&name);
        match self.move_all(one) {
            Ok(moves) => {
                for (_, to) in &moves {
                    self.receivers.entry(to.clone()).or_insert_with(|| name.clone());
                }
                self.sizes.insert(one.group.name.clone(), size - 1);
                self.totals.add(one.node, self.given.options, -1);
                self.gone.insert(name);
                Ok(moves)
            }
            Err(keep) => {
                self.trial.revert_to(mark);
                self.ledger.back_to(taken);
                Err(keep)
            }
        }
    }

    fn move_all(&mut self, one: &Candidate<'_>) -> Result<Vec<(Key, NodeName)>, Keep> {
        let view = self.given.view;
        // Each budget has to allow one eviction; the others follow one by one, for as long as a drain may take (Cluster Autoscaler's
        // `CanRemovePods`). All are charged, so that no other node counts on the same.
        let known = |pod: &Pod| view.pods.find(&pod.meta.key());
        for (pod, ix) in one.moving.iter().filter_map(|pod| Some((pod, known(pod)?))) {
            allowed(self.ledger, ix, pod).map_err(|why| Keep::Pod { pod: pod.meta.key(), why })?;
        }
        for (pod, ix) in one.moving.iter().filter_map(|pod| Some((pod, known(pod)?))) {
            self.ledger.charge(ix, pod);
        }
        let mut moves = Vec::new();
        for pod in &one.moving {
            let key = pod.meta.key();
            self.trial.take_away(view, &key);
            let anew = replank_facts::pod_factory::anew(pod);
            match self.trial.place(view, &anew, 0) {
                Ok(placed) => {
                    self.trial.assume(view, &anew, &placed.node, &placed.volumes);
                    moves.push((key, placed.node));
                }
                Err(error) => return Err(Keep::NoPlace { pod: key, message: words(&error) }),
            }
        }
        Ok(moves)
    }
}

fn words(error: &Unschedulable) -> Text {
    Text::from(error.to_string())
}

/// Says of each node that nobody needs what it still waits for.
fn hold(given: Given<'_>, unneeded: &mut [Unneeded], is_growing: bool) {
    let all = holds_all(given, is_growing);
    let (mut going, mut draining) = (0, 0);
    for one in unneeded.iter_mut() {
        let due = one.since + unneeded_for(given, &one.node, &one.group);
        one.hold = if let Some(hold) = &all {
            Some(hold.clone())
        } else if given.now < due {
            Some(Hold::Until(due))
        } else if going >= given.options.down.parallel {
            Some(Hold::Enough { most: given.options.down.parallel })
        } else if !one.moves.is_empty() && draining >= given.options.down.drains {
            Some(Hold::EnoughDrains { most: given.options.down.drains })
        } else {
            going += 1;
            draining += u32::from(!one.moves.is_empty());
            None
        };
    }
    // Those that go first; among them as they were tried out.
    unneeded.sort_by_key(|one| one.hold.is_some());
}

fn unneeded_for(given: Given<'_>, node: &NodeName, group: &GroupName) -> replank_model::time::Span {
    let own = given.groups.get(group).map(|group| &group.own);
    let is_ready = given.view.node(node).is_some_and(|node| node.is_ready());
    let down = &given.options.down;
    match is_ready {
        true => own.and_then(|own| own.unneeded).unwrap_or(down.unneeded),
        false => own.and_then(|own| own.unready).unwrap_or(down.unready),
    }
}

/// What keeps every node.
fn holds_all(given: Given<'_>, is_growing: bool) -> Option<Hold> {
    let down = &given.options.down;
    if !down.is_enabled {
        return Some(Hold::Disabled);
    }
    if is_growing {
        return Some(Hold::ScaleUp);
    }
    if let (false, Standing::Open(until)) = (down.closed.0.is_empty(), down.closed.at(given.now)) {
        return Some(Hold::Window { until });
    }
    let (unready, all) = unready(given.view);
    if unready > down.unready_ok && unready * 100 > all * down.unready_percent_max {
        return Some(Hold::Unready { unready, all });
    }
    let state = given.state;
    let after = [
        (Event::Added, state.added, down.after_add),
        (Event::Deleted, state.deleted, down.after_delete),
        (Event::Failed, state.failed, down.after_failure),
    ];
    let until = after.into_iter().filter_map(|(event, at, delay)| Some((event, at? + delay)));
    let latest = until.filter(|(_, until)| given.now < *until).max_by_key(|(_, until)| *until);
    latest.map(|(event, until)| Hold::After(event, until))
}

fn unready(view: &View) -> (i64, i64) {
    let unready = view.nodes.unordered().filter(|(_, node)| !node.is_ready()).count();
    let number = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
    (number(unready), number(view.nodes.len()))
}
