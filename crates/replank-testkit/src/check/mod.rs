//! Checkers of the promises, on the truth of a simulated cluster.
//!
//! They see every change and every command right when it takes effect, keep tables of their own, and share no code with core:
//! budgets, batch pods, group membership and capacity are worked out here from the objects themselves. What is taken from
//! core is what was asked for: the plan, as it was read, and the commands.
//!
//! | promise | what is checked | file |
//! |---|---|---|
//! | S1 | no action takes a healthy count below what a budget wants; no plain deletion of a pod | [`budget`] |
//! | S2 | no batch pod is ended before its deadline, or at all where the plan says so | [`batch`] |
//! | S3 | every cordon names its run and its expiry, what is left at the end, too; nobody else's is undone; the same of protections from scale-in | [`marks`], [`remains`], [`protected`] |
//! | S4 | Ready capacity per group and zone stays; sizes stay within bounds, which are written down and given back | [`capacity`], [`size`] |
//! | S5 | instances end by id, cordoned and empty; groups shrink by that alone; pods are moved from old nodes, to new ones | [`ending`], [`moves`] |
//! | S6 | no workload is restarted twice by one run | [`Checkers::executed`] |
//! | S6 | another process can go on with a run: its record is there before anything else, and as long as it may be taken back | [`record`] |
//! | S7 | a run that is refused has no effect at all | [`refusal`] |
//! | S9 | a plan that refuses to begin with what blocks has begun with nothing of the kind | [`refusal`] |
//! | S10 | nothing is asked of an Auto Scaling group that EKS owns, but the termination of what the autoscaler has drained | [`owned`] |
//! | H1 | with more pods in a bad way than the plan allows no further node is begun | [`gate`] |
//! | H2 | after a roll back nothing is left of what failed, but what is named | [`back`] |
//! | L1 | every run ends, and one that is blocked says by what | [`Checkers::finish`] |
//! | L2 | when nothing befalls the cluster any more, there are no effects | [`rest`] |
//! | L4 | nothing is left in a queue then | [`rest`] |
//! | D1, D2 | no instance that is there is shown as gone; what is called done was done: the driver's promises | [`driver`] |
//!
//! What is done in the name of interruptions is held to S1, S2, S3 and S5 as well, in the time that is left: [`interrupted`]; what the autoscaler does, to
//! these and S4: [`scaled`].
//!
//! **What nobody can know.** The API server decides on a budget's status, which its controller writes some milliseconds
//! after a pod stopped being ready; core sees nodes and pods up to two seconds late. What somebody else did within such a time
//! before an action of ours is not held against it: it is counted ([`Sights::unknowable`]) and printed.

mod back;
mod batch;
pub mod bound;
mod budget;
mod capacity;
mod driver;
mod ending;
mod gate;
mod interrupted;
mod marks;
mod moves;
mod owned;
mod promise;
mod promised;
mod protected;
mod record;
mod refusal;
mod remains;
mod rest;
mod scaled;
mod sights;
mod size;
mod truth;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use replank_model::delta::Delta;
use replank_model::object::Object;
use replank_model::object::cloud::{Instance, LaunchTemplate, NodeGroup};
use replank_model::text::{GroupName, InstanceId, RunId, Uid};
use replank_model::time::{Span, Time};
use replank_model::view::{Change, View};
use replank_protocol::command::{
    Effect, EmptyInstance, GroupEffect, KubernetesEffect, NodeRole, PodTarget, QueueEffect,
};
use replank_protocol::decision::{Decision, End};
use replank_sim::{Observer, Sent, World};

use crate::clusters::How;

pub use promised::{Promised, Raced};
pub(crate) use rest::ROLE;
pub use sights::{Met, Sights};
use truth::Truth;

use promise::{Found, SEEN_WITHIN};
pub use promise::{Promise, Violation};

const ORIGINAL: &str = "replank.dev/original-size";

