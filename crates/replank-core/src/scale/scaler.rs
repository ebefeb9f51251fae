//! From decisions to commands: groups are raised, nodes that nobody needs are cordoned, emptied and ended by their ids.
//!
//! A [`Scaler`] keeps nothing. Everything that must outlive a restart is on nodes and groups: a node that is removed carries a
//! mark ([`replank_protocol::mark`]), so that the next process continues with it. Budgets are a [`Ledger`] that is handed in, charged with what
//! everybody has sent.
//!
//! A run comes first. When it starts on a group, nodes of the group that are being drained are released; the run replaces them.

use replank_model::object::cloud::{GroupKind, GroupSize, InstanceState};
use replank_model::object::meta::Key;
use replank_model::object::node::Node;
use replank_model::object::pod::Pod;
use replank_model::text::{GroupName, InstanceId, NodeName, RunId, Text};
use replank_model::time::Span;
use replank_model::view::Ix;

use super::RUN;
use super::backoff::{Request, missing};
use super::blocks::{PodFate, charge, fate};
use super::down::down;
use super::group::Group;
use super::growth::{in_the_end, record_growth};
use super::in_flight::is_emptied;
use super::ownership::RollOwnership;
use super::raises::Raise;
use super::up::{Given, up};
use super::wake::dues;
use crate::proof::drained;
use crate::sent::{COMMAND_LIFE, Sent};
use replank_facts::budget::Ledger;
use replank_facts::groups::instance_id_of;
use replank_protocol::command::Expected;
use replank_protocol::command::{
    CommandKey, Effect, GroupEffect, KubernetesEffect, Mark, NodeRole, NodeTarget, PodTarget, Replacement,
};
use replank_protocol::mark;
use replank_protocol::owner::Owner;
use replank_protocol::scaling::Hold;
use replank_protocol::waiting::Blocks;
use replank_protocol::waiting::{PodWait, RunWait, ScalingEnd, ScalingWait, Subject, WaitingOn};
use replank_schedule::Scheduler;

pub(crate) use super::scale_decision::ScaleDecision;

/// A node's mark may be cleared by anybody so long after it was laid: longer than the longest drain with the longest grace.
const MARK_LIFE: Span = Span::from_minutes(60);
/// How long a node is drained without progress (Cluster Autoscaler's `--max-pod-eviction-time`). Then it is released.
const EVICTION_MAX: Span = Span::from_minutes(2);

/// An autoscaler: its marks bear its name, [`RUN`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Scaler {
    run: RunId,
}

impl Scaler {
    pub(crate) fn new() -> Self {
        Self { run: RunId::from(RUN) }
    }

    /// What is to be done now. The scheduler knows what the View knows; the ledger is charged with everything that was sent.
    pub(crate) fn decision(
        &self,
        given: Given<'_>,
        scheduler: &mut Scheduler,
        ledger: &mut Ledger<'_>,
        sent: &mut Sent,
    ) -> ScaleDecision {
        let mut decision = ScaleDecision::new(given.now, self.run.clone(), given.state.clone());
        decision.state.learn(given.view, given.options);
        decision.state.time_out(&given.groups.all, given.now, given.options);
        decision.state.wait_for(&given.groups.all, given.now);
        self.end_late(given, sent, &mut decision);
        for (key, effect) in record_growth(given) {
            let what = Text::from("record of the requested group size");
            self.send((sent, &mut decision), Subject::Run, &what, &key, effect);
        }
        let state = decision.state.clone();
        let given = Given { state: &state, ..given };
        let emptied = self.emptied(given);
        decision.up = up(given, scheduler);
        self.raise(given, sent, &mut decision);
        for node in &emptied {
            self.go_on(given, node, ledger, sent, &mut decision);
        }
        decision.down = down(given, scheduler, ledger, &decision.up);
        decision.state.unneeded.clone_from(&decision.down.since);
        self.begin(given, emptied.len(), sent, &mut decision);
        refuse(&mut decision);
        dues(given, &decision).into_iter().for_each(|at| decision.wake(at));
        decision
    }

    /// Sends a command, unless it is under way.
    fn send(
        &self,
        (sent, decision): (&mut Sent, &mut ScaleDecision),
        subject: Subject,
        what: &Text,
        key: &str,
        effect: Effect,
    ) {
        let _wish = decision.out.send(sent, (subject, what.clone()), self.key(key), effect);
    }

