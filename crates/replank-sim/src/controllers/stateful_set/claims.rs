//! Claims: making them, and whose they are by the retention policy (`stateful_pod_control.go`,
//! `stateful_set_utils.go`).

use replank_model::object::meta::{Key, OwnerReference};
use replank_model::object::pod::Pod;
use replank_model::object::volume::PersistentVolumeClaim;
use replank_model::object::workload::{ClaimRetention, StatefulSet};
use replank_model::object::{Kind, Resource};
use replank_model::text::Name;

use super::identity::{claim_name, is_wanted, new_claim, ordinal};
use crate::controllers::{Ctx, pods};
use replank_apiserver::ApiError;

/// Who owns a claim, as the policy wants it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Nobody,
    Set,
    Pod,
}

fn wanted(set: &StatefulSet, pod: &Pod) -> Wanted {
    let policy = set.spec.persistent_volume_claim_retention_policy.as_ref();
    let when = |choice: Option<ClaimRetention>| choice.unwrap_or(ClaimRetention::Retain);
    let deleted = when(policy.and_then(|policy| policy.when_deleted));
    let scaled = when(policy.and_then(|policy| policy.when_scaled));
    let is_condemned = !ordinal(pod).is_some_and(|ordinal| is_wanted(set, ordinal));
    match (scaled, deleted) {
        (ClaimRetention::Delete, _) if is_condemned => Wanted::Pod,
        (_, ClaimRetention::Delete) => Wanted::Set,
        (_, ClaimRetention::Retain) => Wanted::Nobody,
    }
}

fn retains_all(set: &StatefulSet) -> bool {
    let policy = set.spec.persistent_volume_claim_retention_policy.as_ref();
    policy.is_none_or(|policy| {
        policy.when_deleted != Some(ClaimRetention::Delete)
            && policy.when_scaled != Some(ClaimRetention::Delete)
    })
}

/// Whether a reference means an object by kind and name, whatever its uid.
fn means<R: Resource>(reference: &OwnerReference, object: &R) -> bool {
    *reference.kind == *R::KIND.as_str()
        && *reference.api_version == *R::KIND.api_version()
        && reference.name == object.meta().name
}

fn is_stale<R: Resource>(claim: &PersistentVolumeClaim, owner: &R) -> bool {
    claim
        .meta
        .owner_references
        .iter()
        .find(|reference| means(reference, owner))
        .is_some_and(|reference| reference.uid != owner.meta().uid)
}

/// Whether somebody else manages the claim (`hasUnexpectedController`).
fn is_foreign(claim: &PersistentVolumeClaim, set: &StatefulSet, pod: &Pod) -> bool {
    if retains_all(set) {
        return false;
    }
    claim.meta.owner_references.iter().any(|reference| {
        if means(reference, set) {
            reference.uid != set.meta.uid
        } else if means(reference, pod) {
            reference.uid != pod.meta.uid
        } else {
            reference.controller == Some(true)
        }
    })
}

/// Whether the claim is owned as the policy wants it (`isClaimOwnerUpToDate`).
fn is_up_to_date(claim: &PersistentVolumeClaim, set: &StatefulSet, pod: &Pod) -> bool {
    if is_stale(claim, set) || is_stale(claim, pod) {
        return true;
    }
    let owners = &claim.meta.owner_references;
    let owned_by = |uid| owners.iter().any(|reference| reference.uid == uid);
    let (by_set, by_pod) = (owned_by(set.meta.uid.clone()), owned_by(pod.meta.uid.clone()));
    if is_foreign(claim, set, pod) {
        return !by_set && !by_pod;
    }
    let half = |reference: &&OwnerReference| {
        (reference.uid == set.meta.uid || reference.uid == pod.meta.uid) && reference.controller != Some(true)
    };
    if owners.iter().any(|reference| half(&reference)) {
        return false;
    }
    match wanted(set, pod) {
        Wanted::Nobody => !by_set && !by_pod,
        Wanted::Set => by_set && !by_pod,
        Wanted::Pod => by_pod && !by_set,
    }
}

/// Claims of a pod that are there.
fn existing(ctx: &Ctx<'_>, set: &StatefulSet, pod: &Pod) -> Vec<std::sync::Arc<PersistentVolumeClaim>> {
    let Some(number) = ordinal(pod) else { return Vec::new() };
    let claims = &ctx.view().persistent_volume_claims;
    set.spec
        .volume_claim_templates
        .iter()
        .filter_map(|template| claims.by_key(&claim_key(set, &template.meta.name, number)).cloned())
        .collect()
}

fn claim_key(set: &StatefulSet, template: &Name, number: i64) -> Key {
    Key { namespace: set.meta.namespace.clone(), name: claim_name(set, template, number) }
}

/// Whether all claims of a pod are owned as the policy wants it.
pub(super) fn match_policy(ctx: &Ctx<'_>, set: &StatefulSet, pod: &Pod) -> bool {
    existing(ctx, set, pod).iter().all(|claim| is_up_to_date(claim, set, pod))
}

/// Makes the policy's owners those of a pod's claims.
pub(super) fn apply_policy(ctx: &mut Ctx<'_>, set: &StatefulSet, pod: &Pod) -> Result<(), ApiError> {
    for claim in existing(ctx, set, pod) {
        if is_up_to_date(&claim, set, pod) {
            continue;
        }
        let foreign = is_foreign(&claim, set, pod);
        ctx.api.modify::<PersistentVolumeClaim>(&claim.meta.key(), |claim| {
            let owners = &mut claim.meta.owner_references;
            owners.retain(|reference| !means(reference, set) && !means(reference, pod));
            match wanted(set, pod) {
                _ if foreign => {}
                Wanted::Nobody => {}
                Wanted::Set => owners.push(pods::controller_reference(set)),
                Wanted::Pod => owners.push(pods::controller_reference(pod)),
            }
        })?;
    }
    Ok(())
}

/// Whether a claim still belongs to an earlier pod of the same name: the new pod waits until it is gone.
pub(super) fn is_stale_for(ctx: &Ctx<'_>, set: &StatefulSet, pod: &Pod) -> bool {
    let policy = set.spec.persistent_volume_claim_retention_policy.as_ref();
    let deletes = policy.is_some_and(|policy| policy.when_scaled == Some(ClaimRetention::Delete));
    deletes && existing(ctx, set, pod).iter().any(|claim| is_stale(claim, pod))
}

/// Makes the claims of a pod that are missing. One that is on its way out is in the way.
pub(super) fn create_missing(ctx: &mut Ctx<'_>, set: &StatefulSet, pod: &Pod) -> Result<(), ApiError> {
    let Some(number) = ordinal(pod) else { return Ok(()) };
    let mut failure = Ok(());
    for template in &set.spec.volume_claim_templates {
        let key = claim_key(set, &template.meta.name, number);
        match ctx.view().persistent_volume_claims.by_key(&key) {
            Some(known) if known.meta.is_terminating() => {
                let why = format!("pvc {} is being deleted", key.name);
                failure = Err(ApiError::conflict(Kind::PersistentVolumeClaim, &key, &why));
            }
            Some(_) => {}
            None => {
                if let Err(error) = ctx.api.create(new_claim(set, template, number)) {
                    failure = Err(error);
                }
            }
        }
    }
    failure
}
