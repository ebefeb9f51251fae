//! Load balancers that send to nodes (target type `instance`): a node that is drained is taken out of them first.
//!
//! The order is: cordon, the label `node.kubernetes.io/exclude-from-external-load-balancers` when the drain begins, evictions, and
//! the end of the instance no sooner than `deregistrationDelay` after the label. A node forwards what load balancers send to it
//! for others after its own pods have left, so that an instance that is ended while it is a target cuts connections
//! (aws/aws-node-termination-handler#316). A cordon alone takes no node out: KEP-3458, AWS Load Balancer Controller v2.
//!
//! The label is taken off when the node is released. Where somebody else says already what the node is to load balancers, or takes
//! our label off again, that stands; the delay is kept all the same.

use replank_model::time::Time;

use super::context::Context;
use super::member::Member;
use replank_protocol::command::{Effect, KubernetesEffect};
use replank_protocol::mark;
use replank_protocol::waiting::{RollWait, Subject, WaitingOn};

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
    let until = since + ctx.scope.plan.care.instance_kept();
    if ctx.now < until {
        let on = WaitingOn::Roll(RollWait::Deregistration { until });
        ctx.wait_until(Subject::Node(member.name.clone()), on, until);
    }
    ctx.now < until
}
