//! From decisions to commands: groups are raised, nodes that nobody needs are cordoned, emptied and ended by their ids.
//!
//! A [`Scaler`] keeps nothing. Everything that has to outlive a restart is in [`State`] or stands on the nodes: a node that goes bears a
//! mark ([`crate::mark`]), so that whoever comes after goes on with it. Budgets are a [`Ledger`] that is handed in, so that a roll, an
//! interruption and the scaler can share one.

use replank_model::object::cloud::{GroupSize, InstanceState};
use replank_model::object::meta::Key;
use replank_model::object::node::Node;
use replank_model::text::{GroupName, InstanceId, NodeName, RunId, Text};
use replank_model::time::{Span, Time};

use super::backoff::{Request, State, missing};
use super::blocks::{Blocks, PodFate, charge, fate};
use super::down::{Down, Hold, down};
use super::refuse::Refusal;
use super::up::{Given, Up, up};
use crate::budget::Ledger;
use crate::command::{Command, CommandKey, Effect, Mark, NodeRole, NodeTarget, PodTarget, Replacement};
use crate::groups::instance_id_of;
use crate::mark;
use crate::schedule::Scheduler;

/// A command that is not carried out within this time is decided anew: longer than any driver queues one.
const COMMAND_LIFE: Span = Span::from_secs(60);
/// A node's mark may be cleared by anybody so long after it was laid: longer than the longest drain with the longest grace.
const MARK_LIFE: Span = Span::from_minutes(60);
/// How soon is looked again while something is under way (Cluster Autoscaler's `--scan-interval`).
const LOOK: Span = Span::from_secs(10);

/// An autoscaler of a name: its marks bear it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scaler {
    run: RunId,
}

/// What is to be done now.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Turn {
    /// What to do.
    pub commands: Vec<Command>,
    /// What waits, and on what.
    pub waiting: Vec<Wait>,
    /// When to look again, if nothing changes before.
    pub wake_at: Option<Time>,
    /// What is remembered from here on.
    pub state: State,
    /// What was decided about growing.
    pub up: Up,
    /// What was decided about shrinking.
    pub down: Down,
}

/// Something that waits.
#[derive(Clone, Debug, PartialEq)]
pub enum Wait {
    /// Pods that no group helps.
    Pods(Refusal),
    /// Nodes that were asked for.
    Nodes {
        /// Of this group.
        group: GroupName,
        /// How many.
        count: u32,
        /// Until when they are waited for.
        until: Time,
    },
    /// A node that nobody needs.
    Node {
        /// The node.
        node: NodeName,
        /// What it waits for.
        hold: Hold,
    },
    /// A pod of a node that is emptied.
    Pod {
        /// The node.
        node: NodeName,
        /// The pod.
        pod: Key,
        /// Why it does not go.
        why: Blocks,
    },
    /// Pods of a node that is emptied are on their way out.
    Leaving {
        /// The node.
        node: NodeName,
        /// How many.
        pods: usize,
    },
}

impl Scaler {
    /// An autoscaler of a name.
    #[must_use]
    pub fn new(run: RunId) -> Self {
        Self { run }
    }

    /// What is to be done now. The scheduler knows what the View knows; the ledger is charged with what others have sent.
    #[must_use]
    pub fn turn(&self, given: Given<'_>, scheduler: &mut Scheduler, ledger: &mut Ledger<'_>) -> Turn {
        let mut turn = Turn { state: given.state.clone(), ..Turn::default() };
        turn.state.time_out(&given.groups.all, given.now, given.options);
        self.end_late(given, &mut turn);
        let state = turn.state.clone();
        let given = Given { state: &state, ..given };
        let emptied = self.emptied(given);
        turn.up = up(given, scheduler);
        self.raise(given, &mut turn);
        for node in &emptied {
            self.empty(given, node, ledger, &mut turn);
        }
        let is_growing = !turn.up.rounds.is_empty();
        turn.down = down(given, scheduler, ledger, is_growing);
        turn.state.unneeded.clone_from(&turn.down.since);
        self.begin(given, emptied.len(), &mut turn);
        turn.waiting.extend(turn.up.refusals.iter().cloned().map(Wait::Pods));
        let is_busy = !turn.commands.is_empty() || !turn.waiting.is_empty();
        turn.wake_at = is_busy.then(|| given.now + LOOK).into_iter().chain(dues(&turn, given.now)).min();
        turn
    }