/// All checkers of one run.
#[derive(Debug)]
pub struct Checkers {
    promised: Promised,
    truth: Truth,
    capacity: capacity::Capacity,
    ending: ending::Ending,
    moves: moves::Moves,
    marks: marks::Marks,
    budget: budget::Budgets,
    batch: batch::Batches,
    gate: gate::Gate,
    former: back::Former,
    refusal: refusal::Refusal,
    records: record::Records,
    protections: protected::Protections,
    interrupted: interrupted::Interrupted,
    scaled: scaled::Scaled,
    sights: Sights,
    /// Workloads that were restarted, by which run; the way back is another than the way there. Those are left out of which interruptions have ended
    /// a pod since then.
    restarted: BTreeSet<(RunId, Uid)>,
    /// Whether the run is.
    is_over: bool,
    /// How late things may be seen: see [`SEEN_WITHIN`].
    seen_within: Span,
    found: Vec<Violation>,
}

/// The checkers as an observer of the world; the test keeps the other half.
pub struct Watching(pub Rc<RefCell<Checkers>>);

impl Observer for Watching {
    fn changed(&mut self, at: Time, change: &Change, _view: &View) {
        self.0.borrow_mut().changed(at, change);
    }

    fn decided(&mut self, at: Time, decision: &Decision) {
        self.0.borrow_mut().decided(at, decision);
    }

    fn executed(&mut self, at: Time, sent: &Sent, view: &View) {
        self.0.borrow_mut().executed(at, sent, view);
    }

    fn shown(&mut self, at: Time, delta: &Delta, view: &View) {
        self.0.borrow_mut().shown(at, delta, view);
    }
}

impl Checkers {
    /// Checkers of a run that begins with things as they are.
    #[must_use]
    pub fn begin(promised: Promised, view: &View) -> Self {
        let truth = Truth::of(view);
        let mut sights = Sights::begin(&truth);
        let refusal = refusal::Refusal::begin(&promised, &truth, &mut sights);
        Self {
            capacity: capacity::Capacity::begin(&promised, &truth),
            marks: marks::Marks::begin(&truth),
            sights,
            ending: ending::Ending::begin(&truth),
            gate: gate::Gate::begin(&truth),
            former: back::Former::begin(&promised, &truth),
            refusal,
            records: record::Records::default(),
            protections: protected::Protections::default(),
            moves: moves::Moves::default(),
            budget: budget::Budgets::default(),
            batch: batch::Batches::default(),
            interrupted: interrupted::Interrupted::default(),
            scaled: scaled::Scaled::default(),
            restarted: BTreeSet::new(),
            is_over: false,
            seen_within: SEEN_WITHIN,
            found: Vec::new(),
            promised,
            truth,
        }
    }

    /// What was found so far.
    #[must_use]
    pub fn found(&self) -> &[Violation] {
        &self.found
    }

    /// What was seen so far.
    #[must_use]
    pub fn sights(&self) -> &Sights {
        &self.sights
    }

    /// The run is over, or was given up: what must be so then.
    pub fn finish(&mut self, at: Time, end: Option<&End>, last: &Decision) {
        let mut found = Found { at, list: &mut self.found };
        self.is_over = true;
        match end {
            None => {
                let busiest = self.sights.busiest();
                found.broken(Promise::L1, format!("the run does not end; {busiest}"));
            }
            Some(End::Blocked(why) | End::Refused(why) | End::Cancelled(why)) if why.is_empty() => {
                found.broken(Promise::L1, "the run ends without being done and gives no reason".to_owned());
            }
            Some(
                end
                @ (End::Done | End::RolledBack(_) | End::Blocked(_) | End::Cancelled(_) | End::Refused(_)),
            ) => {
                self.gate.finish(end, &mut found);
                self.refusal.finish(&self.promised, end, &mut found);
                self.records.finish(&self.truth, end, &mut found);
                self.protections.finish(&self.truth, end, &mut found);
                if matches!(end, End::RolledBack(_)) {
                    self.former.finish(&self.truth, last, &mut found);
                }
                let end = Some(end);
                let ended = self.records.ended(at);
                size::finish(&self.promised, (&self.truth, &self.capacity), (end, ended), last, &mut found);
                let (promised, marks, truth) = (&self.promised, &self.marks, &self.truth);
                remains::Ended { promised, marks, truth, end, last }.check(&mut found);
            }
        }
    }

