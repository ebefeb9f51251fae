//! What others did in the middle of a run: never undone, always noticed.
//!
//! A person or another controller may cordon a node, change a group's size, scale a workload, take a mark away. The run goes on
//! with things as they are (every decision is made from what is observed), and this is where it is said. A change is somebody
//! else's when it is none that the run asked for: our marks change with every cordon of ours, our tags and sizes are what was
//! sent, instances of ours end by a command. After a restart of Replank a change that was on its way may be put down to somebody
//! else; nothing is decided by it.
//!
//! Only what the run is about is looked at: nodes, instances and tags of the groups that bear its tags, and workloads and
//! budgets, which decide about its pods.

use std::collections::{BTreeMap, BTreeSet};

use replank_model::object::cloud::{GroupSize, Instance, NodeGroup};
use replank_model::object::meta::Meta;
use replank_model::object::node::Node;
use replank_model::object::pod::PodTemplate;
use replank_model::object::{Kind, Object};
use replank_model::text::{GroupName, InstanceId, RunId, Text, Uid};
use replank_model::view::{Change, View};

use replank_facts::groups;
use replank_protocol::command::{
    Command, Effect, GroupEffect, KubernetesEffect, NodeRole, QueueEffect, Replacement, zero,
};
use replank_protocol::mark::{self, Begun};
use replank_protocol::noticed::Noticed;
use replank_protocol::taker::Taker;

/// Tells what others do from what the run asked for.
#[derive(Debug)]
pub(crate) struct ExternalChanges {
    /// The run, and its way back.
    runs: [RunId; 2],
    /// Nodes whose marks were to be lifted.
    released: BTreeSet<Uid>,
    /// Instances that were to be ended.
    ended: BTreeSet<InstanceId>,
    /// Sizes that were asked for.
    resized: Vec<(GroupName, GroupSize)>,
    /// Instances that were to be ended with one wanted less, by group, as far as that is not seen.
    lowered: BTreeMap<GroupName, u32>,
    /// Tags that were to be taken off.
    untagged: BTreeSet<(GroupName, Text)>,
    /// NodeClaims that were to be deleted.
    claims: BTreeSet<Uid>,
    noticed: Vec<Noticed>,
    /// Whether somebody else replaces nodes.
    is_external: bool,
    /// Nothing is news before the first decision.
    has_begun: bool,
}

impl ExternalChanges {
    pub(crate) fn new(run: &RunId) -> Self {
        Self {
            runs: [run.clone(), RunId::new(format!("{run}-back"))],
            released: BTreeSet::new(),
            ended: BTreeSet::new(),
            resized: Vec::new(),
            lowered: BTreeMap::new(),
            untagged: BTreeSet::new(),
            claims: BTreeSet::new(),
            noticed: Vec::new(),
            is_external: false,
            has_begun: false,
        }
    }

    /// Of a run whose nodes somebody else replaces, if they do.
    pub(crate) fn of_others(self, is_external: bool) -> Self {
        Self { is_external, ..self }
    }

    /// The same run's, that have seen nothing yet.
    pub(crate) fn anew(&self) -> Self {
        Self::new(&self.runs[0]).of_others(self.is_external)
    }

