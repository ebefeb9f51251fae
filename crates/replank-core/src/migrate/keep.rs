//! The way that keeps the pods: the Deployment is deleted with its dependents orphaned, and made again with a selector that takes
//! the ReplicaSet over (Deployment controller, `ClaimReplicaSets`; its template is found by `EqualIgnoreHash`). Nothing happens to
//! the pods, which belong to the ReplicaSet all the while; what is missing meanwhile is somebody who scales it or rolls it.

use replank_model::object::workload::ReplicaSet;

use super::judge;
use super::record;
use super::turn::{Stand, Turn, unsettled};
use super::wait::Wait;
use crate::command::Dependents;
use crate::decision::End;

/// What is next, with the record on a ReplicaSet.
pub(super) fn step(turn: &mut Turn<'_>, stand: &Stand, set: &ReplicaSet) -> Option<End> {
    let Some(live) = &stand.live else {
        turn.create(stand, set.spec.replicas);
        return None;
    };
    if live.meta.is_terminating() {
        turn.wait(Wait::Orphaning);
        return None;
    }
    if live.spec.selector == stand.wanted.spec.selector {
        let is_taken = set.meta.controller().is_some_and(|owner| owner.uid == live.meta.uid);
        if !is_taken {
            turn.wait(Wait::Adoption { set: set.meta.name.clone() });
            return None;
        }
        let is_seen = live.status.observed_generation >= live.meta.generation;
        if !is_seen {
            let (updated, wanted) = (live.status.updated_replicas, live.spec.replicas.unwrap_or(1));
            turn.wait(Wait::Rollout { updated, wanted });
            return None;
        }
        turn.replace("end", record::rewritten(&stand.holder, None));
        return None;
    }
    if live.spec.selector != stand.other.spec.selector {
        return Some(turn.foreign());
    }
    // Streams do not wait for each other: a ReplicaSet that is nobody's yet may be seen before its Deployment goes.
    let is_another = match judge::present_set(turn.view, live) {
        Some(present) => present.meta.uid != set.meta.uid,
        None => false,
    };
    // What was judged is no longer so where somebody has rolled it since: the record goes, and it is judged anew.
    if is_another || live.spec.template != stand.other.spec.template {
        turn.replace("end", record::rewritten(&stand.holder, None));
        return None;
    }
    if let Some(wait) = unsettled(turn.view, live) {
        turn.wait(wait);
        return None;
    }
    match turn.may_delete(stand) {
        Ok(true) => turn.delete(live, Dependents::Orphaned),
        Ok(false) => {}
        Err(end) => return Some(end),
    }
    None
}
