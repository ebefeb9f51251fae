//! The story of a rehearsal: what Replank did, what it waited for, and the effects, in short lines of virtual time.

use std::collections::{BTreeMap, BTreeSet};

use replank_model::object::Object;
use replank_model::object::cloud::{
    GroupSize, Instance, InstanceState, LaunchTemplate, NodeGroup, Target, TargetGroup, TargetHealth,
};
use replank_model::object::cluster::Other;
use replank_model::object::condition::{self, ConditionStatus};
use replank_model::object::node::Node;
use replank_model::object::pod::{Pod, PodPhase};
use replank_model::text::{Text, Uid};
use replank_model::time::{Span, Time};
use replank_model::view::{Change, View};
use replank_protocol::command::{
    Command, Dependents, Effect, GroupEffect, KubernetesEffect, NodeRole, QueueEffect, Replacement, zero,
};
use replank_protocol::decision::Decision;
use replank_protocol::mark;
use replank_protocol::waiting::{CapacityWait, WaitingOn};
use replank_sim::{Observer, Sent};
use serde_json::Value;

use super::effects::{named, referred};
use super::names::Names;

/// Waits that are over before anybody could read of them.
const UNTOLD: [&str; 3] = ["effect", "cordon", "leaving"];
/// A pod that is on its way out for less is not worth a line.
const SLOW: Span = Span::from_secs(5);

/// What is told.
pub(super) struct Story {
    pub(super) names: Names,
    start: Time,
    lines: Vec<Line>,
    told: BTreeSet<(String, &'static str)>,
    evicted: BTreeSet<Uid>,
    leaving: BTreeMap<Uid, Time>,
}

/// Things that were done to several objects within a second are one line.
struct Line {
    at: Span,
    before: String,
    items: Vec<String>,
    after: String,
}

impl Story {
    pub(super) fn new(names: Names, start: Time) -> Self {
        Self {
            names,
            start,
            lines: Vec::new(),
            told: BTreeSet::new(),
            evicted: BTreeSet::new(),
            leaving: BTreeMap::new(),
        }
    }

    /// What happens besides.
    pub(super) fn remark(&mut self, at: Time, text: &str) {
        self.tell(at, "* ", text.to_owned(), "");
    }

    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for line in &self.lines {
            let at = line.at.to_string();
            let mut items = line.items.clone();
            items.sort();
            text.push_str(&format!("{at:>9}  {}{}{}\n", line.before, items.join(", "), line.after));
        }
        text
    }

    fn tell(&mut self, at: Time, before: &str, item: String, after: &str) {
        let at = at.floor_seconds() - self.start;
        let after = self.names.readable(after);
        if let Some(last) = self.lines.last_mut()
            && last.at == at
            && last.before == before
            && last.after == after
        {
            last.items.push(item);
            return;
        }
        self.lines.push(Line { at, before: before.to_owned(), items: vec![item], after });
    }

    fn pod(&mut self, at: Time, old: Option<&Pod>, new: Option<&Pod>) {
        let Some(pod) = new.or(old) else { return };
        if pod.meta.controller().is_some_and(|owner| &*owner.kind == "DaemonSet") {
            return;
        }
        let name = self.names.pod(&pod.meta.key());
        let node = pod.node.as_ref().map(|node| self.names.node(node)).unwrap_or_default();
        let Some(new) = new else {
            let left = self.leaving.remove(&pod.meta.uid).filter(|since| at - *since >= SLOW);
            if let Some(since) = left {
                let took = at.floor_seconds() - since.floor_seconds();
                self.tell(at, "", name, &format!(" gone after {took}"));
            }
            return;
        };
        let was = |holds: fn(&Pod) -> bool| old.is_some_and(holds);
        if new.is_terminating() && !was(Pod::is_terminating) {
            self.leaving.insert(new.meta.uid.clone(), at);
            if !self.evicted.contains(&new.meta.uid) {
                self.tell(at, "", name.clone(), " is deleted");
            }
        }
        if new.is_terminating() {
            return;
        }
        match (was(Pod::is_ready), new.is_ready()) {
            (false, true) => self.tell(at, "", name.clone(), &format!(" ready on {node}")),
            (true, false) if !new.is_terminal() => self.tell(at, "", name.clone(), " not ready"),
            (true, false) | (true, true) | (false, false) => {}
        }
        if new.is_terminal() && !was(Pod::is_terminal) {
            let how = if new.status.phase == PodPhase::Succeeded { " succeeded" } else { " failed" };
            self.tell(at, "", name.clone(), how);
        }
        if let Some(message) = unplaced(new).filter(|_| old.and_then(unplaced).is_none()) {
            self.tell(at, "", name, &format!(" fits on no node: {message}"));
        }
    }

