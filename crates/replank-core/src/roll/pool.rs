//! Node pools of Karpenter that the plan names: their nodes are replaced by deleting NodeClaims, and Karpenter does the rest.
//!
//! Karpenter launches other nodes for the pods of a node on its way out, drains it by the eviction API, and terminates the machine. Nothing takes a deletion back, and
//! what Karpenter evicts it evicts by its own rules. So everything that the plan asks for is looked at before a claim is deleted:
//!
//! - one claim at a time (`pace.parallel`, as far as `budget` allows more), and the next when the one before and its machine are gone, every node of the pool is Ready,
//!   and no pod that was made since the run began lacks room;
//! - batch pods are waited for beforehand, counted from the beginning of the run, for Karpenter would evict them at once. Pods and nodes annotated
//!   `karpenter.sh/do-not-disrupt` are left alone: the first count as batch pods, the second stay;
//! - a node whose pods may never be evicted, or are not to be, is passed over and named; so is one that its zone cannot spare (`minReadyPerZone`);
//! - a canary or wave is over when so many nodes have come up since the run began, and the pause counts from the moment at which the last of them became Ready.
//!
//! What Karpenter disrupts of itself, and what others delete, counts as what the run has deleted. Nothing is written on nodes of a pool.

use std::collections::BTreeSet;
use std::sync::Arc;

use replank_facts::batch::wait;
use replank_facts::budget::Ledger;
use replank_facts::drain::Otherwise;
use replank_facts::groups::zone_of;
use replank_facts::node_pods::NodePods;
use replank_facts::plan::{OnDeadline, Order};
use replank_facts::target;
use replank_model::object::condition;
use replank_model::object::karpenter::{DISRUPTED_TAINT, DO_NOT_DISRUPT, LABEL_NODE_POOL, NodeClaim};
use replank_model::object::meta::{Key, Meta};
use replank_model::object::node::Node;
use replank_model::object::pod::Pod;
use replank_model::text::{GroupName, NodeName, Text, Zone};
use replank_model::time::{Span, Time};
use replank_model::view::View;
use replank_protocol::command::{ClaimTarget, Effect, KubernetesEffect};
use replank_protocol::provisioner::Provisioner;
use replank_protocol::record::RunRecord;
use replank_protocol::waiting::{PodEnd, PodWait, RollEnd, RollWait, Subject};

use super::arrivals::is_on_time;
use super::context::{Context, GroupRoll};
use super::member::{Scope, last_step};
use super::nodegroup::Followed;

/// A pool as it is.
struct Pool<'a> {
    /// What is still to be replaced, in the order of the plan.
    old: Vec<Candidate<'a>>,
    /// Old nodes that are left as they are, and why.
    kept: Vec<(Subject, RollEnd)>,
    /// Claims on their way out, and those whose nodes Karpenter is about to disrupt.
    leaving: Vec<&'a Arc<NodeClaim>>,
    /// New claims without a Ready node.
    arriving: Vec<(&'a Arc<NodeClaim>, Option<&'a Arc<Node>>)>,
    /// Since when new nodes have been Ready.
    ready: Vec<Time>,
    /// Ready nodes by zone that stay for now.
    zones: Vec<Zone>,
}

/// A node that is to be replaced.
struct Candidate<'a> {
    claim: &'a Arc<NodeClaim>,
    node: &'a Arc<Node>,
    pods: NodePods,
}

/// Whether a name of the plan is that of a pool: claims are known of it, or were when the run began, for it may need no node in the end.
pub(super) fn is_pool(
    view: &View,
    roll: &GroupRoll<'_>,
    (known, record): (&BTreeSet<GroupName>, Option<&RunRecord>),
) -> bool {
    let is_of_record = || record.is_some_and(|record| !record.groups.contains_key(roll.name));
    let was_pool = || known.contains(roll.name) || is_of_record() || has_no_nodes(view, roll.name);
    let is_named = !roll.name.is_empty() && !roll.is_moved_into();
    roll.group.is_none() && is_named && (claims(view, roll.name).next().is_some() || was_pool())
}

