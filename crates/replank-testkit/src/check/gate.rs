//! H1: when more pods are in a bad way than the plan allows, no further node is begun, and the run is not done; and a run that has halted for
//! that had cause.
//!
//! Two gates, as docs/plan.md words them: of the whole cluster from the moment on at which the run wrote down how things were, over what
//! there was then; and of new nodes while a stage is watched. Counts are kept here, pod by pod, and looked at whenever a pod
//! changes and whenever something is decided. Core sees pods late: a gate counts as passed when it has been so without a break for
//! [`super::SEEN_WITHIN`], and what there was before is known to lie between the least and the most of as long a time.

use std::collections::{BTreeMap, VecDeque};

use replank_facts::plan::Health;
use replank_model::object::Object;
use replank_model::object::condition::{Condition, ConditionStatus};
use replank_model::object::meta::Key;
use replank_model::object::node::Node;
use replank_model::object::pod::{Pod, RestartPolicy};
use replank_model::text::{GroupName, NodeName};
use replank_model::time::{Span, Time};
use replank_model::view::Change;
use replank_protocol::command::{Effect, GroupEffect, KubernetesEffect, NodeRole};
use replank_protocol::decision::End;
use replank_sim::Sent;

use super::sights::{Met, Sights};
use super::truth::{Truth, is_healthy, is_over, manager};
use super::{Found, Promise, Promised};

/// How long a pod must have been unready to count.
const NOT_READY_AFTER: Span = Span::from_minutes(5);
/// A container restarts again and again if its last run, not the first, was longer than the one and no longer than the other, and
/// ended no longer ago.
const RAN_MIN: Span = Span::from_minutes(10);
const RAN_MAX: Span = Span::from_minutes(60);
/// A Ready node is in a bad way while one of these holds.
const BAD: [&str; 4] = ["DiskPressure", "MemoryPressure", "NetworkUnavailable", "PIDPressure"];
const BEFORE: &str = "replank.dev/health-before";
const STAGE: &str = "replank.dev/stage-";
const ROLE: &str = "replank.dev/role";
const HALTED: &str = "replank.dev/halted";

/// Pods in a bad way.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    crash_looping: u32,
    restarting: u32,
    stuck: u32,
    not_ready: u32,
    /// However short a time they have been so.
    unready: u32,
    /// New nodes with a bad condition.
    bad_nodes: u32,
}

/// What there was at a moment.
#[derive(Clone, Copy, Debug)]
struct Lately {
    counts: Counts,
    /// What a late observer saw: a pod that recovers in the last moment still counts.
    seen_late: Counts,
    /// Pods that restart again and again on nodes that the run does not replace.
    restarting_elsewhere: u32,
}

/// What is wrong with a pod.
#[derive(Clone, Debug)]
struct Ill {
    node: Option<NodeName>,
    crash_loops: bool,
    /// Until when it counts as one that restarts again and again.
    restarts_until: Option<Time>,
    /// When it was due to be gone.
    due: Option<Time>,
    unready_since: Option<Time>,
}

/// A gate, and since when it has been passed without a break.
#[derive(Clone, Debug, Default)]
struct Passed {
    since: Option<Time>,
    /// By what, once nobody can have missed it.
    surely: Option<(Time, String)>,
}

/// See the module's page.
#[derive(Debug, Default)]
pub(super) struct Gate {
    ill: BTreeMap<Key, Ill>,
    /// Counts of the last moments, each with the moment at which it was taken.
    lately: VecDeque<(Time, Lately)>,
    /// The least and the most that there was when each group was begun.
    before: BTreeMap<GroupName, (Counts, Counts)>,
    /// Until when the stages of groups are watched.
    watched: BTreeMap<(GroupName, String), Time>,
    all: Passed,
    new: Passed,
}

impl Gate {
    pub(super) fn begin(truth: &Truth) -> Self {
        let ill = truth.pods.iter().filter_map(|(key, pod)| Some((key.clone(), illness(pod)?)));
        Self { ill: ill.collect(), ..Self::default() }
    }