    fn node(&mut self, at: Time, old: Option<&Node>, new: Option<&Node>) {
        let Some(node) = new.or(old) else { return };
        let name = self.names.node(&node.name());
        match (old, new) {
            (None, Some(_)) => self.tell(at, "", name, " joins"),
            (Some(_), None) => self.tell(at, "", name, " gone"),
            (Some(old), Some(new)) if !old.is_ready() && new.is_ready() => self.tell(at, "", name, " Ready"),
            (Some(old), Some(new)) if old.is_ready() && !new.is_ready() => {
                self.tell(at, "", name, " not Ready");
            }
            (Some(_) | None, Some(_) | None) => {}
        }
    }

    /// A Workflow begins, or ends.
    fn workflow(&mut self, at: Time, old: Option<&Other>, new: &Other) {
        let phase = |other: &Other| {
            let raw: Value = serde_json::from_str(other.meta.raw.0.as_deref()?).ok()?;
            Some(raw.pointer("/status/phase")?.as_str()?.to_owned())
        };
        let Some(now) = phase(new).filter(|now| old.and_then(phase).as_ref() != Some(now)) else { return };
        let how = match now.as_str() {
            "Running" => " begins".to_owned(),
            other => format!(" {}", other.to_lowercase()),
        };
        self.tell(at, "workflow ", new.meta.key().to_string(), &how);
    }

    fn instance(&mut self, at: Time, old: Option<&Instance>, new: Option<&Instance>) {
        let Some(instance) = new else { return };
        let name = self.names.instance(&instance.id);
        if let Some(old) = old {
            if old.health != instance.health {
                self.tell(at, "", name.clone(), &format!(" marked {} by its group", instance.health));
            }
            self.targets(at, &name, &old.targets, instance);
            return;
        }
        if instance.state == InstanceState::Pending {
            self.tell(at, "", name, &format!(" launched in {}", instance.zone));
        }
    }

    /// What an instance has become in target groups, while it is there.
    fn targets(&mut self, at: Time, name: &str, old: &[Target], instance: &Instance) {
        let state = |of: &[Target], group: &Text| {
            of.iter()
                .find(|target| target.group == *group)
                .map_or(TargetHealth::Unused, |target| target.health)
        };
        let groups: BTreeSet<&Text> =
            old.iter().chain(&instance.targets).map(|target| &target.group).collect();
        for group in groups {
            let (from, to) = (state(old, group), state(&instance.targets, group));
            if from != to && instance.state.is_alive() {
                let target_group = TargetGroup::name_of(group);
                self.tell(at, "", name.to_owned(), &format!(" {to} in target group {target_group}"));
            }
        }
    }

    /// Launches that failed.
    fn failures(&mut self, at: Time, old: Option<&NodeGroup>, new: &NodeGroup) {
        let known = old.map_or(&[][..], |old| old.failures.as_slice());
        for failure in new.failures.iter().filter(|failure| !known.contains(failure)) {
            self.tell(at, "group ", new.name.to_string(), &format!(" cannot launch: {failure}"));
        }
    }

