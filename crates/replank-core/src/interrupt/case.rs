//! What takes one instance away, of everything that is known.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use replank_model::object::cloud::{GroupKind, Instance, Lifecycle, LifecycleHook, Message, Transition};
use replank_model::object::node::Node;
use replank_model::text::{GroupName, InstanceId, MessageId, NodeName, Text};
use replank_model::time::{Span, Time};
use replank_model::view::View;

use super::context::{Context, target};
use super::inbox::happened;
use super::notice::{HealthStatus, News, Notice, Taken};
use super::{Cache, KEEP, Options, hooks_at};
use replank_facts::batch::wait::wait_of;
use replank_facts::node_pods::NodePods;
use replank_protocol::cause::Cause;
use replank_protocol::command::{Effect, GroupEffect, KubernetesEffect, Mark, NodeRole};
use replank_protocol::lifecycle::Action;
use replank_protocol::lifecycle::Place;
use replank_protocol::mark;
use replank_protocol::owner::Owner;
use replank_protocol::waiting::{RunEnd, Subject, WaitingOn};

/// From the warning to the end of a spot instance.
const SPOT_NOTICE: Span = Span::from_secs(120);
/// An instance that was said to be down and is shown running for so long is up again.
const DOWN_FOR: Span = Span::from_secs(120);
/// The timeout of a hook that is not known: the default of Auto Scaling.
const HOOK_TIMEOUT: Span = Span::from_minutes(60);
/// How long another instance is waited for: no launch takes as long.
const LAUNCH_MAX: Span = Span::from_minutes(15);
/// Longest life of a mark: the ceiling of any hook, and a day. A change may be scheduled for later: then the mark is renewed.
const MARK_LIFE: Span = Span::from_minutes(3 * 24 * 60);
/// How long before its expiry a mark is renewed.
const RENEW_BEFORE: Span = Span::from_minutes(24 * 60);
/// Kept between the last that is done for a pod and the end of its instance.
pub(super) const MARGIN: Span = Span::from_secs(5);

/// See the module's page.
#[derive(Debug)]
pub(super) struct Case {
    pub(super) instance: InstanceId,
    pub(super) known: Option<Arc<Instance>>,
    pub(super) node: Option<Arc<Node>>,
    pub(super) node_pods: NodePods,
    causes: BTreeMap<Cause, Told>,
    /// Lifecycle actions of ours that wait, by hook.
    pub(super) actions: BTreeMap<Text, Action>,
    pub(super) messages: BTreeSet<MessageId>,
    /// Until when an instance that is not known is looked for.
    pub(super) kept_until: Time,
    /// When it is gone for certain, whatever is done.
    certain: Option<Time>,
    /// When it is to be let go at the latest.
    pub(super) until: Option<Time>,
}

/// How many Ready nodes each group has that it counts: asked once in a decision, for all cases.
pub(super) struct ReadyNodes(BTreeMap<GroupName, u32>);

impl ReadyNodes {
    pub(super) fn of_all(view: &View) -> Self {
        let mut by_group = BTreeMap::new();
        for instance in view.instances().values().filter(|instance| instance.is_counted()) {
            let node = instance.node.as_ref().and_then(|name| view.node(name));
            if node.is_some_and(|node| node.is_ready()) {
                *by_group.entry(instance.group.clone()).or_default() += 1;
            }
        }
        Self(by_group)
    }

    fn of(&self, group: &GroupName) -> u32 {
        self.0.get(group).copied().unwrap_or(0)
    }
}

#[derive(Clone, Copy, Debug)]
struct Told {
    since: Time,
    until: Option<Time>,
}

/// What was to come long ago, and has not: an old message about an instance that runs on says nothing against one about what is still to come.
#[derive(Clone, Copy)]
struct Over {
    now: Time,
    patience: Span,
}

impl Over {
    fn is(self, told: Told) -> bool {
        told.until.is_some_and(|until| until + self.patience <= self.now)
    }
}

#[derive(Debug, Default)]
struct Draft {
    causes: BTreeMap<Cause, Told>,
    actions: BTreeMap<Text, Action>,
    messages: BTreeSet<MessageId>,
    sent: Option<Time>,
}