    /// A pod has changed; `truth` knows it already.
    pub(super) fn changed(
        &mut self,
        at: Time,
        (promised, truth): (&Promised, &Truth),
        change: &Change,
        sights: &mut Sights,
    ) {
        let Change::Object { old, new, .. } = change else { return };
        if let Some(Object::Node(_)) = new.as_ref().or(old.as_ref()) {
            self.look(at, promised, truth, sights);
            return;
        }
        let (Some(Object::Pod(pod)), new) = (new.as_ref().or(old.as_ref()), new.is_some()) else { return };
        self.look(at, promised, truth, sights);
        match illness(pod).filter(|_| new) {
            Some(ill) => self.ill.insert(pod.meta.key(), ill),
            None => self.ill.remove(&pod.meta.key()),
        };
        self.look(at, promised, truth, sights);
    }

    /// Counts, and notes since when there have been too many.
    pub(super) fn look(&mut self, at: Time, promised: &Promised, truth: &Truth, sights: &mut Sights) {
        let counts = count(self.ill.values(), at, promised.stuck_after);
        let met = [
            (counts.stuck, Met::StuckPod),
            (counts.crash_looping, Met::CrashLoop),
            (counts.restarting, Met::Restarts),
        ];
        sights.met.extend(met.into_iter().filter(|(count, _)| *count > 0).map(|(_, met)| met));
        if promised.health.is_none() && promised.stage_health.is_none() {
            return;
        }
        let bad_nodes = bad_nodes(promised, truth);
        if bad_nodes > 0 {
            sights.met.insert(Met::BadNode);
        }
        let counts = Counts { bad_nodes, ..counts };
        let seen_late = count(self.ill.values(), at + truth.seen_within, promised.stuck_after);
        let elsewhere = self.ill.values().filter(|ill| is_elsewhere(promised, ill));
        let restarting_elsewhere = count(elsewhere, at, promised.stuck_after).restarting;
        self.lately.push_back((at, Lately { counts, seen_late, restarting_elsewhere }));
        while self.lately.len() > 1 && self.lately[1].0 + truth.seen_within < at {
            self.lately.pop_front();
        }
        let before = self.before.values().map(|(_, most)| *most).reduce(least);
        let on_new = self.ill.values().filter(|ill| is_on_new(promised, truth, ill));
        let on_new = Counts { bad_nodes, ..count(on_new, at, promised.stuck_after) };
        // Those on other nodes do not count.
        let in_all = Counts { restarting: on_new.restarting, ..counts };
        let all = promised.health.zip(before).and_then(|(health, before)| excess(in_all, &health, before));
        self.all.note(at, truth.seen_within, all);
        let is_watched = self.watched.values().any(|until| *until > at);
        let new = promised
            .stage_health
            .filter(|_| is_watched)
            .and_then(|health| excess(on_new, &health, Counts::default()));
        self.new.note(at, truth.seen_within, new);
        if self.all.surely.is_some() || self.new.surely.is_some() {
            sights.met.insert(Met::Gate);
        }
    }

    /// A command took effect.
    pub(super) fn executed(
        &mut self,
        promised: &Promised,
        truth: &Truth,
        sent: &Sent,
        found: &mut Found<'_>,
    ) {
        match &sent.command.effect {
            Effect::Group(GroupEffect::Tag { group, key, .. }) if **key == *BEFORE => {
                let lately = || self.lately.iter().map(|(_, lately)| lately.counts);
                let range = lately().reduce(least).zip(lately().reduce(most));
                self.before.extend(range.map(|range| (group.node_group.clone(), range)));
            }
            Effect::Group(GroupEffect::Tag { group, key, value, .. }) if key.starts_with(STAGE) => {
                let until = value.rsplit_once("until=").and_then(|(_, until)| until.parse().ok());
                self.watched.extend(until.map(|until| ((group.node_group.clone(), key.to_string()), until)));
            }
            Effect::Group(GroupEffect::Untag { group, key }) if **key == *BEFORE => {
                self.before.remove(&group.node_group);
            }
            Effect::Group(GroupEffect::Tag { key, value, .. }) if **key == *HALTED => {
                self.halted(promised, value, found);
            }
            Effect::Kubernetes(KubernetesEffect::Cordon { node, mark, .. })
                if matches!(mark.role, NodeRole::Draining { .. }) =>
            {
                // A mark of a drain that was begun before is written anew when it is handed over.
                let role = truth.nodes.get(&node.name).and_then(|node| node.meta.annotations.value(ROLE));
                if role == Some(mark.role.as_str()) {
                    return;
                }
                // Was it decided when that could be known?
                let late = |(by, _): &&(Time, String)| sent.at > *by;
                let passed = self.all.surely.as_ref().or(self.new.surely.as_ref()).filter(late);
                if let Some((by, what)) = passed {
                    let name = &node.name;
                    found.broken(
                        Promise::H1,
                        format!("the drain of node {name} begins, although since {by} there are {what}"),
                    );
                }
            }
            Effect::Kubernetes(_) | Effect::Group(_) | Effect::Queue(_) => {}
        }
    }

