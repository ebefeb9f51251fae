//! The way that keeps the pods: the Deployment is deleted with its dependents orphaned, and made again with a selector that takes
//! the ReplicaSet over (Deployment controller, `ClaimReplicaSets`; its template is found by `EqualIgnoreHash`). Nothing happens to
//! the pods, which belong to the ReplicaSet all the while; what is missing meanwhile is somebody who scales it or rolls it.

use std::sync::Arc;

use replank_model::object::meta::Key;
use replank_model::object::workload::{Deployment, ReplicaSet};

use super::judge;
use super::serving;
use super::turn::{Stand, Turn, unsettled};
use replank_protocol::command::Dependents;
use replank_protocol::decision::End;
use replank_protocol::migration::Copy;
use replank_protocol::migration::Wait;

/// What is next.
pub(super) fn step(turn: &mut Turn<'_>, stand: &Stand) -> Option<End> {
    // Somebody may have deleted it: then there is nothing to take over, and the pods are made anew.
    let set = kept(turn, stand);
    let Some(live) = &stand.live else {
        let replicas = set.as_ref().map_or(stand.record.before.spec.replicas, |set| set.spec.replicas);
        turn.create(stand, replicas);
        return None;
    };
    if live.meta.is_terminating() {
        turn.wait(Wait::Orphaning);
        return None;
    }
    if live.spec.selector == stand.wanted.spec.selector {
        return settle(turn, stand, live, set.as_deref());
    }
    if live.spec.selector != stand.other.spec.selector {
        return Some(turn.foreign());
    }
    leave(turn, stand, live, set.as_deref())
}

fn kept(turn: &Turn<'_>, stand: &Stand) -> Option<Arc<ReplicaSet>> {
    let name = stand.record.set.clone()?;
    let key = Key { namespace: stand.record.before.meta.namespace.clone(), name };
    turn.view.replica_sets.by_key(&key).cloned()
}

/// What is to stay is there: once it has its ReplicaSet, and Services find the pods, it is over.
fn settle(turn: &mut Turn<'_>, stand: &Stand, live: &Deployment, set: Option<&ReplicaSet>) -> Option<End> {
    if let Some(set) = set {
        let is_taken = set.meta.controller().is_some_and(|owner| owner.uid == live.meta.uid);
        if !is_taken {
            turn.wait(Wait::Adoption { set: set.meta.name.clone() });
            return None;
        }
    }
    let is_seen = live.status.observed_generation >= live.meta.generation;
    if !is_seen {
        let (updated, wanted) = (live.status.updated_replicas, live.spec.replicas.unwrap_or(1));
        turn.wait(Wait::Rollout { updated, wanted });
        return None;
    }
    if !stand.is_back
        && let Some(missing) = serving::unserved(turn.view, live, &stand.record.served)
    {
        return turn.wait_for(Copy::New, live.meta.creation_timestamp, missing);
    }
    // A deletion that was decided on before it was called off may be on its way: the record has to outlive it.
    if !stand.is_back || turn.is_quiet() {
        turn.lift(&stand.holder);
    }
    None
}

/// What is to go is there: it goes if what was judged is still so.
fn leave(turn: &mut Turn<'_>, stand: &Stand, live: &Deployment, set: Option<&ReplicaSet>) -> Option<End> {
    // Streams do not wait for each other: a ReplicaSet that is nobody's yet may be seen before its Deployment goes.
    let is_another = match (judge::present_set(turn.view, live), set) {
        (Some(present), Some(set)) => present.meta.uid != set.meta.uid,
        (Some(_) | None, None) => true,
        (None, Some(_)) => false,
    };
    // What was judged is no longer so where somebody has rolled it since: the record goes, and it is judged anew.
    if is_another || live.spec.template != stand.other.spec.template {
        if turn.is_quiet() {
            turn.lift(&stand.holder);
        }
        return None;
    }
    if let Some(end) = turn.stands(&stand.leave) {
        return Some(end);
    }
    if let Some(wait) = unsettled(turn.view, live) {
        turn.wait(wait);
        return None;
    }
    if let Some(missing) = serving::unserved(turn.view, live, &stand.record.served) {
        return turn.wait_for(Copy::Old, Some(stand.record.since), missing);
    }
    match turn.may_delete(&stand.leave) {
        Ok(true) => turn.delete(live, Dependents::Orphaned),
        Ok(false) => {}
        Err(end) => return Some(end),
    }
    None
}