/// All cases that are open, in order of the time that is left.
pub(super) fn cases(cache: &mut Cache, options: &Options, view: &View, now: Time) -> Vec<Case> {
    let mut drafts: BTreeMap<InstanceId, Draft> = BTreeMap::new();
    let closed = closed(cache);
    let over = Over { now, patience: options.patience };
    said(&mut drafts, cache, options, (&closed, over));
    let called_off: BTreeSet<InstanceId> = closed.keys().map(|(instance, _)| instance.clone()).collect();
    held(&mut drafts, cache, options, view, now);
    marked(&mut drafts, cache, view, (&called_off, over));
    let all = drafts.into_iter().filter_map(|(instance, draft)| {
        let node = cache.node_of(&instance).and_then(|name| view.node(name)).cloned();
        let has_ended = cache.ended.contains(&instance);
        Case::of(instance, draft, node, (options, view), (now, has_ended))
    });
    let mut all: Vec<Case> = all.collect();
    all.sort_by_key(|case| (case.until.is_none(), case.until));
    all
}

/// Scheduled changes that are over or were called off, by instance and kind, and when that was last told.
type Closed = BTreeMap<(InstanceId, Text), Time>;

fn closed(cache: &Cache) -> Closed {
    let mut closed = Closed::new();
    for (message, notice) in cache.inbox.notices() {
        if let News::Health(health) = &notice.news
            && health.status == HealthStatus::Closed
        {
            for instance in &health.instances {
                let key = (instance.clone(), health.code.clone());
                let at = closed.entry(key).or_insert(message.sent);
                *at = message.sent.max(*at);
            }
        }
    }
    closed
}

/// What messages say.
fn said(
    drafts: &mut BTreeMap<InstanceId, Draft>,
    cache: &Cache,
    options: &Options,
    (closed, over): (&Closed, Over),
) {
    for (message, notice) in cache.inbox.notices() {
        let Some((cause, told)) = cause_of(message, notice) else { continue };
        for instance in notice.news.instances() {
            if let News::Health(health) = &notice.news
                && closed.get(&(instance.clone(), health.code.clone())).is_some_and(|at| *at >= message.sent)
            {
                continue;
            }
            let draft = drafts.entry(instance.clone()).or_default();
            draft.add(cause, told, over);
            draft.messages.insert(message.id.clone());
            draft.sent = draft.sent.max(Some(message.sent));
            if let News::Terminating(action) | News::Retreating(action) = &notice.news
                && options.hooks.has(&action.hook)
            {
                draft.actions.insert(action.hook.clone(), action.clone());
            }
        }
    }
}

/// What a notice says is going to happen, if anything that takes the instance away.
fn cause_of(message: &Message, notice: &Notice) -> Option<(Cause, Told)> {
    let since = happened(message, notice);
    let taken = |then: Taken, at: Option<Time>| match then {
        Taken::Hibernate => since,
        Taken::Terminate | Taken::Stop => at.unwrap_or(since + SPOT_NOTICE),
    };
    let (cause, until) = match &notice.news {
        News::Terminating(_) => (Cause::Terminating, None),
        News::Retreating(_) => (Cause::Retreating, None),
        News::Spot { then, .. } => (Cause::Spot, Some(taken(*then, None))),
        News::Reclaimed { then, until, .. } => (Cause::Reclaimed, Some(taken(*then, *until))),
        News::Rebalance { .. } => (Cause::Rebalance, None),
        News::State { state, .. } if state.is_down() => (Cause::Down, Some(since)),
        News::Health(health) if health.status != HealthStatus::Closed => (Cause::Scheduled, health.start),
        News::State { .. } | News::Health(_) | News::Launching(_) => return None,
    };
    Some((cause, Told { since, until }))
}

/// What groups hold on its way out: the message about it may be lost.
fn held(
    drafts: &mut BTreeMap<InstanceId, Draft>,
    cache: &mut Cache,
    options: &Options,
    view: &View,
    now: Time,
) {
    for id in &cache.held {
        let Some(instance) = view.instances().get(id) else { continue };
        if instance.lifecycle != Lifecycle::TerminatingWait || is_drained_by_eks(view, options, instance) {
            continue;
        }
        let draft = drafts.entry(id.clone()).or_default();
        if !draft.causes.keys().any(|cause| cause.is_of_group()) {
            let since = *cache.first_seen.entry(id.clone()).or_insert(now);
            let over = Over { now, patience: options.patience };
            draft.add(Cause::Terminating, Told { since, until: None }, over);
        }
        for hook in hooks_at(view, options, &instance.group, Transition::Terminating) {
            let (group, instance) = (instance.group.clone(), id.clone());
            let action = Action { group, hook: hook.name.clone(), instance, token: None, to: Place::Ec2 };
            draft.actions.entry(hook.name.clone()).or_insert(action);
        }
    }
}

