//! `--dry-run`: what a drain would wait on, and whether it would come to its end.

use std::collections::BTreeSet;

use replank_facts::kubectl::Sorted;
use replank_model::object::node::Node;
use replank_protocol::command::{CommandKey, Effect, KubernetesEffect, NodeTarget};
use replank_protocol::decision::{Decision, End};
use replank_protocol::waiting::{Subject, Waiting};

use super::context::Context;
use super::forecast::forecast;
use super::request::{DryRun, Verb};
use super::stage::waiting;
use crate::moving::{self, Mover};

/// Says what would be; with a server's dry run, asks it once for everything.
pub(super) fn decide(mut ctx: Context<'_>) -> Decision {
    let found = forecast(ctx.view, ctx.request, ctx.now);
    let ended: Vec<Waiting> =
        found.iter().filter_map(|node| Some(waiting(&node.node.name, node.ends()?))).collect();
    let mut is_answered = true;
    if ctx.request.options.dry_run == DryRun::Server {
        let left: BTreeSet<&NodeTarget> =
            found.iter().filter(|node| node.ends().is_some()).map(|node| &node.node).collect();
        for target in ctx.request.nodes.iter().filter(|target| !left.contains(target)) {
            is_answered &= ask(&mut ctx, target);
        }
        // As by kubectl, a node that is not drained is cordoned.
        for target in left {
            is_answered &= cordon(&mut ctx, target);
        }
    }
    for Waiting { what, on } in found.into_iter().flat_map(|node| node.blockers) {
        ctx.wait(what, on);
    }
    let end = if ended.is_empty() { End::Done } else { End::Blocked(ended) };
    Decision { end: is_answered.then_some(end), ..ctx.builder.finish() }
}

/// Asks for the cordon of a node and the evictions of its pods; whether all is answered.
fn ask(ctx: &mut Context<'_>, target: &NodeTarget) -> bool {
    let mut is_answered = cordon(ctx, target);
    if ctx.request.verb != Verb::Drain {
        return is_answered;
    }
    let options = &ctx.request.options;
    let sorted = Sorted::of(ctx.view, &options.filters, &target.name, None, ctx.now);
    for (bound, _) in sorted.going.iter().filter(|(bound, _)| !bound.pod.is_terminating()) {
        let grace_seconds = options.grace_seconds;
        let (step, effect) = match options.disable_eviction {
            true => {
                let pod = moving::target(bound);
                ("delete", Effect::Kubernetes(KubernetesEffect::DeletePod { pod, grace_seconds }))
            }
            false => ("evict", moving::eviction(bound, grace_seconds)),
        };
        let key = ctx.key(step, bound.pod.meta.uid.as_str());
        is_answered &= once(ctx, Subject::Pod(bound.key.clone()), key, effect);
    }
    is_answered
}

fn cordon(ctx: &mut Context<'_>, target: &NodeTarget) -> bool {
    let is_cordon = ctx.request.verb != Verb::Uncordon;
    let known = ctx.view.node(&target.name).filter(|node| node.meta.uid == target.uid);
    let Some(node) = known.filter(|node: &&std::sync::Arc<Node>| node.spec.unschedulable != is_cordon) else {
        return true;
    };
    let (node_target, version) = (target.clone(), node.meta.resource_version);
    let effect = match is_cordon {
        true => KubernetesEffect::CordonByHand { node: node_target, version, since: ctx.now, from: None },
        false => KubernetesEffect::UncordonByHand { node: node_target, version },
    };
    let key = ctx.key("cordon", target.uid.as_str());
    once(ctx, Subject::Node(target.name.clone()), key, Effect::Kubernetes(effect))
}

/// Sends something once; whether it is answered.
fn once(ctx: &mut Context<'_>, subject: Subject, key: CommandKey, effect: Effect) -> bool {
    let is_answered = ctx.sent.is_answered(&key);
    if is_answered {
        ctx.sent.keep(&key.0);
    } else {
        ctx.send(subject, "dry run", key, effect);
    }
    is_answered
}