    /// A network comes between the run and everything else: what it is shown may be later than usual by so long.
    pub fn disturbed(&mut self, later_by: Span) {
        self.promised.disturbed();
        self.seen_within = SEEN_WITHIN + later_by;
        self.truth.seen_within = self.seen_within;
    }

    /// Somebody else has written something on a group between a check and the act of ours: which may be lost, or stay.
    pub fn raced(&mut self, group: &NodeGroup, by: Raced) {
        self.sights.met.insert(Met::Race);
        self.promised.raced(group, by);
    }

    /// Something befalls an instance, by nobody's or somebody else's doing.
    pub fn struck(&mut self, at: Time, id: &InstanceId, how: &How) {
        self.sights.met.insert(if self.is_over { Met::StruckAfter } else { Met::Struck });
        self.interrupted.struck(at, id, how);
    }

    /// What was said last did not come true.
    pub fn spared(&mut self) {
        self.interrupted.spared();
    }

    /// Nothing has befallen the cluster for long: what must be so then. `last` is what was done all the same.
    pub fn rested(&mut self, world: &World, last: Option<&Sent>) {
        let mut found = Found { at: world.now(), list: &mut self.found };
        rest::check(&self.truth, world, last, &mut found);
    }

    /// Whether a command leaves everything as it is.
    #[must_use]
    pub fn leaves_all(sent: &Sent) -> bool {
        rest::is_waiting(&sent.command.effect)
    }

    fn changed(&mut self, at: Time, change: &Change) {
        let mut found = Found { at, list: &mut self.found };
        self.budget.changed(at, change);
        self.truth.apply(at, change);
        self.gate.changed(at, (&self.promised, &self.truth), change, &mut self.sights);
        match change {
            Change::Object { old, new, .. } => {
                self.records.changed(old.as_ref(), new.as_ref());
                self.capacity.changed(at, &self.promised, &self.truth, old.as_ref(), new.as_ref());
                if let Some(Object::Pod(pod)) = new {
                    let was_bound = matches!(old, Some(Object::Pod(old)) if old.node.is_some());
                    if !was_bound && pod.node.is_some() {
                        self.ending.bound(at, &self.truth, pod);
                        self.moves.bound(&self.promised, &self.truth, pod, &mut self.sights, &mut found);
                    }
                }
                if let Some(Object::Node(node)) = new {
                    self.batch.node_changed(at, node);
                    self.ending.node(at, node);
                    self.marks.node(node, &mut found);
                }
                self.sights.object(new.as_ref());
            }
            Change::Group { new: Some(group), .. } => {
                self.scaled.group(at, group);
                // No promise of Replank's, but what makes a simulated cloud one that can be.
                let contradiction = LaunchTemplate::contradiction(&group.templates);
                assert_eq!(contradiction, None, "group {}: one image, two kubelet versions", group.name);
                size::check(&self.promised, &self.truth, group, &mut found);
            }
            Change::Instance { old, new } => {
                self.interrupted.instance(at, new.as_deref());
                let taken = |id: &InstanceId| self.interrupted.is_taken(id);
                self.ending.instance(old.as_deref(), new.as_deref(), &self.promised, &taken, &mut found);
            }
            Change::Group { new: None, .. } | Change::Message { .. } | Change::Unread(_) | Change::Stale => {}
        }
    }

    /// The way back begins.
    fn turn_back(&mut self, at: Time) {
        self.sights.met.insert(Met::WayBack);
        self.promised.turn_back(self.former.others(&self.truth).into_iter().collect());
        self.capacity.turn_back(at, &self.promised, &self.truth);
        self.moves.turn_back();
        self.gate.turn_back();
    }

    /// The engine is shown a change. It may be late, but never untrue: an id is not given twice, so what is shown as gone must be gone.
    fn shown(&mut self, at: Time, delta: &Delta, view: &View) {
        driver::shown(delta, view, &mut Found { at, list: &mut self.found });
    }

    fn decided(&mut self, at: Time, decision: &Decision) {
        self.gate.look(at, &self.promised, &self.truth, &mut self.sights);
        self.records.decided(at, decision);
        self.sights.decided(at, decision);
    }