/// Whether EKS owns the group of an instance that is held, and no hook of ours holds it: then EKS drains its node, by budgets and within its own time.
fn is_drained_by_eks(view: &View, options: &Options, instance: &Instance) -> bool {
    let group = view.groups().get(&instance.group);
    group.is_some_and(|group| group.kind == GroupKind::EksManaged)
        && hooks_at(view, options, &instance.group, Transition::Terminating).is_empty()
}

/// What was begun: a message that is not received again yet does not end it.
fn marked(
    drafts: &mut BTreeMap<InstanceId, Draft>,
    cache: &Cache,
    view: &View,
    (called_off, over): (&BTreeSet<InstanceId>, Over),
) {
    for name in &cache.marked {
        let Some(node) = view.node(name) else { continue };
        let Some(mark::Found { mark, .. }) = mark::of(node) else { continue };
        let NodeRole::Interrupted { by, until, .. } = mark.role else { continue };
        let instance = replank_facts::groups::instance_id_of(node);
        // What a group does is seen on the group.
        let is_seen = by.is_of_group() && !drafts.contains_key(&instance);
        let is_over = by == Cause::Scheduled && called_off.contains(&instance);
        if !is_seen && !is_over && by != Cause::Down {
            drafts.entry(instance).or_default().add(by, Told { since: mark.since, until }, over);
        }
    }
}

impl Draft {
    fn add(&mut self, cause: Cause, told: Told, over: Over) {
        let known = self.causes.entry(cause).or_insert(told);
        match (over.is(*known), over.is(told)) {
            (true, false) => *known = told,
            (false, true) => return,
            (true, true) | (false, false) => {}
        }
        known.since = known.since.min(told.since);
        known.until = known.until.into_iter().chain(told.until).min();
    }
}

impl Case {
    /// The case of an instance, unless it is over.
    fn of(
        instance: InstanceId,
        mut draft: Draft,
        node: Option<Arc<Node>>,
        (options, view): (&Options, &View),
        (now, has_ended): (Time, bool),
    ) -> Option<Self> {
        let known = view.instances().get(&instance).cloned();
        let kept_until = draft.sent.map_or(now, |sent| sent + KEEP);
        match &known {
            Some(known) if known.is_counted() || known.lifecycle == Lifecycle::TerminatingWait => {
                draft.causes.retain(|cause, told| *cause != Cause::Down || now < told.since + DOWN_FOR);
            }
            // Taken out of its group, and there all the same.
            Some(known) if known.state.is_alive() && is_apart(known.lifecycle) => {}
            // On its way out: nothing can be done but to keep pods off.
            Some(_) => {
                let is_open = node.as_ref().is_some_and(|node| !node.spec.unschedulable);
                draft.causes.retain(|cause, _| *cause == Cause::Down && is_open);
                draft.actions.clear();
            }
            None if node.is_none() && (has_ended || now >= kept_until) => return None,
            None => {}
        }
        if draft.causes.is_empty() {
            return None;
        }
        let over = Over { now, patience: options.patience };
        if draft.causes.values().any(|told| !over.is(*told)) {
            draft.causes.retain(|_, told| !over.is(*told));
        }
        let node_pods =
            node.as_ref().map(|node| NodePods::of(view, &options.plan, &node.name())).unwrap_or_default();
        let certain = draft.causes.values().filter_map(|told| told.until).min();
        let Draft { causes, actions, messages, sent: _ } = draft;
        let mut case = Self {
            instance,
            known,
            node,
            node_pods,
            causes,
            actions,
            messages,
            kept_until,
            certain,
            until: certain,
        };
        case.until = certain.into_iter().chain(case.patience(options, view)).min();
        Some(case)
    }

    /// Until when its hook is kept waiting.
    fn patience(&self, options: &Options, view: &View) -> Option<Time> {
        let since = self.held_since()?;
        let hook = self.hook(options, view);
        let timeout = hook.map_or(HOOK_TIMEOUT, |hook| hook.timeout);
        if self.actions.is_empty() {
            // Nobody here can keep it waiting.
            return Some(since + timeout);
        }
        let ceiling = since + hook.map_or(HOOK_TIMEOUT, LifecycleHook::ceiling);
        let batch = self.node_pods.batch.iter().map(|batch| {
            let pod = &batch.bound.pod;
            let grace = Span::from_secs(pod.grace_seconds());
            since + wait_of(pod, options.plan.batch.wait) + grace + MARGIN
        });
        batch.chain([since + options.patience.max(timeout)]).max().map(|wanted| wanted.min(ceiling))
    }

