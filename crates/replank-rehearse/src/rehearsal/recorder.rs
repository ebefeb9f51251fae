//! Watches a rehearsal and keeps the figures of its result.
//!
//! The recorder sees the truth, change by change; it decides nothing and is asked only at the end (and by the progress
//! display in between).

use std::collections::BTreeSet;

use replank_model::object::Object;
use replank_model::object::cloud::Instance;
use replank_model::object::condition::{self, ConditionStatus};
use replank_model::object::karpenter::LABEL_NODE_POOL;
use replank_model::object::meta::Key;
use replank_model::object::pod::Pod;
use replank_model::object::policy::PodDisruptionBudget;
use replank_model::text::{GroupName, NodeName};
use replank_model::time::Time;
use replank_model::view::{Change, Ix, View};
use replank_protocol::command::{Effect, GroupEffect, KubernetesEffect, PodTarget, QueueEffect, Refusal};
use replank_protocol::decision::Decision;

use super::by_slot::BySlot;
use super::course::{Course, Worst};
use super::crashes::Crashes;
use super::ended::Ended;
use super::evictions::{Evictions, Request};
use super::numbered::Numbered;
use super::preempted::Preempted;
use super::result::{BudgetAt, NoticedEntry, PodFigures};
use super::served::{KnownWorkload, Served};
use super::serving::Serving;
use super::stages::Stages;
use super::starts::Starts;
use super::timeline::{NodePhase, Timeline};
use super::waits::Waits;
use replank_sim::Asked;
use replank_sim::Observer;
use replank_sim::Sent;
use replank_sim::ends_by_itself;

/// Everything that is noted during a rehearsal.
#[derive(Debug, Default)]
pub(super) struct Recorder {
    pub(super) timeline: Timeline,
    pub(super) waits: Waits,
    /// What others did, as far as the run noticed it.
    pub(super) noticed: Vec<NoticedEntry>,
    /// Ready pods of each workload.
    pub(super) served: Served,
    /// Pods that cannot be placed, over time.
    pub(super) waiting: Course,
    pub(super) budgets: Numbered<Key, BudgetCount>,
    /// The number of each budget that is there, by its slot.
    budget_at: BySlot<Option<usize>>,
    pub(super) evictions: Evictions,
    pub(super) surge_max: u32,
    pub(super) pods: PodFigures,
    pub(super) batch_killed: usize,
    /// The node of each batch pod that ran on nodes of the groups at the start.
    batch_before: Vec<NodeName>,
    /// Batch pods that were ended before they were done.
    pub(super) ended: Ended,
    /// Pods that were preempted.
    pub(super) preempted: Preempted,
    /// Pods that crashed when the run halted.
    pub(super) crashes: Crashes,
    /// What ran on new nodes while stages were watched.
    pub(super) stages: Stages,
    /// When CronJobs and CronWorkflows begin next.
    pub(super) starts: Starts,
    start: Option<Time>,
    groups: BTreeSet<GroupName>,
    /// The nodes to be replaced, where they are not all of their groups.
    pub(super) chosen: Option<BTreeSet<NodeName>>,
    /// Nodes of Karpenter that are gone: no group lists their instances.
    claimed_gone: BTreeSet<NodeName>,
    instances_before: usize,
    instances: usize,
    /// What is noted of each pod that is there, by its slot.
    known: BySlot<PodNote>,
    /// How many of them do their work, by label class.
    serving: Serving,
    /// How many pods cannot be placed at present, less those that could not before.
    unschedulable: usize,
}

/// What is noted of a pod as long as it is there.
#[derive(Clone, Copy, Debug, Default)]
struct PodNote {
    /// Whether it does its work.
    serves: bool,
    /// The label class in which it is counted as long as it does.
    class: Option<u64>,
    /// Whether it cannot be placed at present.
    waits: bool,
    /// Whether it could not be placed before anything was done: then it counts as none that waits.
    waited_before: bool,
    /// The number of the eviction in whose place it came, as long as it was not Ready.
    comes_for: Option<u32>,
    /// The number of the eviction by which it goes.
    goes_by: Option<u32>,
    /// The workload that it has now.
    workload: KnownWorkload,
    /// The number of the workload among whose Ready pods it was counted first.
    counted_in: Option<u32>,
}