    /// The run says that things have become worse than the plan allows: at some moment they had.
    fn halted(&self, promised: &Promised, value: &str, found: &mut Found<'_>) {
        if value.contains("why=unhealthy of=new restarting=") {
            let health = promised.health.or(promised.stage_health).unwrap_or_default();
            let mut lately = self.lately.iter();
            if !lately.any(|(_, lately)| lately.restarting_elsewhere > health.restarting_max) {
                found.broken(Promise::H1, format!("the run halts without a cause: {value}"));
            }
        }
        if value.contains("why=unhealthy of=new nodeCondition=") {
            let health = promised.health.or(promised.stage_health).unwrap_or_default();
            if !self.lately.iter().any(|(_, lately)| lately.counts.bad_nodes > health.bad_nodes_max) {
                found.broken(Promise::H1, format!("the run halts without a cause: {value}"));
            }
        }
        let (Some(health), true) = (promised.health, value.contains("why=unhealthy of=all")) else { return };
        let before = self.before.values().map(|(least, _)| *least).reduce(least);
        let was_so = before.is_some_and(|before| {
            self.lately.iter().any(|(_, lately)| {
                // Restarts are never said of the whole cluster.
                let seen_late = Counts { restarting: 0, ..lately.seen_late };
                excess(seen_late, &health, before).is_some()
            })
        });
        if !was_so {
            found.broken(Promise::H1, format!("the run halts without a cause: {value}"));
        }
    }

    /// The run is over.
    pub(super) fn finish(&self, end: &End, found: &mut Found<'_>) {
        let passed = self.all.surely.as_ref().or(self.new.surely.as_ref());
        if let (End::Done, Some((by, what))) = (end, passed) {
            found.broken(Promise::H1, format!("the run ends as done, although at {by} there were {what}"));
        }
    }

    /// Nothing of the run's gates holds any more: it is on its way back.
    pub(super) fn turn_back(&mut self) {
        self.before.clear();
        self.watched.clear();
        self.all.surely = None;
        self.new.surely = None;
    }
}

impl Passed {
    fn note(&mut self, at: Time, seen_within: Span, excess: Option<String>) {
        let Some(what) = excess else {
            self.since = None;
            return;
        };
        let since = *self.since.get_or_insert(at);
        if at > since + seen_within && self.surely.is_none() {
            self.surely = Some((since + seen_within, what));
        }
    }
}

fn illness(pod: &Pod) -> Option<Ill> {
    if is_over(pod) {
        return None;
    }
    let containers = pod.status.container_statuses.iter().chain(&pod.status.init_container_statuses);
    let mut reasons = containers.filter_map(|one| Some(&*one.state.waiting.as_ref()?.reason));
    let due = pod.meta.deletion_timestamp;
    let is_kept_up =
        !matches!(pod.spec.restart_policy, Some(RestartPolicy::Never | RestartPolicy::OnFailure));
    let is_unready = due.is_none() && is_kept_up && !is_healthy(pod);
    let of_ready = |one: &&Condition| &*one.r#type == "Ready";
    let since = pod.status.conditions.iter().find(of_ready).and_then(|ready| ready.last_transition_time);
    let ill = Ill {
        node: pod.node.clone(),
        crash_loops: due.is_none() && reasons.any(|reason| reason == "CrashLoopBackOff"),
        restarts_until: restarts_until(pod).filter(|_| due.is_none()),
        due,
        unready_since: since.or(pod.meta.creation_timestamp).filter(|_| is_unready),
    };
    (ill.crash_loops || ill.restarts_until.is_some() || due.is_some() || is_unready).then_some(ill)
}