    fn key(&self, key: &str) -> CommandKey {
        CommandKey(Text::from(format!("{}/{key}", self.run)))
    }

    /// Raises what groups want. A group is never lowered: instances go by their ids.
    fn raise(&self, given: Given<'_>, sent: &mut Sent, decision: &mut ScaleDecision) {
        let own = format!("{}/", self.run);
        for (name, zones) in decision.up.additions() {
            let Some(group) = given.groups.get(&name) else { continue };
            let subject = Subject::Group(name.clone());
            let what = Text::from("size");
            let is_unanswered = given.state.unanswered.contains(&name) && in_the_end(given, group).is_some();
            if is_unanswered || sent.is_resized(given.now, &name, &own) {
                // Decided anew when that is seen.
                decision.wake(given.now + COMMAND_LIFE);
                decision.wait(subject, WaitingOn::Run(RunWait::Effect { what }));
                continue;
            }
            let count: u32 = zones.values().sum();
            let from = given.view.groups().get(&name).map_or(group.size, |known| known.size);
            // What a run has raised the maximum by is the run's; it gets it back.
            let max = if group.ownership == RollOwnership::Free {
                from.max
            } else {
                from.max.max(from.desired + count)
            };
            let desired = (from.desired + count).min(max);
            let to = GroupSize { desired, max, ..from };
            let count = desired - from.desired;
            if count == 0 {
                continue;
            }
            let key = format!("raise/{name}/{}-{desired}", from.desired);
            let id = given.view.group_id(&name);
            let effect = Effect::Group(match id.kind {
                GroupKind::SelfManaged => GroupEffect::Resize { group: id, from, to },
                GroupKind::EksManaged => GroupEffect::UpdateNodegroupConfig { group: id, from, to },
            });
            let is_sent_before = sent.is_under_way(given.now, &self.key(&key));
            self.send((sent, decision), subject, &what, &key, effect);
            let is_sent = !is_sent_before && sent.is_under_way(given.now, &self.key(&key));
            if let Some(kept) = in_the_end(given, group).filter(|_| is_sent) {
                let raise = Raise { group: name.clone(), to: desired, kept: kept + count, at: given.now };
                decision.raised.insert(self.key(&key), raise);
            }
            decision.state.requests.insert(name, Request { at: given.now, count });
            decision.state.added = Some(given.now);
        }
        for (name, request) in &decision.state.requests {
            let limit = given.groups.get(name).and_then(|group| group.own.provision_max);
            let until = request.at + limit.unwrap_or(given.options.provision_max);
            let on = WaitingOn::Scaling(ScalingWait::NewNodes { count: request.count, until });
            decision.out.wait(Subject::Group(name.clone()), on);
        }
    }

    /// Terminates instances that have not become nodes in time and lowers the group's desired size by as many. Those of a group that a run is rolling are
    /// the run's.
    fn end_late(&self, given: Given<'_>, sent: &mut Sent, decision: &mut ScaleDecision) {
        for instance in given.view.instances().values() {
            let Some(group) = given.groups.get(&instance.group) else { continue };
            let limit = group.own.provision_max.unwrap_or(given.options.provision_max);
            let due = instance.launched.map(|launched| launched + limit);
            let is_node = instance.node.as_ref().is_some_and(|node| given.view.node(node).is_some());
            if is_node
                || !instance.is_counted()
                || missing(group) == 0
                || group.ownership != RollOwnership::Free
            {
                continue;
            }
            match due {
                Some(due) if due <= given.now => {
                    self.terminate(given, (sent, decision), instance.id.clone(), group.name.clone(), None);
                }
                Some(due) => decision.wake(due),
                None => {}
            }
        }
    }

    fn terminate(
        &self,
        given: Given<'_>,
        (sent, decision): (&mut Sent, &mut ScaleDecision),
        instance: InstanceId,
        group: GroupName,
        node: Option<NodeTarget>,
    ) {
        let key = format!("end/{instance}");
        let subject = match &node {
            Some(node) => Subject::Node(node.name.clone()),
            None => Subject::Instance(instance.clone()),
        };
        let keep = given.view.groups().get(&group).map_or(0, |group| group.size.min);
        let replacement = Replacement::Decrement { keep };
        let expected = match node {
            Some(node) => drained(given.view, node, &self.run, Vec::new()),
            None => Expected::Unregistered,
        };
        let effect = Effect::Group(GroupEffect::Terminate { instance, group, expected, replacement });
        self.send((sent, decision), subject, &Text::from("termination"), &key, effect);
    }