/// Healthy pods under a budget.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct BudgetCount {
    /// What its status said, change by change.
    pub(super) history: Vec<BudgetAt>,
    pub(super) desired: i32,
    pub(super) min: i32,
    /// Evictions of ours that left fewer healthy pods than must stay.
    pub(super) violations: usize,
    /// Pods that an interrupted instance would have taken with it, deleted just before, that left fewer healthy pods than must stay.
    pub(super) undercut_by_interruptions: usize,
    /// Whether a pod that it covers was evicted, or asked for.
    pub(super) touched: bool,
}

impl BudgetCount {
    /// Where it is counted that an effect has left fewer healthy pods than must stay. A deletion asks no budget, and is sent for pods
    /// whose instance is about to take them with it: nobody could have kept them. An eviction that goes so far is a violation.
    fn undercut(&mut self, effect: &Effect) -> &mut usize {
        if matches!(effect, Effect::Kubernetes(KubernetesEffect::DeletePod { .. })) {
            &mut self.undercut_by_interruptions
        } else {
            &mut self.violations
        }
    }
}

impl Recorder {
    /// Notes how things are before anything is done to the given groups.
    pub(super) fn begin(at: Time, view: &View, groups: BTreeSet<GroupName>) -> Self {
        let mut recorder = Self { groups, start: Some(at.floor_seconds()), ..Self::default() };
        for instance in view.instances().values() {
            if recorder.is_ours(instance) && instance.state.is_alive() {
                recorder.timeline.begin(at, instance);
                recorder.instances += 1;
            }
        }
        recorder.instances_before = recorder.instances;
        let ours = view.instances().values().filter(|instance| recorder.is_ours(instance));
        let nodes: BTreeSet<NodeName> = ours.filter_map(|instance| instance.node.clone()).collect();
        let batch = view.pods.unordered().map(|(_, pod)| pod);
        let batch = batch.filter(|pod| ends_by_itself(pod) && !pod.is_terminal());
        let on = batch.filter_map(|pod| pod.node.clone()).filter(|node| nodes.contains(node));
        recorder.batch_before = on.collect();
        recorder.starts = Starts::known(view, nodes.into_iter());
        for (ix, pod) in view.pods.sorted() {
            recorder.pod(at, view, ix.raw(), None, Some(pod));
        }
        recorder.served.begin(at);
        recorder.crashes.begin(view.nodes.unordered().map(|(_, node)| node.name()));
        recorder.waiting = Course::default();
        for note in recorder.known.all_mut() {
            note.waited_before = std::mem::take(&mut note.waits);
        }
        recorder.unschedulable = 0;
        recorder.pods.unschedulable_max = 0;
        for (ix, budget) in view.pod_disruption_budgets.sorted() {
            recorder.budget(at, ix.raw(), budget);
        }
        recorder
    }

    fn is_ours(&self, instance: &Instance) -> bool {
        self.groups.contains(&instance.group)
    }

    fn pod(&mut self, at: Time, view: &View, slot: u32, old: Option<&Pod>, new: Option<&Pod>) {
        let Some(pod) = new.or(old) else { return };
        self.crashes.changed(old, new);
        let note = self.known.at_mut(slot);
        let serves = new.is_some_and(serves);
        if std::mem::replace(&mut note.serves, serves) != serves {
            if note.counted_in.is_none() {
                note.counted_in = self.served.number_of_known(&mut note.workload, view, pod);
            }
            if let Some(number) = note.counted_in {
                self.served.note(at, number, if serves { 1 } else { -1 });
            }
            self.count_in_class(view, slot, pod);
        }
        let note = self.known.at_mut(slot);
        let waits = !note.waited_before && new.is_some_and(is_unschedulable);
        if std::mem::replace(&mut note.waits, waits) != waits {
            self.unschedulable = if waits { self.unschedulable + 1 } else { self.unschedulable - 1 };
            self.pods.unschedulable_max = self.pods.unschedulable_max.max(self.unschedulable);
            let pods = i32::try_from(self.unschedulable).unwrap_or(i32::MAX);
            self.waiting.note(at, pods, Worst::Most);
        }
        // Where it is changes twice in a pod's life, its status far more often.
        if place(old) != place(new) {
            let on = new.and_then(|new| new.node.as_ref()).and_then(|node| self.group_of_new(view, node));
            let known = &mut self.known.at_mut(slot).workload;
            let number = || self.served.number_of_known(known, view, pod);
            self.stages.pod(at, (slot, pod), on.as_ref(), number);
        }
        match new {
            Some(new) => {
                self.preempted.changed(view, new);
                self.pods.preempted = self.preempted.count();
            }
            None => *self.known.at_mut(slot) = PodNote::default(),
        }
    }