    /// Our hook that times out first.
    pub(super) fn hook<'v>(&self, options: &Options, view: &'v View) -> Option<&'v LifecycleHook> {
        let group = &self.known.as_ref()?.group;
        let hooks = hooks_at(view, options, group, Transition::Terminating);
        hooks.into_iter().min_by_key(|hook| (hook.timeout, &hook.name))
    }

    /// Since when its group has held it, if it does.
    pub(super) fn held_since(&self) -> Option<Time> {
        let of_group = self.causes.iter().filter(|(cause, _)| cause.is_of_group());
        of_group.map(|(_, told)| told.since).min()
    }

    /// Whether a message says since when its group has held it.
    pub(super) fn is_told(&self) -> bool {
        !self.messages.is_empty()
    }

    pub(super) fn node_name(&self) -> Option<NodeName> {
        self.node.as_ref().map(|node| node.name())
    }

    /// What takes it away, the most urgent cause.
    pub(super) fn by(&self) -> Cause {
        *self.causes.keys().next().expect("a case has a cause")
    }

    /// Whether its pods can stay until its group has as many Ready nodes again as it wants: another was asked for, and there is
    /// time.
    pub(super) fn waits_for_another(&self, ctx: &Context<'_>, ready: &ReadyNodes) -> bool {
        let Some(known) = &self.known else { return false };
        let since = self.told_since();
        let has_hook = self.hook(ctx.options, ctx.view).is_some();
        let is_asked = has_hook && matches!(self.by(), Cause::Scheduled | Cause::Rebalance);
        let has_time = self.certain.is_none_or(|certain| certain > since + LAUNCH_MAX + LAUNCH_MAX);
        if !is_asked || !has_time || ctx.now >= since + LAUNCH_MAX {
            return false;
        }
        let wanted = ctx.view.groups().get(&known.group).map_or(0, |group| group.size.desired);
        // Before it is held it counts itself.
        self.held_since().is_none() || ready.of(&known.group) < wanted
    }

    /// Pods that are still to go.
    pub(super) fn pods_left(&self) -> u32 {
        let node_pods = &self.node_pods;
        let count = node_pods.movers.len()
            + node_pods.batch.len()
            + node_pods.unrecorded.len()
            + node_pods.leaving.len();
        u32::try_from(count).unwrap_or(u32::MAX)
    }

    /// Since when anything is known of what takes it away.
    pub(super) fn told_since(&self) -> Time {
        self.causes.values().map(|told| told.since).min().expect("a case has a cause")
    }

    /// When it is gone for certain, whatever is done, where that is known.
    pub(super) fn certain(&self) -> Option<Time> {
        self.certain
    }

    /// Whether its instance is up and neither its group nor anybody else is seen to end it; one that is not listed may be.
    pub(super) fn runs_on(&self) -> bool {
        self.known.as_ref().is_none_or(|known| {
            known.state.is_alive() && (known.lifecycle.is_counted() || is_apart(known.lifecycle))
        })
    }

    /// Its node, if it carries our mark.
    pub(super) fn marked_node(&self) -> Option<&Node> {
        let node = self.node.as_deref()?;
        mark::of(node).is_some_and(|found| found.mark.owner == Owner::Interruptions).then_some(node)
    }

    /// The version of the mark on its node, if a newer Replank laid it.
    pub(super) fn newer(&self) -> Option<u64> {
        self.node.as_ref().and_then(|node| mark::newer_on_node(node))
    }

    /// Says that what a newer Replank has marked is left to it.
    pub(super) fn leave_alone(&self, ctx: &mut Context<'_>) {
        if let (Some(node), Some(version)) = (self.node_name(), self.newer()) {
            ctx.wait(Subject::Node(node), WaitingOn::RunEnd(RunEnd::NewerVersion { version }));
        }
    }

    /// Since when its node has borne our mark, or has been closed by a run.
    pub(super) fn marked_since(&self) -> Option<Time> {
        let node = self.node.as_ref()?;
        let found = mark::of(node)?;
        (found.mark.owner == Owner::Interruptions || node.spec.unschedulable).then_some(found.mark.since)
    }

    /// Whether it has not been under way for long: the end of a run waits for that, and no longer.
    pub(super) fn is_pressing(&self, ctx: &mut Context<'_>) -> bool {
        let Some(since) = self.marked_since() else { return true };
        let long = since + ctx.options.patience;
        if ctx.now < long {
            ctx.wake_at(long);
        }
        ctx.now < long
    }

    /// Cordons its node and says why.
    pub(super) fn mark(&self, ctx: &mut Context<'_>) {
        let Some(node) = &self.node else { return };
        if self.pods_left() == 0 && node.spec.unschedulable && self.marked_since().is_some() {
            // A run has drained it, and had it ended.
            return;
        }
        let role = self.role(node, ctx.now);
        let found = mark::of(node).filter(|found| found.mark.owner == Owner::Interruptions);
        let renewed = match &found {
            Some(found) if found.mark.role == role => {
                let due = found.mark.expires - RENEW_BEFORE;
                if ctx.now < due {
                    ctx.wake_at(due);
                    return;
                }
                format!("/{}", found.mark.expires)
            }
            Some(_) | None => String::new(),
        };
        let since = found.map_or(ctx.now, |found| found.mark.since);
        let mark = Mark { owner: Owner::Interruptions, role, since, expires: ctx.now + MARK_LIFE };
        let effect = Effect::Kubernetes(KubernetesEffect::Cordon {
            node: target(node),
            version: node.meta.resource_version,
            mark,
        });
        let until = self.certain.map(|until| until.to_string()).unwrap_or_default();
        let key = ctx.key("cordon", format!("{}/{}/{until}{renewed}", node.meta.uid, self.by()));
        ctx.send(Subject::Node(node.name()), "cordon", key, effect);
    }

    /// What its node is, as far as is known: the recorded start of its drain stays, whichever module began it.
    fn role(&self, node: &Node, now: Time) -> NodeRole {
        NodeRole::Interrupted { by: self.by(), until: self.certain, from: begun_at(node, now) }
    }

    /// Whether it is written on its node that pods are moved off it. A node that may stay after all is begun by a mark: should it stay, it is known to be no
    /// capacity. One that is marked and full still is.
    pub(super) fn is_begun(&self, now: Time) -> bool {
        let begun = self.node.as_deref().and_then(|node| begun_at(node, now));
        !self.by().may_pass() || begun.is_some()
    }

    /// Writes on its node that pods are moved off it from now on.
    pub(super) fn begin(&self, ctx: &mut Context<'_>) {
        let Some(found) = self.marked_node().and_then(mark::of) else { return };
        let Some(node) = &self.node else { return };
        let role = NodeRole::Interrupted { by: self.by(), until: self.certain, from: Some(ctx.now) };
        let effect = Effect::Kubernetes(KubernetesEffect::Cordon {
            node: target(node),
            version: node.meta.resource_version,
            mark: Mark { role, ..found.mark },
        });
        let key = ctx.key("drain", &node.meta.uid);
        ctx.send(Subject::Node(node.name()), "start of the drain", key, effect);
    }

    /// Asks its group for another instance, where a hook of ours will hold this one meanwhile.
    pub(super) fn relieve(&self, ctx: &mut Context<'_>) {
        let (Some(known), Some(node)) = (&self.known, &self.node) else { return };
        let is_serving = known.lifecycle == Lifecycle::InService && known.state.is_alive();
        if !is_serving || self.held_since().is_some() || self.by() == Cause::Down {
            return;
        }
        let Some(hook) = self.hook(ctx.options, ctx.view) else { return };
        let effect = Effect::Group(GroupEffect::Relieve {
            instance: self.instance.clone(),
            group: known.group.clone(),
            node: target(node),
            hook: hook.name.clone(),
        });
        let key = ctx.key("relieve", &self.instance);
        ctx.send(Subject::Instance(self.instance.clone()), "request for a replacement instance", key, effect);
    }
}

/// When the drain of a node began, as its mark says, whichever module wrote it.
fn begun_at(node: &Node, now: Time) -> Option<Time> {
    match mark::of(node)?.mark.role {
        NodeRole::Draining { from } => Some(from).filter(|from| *from <= now),
        NodeRole::Interrupted { from, .. } => from,
        NodeRole::Queued
        | NodeRole::Postponed { .. }
        | NodeRole::Skipped
        | NodeRole::Surplus
        | NodeRole::Retained
        | NodeRole::Drained
        | NodeRole::Listed => None,
    }
}

/// Whether an instance is out of its group without being ended.
fn is_apart(lifecycle: Lifecycle) -> bool {
    match lifecycle {
        Lifecycle::Standby | Lifecycle::Detached => true,
        Lifecycle::Pending
        | Lifecycle::PendingWait
        | Lifecycle::PendingProceed
        | Lifecycle::InService
        | Lifecycle::Terminating
        | Lifecycle::TerminatingWait
        | Lifecycle::TerminatingProceed
        | Lifecycle::Terminated
        | Lifecycle::Warmed => false,
    }
}