    fn send(&self, given: Given<'_>, turn: &mut Turn, key: &str, effect: Effect) {
        let key = CommandKey(Text::from(format!("{}/{key}", self.run)));
        turn.commands.push(Command {
            key,
            run: self.run.clone(),
            effect,
            deadline: given.now + COMMAND_LIFE,
        });
    }

    /// Raises what groups want. A group is never lowered: instances go by their ids.
    fn raise(&self, given: Given<'_>, turn: &mut Turn) {
        for (name, zones) in turn.up.additions() {
            let Some(group) = given.groups.get(&name) else { continue };
            let count: u32 = zones.values().sum();
            let to = GroupSize { desired: (group.size.desired + count).min(group.size.max), ..group.size };
            let key = format!("raise/{name}/{}-{}", group.size.desired, to.desired);
            self.send(given, turn, &key, Effect::Resize { group: name.clone(), from: group.size, to });
            turn.state.requests.insert(name, Request { at: given.now, count });
            turn.state.added = Some(given.now);
        }
        for (name, request) in &turn.state.requests {
            let limit = given.groups.get(name).and_then(|group| group.own.provision_max);
            let until = request.at + limit.unwrap_or(given.options.provision_max);
            turn.waiting.push(Wait::Nodes { group: name.clone(), count: request.count, until });
        }
    }

    /// Ends instances that have not become nodes in time: their group wants so many less afterwards.
    fn end_late(&self, given: Given<'_>, turn: &mut Turn) {
        for instance in given.view.instances().values() {
            let Some(group) = given.groups.get(&instance.group) else { continue };
            let limit = group.own.provision_max.unwrap_or(given.options.provision_max);
            let is_late = instance.launched.is_some_and(|launched| given.now - launched >= limit);
            let is_node = instance.node.as_ref().is_some_and(|node| given.view.node(node).is_some());
            if is_node || !is_late || !instance.state.is_alive() || missing(group) == 0 {
                continue;
            }
            self.terminate(given, turn, instance.id.clone(), group.name.clone(), None);
        }
    }

    fn terminate(
        &self,
        given: Given<'_>,
        turn: &mut Turn,
        instance: InstanceId,
        group: GroupName,
        node: Option<NodeTarget>,
    ) {
        let key = format!("end/{instance}");
        let replacement = Replacement::Decrement;
        self.send(given, turn, &key, Effect::Terminate { instance, group, node, replacement });
    }