    /// A pod does its work from now on, or does not, or has got other labels.
    fn count_in_class(&mut self, view: &View, slot: u32, pod: &Pod) {
        let note = self.known.at_mut(slot);
        if let Some(class) = note.class.take() {
            self.serving.ceases(class);
        }
        if note.serves {
            note.class = view.pods.slot_of(pod).and_then(|ix| self.serving.begins(view, ix));
        }
    }

    /// The group, or the pool of Karpenter, of a node that came since the beginning.
    pub(super) fn group_of_new(&self, view: &View, name: &NodeName) -> Option<GroupName> {
        let of_pool = || {
            let node = view.node(name).filter(|node| node.meta.creation_timestamp > self.start)?;
            node.meta.labels.get(LABEL_NODE_POOL).map(|pool| GroupName::new(pool.clone()))
        };
        self.timeline.group_of_new(name).cloned().or_else(of_pool)
    }

    fn budget(&mut self, at: Time, slot: u32, budget: &PodDisruptionBudget) {
        let status = &budget.status;
        let (healthy, allowed) = (status.current_healthy, status.disruptions_allowed);
        let first = || BudgetCount { min: healthy, ..BudgetCount::default() };
        let known = self.budget_at.at_mut(slot);
        let number = known.get_or_insert_with(|| self.budgets.number_or_insert(&budget.meta.key(), first));
        let count = self.budgets.at_mut(*number);
        if count.history.last().is_none_or(|last| (last.healthy, last.allowed) != (healthy, allowed)) {
            count.history.push(BudgetAt { at: at.floor_seconds(), healthy, allowed });
        }
        count.desired = status.desired_healthy;
        count.min = count.min.min(healthy);
    }

    fn instance(&mut self, old: Option<&Instance>, new: Option<&Instance>) {
        let alive = |instance: Option<&Instance>| {
            usize::from(instance.is_some_and(|instance| self.is_ours(instance) && instance.state.is_alive()))
        };
        self.instances = self.instances + alive(new) - alive(old);
        let surge = u32::try_from(self.instances.saturating_sub(self.instances_before)).unwrap_or(u32::MAX);
        self.surge_max = self.surge_max.max(surge);
    }

    /// An eviction has taken effect, or was refused.
    fn evicted(&mut self, sent: &Sent, request: Request, target: &PodTarget, view: &View) {
        let result = sent.result.as_ref().map(|(_, result)| result);
        let Some(ix) = view.pods.find(&target.key).filter(|ix| view.pods[*ix].meta.uid == target.uid) else {
            return;
        };
        let pod = &view.pods[ix];
        let known = &mut self.known.at_mut(ix.raw()).workload;
        let workload = self.served.number_of_known(known, view, pod);
        let named = workload.map(|number| (number, self.served.label(number)));
        if let Some(granted) = self.evictions.answered(sent, request, pod, named) {
            self.known.at_mut(ix.raw()).goes_by = Some(granted);
        }
        for budget in view.budgets_of(ix) {
            let Some(known) = self.budget_at.get(budget.raw()) else { continue };
            let count = self.budgets.at_mut(known);
            count.touched = true;
            if matches!(result, Some(Ok(()))) && pod.is_ready() {
                // Nobody was told yet of what became of the pod itself; all others are as they were.
                let was_counted = usize::from(self.known.get(ix.raw()).class.is_some());
                let healthy = self.serving.under(view, *budget) + usize::from(serves(pod));
                let desired = usize::try_from(count.desired).unwrap_or(0);
                if healthy.saturating_sub(was_counted) < desired {
                    *count.undercut(&sent.command.effect) += 1;
                }
            }
            if let Some(number) = workload {
                self.served.at_mut(number).covered.insert(known);
            }
        }
        match result {
            Some(Ok(())) => {
                self.ended.evicted(pod);
                self.note_moved(pod, workload);
            }
            Some(Err(Refusal::Budget { .. } | Refusal::Denied { .. } | Refusal::Failed { .. })) => {
                self.pods.evictions_refused += 1;
            }
            Some(Err(
                Refusal::Conflict { .. } | Refusal::Gone { .. } | Refusal::Mismatch { .. } | Refusal::Late,
            ))
            | None => {}
        }
    }