    fn command(&mut self, at: Time, sent: &Sent) {
        let after = match &sent.result {
            Some((_, Err(refusal))) => format!(": refused, {refusal}"),
            Some((_, Ok(()))) | None => String::new(),
        };
        let (before, item, detail) = self.effect(at, &sent.command);
        self.tell(at, &before, item, &format!("{detail}{after}"));
    }

    /// What a command does: the words before its object, the object, the words after it.
    fn effect(&self, at: Time, command: &Command) -> (String, String, String) {
        let names = &self.names;
        match &command.effect {
            Effect::Kubernetes(KubernetesEffect::CordonByHand { node, from, .. }) => {
                let before = if from.is_some() { "drains " } else { "cordons " };
                (before.to_owned(), names.node(&node.name), String::new())
            }
            Effect::Kubernetes(KubernetesEffect::UncordonByHand { node, .. }) => {
                ("uncordons ".to_owned(), names.node(&node.name), String::new())
            }
            Effect::Kubernetes(KubernetesEffect::Cordon { node, mark, .. }) => {
                let before = match (mark.role, command.key.0.contains("/renew/")) {
                    (_, true) => "renews the mark of ",
                    (_, false) if mark.expires <= at => "hands over the mark of ",
                    (NodeRole::Queued, false) => "cordons ",
                    (NodeRole::Draining { .. }, false) => "drains ",
                    (NodeRole::Postponed { .. }, false) => "postpones ",
                    (NodeRole::Skipped, false) => "skips ",
                    (NodeRole::Surplus, false) => "cordons surplus ",
                    (NodeRole::Retained, false) => "retains ",
                    (NodeRole::Listed, false) => "lists ",
                    (NodeRole::Drained, false) => "leaves to others ",
                    (NodeRole::Interrupted { by, from: Some(_), .. }, false) if by.may_pass() => "drains ",
                    (NodeRole::Interrupted { .. }, false) => "cordons ",
                };
                let after = match mark.role {
                    NodeRole::Draining { from } if from > at => format!(", from {from} on"),
                    NodeRole::Interrupted { by, until: Some(until), .. } => {
                        format!(": {by}, over at {until}")
                    }
                    NodeRole::Interrupted { by, until: None, .. } => format!(": {by}"),
                    NodeRole::Draining { .. }
                    | NodeRole::Queued
                    | NodeRole::Postponed { .. }
                    | NodeRole::Skipped
                    | NodeRole::Surplus
                    | NodeRole::Retained
                    | NodeRole::Drained
                    | NodeRole::Listed => String::new(),
                };
                (before.to_owned(), names.node(&node.name), after)
            }
            Effect::Kubernetes(KubernetesEffect::Uncordon { node, .. }) => {
                ("releases ".into(), names.node(&node.name), String::new())
            }
            Effect::Kubernetes(KubernetesEffect::Evict { pod, .. }) => {
                ("evicts ".into(), names.pod(&pod.key), String::new())
            }
            Effect::Kubernetes(KubernetesEffect::DeletePod { pod, .. }) => {
                ("deletes ".into(), names.pod(&pod.key), String::new())
            }
            Effect::Kubernetes(KubernetesEffect::ForceDelete { pod, .. }) => {
                ("force-deletes ".into(), names.pod(&pod.key), String::new())
            }
            Effect::Kubernetes(KubernetesEffect::Exclude { node, .. }) => {
                ("excludes from load balancers ".into(), names.node(&node.name), String::new())
            }
            Effect::Kubernetes(KubernetesEffect::RestartWorkload { workload, .. }) => {
                let kind = workload.kind.kind().as_str().to_lowercase();
                ("restarts ".into(), format!("{kind} {}", workload.key), String::new())
            }
            Effect::Group(GroupEffect::Tag { group, key, from: _, value }) => {
                ("tags ".into(), format!("group {group}"), format!(": {}={value}", tag(names, key)))
            }
            Effect::Group(GroupEffect::Untag { group, key }) => {
                ("untags ".into(), format!("group {group}"), format!(": {}", tag(names, key)))
            }
            Effect::Group(GroupEffect::SetProcess { group, process, is_active }) => {
                let verb = if *is_active { "resumes " } else { "suspends " };
                (verb.into(), process.to_string(), format!(" of group {group}"))
            }
            Effect::Group(GroupEffect::ProtectInstance { instance, is_protected, .. }) => {
                let verb = if *is_protected { "protects " } else { "unprotects " };
                (verb.into(), names.instance(instance), " from scale-in".into())
            }
            Effect::Group(GroupEffect::SetTemplate { group, to, follow, .. }) => {
                let word = follow.map(|word| format!(", version {word}")).unwrap_or_default();
                let after = format!(" to launch template {}{word}", template(to));
                ("updates ".into(), format!("group {group}"), after)
            }
            Effect::Group(GroupEffect::UpdateNodegroupVersion { group, to, .. }) => {
                ("updates through EKS ".into(), format!("group {group}"), format!(" to {}", template(to)))
            }
            Effect::Group(
                GroupEffect::Resize { group, from, to }
                | GroupEffect::UpdateNodegroupConfig { group, from, to },
            ) => {
                let after = format!(" from {} to {}", size(*from), size(*to));
                ("resizes ".into(), format!("group {group}"), after)
            }
            Effect::Group(GroupEffect::ScaleNodegroupToZero { group, from, .. }) => {
                let after =
                    format!(" from {} to {}, all of its nodes are empty", size(*from), size(zero(*from)));
                ("resizes ".into(), format!("group {group}"), after)
            }
            Effect::Group(GroupEffect::Relieve { instance, .. }) => {
                ("requests a replacement for ".into(), names.instance(instance), String::new())
            }
            Effect::Group(GroupEffect::CompleteAction { action, .. }) => {
                let after = format!(", hook {}", action.hook);
                ("completes the action of ".into(), names.instance(&action.instance), after)
            }
            Effect::Group(GroupEffect::Heartbeat { action }) => {
                let after = format!(", hook {}", action.hook);
                ("sends a heartbeat for ".into(), names.instance(&action.instance), after)
            }
            Effect::Queue(QueueEffect::HoldMessage { message, .. }) => {
                ("hides ".into(), format!("message {message}"), String::new())
            }
            Effect::Queue(QueueEffect::DeleteMessage { message, .. }) => {
                ("deletes ".into(), format!("message {message}"), String::new())
            }
            Effect::Kubernetes(KubernetesEffect::Create { object }) => {
                ("creates ".into(), named(object), String::new())
            }
            Effect::Kubernetes(KubernetesEffect::Replace { object }) => {
                ("updates ".into(), named(object), String::new())
            }
            Effect::Kubernetes(KubernetesEffect::DeleteNodeClaim { claim, .. }) => {
                ("deletes ".into(), format!("NodeClaim {}", claim.name), String::new())
            }
            Effect::Kubernetes(KubernetesEffect::Delete { object, dependents, .. }) => {
                let after = match dependents {
                    Dependents::Orphaned => ", orphans its dependents",
                    Dependents::Collected => "",
                };
                ("deletes ".into(), referred(object), after.into())
            }
            Effect::Group(GroupEffect::Terminate { instance, replacement, .. }) => {
                let after = match replacement {
                    Replacement::Launch => ", to be replaced",
                    Replacement::Decrement { .. } => ", without replacement",
                };
                ("terminates ".into(), names.instance(instance), after.into())
            }
        }
    }
}