    /// Somebody keeps the number of nodes to what is needed, from the beginning on.
    pub fn scaled(&mut self) {
        self.promised.is_scaled = true;
    }

    /// Something was done in the name of the autoscaler.
    fn autoscaled(&mut self, at: Time, sent: &Sent) {
        let mut found = Found { at, list: &mut self.found };
        self.scaled.executed(&mut self.promised, &self.truth, sent, &mut self.sights, &mut found);
        match &sent.command.effect {
            Effect::Kubernetes(KubernetesEffect::Evict { pod, .. }) => {
                let Some(pod) = self.truth.pod(&pod.key, &pod.uid).cloned() else { return };
                self.budget.ended(&self.truth, &pod, &mut self.sights, &mut found);
                batch::Batches::ended_by_autoscaler(&pod, &mut found);
            }
            Effect::Group(GroupEffect::Terminate { instance, expected, .. }) => {
                let end = ending::End { id: instance, target: expected.node(), by: ending::By::Autoscaler };
                self.ending.ended(&self.promised, &self.truth, &end, &mut self.sights, &mut found);
            }
            Effect::Kubernetes(KubernetesEffect::Cordon { node, mark, .. }) => {
                self.marks.cordoned(&self.truth, &node.name, mark, at, &mut found);
                self.capacity.given_up(&node.name);
            }
            Effect::Kubernetes(_) | Effect::Group(_) | Effect::Queue(_) => {}
        }
    }

    /// Something was done in the name of interruptions.
    fn rescued(&mut self, at: Time, sent: &Sent) {
        let mut found = Found { at, list: &mut self.found };
        let seen = (&self.truth, &self.ending);
        self.interrupted.executed(seen, sent, &mut self.sights, &mut found);
        match &sent.command.effect {
            Effect::Kubernetes(KubernetesEffect::Evict { pod, .. })
            | Effect::Kubernetes(KubernetesEffect::DeletePod { pod, .. }) => {
                let Some(pod) = self.truth.pod(&pod.key, &pod.uid).cloned() else { return };
                if matches!(sent.command.effect, Effect::Kubernetes(KubernetesEffect::Evict { .. })) {
                    self.budget.ended(&self.truth, &pod, &mut self.sights, &mut found);
                }
                if let Some(node) = &pod.node {
                    self.capacity.emptied(node);
                }
                // Where the one that is made in its place comes to be, no restart has decided: it may have to be moved once more.
                if let Some(workload) = self.truth.workload_of(&pod) {
                    self.restarted.retain(|(_, restarted)| *restarted != workload);
                }
                if !self.interrupted.is_last_moment(&self.truth, &pod, at) {
                    let held = self.interrupted.held_since(&self.truth, &pod);
                    self.batch.ended_by_interruption(&self.promised, &pod, held, &mut found);
                }
            }
            Effect::Group(GroupEffect::Terminate { instance, expected, .. }) => {
                let end = ending::End { id: instance, target: expected.node(), by: ending::By::Interruption };
                self.ending.ended(&self.promised, &self.truth, &end, &mut self.sights, &mut found);
            }
            Effect::Kubernetes(KubernetesEffect::Cordon { node, mark, .. }) => {
                self.marks.cordoned(&self.truth, &node.name, mark, at, &mut found);
                self.capacity.given_up(&node.name);
            }
            Effect::Kubernetes(_) | Effect::Group(_) | Effect::Queue(_) => {}
        }
    }

    fn executed(&mut self, at: Time, sent: &Sent, view: &View) {
        driver::done(view, sent, &mut Found { at, list: &mut self.found });
        // The decision was made some time ago: the command may have been delayed on its way.
        self.truth.seen_within = self.seen_within + (at - sent.at);
        self.found_executed(at, sent);
        self.truth.seen_within = self.seen_within;
    }