    fn note_moved(&mut self, pod: &Pod, workload: Option<u32>) {
        // A batch pod goes on nowhere else: at best its work begins again.
        let is_batch = ends_by_itself(pod);
        self.pods.moved += usize::from(!is_batch);
        self.batch_killed += usize::from(is_batch && !pod.is_terminal());
        let Some(workload) = workload else { return };
        let count = &mut self.served.at_mut(workload).count;
        let made_since = pod.meta.creation_timestamp >= self.start;
        self.pods.moved_more_than_once += usize::from(!is_batch && count.moved && made_since);
        count.moved = true;
    }

    /// Nodes that were to be replaced and are not, where it is known which were.
    pub(super) fn left(&self) -> Option<BTreeSet<NodeName>> {
        let is_gone = |name: &NodeName| {
            let phases = [NodePhase::Gone, NodePhase::Terminating];
            phases.into_iter().any(|phase| self.timeline.count_of(Some(name), phase) > 0)
                || self.claimed_gone.contains(name)
        };
        Some(self.chosen.as_ref()?.iter().filter(|name| !is_gone(name)).cloned().collect())
    }

    /// How many batch pods ran at the start on nodes that were to be replaced.
    pub(super) fn batch_before(&self) -> usize {
        let is_chosen = |node: &&NodeName| self.chosen.as_ref().is_none_or(|chosen| chosen.contains(*node));
        self.batch_before.iter().filter(is_chosen).count()
    }

    /// How far the roll is: nodes replaced, nodes to be replaced in all.
    pub(super) fn replaced(&self) -> (usize, usize) {
        let gone = |name: Option<&NodeName>| {
            [NodePhase::Gone, NodePhase::Terminating]
                .into_iter()
                .map(|phase| self.timeline.count_of(name, phase))
                .sum::<usize>()
        };
        match &self.chosen {
            Some(chosen) => {
                let is_gone = |name| gone(Some(name)).max(usize::from(self.claimed_gone.contains(name)));
                (chosen.iter().map(is_gone).sum(), chosen.len())
            }
            None => (gone(None), self.instances_before),
        }
    }
}

