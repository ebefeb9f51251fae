//! Load balancers that send to nodes (target type `instance`): a node that is drained is taken out of them first.
//!
//! The order is: cordon, the label `node.kubernetes.io/exclude-from-external-load-balancers` when the drain begins, evictions, and
//! the end of the instance no sooner than it is deregistered: where its target groups are known, when it is seen in none of them any more, else
//! `deregistrationDelay` after the label. A node forwards what load balancers send to it
//! for others after its own pods have left, so that an instance that is ended while it is a target cuts connections
//! (aws/aws-node-termination-handler#316). A cordon alone takes no node out: KEP-3458, AWS Load Balancer Controller v2.
//!
//! The label is taken off when the node is released. Where somebody else says already what the node is to load balancers, or takes
//! our label off again, that stands; the delay is kept all the same.

use replank_model::object::cloud::TargetHealth;
use replank_model::text::Text;
use replank_model::time::{Span, Time};

use super::context::Context;
use super::member::Member;
use super::targets;
use replank_protocol::command::{Effect, KubernetesEffect};
use replank_protocol::mark;
use replank_protocol::waiting::{RollWait, Subject, WaitingOn};

/// A controller that has not begun to deregister a node so long after the label does not run, or does not keep the target group: nothing is gained by waiting on. It takes seconds
/// to minutes.
const CONTROLLER_MAX: Span = Span::from_minutes(5);
/// How long it may take until it is seen that an instance was registered.
const SEEN_WITHIN: Span = Span::from_secs(20);
/// How often a target that drains for longer than it should is looked at.
const LOOK: Span = Span::from_minutes(1);

/// Whether a node has been taken out of load balancers, where the plan asks for that; it is, if not.
pub(super) fn is_out(ctx: &mut Context<'_>, member: &Member) -> bool {
    let is_said = |node: &replank_model::object::node::Node| {
        node.meta.labels.contains_key(mark::EXCLUDE) || node.meta.annotations.contains_key(mark::EXCLUDED)
    };
    let is_asked = ctx.scope.plan.care.load_balancer.exclude;
    if !is_asked || ctx.view.node(&member.name).is_none_or(|node| is_said(node)) {
        return true;
    }
    let effect = Effect::Kubernetes(KubernetesEffect::Exclude {
        node: member.target(),
        version: member.version,
        at: ctx.now,
    });
    let key = ctx.key("exclude", &member.uid);
    ctx.send(Subject::Node(member.name.clone()), "exclusion from load balancers", key, effect);
    false
}

/// Whether a node's instance has to be kept a little longer for the sake of load balancers. `from` is when its drain began.
pub(super) fn is_held(ctx: &mut Context<'_>, member: &Member, from: Time) -> bool {
    if !ctx.scope.plan.care.load_balancer.exclude {
        return false;
    }
    if !is_out(ctx, member) {
        return true;
    }
    let since = ctx.view.node(&member.name).and_then(|node| mark::excluded_since(node)).unwrap_or(from);
    let mut until = since + ctx.scope.plan.care.instance_kept();
    match observed(ctx, member) {
        Some(Observed::In { target_group, health, delay }) => {
            let drains = health == TargetHealth::Draining;
            let until = match drains {
                true => (since + delay + CONTROLLER_MAX).max(ctx.now + LOOK),
                false => until.max(since + CONTROLLER_MAX),
            };
            if ctx.now < until {
                let on = WaitingOn::Roll(RollWait::Target { target_group, health, delay });
                ctx.wait_until(Subject::Node(member.name.clone()), on, until);
            }
            return ctx.now < until;
        }
        // What is seen may be older than the label.
        Some(Observed::Out) => until = since + SEEN_WITHIN,
        None => {}
    }
    if ctx.now < until {
        let on = WaitingOn::Roll(RollWait::Deregistration { until });
        ctx.wait_until(Subject::Node(member.name.clone()), on, until);
    }
    ctx.now < until
}

/// What is seen of an excluded node in target groups.
enum Observed {
    /// It is in none.
    Out,
    /// It is in one.
    In { target_group: Text, health: TargetHealth, delay: Span },
}

/// What is seen of an excluded node in the target groups in which a controller keeps nodes; `None` where none is known, or the label is there no more, so that nothing
/// deregisters it.
fn observed(ctx: &Context<'_>, member: &Member) -> Option<Observed> {
    let instance = ctx.view.instances().get(&member.instance)?;
    let group = ctx.view.groups().get(&instance.group)?;
    targets::of_controllers(group).next()?;
    ctx.view.node(&member.name)?.meta.labels.get(mark::EXCLUDE)?;
    let left = targets::still_in(group, instance);
    Some(left.map_or(Observed::Out, |(target_group, health, delay)| Observed::In {
        target_group,
        health,
        delay,
    }))
}
