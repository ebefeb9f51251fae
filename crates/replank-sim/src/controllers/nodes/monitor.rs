//! A round of the node monitor (pkg/controller/nodelifecycle `monitorNodeHealth`, `tryUpdateNodeHealth`,
//! `processTaintBaseEviction`, `doNoExecuteTaintingPass`).

use replank_model::object::Object;
use replank_model::object::condition::{self, Condition, ConditionStatus};
use replank_model::object::meta::Key;
use replank_model::object::node::Node;
use replank_model::object::pod::Pod;
use replank_model::text::{NodeName, Text};
use replank_model::time::Time;

use super::taints::{self, NOT_READY, UNREACHABLE};
use super::zone::{self, Member, Verdict};
use super::{LEASE_RENEWAL, MONITOR_GRACE, NodeLifecycle, STARTUP_GRACE};
use crate::controllers::Ctx;
use replank_apiserver::EventType;
use replank_apiserver::condition as conditions;
use replank_apiserver::draw::Purpose;

pub(super) use super::health::Health;

/// Conditions that a silent kubelet leaves unknown.
const OF_KUBELET: [&str; 4] = ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"];

impl NodeLifecycle {
    /// One round. Nodes of which nothing can have changed are left out.
    pub(super) fn monitor(&mut self, ctx: &mut Ctx<'_>) {
        let now = ctx.api.now();
        self.next_round = None;
        let mut names: Vec<NodeName> = std::mem::take(&mut self.fresh).into_iter().collect();
        for name in self.silent.keys() {
            if self.deadline(ctx, name).is_some_and(|deadline| deadline <= now) && !names.contains(name) {
                names.push(name.clone());
            }
        }
        // Nodes are looked at side by side: which comes first is left to chance.
        let round = u64::try_from(now.as_millis()).unwrap_or(0);
        names.sort_by_cached_key(|name| {
            (ctx.draws.draw(name.as_str(), Purpose::Order, round).0, name.clone())
        });
        for name in &names {
            self.look(ctx, name);
        }
        match self.zones.judge(now) {
            Verdict::Nothing => {}
            Verdict::AllLost => self.stand_still(ctx),
            Verdict::SomeBack => self.health.values_mut().for_each(|health| health.probe = now),
        }
        self.plan(ctx);
    }

    /// Writes the NoExecute taints whose turn it is.
    pub(super) fn taint(&mut self, ctx: &mut Ctx<'_>) {
        self.next_pass = None;
        for name in self.zones.take(ctx.api.now()) {
            let Some(node) = ctx.view().node(&name) else { continue };
            match condition::find(&node.status.conditions, "Ready").map(|ready| ready.status) {
                Some(ConditionStatus::False) => taints::mark_no_execute(ctx, &name, NOT_READY),
                Some(ConditionStatus::Unknown) => taints::mark_no_execute(ctx, &name, UNREACHABLE),
                Some(ConditionStatus::True) | None => {}
            }
        }
        self.plan_pass(ctx);
    }

    fn look(&mut self, ctx: &mut Ctx<'_>, name: &NodeName) {
        let Some(node) = ctx.view().node(name).cloned() else { return };
        if !self.health.contains_key(name) {
            tell(ctx, &node, "RegisteredNode", "Registered Node", "in Controller");
        }
        let observed = condition::find(&node.status.conditions, "Ready").map(|ready| ready.status);
        let is_lost = self.note_sign_of_life(ctx, &node, observed);
        let current = if is_lost { self.make_unknown(ctx, &node) } else { observed };
        let is_ready = current == Some(ConditionStatus::True);
        self.zones.put(name, zone::key(&node), Member::of(&node, is_ready), ctx.api.now());
        if let Some(health) = self.health.get_mut(name) {
            health.seen = current;
        }
        match current {
            Some(ConditionStatus::False | ConditionStatus::Unknown) => self.lost.insert(name.clone()),
            Some(ConditionStatus::True) | None => self.lost.remove(name),
        };
        match current {
            None => {}
            Some(ConditionStatus::True) => {
                taints::unmark_no_execute(ctx, name);
                self.zones.unlist(name);
            }
            Some(ConditionStatus::False) => self.line_up(ctx, &node, NOT_READY, UNREACHABLE),
            Some(ConditionStatus::Unknown) => self.line_up(ctx, &node, UNREACHABLE, NOT_READY),
        }
        if observed == Some(ConditionStatus::True) && !is_ready {
            let words = format!("Node {name} status is now: NodeNotReady");
            ctx.api.tell("node-controller", &Object::from(Node::clone(&node)), "NodeNotReady", &words);
            for pod in ctx.view().sorted_pods_on(name).into_iter().cloned().collect::<Vec<_>>() {
                mark_pod_unready(ctx, &pod);
            }
        }
    }

    /// Notes that a node was heard of, if it was; whether its silence has lasted too long.
    fn note_sign_of_life(&mut self, ctx: &Ctx<'_>, node: &Node, observed: Option<ConditionStatus>) -> bool {
        let (name, now) = (node.name(), ctx.api.now());
        let renewal = self.silent.get(&name).copied();
        let created = node.meta.creation_timestamp.filter(|_| observed.is_none()).unwrap_or(now);
        let new = || Health { seen: observed, probe: created, renewal };
        let health = self.health.entry(name).or_insert_with(new);
        let Some(renewal) = renewal else {
            health.probe = now;
            health.renewal = None;
            return false;
        };
        if health.seen != observed || health.renewal != Some(renewal) {
            health.probe = now;
            health.renewal = Some(renewal);
        }
        let grace = if observed.is_none() { STARTUP_GRACE } else { MONITOR_GRACE };
        // Upstream's rounds are a little more than 5 s apart, so that the tenth comes after the grace and not with it.
        now >= health.probe + grace
    }