impl Observer for Recorder {
    fn changed(&mut self, at: Time, change: &Change, view: &View) {
        match change {
            Change::Object { slot, old, new } => match (old, new) {
                (Some(Object::Pod(old)), Some(Object::Pod(new))) => {
                    if old.node.is_none() {
                        self.starts.bound(view, new);
                    }
                    self.ended.changed(at, view, old, Some(new));
                    if !old.meta.labels.same(&new.meta.labels) {
                        self.count_in_class(view, *slot, new);
                    }
                    if !old.meta.owner_references.is_same(&new.meta.owner_references) {
                        self.known.at_mut(*slot).workload = KnownWorkload::default();
                    }
                    self.pod(at, view, *slot, Some(old), Some(new));
                    let note = self.known.at_mut(*slot);
                    note.comes_for = note.comes_for.filter(|number| self.evictions.came(at, new, *number));
                }
                (Some(Object::Pod(old)), None) => {
                    self.ended.changed(at, view, old, None);
                    self.evictions.gone(at, old, self.known.get(*slot).goes_by);
                    self.pod(at, view, *slot, Some(old), None);
                }
                (None, Some(Object::Pod(new))) => {
                    self.pod(at, view, *slot, None, Some(new));
                    if self.evictions.are_successors_awaited() {
                        let known = &mut self.known.at_mut(*slot).workload;
                        let workload = self.served.number_of_known(known, view, new);
                        self.known.at_mut(*slot).comes_for = self.evictions.made(at, new, workload);
                    }
                }
                (_, Some(Object::PodDisruptionBudget(budget))) => self.budget(at, *slot, budget),
                (Some(Object::PodDisruptionBudget(_)), None) => *self.budget_at.at_mut(*slot) = None,
                (old, Some(Object::ReplicaSet(set))) => {
                    let before = if let Some(Object::ReplicaSet(old)) = old { Some(old) } else { None };
                    if before.is_none_or(|old| old.meta.controller() != set.meta.controller()) {
                        self.served.forget_sets();
                    }
                }
                (Some(Object::ReplicaSet(_)), None) => self.served.forget_sets(),
                (_, Some(Object::Job(job))) => self.ended.job_changed(at, job),
                (Some(Object::Job(job)), None) => self.ended.job_removed(job),
                (_, Some(Object::Other(other))) => self.ended.workflow_changed(at, other),
                (Some(Object::Node(node)), None) if node.meta.labels.contains_key(LABEL_NODE_POOL) => {
                    self.claimed_gone.insert(node.name());
                }
                (_, _) => {}
            },
            Change::Instance { old, new } => {
                self.instance(old.as_deref(), new.as_deref());
                let is_ours = new.as_ref().or(old.as_ref()).is_some_and(|instance| self.is_ours(instance));
                if !is_ours {
                    return;
                }
            }
            Change::Group { .. } | Change::Message { .. } | Change::Unread(_) | Change::Stale => {}
        }
        self.timeline.changed(at, change);
    }

    fn asked(&mut self, at: Time, asked: &Asked, view: &View) {
        let workload = self.served.number_of(view, &asked.pod);
        let named = workload.map(|number| (number, self.served.label(number)));
        if let Some(granted) = self.evictions.asked(at, asked, named) {
            let is_it = |ix: &Ix<Pod>| view.pods[*ix].meta.uid == asked.pod.meta.uid;
            match view.pods.slot_of(&asked.pod).filter(is_it) {
                Some(ix) => self.known.at_mut(ix.raw()).goes_by = Some(granted),
                None => self.evictions.went_at_once(granted, &asked.pod),
            }
        }
        match &asked.refused {
            None => {
                self.ended.evicted_by(asked.by, &asked.pod);
                self.note_moved(&asked.pod, workload);
            }
            Some(_) => self.pods.evictions_refused += 1,
        }
    }

    fn decided(&mut self, at: Time, decision: &Decision) {
        self.waits.decided(at, decision);
        self.stages.decided(at, decision);
        self.crashes.decided(decision);
        let noticed = decision.noticed.iter().map(|noticed| NoticedEntry { at, what: noticed.to_string() });
        self.noticed.extend(noticed);
    }

