//! The way with a twin: a copy of the Deployment under another name serves while the Deployment is deleted and made anew.
//!
//! The twin's pods have all labels of the present ones, so Services send to them and budgets count them. Autoscalers target whichever
//! serves: they scale the twin from just before the old Deployment goes until the new one serves, for the target that they are
//! for is not there meanwhile.

use std::sync::Arc;

use replank_model::object::Kind;
use replank_model::object::autoscaling::HorizontalPodAutoscaler;
use replank_model::object::workload::Deployment;
use replank_model::text::Name;

use super::context::{Context, Position, is_the_original};
use super::record::{self, SCALES};
use super::serving;
use super::target;
use replank_protocol::command::Dependents;
use replank_protocol::decision::End;
use replank_protocol::waiting::MigrationWait;
use replank_protocol::waiting::migration::Copy;

/// What is next.
pub(super) fn step(ctx: &mut Context<'_>, position: &Position) -> Option<End> {
    let of = position.record.before.meta.key();
    let twin = ctx.view.deployments.by_key(&target::twin_key(&of)).cloned();
    let twin = twin.filter(|twin| record::is_twin_of(twin, &of.name));
    let Some(live) = position.live.clone() else { return make(ctx, position, twin.as_deref()) };
    if live.meta.is_terminating() {
        ctx.wait(leaving(ctx, &live));
        return None;
    }
    if live.spec.selector == position.wanted.spec.selector {
        return settle(ctx, position, twin.as_deref(), &live);
    }
    if live.spec.selector != position.other.spec.selector {
        return Some(ctx.foreign());
    }
    if let Some(end) = ctx.stands(&position.leave) {
        return Some(end);
    }
    match twin {
        Some(twin) => hand_over(ctx, position, &twin, &live),
        None => {
            match ctx.twins_remains() {
                Some(wait) => ctx.wait(wait),
                None => ctx.make_twin(position, target::twin(&live)),
            }
            None
        }
    }
}

/// The old Deployment is there: the twin takes its place, then it goes.
fn hand_over(
    ctx: &mut Context<'_>,
    position: &Position,
    twin: &Deployment,
    live: &Deployment,
) -> Option<End> {
    if twin.meta.is_terminating() {
        ctx.wait(leaving(ctx, twin));
        return None;
    }
    let followed = scaling(ctx, live, &twin.meta.name);
    if followed.is_empty() && size(twin) < size(live) {
        let mut twin = twin.clone();
        twin.spec.replicas = live.spec.replicas;
        ctx.replace("size", twin.into());
        return None;
    }
    if let Some(missing) = serving::missing(ctx.view, twin, &position.record.served) {
        return ctx.wait_for(Copy::Twin, twin.meta.creation_timestamp, missing);
    }
    match ctx.may_delete(&position.leave) {
        Ok(true) => {}
        Ok(false) => return None,
        Err(end) => return Some(end),
    }
    let scaling = scaling(ctx, live, &live.meta.name);
    for autoscaler in &scaling {
        ctx.replace("scale", retargeted(autoscaler, &live.meta.name, &twin.meta.name).into());
    }
    if scaling.is_empty() {
        ctx.delete(live, Dependents::Collected);
    }
    None
}

/// The old one is gone: the new one is created once no ReplicaSet of the old one has a name that the new one's would get. It is created
/// without a twin, too, should somebody have deleted that meanwhile.
fn make(ctx: &mut Context<'_>, position: &Position, twin: Option<&Deployment>) -> Option<End> {
    let name = &position.wanted.meta.name;
    let namespace = &position.wanted.meta.namespace;
    let is_left = |owner: &replank_model::object::meta::OwnerReference| {
        &*owner.kind == Kind::Deployment.as_str() && owner.name == *name
    };
    let sets: Vec<_> = ctx
        .view
        .replica_sets
        .unordered()
        .map(|(_, set)| set.clone())
        .filter(|set| set.meta.namespace == *namespace && set.meta.controller().is_some_and(is_left))
        .collect();
    if !sets.is_empty() {
        let pods: usize = sets.iter().map(|set| ctx.view.pods_of(&set.meta.uid).len()).sum();
        ctx.wait(MigrationWait::Leaving { copy: Copy::Old, sets: count(sets.len()), pods: count(pods) });
        return None;
    }
    let replicas = twin.map_or(position.record.before.spec.replicas, |twin| twin.spec.replicas);
    ctx.create(position, replicas);
    None
}

