//! Nodes whose image is short of something: their conditions, and what the kubelet evicts for it (pkg/kubelet/eviction `eviction_manager.go`, `helpers.go`;
//! pkg/kubelet/nodestatus `setters.go`). The taints are the node controller's.
//!
//! What pods use is unknown in a rehearsal, so the image itself is what uses everything up: evicting pods does not help, and the kubelet goes on with it. Those of
//! DaemonSets stay here, without which a node would not be counted as ready by anybody.

use std::collections::BTreeMap;

use replank_apiserver::{DISRUPTION_TARGET, EventType, Teller, condition as conditions};
use replank_model::object::Object;
use replank_model::object::condition::{self, ConditionStatus};
use replank_model::object::meta::Key;
use replank_model::object::node::Node;
use replank_model::object::pod::{Pod, PodPhase};
use replank_model::text::{NodeName, Text};
use replank_model::time::{Span, Time};
use replank_model::view::Ix;

use super::conditions::set_condition;
use super::faults::ImageFaults;
use super::trouble::{NodeTrouble, Pressed};
use super::{containers, deadline, init, report};
use crate::context::Ctx;
use crate::event::Event;

/// Between two looks of the eviction manager (pkg/kubelet `evictionMonitoringPeriod`); it evicts one pod at most at each.
const LOOK: Span = Span::from_secs(10);
/// How long a condition stays once its cause is gone (`evictionPressureTransitionPeriod`).
const TRANSITION: Span = Span::from_minutes(5);
/// Priority from which on a pod is critical (`scheduling.SystemCriticalPriority`): it is not evicted.
const CRITICAL: i32 = 2_000_000_000;

/// When kubelets look at what their nodes are short of.
#[derive(Debug, Default)]
pub(super) struct Looks(BTreeMap<u32, Time>);

impl Looks {
    /// A node is gone.
    pub(super) fn forget(&mut self, slot: u32) {
        self.0.remove(&slot);
    }

    /// Has the kubelet of a node look at it, after a while at most.
    pub(super) fn at_node(&mut self, ctx: &mut Ctx<'_>, slot: u32, within: Span) {
        let at = ctx.api.now() + within;
        if self.0.get(&slot).is_none_or(|due| at < *due) {
            self.0.insert(slot, at);
            ctx.agenda.at(at, Event::NodePressure(slot));
        }
    }

    /// Has all kubelets look at their nodes, if there is anything to see.
    pub(super) fn at_nodes(&mut self, ctx: &mut Ctx<'_>, faults: &ImageFaults) {
        if !faults.trouble_nodes() {
            return;
        }
        let slots: Vec<u32> = ctx.view().nodes.sorted().into_iter().map(|(ix, _)| ix.raw()).collect();
        for slot in slots {
            self.at_node(ctx, slot, Span::ZERO);
        }
    }

    /// A pod has come to a node: it may be the next to go.
    pub(super) fn pod_comes(&mut self, ctx: &mut Ctx<'_>, faults: &ImageFaults, pod: &Pod) {
        let Some(name) = pod.node.as_ref().filter(|name| faults.pressed.contains_key(*name)) else {
            return;
        };
        if let Some(ix) = ctx.view().nodes.find(&Key::cluster(name.text().clone())).filter(|_| may_go(pod)) {
            self.at_node(ctx, ix.raw(), LOOK);
        }
    }

    /// A kubelet looks at its node.
    pub(super) fn look(&mut self, ctx: &mut Ctx<'_>, faults: &mut ImageFaults, slot: u32) {
        let now = ctx.api.now();
        if self.0.get(&slot) != Some(&now) {
            // It was put down before an earlier look was.
            return;
        }
        self.0.remove(&slot);
        let Some(node) = ctx.view().nodes.get(Ix::<Node>::new(slot)).cloned() else { return };
        let name = node.name();
        let trouble = faults.trouble_of(ctx.view(), &name);
        let Some((image, with, after)) = trouble else {
            return self.relieve(ctx, faults, slot, &name);
        };
        let from = node.meta.creation_timestamp.map_or(now, |created| created + after);
        if from > now {
            return self.at_node(ctx, slot, from - now);
        }
        press(ctx, faults, &name, with);
        faults.meet(image);
        let Some((resource, pressed)) = with.resource().zip(faults.pressed.get_mut(&name)) else { return };
        let mut going = going(ctx, &name, with);
        let Some(first) = going.next() else { return };
        if now < pressed.evicts_from {
            // Something else about the node has changed since the last eviction.
            return self.at_node(ctx, slot, pressed.evicts_from - now);
        }
        pressed.evicts_from = now + LOOK;
        evict(ctx, first, resource);
        if going.next().is_some() {
            self.at_node(ctx, slot, LOOK);
        }
    }

