//! One look at a Rollout: its ReplicaSets, its status, and what becomes of the Deployment that it refers to.

use std::sync::Arc;

use replank_model::int_or_string::{IntOrString, Rounding};
use replank_model::object::cluster::Other;
use replank_model::object::meta::{Key, Meta, OwnerReference};
use replank_model::object::pod::PodTemplate;
use replank_model::object::workload::{Deployment, ReplicaSet, ReplicaSetSpec};
use replank_model::object::{Object, render};
use replank_model::selector::LabelSelector;
use replank_model::text::{Name, Text};
use serde_json::{Value, json};

use super::{GROUP, KIND};
use crate::controllers::{Ctx, hash};
use replank_apiserver::json::{Address, Effect, PatchType, Subresource};

/// Label that tells the ReplicaSets of one Rollout apart.
const HASH_LABEL: &str = "rollouts-pod-template-hash";
/// Number of a template in the Rollout's history.
const REVISION: &str = "rollout.argoproj.io/revision";
/// Added to a collision count, so that a Deployment of the same name has other hashes: upstream's two are not of the same function.
const SALT: i32 = i32::MIN;

/// The outcome of a sync.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Looked {
    /// Something was written.
    Acted,
    /// Everything is as it should be, or not for this controller.
    Idle,
}

/// What the Deployment is to come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ScaleDown {
    Never,
    OnSuccess,
    Progressively,
}

/// A Rollout as it was found.
struct Rollout {
    object: Arc<Other>,
    value: Value,
    deployment: Arc<Deployment>,
    wanted: i32,
}

/// Name of the Deployment that a Rollout takes its template from.
pub(super) fn referred(rollout: &Other) -> Option<Name> {
    let value = render(&Object::Other(Arc::new(rollout.clone())));
    let reference = value.pointer("/spec/workloadRef")?;
    let is_deployment = reference["kind"] == "Deployment" && reference["apiVersion"] == "apps/v1";
    reference["name"].as_str().filter(|_| is_deployment).map(Name::from)
}

/// Looks at a Rollout.
pub(super) fn look(ctx: &mut Ctx<'_>, key: &Key) -> Looked {
    let Some(rollout) = read(ctx, key) else { return Looked::Idle };
    let sets = sets_of(ctx, &rollout);
    let template = &rollout.deployment.spec.template;
    let Some(at) = sets.iter().position(|set| same_but_hash(&set.spec.template, template)) else {
        make(ctx, &rollout, &sets);
        return Looked::Acted;
    };
    let mut others = sets;
    let new = others.remove(at);
    let sized = size(ctx, &rollout, &new, &others);
    let scaled = scale_down(ctx, &rollout, &new);
    let told = tell(ctx, &rollout, &new, &others);
    if sized || scaled || told { Looked::Acted } else { Looked::Idle }
}

/// A Rollout that is looked after here.
fn read(ctx: &Ctx<'_>, key: &Key) -> Option<Rollout> {
    let object = ctx.view().other(GROUP, KIND, key)?.clone();
    let value = render(&Object::Other(object.clone()));
    let canary = value.pointer("/spec/strategy/canary").and_then(Value::as_object);
    let is_plain = canary.is_some_and(|canary| {
        canary.iter().all(|(name, value)| match name.as_str() {
            "maxSurge" | "maxUnavailable" => true,
            "steps" => value.as_array().is_none_or(Vec::is_empty),
            _ => false,
        })
    });
    let is_held = object.meta.is_terminating() || value.pointer("/spec/paused") == Some(&Value::Bool(true));
    if !is_plain || is_held {
        return None;
    }
    let deployment = Key { namespace: key.namespace.clone(), name: referred(&object)? };
    let deployment = ctx.view().deployments.by_key(&deployment)?.clone();
    let wanted = object.replicas.unwrap_or(1);
    Some(Rollout { object, value, deployment, wanted })
}

/// Its ReplicaSets, oldest first.
fn sets_of(ctx: &Ctx<'_>, rollout: &Rollout) -> Vec<Arc<ReplicaSet>> {
    let uid = &rollout.object.meta.uid;
    let all = ctx.view().replica_sets.sorted().into_iter().map(|(_, set)| set.clone());
    let is_its = |set: &ReplicaSet| set.meta.controller().is_some_and(|owner| owner.uid == *uid);
    let mut sets: Vec<Arc<ReplicaSet>> = all.filter(|set| is_its(set)).collect();
    sets.sort_by_key(|set| (set.meta.creation_timestamp, set.meta.name.clone()));
    sets
}