    /// Nodes that this autoscaler empties already.
    fn emptied<'a>(&self, given: Given<'a>) -> Vec<&'a Node> {
        let nodes = given.view.nodes.sorted().into_iter().map(|(_, node)| &**node);
        nodes.filter(|node| is_emptied(node)).collect()
    }

    /// Continues to drain a node, and terminates its instance once it is empty; releases it if a run starts on its group.
    fn go_on(
        &self,
        given: Given<'_>,
        node: &Node,
        ledger: &mut Ledger<'_>,
        sent: &mut Sent,
        decision: &mut ScaleDecision,
    ) {
        let id = instance_id_of(node);
        let is_going = given.view.instances().get(&id).is_some_and(|instance| match instance.state {
            InstanceState::ShuttingDown | InstanceState::Terminated => true,
            InstanceState::Pending | InstanceState::Running => !instance.is_counted(),
        });
        if is_going {
            return;
        }
        match owner(given, node) {
            Some(group) if group.ownership == RollOwnership::Free => {
                self.empty(given, (node, group), ledger, sent, decision);
            }
            Some(_) | None => self.release(given, node, sent, decision),
        }
    }

    fn empty(
        &self,
        given: Given<'_>,
        (node, group): (&Node, &Group),
        ledger: &mut Ledger<'_>,
        sent: &mut Sent,
        decision: &mut ScaleDecision,
    ) {
        let name = node.name();
        let unread =
            given.view.unread_on(&name).map(|unread| (unread.object.key.clone(), Blocks::Unreadable));
        let mut kept: Vec<(Key, Blocks)> = unread.collect();
        let (mut leaving, mut is_empty) = (Vec::new(), kept.is_empty());
        for ix in sorted_on(given, &name) {
            let Some(pod) = given.view.pods.get(ix) else { continue };
            if pod.is_terminating() && !pod.is_mirror() {
                leaving.push(pod.grace_seconds());
                continue;
            }
            let why =
                match fate(given.view, &given.options.down, given.options.expendable_below, pod, given.now) {
                    PodFate::Goes => continue,
                    PodFate::Keeps(why) => Some(why),
                    PodFate::Moves | PodFate::Ends => {
                        self.evict(given, (ix, pod), ledger, sent, decision).err()
                    }
                };
            is_empty = false;
            kept.extend(why.map(|why| (pod.meta.key(), why)));
        }
        let since = mark::of(node).map_or(given.now, |found| found.mark.since);
        if !leaving.is_empty() {
            let pods = u32::try_from(leaving.len()).unwrap_or(u32::MAX);
            let longest = leaving.into_iter().max().unwrap_or(0);
            let grace_max = Span::from_secs(longest.min(given.options.down.grace_max.as_secs()));
            decision.wait(Subject::Node(name), WaitingOn::Pod(PodWait::Terminating { pods, grace_max }));
        } else if is_empty {
            let target = NodeTarget { name, uid: node.meta.uid.clone() };
            self.terminate(given, (sent, decision), instance_id_of(node), group.name.clone(), Some(target));
            decision.state.deleted = Some(given.now);
        } else if !kept.is_empty() && given.now >= since + EVICTION_MAX {
            self.release(given, node, sent, decision);
            decision.state.failed = Some(given.now);
        } else if !kept.is_empty() {
            decision.wake(since + EVICTION_MAX);
        }
        for (pod, why) in kept {
            decision.wait(Subject::Pod(pod), kept_by(why));
        }
    }

    /// Has a pod go, if its budgets let it.
    fn evict(
        &self,
        given: Given<'_>,
        (ix, pod): (Ix<Pod>, &Pod),
        ledger: &mut Ledger<'_>,
        sent: &mut Sent,
        decision: &mut ScaleDecision,
    ) -> Result<(), Blocks> {
        let key = format!("evict/{}", pod.meta.uid);
        let is_claimed = sent.claims(given.now, &self.key(&key));
        if ledger.is_granted(given.now, ix, pod) && !is_claimed {
            return Ok(());
        }
        if !is_claimed {
            charge(ledger, ix, pod)?;
        }
        let target = PodTarget { key: pod.meta.key(), uid: pod.meta.uid.clone() };
        let longest = given.options.down.grace_max.as_secs();
        let grace_seconds = (pod.grace_seconds() > longest).then_some(longest);
        let effect = Effect::Kubernetes(KubernetesEffect::Evict { pod: target, grace_seconds });
        let subject = Subject::Pod(pod.meta.key());
        self.send((sent, decision), subject, &Text::from("eviction"), &key, effect);
        Ok(())
    }

    /// Takes the mark off a node again, and the cordon.
    fn release(&self, _given: Given<'_>, node: &Node, sent: &mut Sent, decision: &mut ScaleDecision) {
        let target = NodeTarget { name: node.name(), uid: node.meta.uid.clone() };
        let effect = Effect::Kubernetes(KubernetesEffect::Uncordon {
            node: target,
            version: node.meta.resource_version,
        });
        let key = format!("let-go/{}", node.meta.uid);
        let subject = Subject::Node(node.name());
        self.send((sent, decision), subject, &Text::from("uncordon"), &key, effect);
    }

    /// Cordons the nodes that go next, as many as may be emptied at once.
    fn begin(&self, given: Given<'_>, under_way: usize, sent: &mut Sent, decision: &mut ScaleDecision) {
        let mut under_way = u32::try_from(under_way).unwrap_or(u32::MAX);
        for one in decision.down.unneeded.clone() {
            let Some(node) = given.view.node(&one.node) else { continue };
            let most = given.options.down.parallel;
            let hold = one.hold.or((under_way >= most).then_some(Hold::Enough { most }));
            if let Some(hold) = hold {
                decision.wait(Subject::Node(one.node), WaitingOn::Scaling(ScalingWait::NotNeeded { hold }));
                continue;
            }
            under_way += 1;
            let target = NodeTarget { name: node.name(), uid: node.meta.uid.clone() };
            let mark = Mark {
                owner: Owner::Autoscaler,
                role: NodeRole::Draining { from: given.now },
                since: given.now,
                expires: given.now + MARK_LIFE,
            };
            let key = format!("cordon/{}", node.meta.uid);
            let version = node.meta.resource_version;
            let effect = Effect::Kubernetes(KubernetesEffect::Cordon { node: target, version, mark });
            let subject = Subject::Node(one.node);
            self.send((sent, decision), subject, &Text::from("cordon"), &key, effect);
        }
    }
}