    /// Nodes that this autoscaler empties already.
    fn emptied<'a>(&self, given: Given<'a>) -> Vec<&'a Node> {
        let nodes = given.view.nodes.sorted().into_iter().map(|(_, node)| &**node);
        nodes.filter(|node| self.is_ours(node)).collect()
    }

    fn is_ours(&self, node: &Node) -> bool {
        mark::of(node).is_some_and(|found| {
            found.run == self.run && matches!(found.mark.role, NodeRole::Draining { .. })
        })
    }

    /// Goes on emptying a node, and ends its instance once it is empty.
    fn empty(&self, given: Given<'_>, node: &Node, ledger: &mut Ledger<'_>, turn: &mut Turn) {
        let name = node.name();
        let mut leaving = 0;
        let mut is_empty = true;
        for ix in sorted_on(given, &name) {
            let Some(pod) = given.view.pods.get(ix) else { continue };
            if pod.is_terminating() && !pod.is_mirror() {
                leaving += 1;
                continue;
            }
            match fate(given.view, &given.options.down, given.options.expendable_below, pod, given.now) {
                PodFate::Goes => {}
                PodFate::Keeps(why) => {
                    is_empty = false;
                    turn.waiting.push(Wait::Pod { node: name.clone(), pod: pod.meta.key(), why });
                }
                PodFate::Moves | PodFate::Ends => {
                    is_empty = false;
                    match charge(ledger, ix, pod) {
                        Ok(()) => {
                            let target = PodTarget { key: pod.meta.key(), uid: pod.meta.uid.clone() };
                            let longest = given.options.down.grace_max.as_secs();
                            let grace_seconds = (pod.grace_seconds() > longest).then_some(longest);
                            let key = format!("evict/{}", pod.meta.uid);
                            self.send(given, turn, &key, Effect::Evict { pod: target, grace_seconds });
                        }
                        Err(why) => {
                            turn.waiting.push(Wait::Pod { node: name.clone(), pod: pod.meta.key(), why });
                        }
                    }
                }
            }
        }
        if leaving > 0 {
            turn.waiting.push(Wait::Leaving { node: name, pods: leaving });
        } else if is_empty {
            self.end(given, node, turn);
        }
    }

    fn end(&self, given: Given<'_>, node: &Node, turn: &mut Turn) {
        let id = instance_id_of(node);
        let is_going = given.view.instances().get(&id).is_some_and(|instance| match instance.state {
            InstanceState::ShuttingDown | InstanceState::Terminated => true,
            InstanceState::Pending | InstanceState::Running => false,
        });
        let owner = given
            .groups
            .all
            .iter()
            .find(|group| group.nodes.values().flatten().any(|own| *own == node.name()));
        let Some(group) = owner.filter(|_| !is_going) else { return };
        let target = NodeTarget { name: node.name(), uid: node.meta.uid.clone() };
        self.terminate(given, turn, id, group.name.clone(), Some(target));
        turn.state.deleted = Some(given.now);
    }

    /// Cordons the nodes that go next, as many as may be emptied at once.
    fn begin(&self, given: Given<'_>, under_way: usize, turn: &mut Turn) {
        let mut under_way = u32::try_from(under_way).unwrap_or(u32::MAX);
        for one in turn.down.unneeded.clone() {
            let Some(node) = given.view.node(&one.node).filter(|node| !self.is_ours(node)) else { continue };
            let most = given.options.down.parallel;
            let hold = one.hold.or((under_way >= most).then_some(Hold::Enough { most }));
            if let Some(hold) = hold {
                turn.waiting.push(Wait::Node { node: one.node, hold });
                continue;
            }
            under_way += 1;
            let target = NodeTarget { name: node.name(), uid: node.meta.uid.clone() };
            let mark = Mark {
                role: NodeRole::Draining { from: given.now },
                since: given.now,
                expires: given.now + MARK_LIFE,
            };
            let key = format!("cordon/{}", node.meta.uid);
            let version = node.meta.resource_version;
            self.send(given, turn, &key, Effect::Cordon { node: target, version, mark });
        }
    }
}

fn sorted_on(
    given: Given<'_>,
    node: &NodeName,
) -> Vec<replank_model::view::Ix<replank_model::object::pod::Pod>> {
    let mut pods = given.view.pods_on(node).to_vec();
    pods.sort_by_key(|ix| given.view.pods.get(*ix).map(|pod| pod.meta.key()));
    pods
}

/// When something falls due by the clock alone.
fn dues(turn: &Turn, now: Time) -> Vec<Time> {
    let holds = turn.down.unneeded.iter().filter_map(|one| match &one.hold {
        Some(Hold::Until(at) | Hold::After(_, at) | Hold::Window { until: Some(at) }) => Some(*at),
        Some(
            Hold::Window { until: None }
            | Hold::ScaleUp
            | Hold::Enough { .. }
            | Hold::EnoughDrains { .. }
            | Hold::Unready { .. }
            | Hold::Disabled,
        )
        | None => None,
    });
    let backoffs = turn.state.backoffs.values().map(super::backoff::Backoff::until);
    holds.chain(backoffs).filter(|at| *at > now).collect()
}

#[cfg(test)]
mod tests;