/// `min 0, desired 3, max 4`
pub(super) fn size(size: GroupSize) -> String {
    format!("{}/{}/{}", size.min, size.desired, size.max)
}

fn short(key: &str) -> &str {
    key.rsplit('/').next().unwrap_or(key)
}

/// A tag's key; where it names an instance, by the name of its node.
fn tag(names: &Names, key: &str) -> String {
    let protected = mark::protected_in(key);
    protected.map_or_else(|| short(key).to_owned(), |id| format!("protected-{}", names.instance(&id)))
}

/// What new nodes are.
pub(super) fn template(template: &LaunchTemplate) -> String {
    let mut text = format!("kubelet {}, image {}", template.profile.kubelet_version, template.image);
    for taint in &template.profile.taints {
        text.push_str(&format!(", taint {}={}:{}", taint.key, taint.value, taint.effect.as_str()));
    }
    text
}

/// Why no node takes a pod.
fn unplaced(pod: &Pod) -> Option<&str> {
    let scheduled = condition::find(&pod.status.conditions, "PodScheduled")?;
    let is_unplaced = pod.node.is_none()
        && scheduled.status == ConditionStatus::False
        && &*scheduled.reason == "Unschedulable";
    is_unplaced.then_some(&*scheduled.message)
}

impl Observer for Story {
    fn changed(&mut self, at: Time, change: &Change, view: &View) {
        self.names.see(change, view);
        match change {
            Change::Object { old, new, .. } => match (old, new) {
                (Some(Object::Pod(old)), Some(Object::Pod(new))) => self.pod(at, Some(old), Some(new)),
                (Some(Object::Pod(old)), None) => self.pod(at, Some(old), None),
                (None, Some(Object::Pod(new))) => self.pod(at, None, Some(new)),
                (Some(Object::Node(old)), Some(Object::Node(new))) => self.node(at, Some(old), Some(new)),
                (Some(Object::Node(old)), None) => self.node(at, Some(old), None),
                (None, Some(Object::Node(new))) => self.node(at, None, Some(new)),
                (old, Some(Object::Other(new))) if &*new.kind == "Workflow" => {
                    let old = match old {
                        Some(Object::Other(old)) => Some(&**old),
                        Some(_) | None => None,
                    };
                    self.workflow(at, old, new);
                }
                (_, _) => {}
            },
            Change::Instance { old, new } => self.instance(at, old.as_deref(), new.as_deref()),
            Change::Group { old, new: Some(new) } => {
                let contradiction = LaunchTemplate::contradiction(&new.templates);
                assert_eq!(contradiction, None, "group {}: one image, two kubelet versions", new.name);
                self.failures(at, old.as_deref(), new);
            }
            Change::Group { new: None, .. } | Change::Message { .. } | Change::Unread(_) | Change::Stale => {}
        }
    }