    /// What was noticed since this was last asked; the run gives these commands.
    pub(crate) fn decided(&mut self, commands: &[Command]) -> Vec<Noticed> {
        self.has_begun = true;
        for command in commands {
            match &command.effect {
                Effect::Kubernetes(KubernetesEffect::Uncordon { node, .. }) => {
                    self.released.insert(node.uid.clone());
                }
                Effect::Group(GroupEffect::Terminate { instance, group, replacement, .. }) => {
                    let is_new = self.ended.insert(instance.clone());
                    if is_new && matches!(replacement, Replacement::Decrement { .. }) {
                        *self.lowered.entry(group.clone()).or_default() += 1;
                    }
                }
                Effect::Group(
                    GroupEffect::Resize { group, to, .. }
                    | GroupEffect::UpdateNodegroupConfig { group, to, .. },
                ) => {
                    self.resized.push((group.node_group.clone(), *to));
                }
                Effect::Group(GroupEffect::ScaleNodegroupToZero { group, from, instances }) => {
                    self.ended.extend(instances.iter().map(|one| one.instance.clone()));
                    self.resized.push((group.node_group.clone(), zero(*from)));
                }
                Effect::Group(GroupEffect::Untag { group, key }) => {
                    self.untagged.insert((group.node_group.clone(), key.clone()));
                }
                Effect::Kubernetes(KubernetesEffect::DeleteNodeClaim { claim, .. }) => {
                    self.claims.insert(claim.uid.clone());
                }
                Effect::Kubernetes(KubernetesEffect::Cordon { .. })
                | Effect::Kubernetes(KubernetesEffect::CordonByHand { .. })
                | Effect::Kubernetes(KubernetesEffect::UncordonByHand { .. })
                | Effect::Kubernetes(KubernetesEffect::Evict { .. })
                | Effect::Kubernetes(KubernetesEffect::DeletePod { .. })
                | Effect::Kubernetes(KubernetesEffect::ForceDelete { .. })
                | Effect::Kubernetes(KubernetesEffect::Exclude { .. })
                | Effect::Kubernetes(KubernetesEffect::RestartWorkload { .. })
                | Effect::Group(GroupEffect::Tag { .. })
                | Effect::Group(GroupEffect::Relieve { .. })
                | Effect::Group(GroupEffect::CompleteAction { .. })
                | Effect::Group(GroupEffect::Heartbeat { .. })
                | Effect::Queue(QueueEffect::HoldMessage { .. })
                | Effect::Kubernetes(KubernetesEffect::Create { .. })
                | Effect::Kubernetes(KubernetesEffect::Replace { .. })
                | Effect::Kubernetes(KubernetesEffect::Delete { .. })
                | Effect::Queue(QueueEffect::DeleteMessage { .. })
                | Effect::Group(GroupEffect::SetTemplate { .. })
                | Effect::Group(GroupEffect::SetProcess { .. })
                | Effect::Group(GroupEffect::ProtectInstance { .. })
                | Effect::Group(GroupEffect::UpdateNodegroupVersion { .. }) => {}
            }
        }
        std::mem::take(&mut self.noticed)
    }

    /// Takes in a change that `view` has taken in.
    pub(crate) fn observe(&mut self, view: &View, change: &Change) {
        if !self.has_begun {
            return;
        }
        match change {
            Change::Object { old: Some(old), new, .. } => self.object(view, old, new.as_ref()),
            Change::Instance { old: Some(old), new } => self.instance(view, old, new.as_deref()),
            Change::Group { old: Some(old), new: Some(new) } => self.group(old, new),
            Change::Object { old: None, .. }
            | Change::Instance { old: None, .. }
            | Change::Group { .. }
            | Change::Message { .. }
            | Change::Unread(_)
            | Change::Stale => {}
        }
    }

    fn note(&mut self, noticed: Noticed) {
        self.noticed.push(noticed);
    }