/// What is to stay is there: once it serves, the twin goes, and the record after it.
fn settle(
    ctx: &mut Context<'_>,
    position: &Position,
    twin: Option<&Deployment>,
    live: &Deployment,
) -> Option<End> {
    // The original was never away: it serves as well as it did.
    let has_stayed = position.is_back && is_the_original(live, &position.record);
    let followed = scaling(ctx, live, &target::twin_name(&live.meta.name));
    if !has_stayed {
        let wanted = twin.filter(|twin| !followed.is_empty() && size(live) < size(twin));
        if let Some(twin) = wanted {
            let mut live = live.clone();
            live.spec.replicas = twin.spec.replicas;
            ctx.replace("size", live.into());
            return None;
        }
        if let Some(missing) = serving::missing(ctx.view, live, &position.record.served) {
            return ctx.wait_for(Copy::New, live.meta.creation_timestamp, missing);
        }
    }
    for autoscaler in &followed {
        ctx.replace("scale", retargeted(autoscaler, &live.meta.name, &live.meta.name).into());
    }
    if !followed.is_empty() {
        return None;
    }
    if let Some(twin) = twin.filter(|twin| twin.meta.is_terminating()) {
        ctx.wait(leaving(ctx, twin));
        return None;
    }
    if twin.is_none()
        && let Some(wait) = ctx.twins_remains()
    {
        ctx.wait(wait);
        return None;
    }
    match ctx.may_delete(&position.leave) {
        Ok(true) => {}
        Ok(false) => return None,
        Err(end) => return Some(end),
    }
    match twin {
        Some(twin) => ctx.delete(twin, Dependents::Collected),
        // One that nobody has seen yet may be on its way: the record has to outlive it.
        None if !has_stayed || ctx.is_still() => ctx.lift(&position.holder),
        None => {}
    }
    None
}

fn size(deployment: &Deployment) -> i32 {
    deployment.spec.replicas.unwrap_or(1)
}

/// Autoscalers of the migrated Deployment that scale `target` as things are.
fn scaling(ctx: &Context<'_>, live: &Deployment, target: &Name) -> Vec<Arc<HorizontalPodAutoscaler>> {
    let of = &live.meta.name;
    let all = serving::autoscalers_of(ctx.view, &live.meta.namespace, target).into_iter();
    let ours = |autoscaler: &HorizontalPodAutoscaler| {
        target == of || autoscaler.meta.annotations.value(SCALES) == Some(of.as_str())
    };
    all.filter(|autoscaler| ours(autoscaler)).cloned().collect()
}

/// An autoscaler that scales `to`; beside another than its own it says whose it is.
fn retargeted(autoscaler: &HorizontalPodAutoscaler, of: &Name, to: &Name) -> HorizontalPodAutoscaler {
    let mut autoscaler = autoscaler.clone();
    autoscaler.spec.scale_target_ref.name = to.clone();
    let annotations = autoscaler.meta.annotations.without(SCALES);
    autoscaler.meta.annotations =
        if of == to { annotations } else { annotations.with(SCALES, of.text().clone()) };
    autoscaler
}

fn leaving(ctx: &Context<'_>, of: &Deployment) -> MigrationWait {
    let sets = serving::sets_of(ctx.view, &of.meta.uid);
    let pods: usize = sets.iter().map(|set| ctx.view.pods_of(&set.meta.uid).len()).sum();
    let copy = if record::is_twin(of) { Copy::Twin } else { Copy::Old };
    MigrationWait::Leaving { copy, sets: count(sets.len()), pods: count(pods) }
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