    /// What a node was short of is there again: its condition goes, after a while.
    fn relieve(&mut self, ctx: &mut Ctx<'_>, faults: &mut ImageFaults, slot: u32, name: &NodeName) {
        let now = ctx.api.now();
        let Some(pressed) = faults.pressed.get_mut(name) else { return };
        let lasts = if pressed.with.resource().is_some() { TRANSITION } else { Span::ZERO };
        let end = *pressed.over.get_or_insert(now) + lasts;
        if end > now {
            return self.at_node(ctx, slot, end - now);
        }
        let with = pressed.with;
        faults.pressed.remove(name);
        say(ctx, name, with, false);
    }
}

/// Gives a node a condition, instead of another that a fault gave it.
fn press(ctx: &mut Ctx<'_>, faults: &mut ImageFaults, name: &NodeName, with: NodeTrouble) {
    let evicts_from = ctx.api.now();
    let new = || Pressed { with, over: None, evicts_from };
    let pressed = faults.pressed.entry(name.clone()).or_insert_with(new);
    let before = std::mem::replace(&mut pressed.with, with);
    pressed.over = None;
    if before != with {
        say(ctx, name, before, false);
    }
    say(ctx, name, with, true);
}

/// Writes a condition of a node, if it is not so yet.
fn say(ctx: &mut Ctx<'_>, name: &NodeName, trouble: NodeTrouble, holds: bool) {
    let is_so = |node: &Node| condition::is_true(&node.status.conditions, trouble.condition()) == holds;
    if ctx.view().node(name).is_none_or(|node| is_so(node)) {
        return;
    }
    let now = ctx.api.timestamp();
    let [bad, good] = trouble.words();
    let (reason, message) = if holds { bad } else { good };
    let written = ctx.api.modify::<Node>(&Key::cluster(name.text().clone()), |node| {
        let mut new =
            conditions::condition(trouble.condition(), ConditionStatus::from(holds), reason, message);
        new.last_heartbeat_time = Some(now);
        conditions::set(&mut node.status.conditions, new, now);
    });
    debug_assert!(written.is_ok(), "the node was just read");
}

/// Whether the kubelet may evict a pod, were it on a node under pressure.
fn may_go(pod: &Pod) -> bool {
    let is_daemon = pod.meta.controller().is_some_and(|owner| &*owner.kind == "DaemonSet");
    let is_critical = pod.is_mirror() || pod.spec.priority.is_some_and(|priority| priority >= CRITICAL);
    !pod.is_terminal() && !pod.is_terminating() && !is_daemon && !is_critical
}

/// The pods that the kubelet evicts, by their slots, the first to go first: those that surely use more than they request, for they request none; then by priority.
fn going(ctx: &Ctx<'_>, name: &NodeName, with: NodeTrouble) -> impl Iterator<Item = u32> + use<> {
    let resource = match with {
        NodeTrouble::Memory => "memory",
        NodeTrouble::Disk => "ephemeral-storage",
        // Processes are not requested.
        NodeTrouble::Pid | NodeTrouble::Network => "",
    };
    let requests = |pod: &Pod| {
        pod.spec.containers.iter().any(|container| container.resources.requests.get(resource).is_some())
    };
    let pods = ctx.view().sorted_pods_on(name);
    let mut going: Vec<_> = pods.into_iter().filter(|pod| may_go(pod)).collect();
    going.sort_by_key(|pod| (requests(pod), pod.spec.priority.unwrap_or(0)));
    let find = |pod: &Pod| ctx.view().pods.find(&pod.meta.key()).map(Ix::raw);
    let slots: Vec<u32> = going.into_iter().filter_map(|pod| find(pod)).collect();
    slots.into_iter()
}

/// The containers of a pod are killed at once, whatever its grace and budgets are (a hard threshold).
fn evict(ctx: &mut Ctx<'_>, slot: u32, resource: &str) {
    let now = ctx.api.timestamp();
    let why = format!("The node was low on resource: {resource}. ");
    let message = Text::from(why.clone());
    let written = report::write(ctx, slot, |pod| {
        pod.status.phase = PodPhase::Failed;
        pod.status.reason = Text::from("Evicted");
        pod.status.message = message.clone();
        containers::terminate(pod, deadline::KILLED, now);
        init::stop(pod, deadline::KILLED, now);
        set_condition(&mut pod.status.conditions, "Ready", false, "PodFailed", now);
        let target =
            conditions::condition(DISRUPTION_TARGET, ConditionStatus::True, "TerminationByKubelet", &message);
        conditions::set(&mut pod.status.conditions, target, now);
    });
    debug_assert!(written.is_some(), "the pod was just read");
    if let Some(pod) = written.filter(|_| ctx.api.serving().traces) {
        let host = pod.node.as_ref().map_or("", |node| node.as_str());
        let who = Teller { component: "kubelet", host, part: "" };
        ctx.api.tell_by(who, &Object::Pod(pod.clone()), EventType::Warning, ("Evicted", &why));
    }
}