    fn executed(&mut self, _at: Time, sent: &Sent, view: &View) {
        match &sent.command.effect {
            Effect::Kubernetes(KubernetesEffect::Evict { pod, .. }) => self.evicted(sent, Request::Evict, pod, view),
            Effect::Kubernetes(KubernetesEffect::DeletePod { pod, .. }) => {
                self.evicted(sent, Request::Delete, pod, view);
            }
            Effect::Kubernetes(KubernetesEffect::Cordon { .. })
            | Effect::Kubernetes(KubernetesEffect::Uncordon { .. })
            | Effect::Kubernetes(KubernetesEffect::CordonByHand { .. })
            | Effect::Kubernetes(KubernetesEffect::UncordonByHand { .. })
            // The pod had been moved before: what is left of it goes.
            | Effect::Kubernetes(KubernetesEffect::ForceDelete { .. })
            | Effect::Kubernetes(KubernetesEffect::Exclude { .. })
            | Effect::Kubernetes(KubernetesEffect::RestartWorkload { .. })
            | Effect::Group(GroupEffect::Tag { .. })
            | Effect::Group(GroupEffect::Untag { .. })
            | Effect::Group(GroupEffect::SetTemplate { .. })
            | Effect::Group(GroupEffect::Resize { .. })
            | Effect::Group(GroupEffect::SetProcess { .. })
            | Effect::Group(GroupEffect::ProtectInstance { .. })
            | Effect::Group(GroupEffect::UpdateNodegroupVersion { .. })
            | Effect::Group(GroupEffect::UpdateNodegroupConfig { .. })
            | Effect::Group(GroupEffect::ScaleNodegroupToZero { .. })
            | Effect::Group(GroupEffect::Relieve { .. })
            | Effect::Group(GroupEffect::CompleteAction { .. })
            | Effect::Group(GroupEffect::Heartbeat { .. })
            | Effect::Queue(QueueEffect::HoldMessage { .. })
            | Effect::Kubernetes(KubernetesEffect::Create { .. })
            | Effect::Kubernetes(KubernetesEffect::Replace { .. })
            | Effect::Kubernetes(KubernetesEffect::Delete { .. })
            | Effect::Kubernetes(KubernetesEffect::DeleteNodeClaim { .. })
            | Effect::Queue(QueueEffect::DeleteMessage { .. })
            | Effect::Group(GroupEffect::Terminate { .. }) => {}
        }
    }
}

/// Whether a pod does its work: ready and not on its way out.
fn serves(pod: &Pod) -> bool {
    pod.is_ready() && pod.is_active()
}

/// Where a pod is, and whether it has ended there.
fn place(pod: Option<&Pod>) -> Option<(Option<&NodeName>, bool)> {
    pod.map(|pod| (pod.node.as_ref(), pod.is_terminal()))
}

fn is_unschedulable(pod: &Pod) -> bool {
    if pod.node.is_some() || pod.is_terminating() {
        return false;
    }
    let scheduled = condition::find(&pod.status.conditions, "PodScheduled");
    scheduled.is_some_and(|found| found.status == ConditionStatus::False && &*found.reason == "Unschedulable")
}

#[cfg(test)]
mod tests {
    use replank_model::delta::Delta;
    use replank_sim::Asker;
    use serde_json::{Value, json};

    use super::*;
    use crate::testing::start;

    fn pod(name: &str, owned: bool) -> Value {
        let owner = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-1", "uid": "web-1", "controller": true});
        let owners = if owned { vec![owner] } else { Vec::new() };
        json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": "shop", "uid": name, "ownerReferences": owners},
            "spec": {"nodeName": "n", "containers": [{"name": "c"}]},
            "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}})
    }

    fn put(view: &mut View, value: Value) -> Change {
        view.apply(Delta::Put(Object::from_json(value).expect("an object")))
    }

    #[test]
    fn a_pod_that_was_released_is_of_no_workload_when_it_is_evicted() {
        let mut view = View::default();
        let web = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "web", "controller": true});
        put(
            &mut view,
            json!({"apiVersion": "apps/v1", "kind": "ReplicaSet",
            "metadata": {"name": "web-1", "namespace": "shop", "uid": "web-1", "ownerReferences": [web]}, "spec": {}}),
        );
        put(&mut view, pod("a", true));
        put(&mut view, pod("b", true));
        let mut recorder = Recorder::begin(start(), &view, BTreeSet::new());
        let released = put(&mut view, pod("a", false));
        recorder.changed(start(), &released, &view);
        for name in ["a", "b"] {
            let pod = view.pods.by_key(&Key::new("shop", name)).expect("a pod").clone();
            recorder.asked(start(), &Asked { pod, by: Asker::Person, refused: None, is_final: true }, &view);
        }
        let made = put(&mut view, pod("c", true));
        recorder.changed(start(), &made, &view);
        let entries = recorder.evictions.entries();
        let told: Vec<_> = entries
            .iter()
            .map(|entry| (entry.workload.clone(), entry.successor.as_ref().map(|pod| pod.pod.clone())))
            .collect();
        assert_eq!(told, [(None, None), (Some("Deployment web".into()), Some("c".into()))]);
    }
}