fn same_but_hash(of_set: &PodTemplate, template: &PodTemplate) -> bool {
    of_set.spec == template.spec
        && of_set.meta.annotations == template.meta.annotations
        && of_set.meta.labels.without(HASH_LABEL) == template.meta.labels
}

/// Makes the ReplicaSet of the present template, with no pods yet (`createDesiredReplicaSet`). A name that is taken counts as a
/// collision, and the next look takes another.
fn make(ctx: &mut Ctx<'_>, rollout: &Rollout, others: &[Arc<ReplicaSet>]) {
    let template = &rollout.deployment.spec.template;
    let collisions = rollout.value.pointer("/status/collisionCount").and_then(Value::as_i64).unwrap_or(0);
    let collisions = i32::try_from(collisions).unwrap_or(0);
    let hash = hash::of_template(ctx.api, template, Some(SALT + collisions));
    let mut template = template.clone();
    template.meta.labels = template.meta.labels.with(HASH_LABEL, hash.clone());
    let mut selector = selector(rollout);
    selector.match_labels.insert(Text::from(HASH_LABEL), Text::from(hash.as_str()));
    let meta = &rollout.object.meta;
    let owner = OwnerReference {
        api_version: rollout.object.api_version.clone(),
        kind: KIND.into(),
        name: meta.name.clone(),
        uid: meta.uid.clone(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    };
    let revision = others.iter().map(|set| revision_of(set)).max().unwrap_or(0) + 1;
    let set = ReplicaSet {
        meta: Meta {
            name: Name::from(format!("{}-{hash}", meta.name)),
            namespace: meta.namespace.clone(),
            labels: template.meta.labels.clone(),
            annotations: replank_model::labels::TextMap::default().with(REVISION, revision.to_string()),
            owner_references: vec![owner].into(),
            ..Meta::default()
        },
        spec: ReplicaSetSpec {
            replicas: Some(0),
            min_ready_seconds: number(&rollout.value, "/spec/minReadySeconds"),
            selector: Some(selector),
            template,
        }
        .into(),
        ..ReplicaSet::default()
    };
    if ctx.api.create(set).is_err() {
        write_status(ctx, rollout, &json!({"collisionCount": collisions + 1}));
    }
}

fn selector(rollout: &Rollout) -> LabelSelector {
    let own = rollout.value.pointer("/spec/selector").cloned();
    let own = own.and_then(|selector| serde_json::from_value(selector).ok());
    own.or_else(|| rollout.deployment.spec.selector.clone()).unwrap_or_default()
}

fn revision_of(set: &ReplicaSet) -> i64 {
    set.meta.annotations.value(REVISION).and_then(|text| text.parse().ok()).unwrap_or(0)
}

fn number(value: &Value, path: &str) -> i32 {
    value.pointer(path).and_then(Value::as_i64).and_then(|number| i32::try_from(number).ok()).unwrap_or(0)
}

fn size_of(set: &ReplicaSet) -> i32 {
    set.spec.replicas.unwrap_or(1)
}

/// Brings the sizes of the ReplicaSets nearer to what is wanted (`CalculateReplicaCountsForBasicCanary` without steps).
fn size(ctx: &mut Ctx<'_>, rollout: &Rollout, new: &ReplicaSet, others: &[Arc<ReplicaSet>]) -> bool {
    let wanted = rollout.wanted;
    let old: i32 = others.iter().map(|set| size_of(set)).sum();
    if old == 0 {
        return resize(ctx, new, wanted);
    }
    let (surge, unavailable) = fenceposts(rollout);
    let room = wanted + surge - old - size_of(new);
    if room > 0 && size_of(new) < wanted {
        return resize(ctx, new, (size_of(new) + room).min(wanted));
    }
    let available: i32 =
        others.iter().map(|set| set.status.available_replicas).sum::<i32>() + new.status.available_replicas;
    let spare = available - (wanted - unavailable);
    let oldest = others.iter().find(|set| size_of(set) > 0);
    match oldest {
        Some(set) if spare > 0 => resize(ctx, set, (size_of(set) - spare).max(0)),
        Some(_) | None => false,
    }
}

/// maxSurge and maxUnavailable as numbers of pods: 25% each where nothing is said.
fn fenceposts(rollout: &Rollout) -> (i32, i32) {
    let scaled = |name: &str, rounding| {
        let value = rollout.value.pointer(&format!("/spec/strategy/canary/{name}")).cloned();
        let value = value.unwrap_or_else(|| "25%".into());
        let value: Option<IntOrString> = serde_json::from_value(value).ok();
        let scaled = value.and_then(|value| value.scaled(i64::from(rollout.wanted), rounding).ok());
        scaled.and_then(|number| i32::try_from(number).ok()).unwrap_or(0)
    };
    match (scaled("maxSurge", Rounding::Up), scaled("maxUnavailable", Rounding::Down)) {
        (0, 0) => (0, 1),
        both => both,
    }
}

fn resize(ctx: &mut Ctx<'_>, set: &ReplicaSet, to: i32) -> bool {
    if size_of(set) == to {
        return false;
    }
    // One that is gone meanwhile is made again by the next look.
    ctx.api.modify::<ReplicaSet>(&set.meta.key(), |set| set.spec.replicas = Some(to)).is_ok()
}

/// Takes the Deployment down, as `scaleDown` says and `phase` was written (`reconcileNewReplicaSet`, `promoteStable`).
fn scale_down(ctx: &mut Ctx<'_>, rollout: &Rollout, new: &ReplicaSet) -> bool {
    let asked = match rollout.value.pointer("/spec/workloadRef/scaleDown").and_then(Value::as_str) {
        Some("onsuccess") => ScaleDown::OnSuccess,
        Some("progressively") => ScaleDown::Progressively,
        Some(_) | None => ScaleDown::Never,
    };
    let is_first = revision_of(new) == 1;
    let is_healthy = rollout.value.pointer("/status/phase").and_then(Value::as_str) == Some("Healthy");
    let ready = number(&rollout.value, "/status/readyReplicas");
    let to = match asked {
        ScaleDown::OnSuccess | ScaleDown::Progressively if is_first && is_healthy => 0,
        ScaleDown::Progressively if is_first && ready > 0 => (rollout.wanted - ready).max(0),
        ScaleDown::Never | ScaleDown::OnSuccess | ScaleDown::Progressively => return false,
    };
    if rollout.deployment.spec.replicas.unwrap_or(1) == to {
        return false;
    }
    let key = rollout.deployment.meta.key();
    ctx.api.modify::<Deployment>(&key, |deployment| deployment.spec.replicas = Some(to)).is_ok()
}

/// Writes what there is.
fn tell(ctx: &mut Ctx<'_>, rollout: &Rollout, new: &ReplicaSet, others: &[Arc<ReplicaSet>]) -> bool {
    let hash = new.meta.labels.value(HASH_LABEL).unwrap_or_default().to_owned();
    let sum = |of: fn(&ReplicaSet) -> i32| of(new) + others.iter().map(|set| of(set)).sum::<i32>();
    let replicas = sum(|set| set.status.replicas);
    let (updated, available) = (new.status.replicas, new.status.available_replicas);
    let known = rollout.value.pointer("/status/stableRS").and_then(Value::as_str).unwrap_or_default();
    // The first template is stable at once.
    let stable =
        if known.is_empty() || available >= rollout.wanted { hash.clone() } else { known.to_owned() };
    let is_seen = new.status.observed_generation >= new.meta.generation;
    let is_healthy = is_seen
        && stable == hash
        && [updated, available, replicas].iter().all(|count| *count == rollout.wanted);
    let selector = selector(rollout).compile().map_or(String::new(), |selector| selector.to_string());
    let status = json!({
        "replicas": replicas,
        "HPAReplicas": replicas,
        "updatedReplicas": updated,
        "readyReplicas": sum(|set| set.status.ready_replicas),
        "availableReplicas": sum(|set| set.status.available_replicas),
        "selector": selector,
        "currentPodHash": hash,
        "stableRS": stable,
        "observedGeneration": rollout.object.meta.generation.to_string(),
        "workloadObservedGeneration": rollout.deployment.meta.generation.to_string(),
        "phase": if is_healthy { "Healthy" } else { "Progressing" },
    });
    let known = rollout.value.get("status");
    let is_told = status.as_object().is_some_and(|status| {
        status.iter().all(|(name, value)| known.and_then(|known| known.get(name)) == Some(value))
    });
    !is_told && write_status(ctx, rollout, &status)
}

fn write_status(ctx: &mut Ctx<'_>, rollout: &Rollout, status: &Value) -> bool {
    let meta = &rollout.object.meta;
    let Ok(resource) = ctx.api.resource_type(&rollout.object.api_version, KIND) else { return false };
    let address = Address::new(resource, Some(meta.namespace.clone()), Some(meta.name.clone()));
    let address = address.with(Subresource::Status);
    ctx.api.patch_json(&address, PatchType::Merge, &json!({"status": status}), Effect::Real).is_ok()
}