/// Whether there is a NodePool of a name, and no node of it.
fn has_no_nodes(view: &View, name: &GroupName) -> bool {
    let key = Key::cluster(name.text().clone());
    let is_of_pool = |node: &Node| node.meta.labels.value(LABEL_NODE_POOL) == Some(name.as_str());
    view.other("karpenter.sh", "NodePool", &key).is_some()
        && !view.nodes.unordered().any(|(_, node)| is_of_pool(node))
}

/// Whether a pool has nothing left to be replaced, and nothing on its way.
pub(super) fn is_over(view: &View, scope: &Scope, name: &GroupName) -> bool {
    let pool = Pool::of(view, scope, name);
    pool.old.is_empty() && pool.leaving.is_empty() && pool.arriving.is_empty()
}

/// Looks after the pools of a run; `may_begin` unless the run rests.
pub(super) fn follow(
    ctx: &mut Context<'_>,
    rolls: &[GroupRoll<'_>],
    may_begin: bool,
    ledger: &mut Ledger<'_>,
) -> Followed {
    let mut followed = Followed::Done;
    for roll in rolls {
        if follow_one(ctx, roll, may_begin, ledger) == Followed::Open {
            followed = Followed::Open;
        }
    }
    followed
}

/// Says what goes on though the run ends: nothing takes a deletion back.
pub(super) fn leave(ctx: &mut Context<'_>, rolls: &[GroupRoll<'_>]) {
    for roll in rolls {
        say_leaving(ctx, &Pool::of(ctx.view, ctx.scope, roll.name));
    }
}

/// When a pool last moved: a claim, a node, a pod that left a node on its way out or was made in its place.
pub(super) fn last(ctx: &Context<'_>, rolls: &[GroupRoll<'_>]) -> Option<Time> {
    let view = ctx.view;
    let pools = rolls.iter().map(|roll| Pool::of(view, ctx.scope, roll.name));
    let steps = pools.flat_map(|pool| {
        let claims = pool.leaving.iter().copied().chain(pool.arriving.iter().map(|(claim, _)| *claim));
        let of_claims =
            claims.flat_map(|claim| [claim.meta.creation_timestamp, claim.meta.deletion_timestamp]);
        let nodes = pool.arriving.iter().filter_map(|(_, node)| last_step((*node)?));
        let left = pool.leaving.iter().filter_map(|claim| claim.status.node_name.as_ref());
        let pods = left.flat_map(|node| view.pods_on(node)).map(|ix| &view.pods[*ix]);
        let kin = pods.flat_map(|pod| {
            let owner = pod.meta.controller().map(|owner| &owner.uid);
            let siblings = owner.map_or(&[][..], |owner| view.pods_of(owner)).iter();
            siblings
                .filter_map(|ix| view.pods[*ix].meta.creation_timestamp)
                .chain(pod.meta.deletion_timestamp)
        });
        let batch = pool.old.iter().flat_map(|old| deadlines(ctx, old)).filter(|at| *at <= ctx.now);
        let steps = of_claims.flatten().chain(nodes).chain(pool.ready.iter().copied());
        steps.chain(kin).chain(batch).collect::<Vec<_>>()
    });
    steps.max()
}

/// The nodes of pools that a plan would replace as things are.
pub(super) fn old_nodes(view: &View, scope: &Scope, name: &GroupName) -> Vec<NodeName> {
    Pool::of(view, scope, name).old.iter().map(|old| old.node.name()).collect()
}

fn claims<'a>(view: &'a View, name: &GroupName) -> impl Iterator<Item = &'a Arc<NodeClaim>> {
    let all = view.node_claims.sorted().into_iter().map(|(_, claim)| claim);
    all.filter(move |claim| claim.pool().is_some_and(|pool| pool == name.text()))
}