    /// A pod was ended: it must be the one that the command names, and not another of its name.
    fn is_the_pod(&mut self, at: Time, pod: &PodTarget) {
        let other = self.truth.pods.get(&pod.key).filter(|known| known.meta.uid != pod.uid);
        if other.is_some() {
            let what = format!("pod {} is terminated instead of an earlier pod of the same name", pod.key);
            Found { at, list: &mut self.found }.broken(Promise::S5, what);
        }
    }

    /// EKS is to terminate all instances of a managed node group: each of them is one that is named, and is empty.
    fn emptied(&mut self, at: Time, group: &GroupName, instances: &[EmptyInstance]) {
        let mut found = Found { at, list: &mut self.found };
        let is_named = |one: &Instance| instances.iter().any(|named| named.instance == one.id);
        let others = self.truth.instances.values().filter(|one| one.group == *group && one.is_counted());
        for other in others.filter(|one| !is_named(one)) {
            let what = format!("{} is terminated with all of group {group}, without a look at it", other.id);
            found.broken(Promise::S5, what);
        }
        for EmptyInstance { instance, expected } in instances {
            let end = ending::End { id: instance, target: expected.node(), by: ending::By::Run };
            self.ending.ended(&self.promised, &self.truth, &end, &mut self.sights, &mut found);
            for pod in self.truth.pods_of_instance(instance) {
                self.batch.ended(&self.promised, pod, &mut found);
            }
            self.capacity.ended(&self.promised, &self.truth, instance, &mut self.sights, &mut found);
        }
    }