    fn decided(&mut self, at: Time, decision: &Decision) {
        for noticed in &decision.noticed {
            let what = self.names.readable(&noticed.to_string());
            self.tell(at, "notices: ", what, "");
        }
        for waiting in &decision.waiting {
            let kind = waiting.on.kind();
            let what = waiting.what.to_string();
            let is_plain =
                matches!(waiting.on, WaitingOn::Capacity(CapacityWait::NodeReady { daemon_pods_missing: 0 }));
            if !UNTOLD.contains(&kind) && !is_plain && self.told.insert((what.clone(), kind)) {
                let what = self.names.readable(&what);
                let joint = if waiting.on.finality().is_some() { ": " } else { " waits for " };
                self.tell(at, "", what, &format!("{joint}{}", waiting.on));
            }
        }
    }

    fn executed(&mut self, at: Time, sent: &Sent, _view: &View) {
        if let (
            Effect::Kubernetes(KubernetesEffect::Evict { pod, .. })
            | Effect::Kubernetes(KubernetesEffect::DeletePod { pod, .. }),
            Some((_, Ok(()))),
        ) = (&sent.command.effect, &sent.result)
        {
            self.evicted.insert(pod.uid.clone());
        }
        self.command(at, sent);
    }
}

/// What is on a node of ours beside its name: marks and cordons that are left.
pub(super) fn marks(node: &Node) -> Option<String> {
    let found = mark::of(node);
    let role = found.as_ref().map(|found| found.mark.role.as_str());
    match (node.spec.unschedulable, role) {
        (true, Some(role)) => Some(format!("cordoned by the run ({role})")),
        (true, None) => Some("cordoned by another actor".to_owned()),
        (false, Some(role)) => Some(format!("marked by the run ({role}), not cordoned")),
        (false, None) => None,
    }
}