    fn object(&mut self, view: &View, old: &Object, new: Option<&Object>) {
        match (old, new) {
            (Object::Node(old), Some(Object::Node(new))) => self.node(view, old, new),
            (Object::Node(old), None) => {
                self.gone(old);
                let instance = view.instances().get(&groups::instance_id_of(old));
                let runs_on = instance.is_some_and(|instance| instance.state.is_alive());
                if runs_on && instance.is_some_and(|instance| self.is_ours(view, &instance.group)) {
                    self.note(Noticed::NodeDeleted(old.name()));
                }
            }
            (Object::Deployment(old), Some(Object::Deployment(new))) => {
                self.scaled(Kind::Deployment, &new.meta, old.spec.replicas, new.spec.replicas);
                self.rolled_out(Kind::Deployment, &new.meta, &old.spec.template, &new.spec.template);
            }
            (Object::StatefulSet(old), Some(Object::StatefulSet(new))) => {
                self.scaled(Kind::StatefulSet, &new.meta, old.spec.replicas, new.spec.replicas);
                self.rolled_out(Kind::StatefulSet, &new.meta, &old.spec.template, &new.spec.template);
            }
            (Object::PodDisruptionBudget(old), Some(Object::PodDisruptionBudget(new))) => {
                if old.spec != new.spec {
                    self.note(Noticed::BudgetChanged(new.meta.key()));
                }
            }
            // That of a Workflow goes with its last step.
            (Object::PodDisruptionBudget(old), None)
                if old.meta.owner_references.iter().any(|owner| &*owner.kind == "Workflow") => {}
            (
                Object::Deployment(_)
                | Object::StatefulSet(_)
                | Object::DaemonSet(_)
                | Object::PodDisruptionBudget(_),
                None,
            ) => self.note(Noticed::Deleted(old.kind(), old.meta().key())),
            (_, _) => {}
        }
    }

    /// A node is gone of which no cloud tells more. One that was drained for somebody else was to go.
    fn gone(&mut self, old: &Node) {
        let found = mark::of(old).filter(|found| self.runs.iter().any(|run| found.is_of_run(run)));
        if self.is_external && found.is_none_or(|found| found.mark.role != NodeRole::Drained) {
            self.note(Noticed::NodeGone(old.name()));
        }
    }

    /// What becomes of a node by somebody else's doing counts wherever it is: pods have room there, or have not.
    fn capacity(&mut self, view: &View, old: &Node, new: &Node) {
        match (Taker::of(old), Taker::of(new)) {
            (None, Some(Taker::Karpenter)) if self.is_of_our_claim(view, new) => {}
            (None, Some(by)) => self.note(Noticed::TakenAway(new.name(), by)),
            (Some(by), None) => self.note(Noticed::Spared(new.name(), by)),
            (Some(_), Some(_)) | (None, None) => {}
        }
        if new.is_ready() || !old.is_ready() {
            return;
        }
        let id = groups::instance_id_of(new);
        let is_ending = view.instances().get(&id).is_some_and(|instance| !instance.is_counted());
        let is_to_go = mark::of(new)
            .is_some_and(|found| matches!(found.mark.role, NodeRole::Drained | NodeRole::Interrupted { .. }));
        let is_known = is_ending || is_to_go || self.ended.contains(&id) || new.meta.is_terminating();
        if !is_known {
            self.note(Noticed::NotReady(new.name()));
        }
    }

    /// Whether the run has deleted the NodeClaim of a node.
    fn is_of_our_claim(&self, view: &View, node: &Node) -> bool {
        let name = node.name();
        let mut claims = view.node_claims.unordered().map(|(_, claim)| claim);
        claims.any(|claim| {
            claim.status.node_name.as_ref() == Some(&name) && self.claims.contains(&claim.meta.uid)
        })
    }