impl<'a> Pool<'a> {
    fn of(view: &'a View, scope: &Scope, name: &GroupName) -> Self {
        let mut pool = Self {
            old: Vec::new(),
            kept: Vec::new(),
            leaving: Vec::new(),
            arriving: Vec::new(),
            ready: Vec::new(),
            zones: Vec::new(),
        };
        for claim in claims(view, name) {
            let known = claim.status.node_name.as_ref().and_then(|name| view.node(name));
            pool.add(view, scope, claim, known);
        }
        let order = scope.plan.order;
        pool.old.sort_by_key(|old| {
            let (budgeted, movers) = match order {
                Order::LeastDisruption => (old.pods.budgeted, old.pods.movers.len()),
                Order::Oldest | Order::ZoneByZone => (0, 0),
            };
            let zone = (order == Order::ZoneByZone).then(|| zone_of(old.node));
            let is_held = !old.pods.is_free();
            (is_held, zone, budgeted, movers, old.node.meta.creation_timestamp, old.node.meta.name.clone())
        });
        pool
    }

    fn add(&mut self, view: &'a View, scope: &Scope, claim: &'a Arc<NodeClaim>, node: Option<&'a Arc<Node>>) {
        let started = scope.options.started;
        let is_disrupted = |node: &Arc<Node>| {
            node.meta.is_terminating() || node.spec.taints.iter().any(|t| &*t.key == DISRUPTED_TAINT)
        };
        if claim.meta.is_terminating() || node.is_some_and(is_disrupted) {
            self.leaving.push(claim);
            return;
        }
        let is_new = |meta: &Meta| meta.creation_timestamp.is_some_and(|created| created > started);
        let Some(node) = node.filter(|node| node.is_ready() || !is_new(&claim.meta)) else {
            // One that has never come up was not the run's to replace.
            if is_new(&claim.meta) {
                self.arriving.push((claim, node));
            }
            return;
        };
        if node.is_ready() {
            self.zones.push(zone_of(node));
        }
        if is_new(&claim.meta) {
            self.ready.extend(last_step(node));
            return;
        }
        let plan = &scope.plan;
        let is_chosen = plan.nodes.has(node, claim.pool().map(|pool| GroupName::new(pool.clone())).as_ref());
        if !is_chosen || target::meets_node(&plan.target, started, node, None, None) {
            return;
        }
        let subject = Subject::Node(node.name());
        let by = Provisioner::of(node);
        if !by.has_claims() {
            self.kept.push((subject, RollEnd::ManagedBy { provisioner: by }));
        } else if is_not_to_be_disrupted(&node.meta) || is_not_to_be_disrupted(&claim.meta) {
            self.kept.push((subject, RollEnd::DoNotDisrupt));
        } else {
            self.old.push(Candidate { claim, node, pods: NodePods::of(view, plan, &node.name()) });
        }
    }
}

fn is_not_to_be_disrupted(meta: &Meta) -> bool {
    meta.annotations.value(DO_NOT_DISRUPT) == Some("true")
}

fn subject(claim: &NodeClaim) -> Subject {
    Subject::Object(Text::from(format!("NodeClaim {}", claim.meta.name)))
}

fn say_leaving(ctx: &mut Context<'_>, pool: &Pool<'_>) {
    for claim in &pool.leaving {
        let by = claim.drained_by();
        if let Some(by) = by.filter(|by| *by > ctx.now) {
            ctx.wake_at(by);
        }
        let pods = claim.status.node_name.as_ref().map_or(0, |node| {
            let pods = NodePods::of(ctx.view, &ctx.scope.plan, node);
            pods.movers.len() + pods.batch.len() + pods.refused.len() + pods.leaving.len()
        });
        let since = claim.meta.deletion_timestamp.unwrap_or(ctx.now);
        let pods = u32::try_from(pods).unwrap_or(u32::MAX);
        ctx.wait(subject(claim), RollWait::ClaimLeaving { since, pods, by }.into());
    }
}