    fn found_executed(&mut self, at: Time, sent: &Sent) {
        self.sights.executed(sent);
        owned::sent(&self.truth, sent, &mut Found { at, list: &mut self.found });
        let is_interruption = **sent.command.run.text() == *interrupted::RUN;
        let is_autoscaler = **sent.command.run.text() == *scaled::RUN;
        if !is_interruption && !is_autoscaler {
            self.refusal.executed(&mut Found { at, list: &mut self.found });
        }
        if !matches!(sent.result, Some((_, Ok(())))) {
            return;
        }
        if let Effect::Kubernetes(
            KubernetesEffect::Evict { pod, .. }
            | KubernetesEffect::DeletePod { pod, .. }
            | KubernetesEffect::ForceDelete { pod, .. },
        ) = &sent.command.effect
        {
            self.is_the_pod(at, pod);
        }
        self.marks.executed(&self.truth, sent, &mut Found { at, list: &mut self.found });
        if is_interruption {
            self.rescued(at, sent);
            return;
        }
        if is_autoscaler {
            self.autoscaled(at, sent);
            return;
        }
        let is_way_back = sent.command.run.text().ends_with("-back");
        if is_way_back && !self.promised.is_way_back {
            self.turn_back(at);
        }
        self.gate.look(at, &self.promised, &self.truth, &mut self.sights);
        let mut found = Found { at, list: &mut self.found };
        self.records.executed(sent, &mut found);
        self.protections.executed(&self.truth, sent, &mut found);
        self.gate.executed(&self.promised, &self.truth, sent, &mut found);
        match &sent.command.effect {
            Effect::Kubernetes(KubernetesEffect::Evict { pod, .. }) | Effect::Kubernetes(KubernetesEffect::DeletePod { pod, .. }) => {
                if matches!(sent.command.effect, Effect::Kubernetes(KubernetesEffect::DeletePod { .. })) {
                    found.broken(Promise::S1, format!("plain deletion of pod {}", pod.key));
                }
                let Some(pod) = self.truth.pod(&pod.key, &pod.uid).cloned() else { return };
                self.budget.ended(&self.truth, &pod, &mut self.sights, &mut found);
                self.batch.ended(&self.promised, &pod, &mut found);
                self.capacity.moved(&self.promised, &self.truth, &pod, &mut self.sights, &mut found);
                self.moves.moved(&self.promised, &self.truth, &pod, &mut found);
            }
            Effect::Group(GroupEffect::Terminate { instance, expected, .. }) => {
                let by = if is_way_back { ending::By::WayBack } else { ending::By::Run };
                let end = ending::End { id: instance, target: expected.node(), by };
                self.ending.ended(&self.promised, &self.truth, &end, &mut self.sights, &mut found);
                for pod in self.truth.pods_of_instance(instance) {
                    self.batch.ended(&self.promised, pod, &mut found);
                }
                self.capacity.ended(&self.promised, &self.truth, instance, &mut self.sights, &mut found);
            }
            Effect::Group(GroupEffect::ScaleNodegroupToZero { group, instances, .. }) => {
                self.emptied(at, &group.node_group, instances);
            }
            Effect::Kubernetes(KubernetesEffect::Cordon { node, mark, .. }) => {
                self.marks.cordoned(&self.truth, &node.name, mark, at, &mut found);
                self.moves.marked(&self.promised, &self.truth, &node.name, mark.role, &mut found);
                self.sights.postponed += usize::from(matches!(mark.role, NodeRole::Postponed { .. }));
                self.capacity.cordoned(
                    &self.promised,
                    &self.truth,
                    &node.name,
                    mark.role,
                    &mut self.sights,
                    &mut found,
                );
            }
            Effect::Kubernetes(KubernetesEffect::RestartWorkload { workload, .. })
                if !self.restarted.insert((sent.command.run.clone(), workload.uid.clone())) =>
            {
                // What no cordon keeps off may come up on a node whose turn comes later.
                // So may any pod where old nodes take pods until their turn comes.
                let may_come_back = self.truth.pods_of(&workload.uid).any(|pod| moves::bears_cordons(pod));
                if !may_come_back && !self.promised.is_external {
                    found.broken(Promise::S6, format!("{} is restarted twice", workload.key));
                }
            }
            Effect::Group(
                GroupEffect::Resize { group, from, to }
                | GroupEffect::UpdateNodegroupConfig { group, from, to },
            ) if to.desired < from.desired => {
                found.broken(Promise::S5, format!("group {group} is shrunk from {from} to {to}"));
            }
            Effect::Kubernetes(KubernetesEffect::ForceDelete { pod, .. }) => {
                if let Some(left) = self.truth.pod(&pod.key, &pod.uid) {
                    self.ending.forced(&self.promised, &self.truth, left, &mut found);
                }
            }
            Effect::Group(GroupEffect::Untag { group, key }) if **key == *ORIGINAL => {
                if let Some(group) = self.truth.groups.get(&group.node_group) {
                    self.promised.left_to_autoscaler(at, group);
                }
            }
            Effect::Kubernetes(KubernetesEffect::Uncordon { .. })
            | Effect::Kubernetes(KubernetesEffect::CordonByHand { .. })
            | Effect::Kubernetes(KubernetesEffect::UncordonByHand { .. })
            | Effect::Kubernetes(KubernetesEffect::Exclude { .. })
            // Its pods follow by its own strategy, which keeps to its own budget.
            | Effect::Kubernetes(KubernetesEffect::RestartWorkload { .. })
            | Effect::Group(GroupEffect::Resize { .. })
            | Effect::Group(GroupEffect::UpdateNodegroupConfig { .. })
            // They are done in the name of interruptions.
            | Effect::Group(GroupEffect::Relieve { .. })
            | Effect::Group(GroupEffect::CompleteAction { .. })
            | Effect::Group(GroupEffect::Heartbeat { .. })
            | Effect::Queue(QueueEffect::HoldMessage { .. })
            // Migrations have a checker of their own.
            | Effect::Kubernetes(KubernetesEffect::Create { .. })
            | Effect::Kubernetes(KubernetesEffect::Replace { .. })
            | Effect::Kubernetes(KubernetesEffect::Delete { .. })
            // What follows is Karpenter's.
            | Effect::Kubernetes(KubernetesEffect::DeleteNodeClaim { .. })
            | Effect::Queue(QueueEffect::DeleteMessage { .. })
            | Effect::Group(GroupEffect::Tag { .. })
            | Effect::Group(GroupEffect::Untag { .. })
            | Effect::Group(GroupEffect::SetTemplate { .. })
            | Effect::Group(GroupEffect::SetProcess { .. })
            | Effect::Group(GroupEffect::ProtectInstance { .. })
            | Effect::Group(GroupEffect::UpdateNodegroupVersion { .. }) => {}
        }
    }
}