    fn node(&mut self, view: &View, old: &Node, new: &Node) {
        self.capacity(view, old, new);
        // Cordons, marks and labels: nearly all changes are of the status alone.
        if old.spec.unschedulable == new.spec.unschedulable
            && old.meta.annotations == new.meta.annotations
            && old.meta.labels == new.meta.labels
        {
            return;
        }
        let instance = view.instances().get(&groups::instance_id_of(new));
        let was_ours = mark::of(old).filter(|found| self.runs.iter().any(|run| found.is_of_run(run)));
        if was_ours.is_none() && !instance.is_some_and(|instance| self.is_ours(view, &instance.group)) {
            return;
        }
        let name = new.name();
        let marks = |node: &Node| {
            [mark::RUN, mark::ROLE, mark::SINCE, mark::EXPIRES]
                .map(|key| node.meta.annotations.get(key).cloned())
        };
        // A cordon of ours comes with a mark, and goes with one.
        if marks(old) == marks(new) {
            match (old.spec.unschedulable, new.spec.unschedulable) {
                (false, true) => self.note(Noticed::Cordoned(name.clone())),
                (true, false) => self.note(Noticed::Uncordoned(name.clone())),
                (true, true) | (false, false) => {}
            }
        }
        if was_ours.is_some() && mark::of(new).is_none() && !self.released.contains(&new.meta.uid) {
            self.note(Noticed::MarkTaken(name.clone()));
        }
        let is_excluded = |node: &Node| node.meta.labels.contains_key(mark::EXCLUDE);
        let is_said = new.meta.annotations.contains_key(mark::EXCLUDED);
        if is_said && is_excluded(old) && !is_excluded(new) {
            self.note(Noticed::LabelTaken(name));
        }
    }

    fn instance(&mut self, view: &View, old: &Instance, new: Option<&Instance>) {
        let ends = old.state.is_alive() && new.is_none_or(|new| !new.state.is_alive());
        if ends && !self.ended.contains(&old.id) && self.is_ours(view, &old.group) {
            self.note(Noticed::InstanceEnded(old.id.clone()));
        }
    }

    fn group(&mut self, old: &NodeGroup, new: &NodeGroup) {
        if !self.bears_our_tag(old) {
            return;
        }
        if old.size != new.size && !self.is_our_size(old, new) {
            self.note(Noticed::Resized { group: new.name.clone(), from: old.size, to: new.size });
        }
        for (key, _) in old.tags.iter().filter(|(key, _)| key.starts_with("replank.dev/")) {
            let is_taken = !new.tags.contains_key(key);
            let key = Text::from(key);
            if is_taken && !self.untagged.contains(&(new.name.clone(), key.clone())) {
                self.note(Noticed::TagTaken(new.name.clone(), key));
            }
        }
    }

    /// Whether a size is one that was asked for, or follows from instances that were ended with one wanted less.
    fn is_our_size(&mut self, old: &NodeGroup, new: &NodeGroup) -> bool {
        let (from, to) = (old.size, new.size);
        let lowered = self.lowered.get(&new.name).copied().unwrap_or(0);
        let fewer = from.desired.saturating_sub(to.desired);
        let is_lowered = fewer > 0 && fewer <= lowered && from.min == to.min && from.max == to.max;
        if is_lowered {
            self.lowered.insert(new.name.clone(), lowered - fewer);
        }
        is_lowered || self.resized.contains(&(new.name.clone(), to))
    }

    fn scaled(&mut self, kind: Kind, meta: &Meta, old: Option<i32>, new: Option<i32>) {
        let (from, to) = (old.unwrap_or(1), new.unwrap_or(1));
        if from != to {
            self.note(Noticed::Scaled { kind, key: meta.key(), from, to });
        }
    }

    fn rolled_out(&mut self, kind: Kind, meta: &Meta, old: &PodTemplate, new: &PodTemplate) {
        if old == new {
            return;
        }
        let restart = |template: &PodTemplate| template.meta.annotations.get(mark::RESTARTED_AT).cloned();
        let by = new.meta.annotations.get(mark::RESTARTED_BY);
        let is_ours = by.is_some_and(|by| self.runs.iter().any(|run| run.text() == by));
        if !(is_ours && restart(old) != restart(new)) {
            self.note(Noticed::RolledOut(kind, meta.key()));
        }
    }

    fn is_ours(&self, view: &View, group: &GroupName) -> bool {
        view.groups().get(group).is_some_and(|group| self.bears_our_tag(group))
    }

    fn bears_our_tag(&self, group: &NodeGroup) -> bool {
        let begun = group.tags.value(mark::BEGUN).and_then(Begun::read);
        begun.is_some_and(|begun| self.runs.contains(&begun.run))
    }
}

#[cfg(test)]
mod tests;