    fn make_unknown(&self, ctx: &mut Ctx<'_>, node: &Node) -> Option<ConditionStatus> {
        let now = ctx.api.timestamp();
        let is_unknown = condition::find(&node.status.conditions, "Ready")
            .is_some_and(|ready| ready.status == ConditionStatus::Unknown);
        if !is_unknown {
            let created = node.meta.creation_timestamp;
            let written = ctx.api.modify::<Node>(&Key::cluster(node.meta.name.clone()), |node| {
                for r#type in OF_KUBELET {
                    leave_unknown(&mut node.status.conditions, r#type, created, now);
                }
            });
            debug_assert!(written.is_ok(), "the node was just read");
        }
        Some(ConditionStatus::Unknown)
    }

    /// A node that is not ready gets its NoExecute taint when its zone lets it; one that has the other already, at once.
    fn line_up(&mut self, ctx: &mut Ctx<'_>, node: &Node, wanted: &'static str, other: &'static str) {
        let name = node.name();
        if taints::has_no_execute(node, other) {
            return taints::mark_no_execute(ctx, &name, wanted);
        }
        if !taints::has_no_execute(node, wanted) {
            self.zones.unlist(&name);
        }
        self.zones.list(&name);
    }

    /// The whole cluster is lost: all NoExecute taints are taken back.
    fn stand_still(&mut self, ctx: &mut Ctx<'_>) {
        let names: Vec<NodeName> = ctx.view().nodes.sorted().iter().map(|(_, node)| node.name()).collect();
        for name in names {
            taints::unmark_no_execute(ctx, &name);
            self.zones.unlist(&name);
            // The next round puts them down again, for when a node is back.
            self.fresh.insert(name);
        }
    }

    /// Puts on the agenda what is due next.
    fn plan(&mut self, ctx: &mut Ctx<'_>) {
        let deadlines = self.silent.keys().filter_map(|name| self.deadline(ctx, name)).min();
        if let Some(deadline) = deadlines {
            self.round_at(ctx, deadline);
        }
        if !self.fresh.is_empty() {
            self.round_at(ctx, ctx.api.now() + super::MONITOR_PERIOD);
        }
        self.plan_pass(ctx);
    }

    fn plan_pass(&mut self, ctx: &mut Ctx<'_>) {
        if let Some(turn) = self.zones.next_turn() {
            // The taint that keeps pods off a node is there before the one that ends them: recorded in every run.
            self.pass_at(ctx, turn.max(ctx.api.now() + super::NO_SCHEDULE_FIRST));
        }
    }

    /// When a silent node is given up; `None` if it has been, or if nothing is known of it yet.
    fn deadline(&self, ctx: &Ctx<'_>, name: &NodeName) -> Option<Time> {
        let health = self.health.get(name)?;
        let node = ctx.view().node(name)?;
        match condition::find(&node.status.conditions, "Ready").map(|ready| ready.status) {
            Some(ConditionStatus::Unknown) => None,
            Some(ConditionStatus::True | ConditionStatus::False) => Some(health.probe + MONITOR_GRACE),
            None => Some(health.probe + STARTUP_GRACE),
        }
    }

    /// When a kubelet that fell silent in a snapshot renewed its lease last: somewhen within the period before.
    pub(super) fn guessed_renewal(ctx: &Ctx<'_>, node: &Node) -> Time {
        let heard =
            condition::find(&node.status.conditions, "Ready").and_then(|ready| ready.last_heartbeat_time);
        heard.unwrap_or(ctx.api.now() - LEASE_RENEWAL)
    }
}

fn leave_unknown(all: &mut Vec<Condition>, r#type: &str, created: Option<Time>, now: Time) {
    match all.iter_mut().find(|condition| &*condition.r#type == r#type) {
        Some(known) if known.status == ConditionStatus::Unknown => {}
        Some(known) => {
            known.status = ConditionStatus::Unknown;
            known.reason = Text::from("NodeStatusUnknown");
            known.message = Text::from("Kubelet stopped posting node status.");
            known.last_transition_time = Some(now);
        }
        None => all.push(Condition {
            last_heartbeat_time: created,
            last_transition_time: Some(now),
            ..conditions::condition(
                r#type,
                ConditionStatus::Unknown,
                "NodeStatusNeverUpdated",
                "Kubelet never posted node status.",
            )
        }),
    }
}

/// A pod on a lost node counts as not ready (pkg/controller/util/node `MarkPodsNotReady`).
pub(super) fn mark_pod_unready(ctx: &mut Ctx<'_>, pod: &Pod) {
    if !pod.is_ready() {
        return;
    }
    let now = ctx.api.timestamp();
    let written = ctx.api.modify::<Pod>(&pod.meta.key(), |pod| {
        let ready = pod.status.conditions.iter_mut().find(|condition| &*condition.r#type == "Ready");
        if let Some(ready) = ready {
            ready.status = ConditionStatus::False;
            ready.last_transition_time = Some(now);
        }
    });
    debug_assert!(written.is_ok(), "the pod was just read");
    if ctx.api.serving().traces {
        let told = ("NodeNotReady", "Node is not ready");
        ctx.api.record_of("node-controller", &Object::from(pod.clone()), EventType::Warning, told);
    }
}

/// Tells what has become of a node (`RecordNodeEvent`).
pub(super) fn tell(ctx: &mut Ctx<'_>, node: &Node, reason: &'static str, what: &str, whence: &str) {
    if ctx.api.serving().traces {
        let name = node.name();
        let words = format!("Node {name} event: {what} {name} {whence}");
        ctx.api.tell("node-controller", &Object::from(node.clone()), reason, &words);
    }
}