/// Names pods that no group helps.
fn refuse(decision: &mut ScaleDecision) {
    let ScaleDecision { out, up, .. } = decision;
    for refusal in &up.refusals {
        let Some(first) = refusal.pods.first() else { continue };
        let pods = u32::try_from(refusal.pods.len()).unwrap_or(u32::MAX);
        let on = WaitingOn::Scaling(ScalingWait::NoGroup { pods, groups: refusal.groups.clone() });
        out.wait(Subject::Pod(first.clone()), on);
    }
}

fn kept_by(why: Blocks) -> WaitingOn {
    match why {
        Blocks::Budget(on) => on,
        why @ (Blocks::Bare
        | Blocks::CustomController(_)
        | Blocks::System { .. }
        | Blocks::Batch(_)
        | Blocks::NotSafe
        | Blocks::LocalStorage(_)
        | Blocks::FewReplicas { .. }
        | Blocks::Unreadable
        | Blocks::Unrecorded
        | Blocks::ToleratesCordon) => WaitingOn::ScalingEnd(ScalingEnd::KeepsNode { why: Box::new(why) }),
    }
}

fn owner<'a>(given: Given<'a>, node: &Node) -> Option<&'a Group> {
    given.groups.all.iter().find(|group| group.nodes.values().flatten().any(|own| *own == node.name()))
}

fn sorted_on(given: Given<'_>, node: &NodeName) -> Vec<Ix<Pod>> {
    let mut pods = given.view.pods_on(node).to_vec();
    pods.sort_by_key(|ix| given.view.pods.get(*ix).map(|pod| pod.meta.key()));
    pods
}

#[cfg(test)]
mod tests;
