//! The way that keeps the pods: the Deployment is deleted with its dependents orphaned, and made again with a selector that takes
//! the ReplicaSet over (Deployment controller, `ClaimReplicaSets`; its template is found by `EqualIgnoreHash`). Nothing happens to
//! the pods, which belong to the ReplicaSet all the while; what is missing meanwhile is somebody who scales it or rolls it.

use std::sync::Arc;

use replank_model::object::meta::Key;
use replank_model::object::workload::{Deployment, ReplicaSet};

use super::context::{Context, Position, unsettled};
use super::judge;
use super::serving;
use replank_protocol::command::Dependents;
use replank_protocol::decision::End;
use replank_protocol::waiting::MigrationWait;
use replank_protocol::waiting::migration::Copy;

/// What is next.
pub(super) fn step(ctx: &mut Context<'_>, position: &Position) -> Option<End> {
    // Somebody may have deleted it: then there is nothing to take over, and the pods are made anew.
    let set = kept(ctx, position);
    let Some(live) = &position.live else {
        let replicas = set.as_ref().map_or(position.record.before.spec.replicas, |set| set.spec.replicas);
        ctx.create(position, replicas);
        return None;
    };
    if live.meta.is_terminating() {
        ctx.wait(MigrationWait::Orphaning);
        return None;
    }
    if live.spec.selector == position.wanted.spec.selector {
        return settle(ctx, position, live, set.as_deref());
    }
    if live.spec.selector != position.other.spec.selector {
        return Some(ctx.foreign());
    }
    leave(ctx, position, live, set.as_deref())
}

fn kept(ctx: &Context<'_>, position: &Position) -> Option<Arc<ReplicaSet>> {
    let name = position.record.set.clone()?;
    let key = Key { namespace: position.record.before.meta.namespace.clone(), name };
    ctx.view.replica_sets.by_key(&key).cloned()
}

/// What is to stay is there: once it has its ReplicaSet, and Services find the pods, it is over.
fn settle(
    ctx: &mut Context<'_>,
    position: &Position,
    live: &Deployment,
    set: Option<&ReplicaSet>,
) -> Option<End> {
    if let Some(set) = set {
        let is_taken = set.meta.controller().is_some_and(|owner| owner.uid == live.meta.uid);
        if !is_taken {
            ctx.wait(MigrationWait::Adoption { set: set.meta.name.clone() });
            return None;
        }
    }
    let is_seen = live.status.observed_generation >= live.meta.generation;
    if !is_seen {
        let (updated, wanted) = (live.status.updated_replicas, live.spec.replicas.unwrap_or(1));
        ctx.wait(MigrationWait::Rollout { updated, wanted });
        return None;
    }
    if !position.is_back
        && let Some(missing) = serving::unserved(ctx.view, live, &position.record.served)
    {
        return ctx.wait_for(Copy::New, live.meta.creation_timestamp, missing);
    }
    // A deletion that was decided on before it was called off may be on its way: the record has to outlive it.
    if !position.is_back || ctx.is_quiet() {
        ctx.lift(&position.holder);
    }
    None
}

/// What is to go is there: it goes if what was judged is still so.
fn leave(
    ctx: &mut Context<'_>,
    position: &Position,
    live: &Deployment,
    set: Option<&ReplicaSet>,
) -> Option<End> {
    // Streams do not wait for each other: a ReplicaSet that is nobody's yet may be seen before its Deployment goes.
    let is_another = match (judge::present_set(ctx.view, live), set) {
        (Some(present), Some(set)) => present.meta.uid != set.meta.uid,
        (Some(_) | None, None) => true,
        (None, Some(_)) => false,
    };
    // If another actor has rolled it out since, the assessment is outdated: the record is deleted, and it is assessed again.
    if is_another || live.spec.template != position.other.spec.template {
        if ctx.is_quiet() {
            ctx.lift(&position.holder);
        }
        return None;
    }
    if let Some(end) = ctx.stands(&position.leave) {
        return Some(end);
    }
    if let Some(wait) = unsettled(ctx.view, live) {
        ctx.wait(wait);
        return None;
    }
    if let Some(missing) = serving::unserved(ctx.view, live, &position.record.served) {
        return ctx.wait_for(Copy::Old, Some(position.record.since), missing);
    }
    match ctx.may_delete(&position.leave) {
        Ok(true) => ctx.delete(live, Dependents::Orphaned),
        Ok(false) => {}
        Err(end) => return Some(end),
    }
    None
}