fn follow_one(
    ctx: &mut Context<'_>,
    roll: &GroupRoll<'_>,
    may_begin: bool,
    ledger: &mut Ledger<'_>,
) -> Followed {
    let mut pool = Pool::of(ctx.view, ctx.scope, roll.name);
    for (subject, on) in std::mem::take(&mut pool.kept) {
        ctx.wait(subject, on.into());
    }
    skip(ctx, &mut pool);
    say_leaving(ctx, &pool);
    let mut arriving = 0;
    for (claim, node) in &pool.arriving {
        let since = node.and_then(|node| last_step(node)).max(claim.meta.creation_timestamp);
        arriving += u32::from(is_on_time(ctx, subject(claim), since, None));
    }
    if pool.old.is_empty() {
        let is_over = pool.leaving.is_empty() && arriving == 0;
        return if is_over { Followed::Done } else { Followed::Open };
    }
    if may_begin && arriving == 0 && may_go_on(ctx, roll, &pool) {
        begin(ctx, roll, &pool, ledger);
    }
    Followed::Open
}

/// Takes out the nodes that the plan skips because of a batch pod on them, which is said.
fn skip(ctx: &mut Context<'_>, pool: &mut Pool<'_>) {
    if ctx.scope.plan.batch.on_deadline != OnDeadline::Skip {
        return;
    }
    let is_late = |old: &Candidate<'_>| deadlines(ctx, old).any(|at| at <= ctx.now);
    let (skipped, old): (Vec<_>, Vec<_>) = std::mem::take(&mut pool.old).into_iter().partition(is_late);
    pool.old = old;
    for old in &skipped {
        ctx.wait(Subject::Node(old.node.name()), RollEnd::Skipped.into());
    }
}

/// Until when the batch pods of a node are waited for: counted from the beginning of the run, or their own.
fn deadlines(ctx: &Context<'_>, old: &Candidate<'_>) -> impl Iterator<Item = Time> {
    let (started, wait) = (ctx.scope.options.started, ctx.scope.plan.batch.wait);
    let ends = old.pods.batch.iter().map(move |batch| {
        let pod = &batch.bound.pod;
        started.max(pod.status.start_time.unwrap_or(started)) + wait::wait_of(pod, wait)
    });
    ends.collect::<Vec<_>>().into_iter()
}

/// Whether another node may be begun, as far as the pool as a whole is concerned; says why not.
fn may_go_on(ctx: &mut Context<'_>, roll: &GroupRoll<'_>, pool: &Pool<'_>) -> bool {
    let plan = &ctx.scope.plan;
    let nodes = u32::try_from(pool.old.len()).unwrap_or(u32::MAX);
    let active = u32::try_from(pool.leaving.len()).unwrap_or(u32::MAX);
    let new = u32::try_from(pool.ready.len()).unwrap_or(u32::MAX);
    let total = nodes + active + new;
    let zones: BTreeSet<&Zone> = pool.zones.iter().collect();
    let allowance = plan.budget.allowance(total, zones.len());
    let limit = plan.pace.parallel.min((allowance.surge + allowance.max_unavailable).max(1));
    if active >= limit {
        ctx.wait(roll.subject(), RollWait::Turn { nodes, active, limit }.into());
        return false;
    }
    if let Some((pod, message)) = without_room(ctx) {
        ctx.wait(Subject::Pod(pod.meta.key()), PodWait::Room { pod: pod.meta.key(), message }.into());
        return false;
    }
    let mut ready = pool.ready.clone();
    ready.sort();
    let pause = plan.pace.between_nodes;
    if let Some(until) =
        ready.last().map(|last| *last + pause).filter(|until| pause > Span::ZERO && *until > ctx.now)
    {
        ctx.wait_until(roll.subject(), RollWait::Pace { until }.into(), until);
        return false;
    }
    let is_canary = plan.canary.is_some();
    for (number, stage) in (1..).zip(plan.stages(total)) {
        let through = (stage.nodes as usize).checked_sub(1).and_then(|at| ready.get(at));
        let Some(through) = through else {
            // The stage's own nodes, and no more.
            if new + active < stage.nodes {
                return true;
            }
            let on = match is_canary {
                true => RollWait::Canary { replaced: new, nodes: stage.nodes },
                false => RollWait::Wave { wave: number, replaced: new, nodes: stage.nodes },
            };
            ctx.wait(roll.subject(), on.into());
            return false;
        };
        let until = *through + stage.pause;
        if until > ctx.now {
            let on =
                if is_canary { RollWait::Soak { until } } else { RollWait::Bake { wave: number, until } };
            ctx.wait_until(roll.subject(), on.into(), until);
            return false;
        }
    }
    true
}