/// Until when a pod is one that restarts again and again, if it does not once more. DaemonSets' pods never are.
fn restarts_until(pod: &Pod) -> Option<Time> {
    if matches!(manager(pod), Some(("DaemonSet", ..))) {
        return None;
    }
    let mut until = None;
    for one in pod.status.container_statuses.iter().chain(&pod.status.init_container_statuses) {
        let Some(last) = &one.last_state.terminated else { continue };
        let (Some(began), Some(ended)) = (last.started_at, last.finished_at) else { continue };
        if one.restart_count > 1 && began + RAN_MIN < ended && ended <= began + RAN_MAX {
            until = until.max(Some(ended + RAN_MAX));
        }
    }
    until
}

fn count<'i>(ill: impl Iterator<Item = &'i Ill>, at: Time, stuck_after: Span) -> Counts {
    let mut counts = Counts::default();
    for one in ill {
        counts.crash_looping += u32::from(one.crash_loops);
        counts.restarting += u32::from(one.restarts_until.is_some_and(|until| until > at));
        counts.stuck += u32::from(one.due.is_some_and(|due| due + stuck_after <= at));
        counts.not_ready += u32::from(one.unready_since.is_some_and(|since| since + NOT_READY_AFTER <= at));
        counts.unready += u32::from(one.unready_since.is_some());
    }
    counts
}

/// Whether a pod is on a node that came up during the run and takes pods.
fn is_on_new(promised: &Promised, truth: &Truth, ill: &Ill) -> bool {
    let node = ill.node.as_ref().filter(|name| !promised.old.contains(*name));
    let node = node.and_then(|name| truth.nodes.get(name)).filter(|node| !node.spec.unschedulable);
    let instance = node.and_then(|node| truth.instance_of(node));
    instance.is_some_and(|one| promised.is_launched(one))
}

/// Nodes that came up during the run and take pods, and of which a condition says that they are in a bad way.
fn bad_nodes(promised: &Promised, truth: &Truth) -> u32 {
    let is_bad = |node: &Node| {
        let mut all = node.status.conditions.iter();
        all.any(|one| BAD.contains(&&*one.r#type) && one.status == ConditionStatus::True)
    };
    let bad = truth.nodes.values().filter(|node| node.is_ready() && is_bad(node) && !node.spec.unschedulable);
    let new = bad.filter(|node| {
        let is_launched = truth.instance_of(node).is_some_and(|one| promised.is_launched(one));
        is_launched && !promised.old.contains(&node.name())
    });
    u32::try_from(new.count()).expect("few nodes")
}

/// Whether a pod is on a node that the run does not replace.
fn is_elsewhere(promised: &Promised, ill: &Ill) -> bool {
    ill.node.as_ref().is_some_and(|name| !promised.old.contains(name))
}

/// The first count above its limit; pods that were not Ready before do not count.
fn excess(counts: Counts, health: &Health, before: Counts) -> Option<String> {
    let rows = [
        ("pods in crash loops", counts.crash_looping, health.crash_looping_max + before.crash_looping),
        ("pods restarting on new nodes", counts.restarting, health.restarting_max + before.restarting),
        ("pods stuck in Terminating", counts.stuck, health.stuck_terminating_max + before.stuck),
        ("pods not Ready", counts.not_ready, health.not_ready_max + before.unready),
        ("new nodes with a bad condition", counts.bad_nodes, health.bad_nodes_max),
    ];
    let more = rows.into_iter().find(|(_, found, max)| found > max);
    more.map(|(what, found, max)| format!("{found} {what}; {max} are allowed"))
}

fn least(a: Counts, b: Counts) -> Counts {
    pairwise(a, b, u32::min)
}

fn most(a: Counts, b: Counts) -> Counts {
    pairwise(a, b, u32::max)
}

fn pairwise(a: Counts, b: Counts, of: fn(u32, u32) -> u32) -> Counts {
    Counts {
        crash_looping: of(a.crash_looping, b.crash_looping),
        restarting: of(a.restarting, b.restarting),
        stuck: of(a.stuck, b.stuck),
        not_ready: of(a.not_ready, b.not_ready),
        unready: of(a.unready, b.unready),
        bad_nodes: of(a.bad_nodes, b.bad_nodes),
    }
}