/// A pod that was made since the run began, and that the scheduler finds no room for.
fn without_room<'a>(ctx: &Context<'a>) -> Option<(&'a Arc<Pod>, Text)> {
    let started = ctx.scope.options.started;
    let pods = ctx.view.pods.unordered().map(|(_, pod)| pod);
    let new = pods
        .filter(|pod| pod.node.is_none() && pod.is_active() && pod.meta.creation_timestamp > Some(started));
    let refused = new.filter_map(|pod| {
        let scheduled = condition::find(&pod.status.conditions, "PodScheduled")?;
        (&*scheduled.reason == "Unschedulable").then(|| (pod, scheduled.message.clone()))
    });
    refused.min_by_key(|(pod, _)| pod.meta.key())
}

/// Deletes the claim of the first node with which nothing is in the way.
fn begin(ctx: &mut Context<'_>, roll: &GroupRoll<'_>, pool: &Pool<'_>, ledger: &mut Ledger<'_>) {
    for old in &pool.old {
        if is_held(ctx, pool, old, ledger) {
            continue;
        }
        let claim = ClaimTarget { name: old.claim.meta.name.clone(), uid: old.claim.meta.uid.clone() };
        let version = old.claim.meta.resource_version;
        let key = ctx.key("delete-claim", &old.claim.meta.uid);
        let effect = Effect::Kubernetes(KubernetesEffect::DeleteNodeClaim { claim, version });
        ctx.send(Subject::Node(old.node.name()), "deletion of its NodeClaim", key, effect);
        let nodes = u32::try_from(pool.old.len() - 1).unwrap_or(u32::MAX);
        if nodes > 0 {
            ctx.wait(roll.subject(), RollWait::Turn { nodes, active: 1, limit: 1 }.into());
        }
        return;
    }
}

/// Whether a node cannot be begun, which is said.
fn is_held(ctx: &mut Context<'_>, pool: &Pool<'_>, old: &Candidate<'_>, ledger: &mut Ledger<'_>) -> bool {
    for (pod, reason) in &old.pods.refused {
        ctx.wait(Subject::Pod(pod.clone()), PodEnd::Refused { reason: *reason }.into());
    }
    for pod in &old.pods.unrecorded {
        ctx.wait(Subject::Pod(pod.clone()), PodWait::Unrecorded.into());
    }
    let deadlines: Vec<Time> = deadlines(ctx, old).collect();
    let mut is_held = !old.pods.refused.is_empty() || !old.pods.unrecorded.is_empty();
    for (batch, deadline) in old.pods.batch.iter().zip(deadlines) {
        let pod = &batch.bound.pod;
        let (subject, since) = (Subject::Pod(pod.meta.key()), pod.status.start_time);
        // Karpenter evicts no pod that is annotated so: its drain would wait in the run's place.
        let is_evicted = ctx.scope.plan.batch.on_deadline == OnDeadline::Evict
            && batch.otherwise == Otherwise::Moves
            && pod.meta.annotations.value(DO_NOT_DISRUPT) != Some("true");
        if ctx.now < deadline {
            ctx.wait_until(subject, PodWait::Batch { since, deadline }.into(), deadline);
        } else if is_evicted {
            continue;
        } else {
            ctx.wait(subject, PodEnd::BatchOver { since, deadline }.into());
        }
        is_held = true;
    }
    for bound in &old.pods.movers {
        if let Some(on) = ledger.hopeless(bound.ix, &bound.pod) {
            ctx.wait(Subject::Pod(bound.key.clone()), on);
            is_held = true;
        }
    }
    let zone = zone_of(old.node);
    let ready = u32::try_from(pool.zones.iter().filter(|one| **one == zone).count()).unwrap_or(u32::MAX);
    let needed = ctx.scope.plan.budget.min_ready_per_zone;
    if needed > 0 && old.node.is_ready() && ready <= needed {
        ctx.wait(Subject::Node(old.node.name()), RollWait::ZoneMinimum { zone, ready, needed }.into());
        is_held = true;
    }
    is_held
}
