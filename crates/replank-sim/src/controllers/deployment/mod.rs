//! Deployments: one ReplicaSet per template, rolled from the old to the new (pkg/controller/deployment).
//!
//! A look works on a copy of the Deployment as upstream does: a second write of its status in one look meets the version
//! of the first, fails, and the look is repeated. Times and intermediate states then come out as recorded.

mod conditions;
mod look;
mod memory;
mod recreate;
mod revision;
mod rolling;
mod scale;
mod sets;
mod settled;
mod status;
mod words;

use std::sync::Arc;

use replank_model::object::Kind;
use replank_model::object::workload::{Deployment, DeploymentStrategyType, ReplicaSet};
use replank_model::selector::Selector;
use replank_model::view::Ix;

use super::index::{Index, resolve};
use super::owners::Owners;
use super::{Controller, Ctx, pods};
use replank_apiserver::ApiError;

use conditions::has_nothing_to_say_of_progress;
use look::{Look, Split};
pub(super) use memory::Memory;
use revision::present;
use settled::Settled;

/// Repetitions after failures, then the Deployment waits for a change (`maxRetries`).
pub(super) const RETRIES_MAX: u32 = 15;

/// Looks at a Deployment.
pub(super) fn sync(ctx: &mut Ctx<'_>, index: &Index, memory: &mut Memory, slot: u32) -> Result<(), ApiError> {
    let ix = Ix::<Deployment>::new(slot);
    let Some(deployment) = ctx.view().deployments.get(ix).cloned() else { return Ok(()) };
    let (settled, words) = memory.settled(slot);
    if let Some(settled) = settled {
        let now = ctx.api.timestamp();
        if let Some(status) = settled.status(ctx.view(), index, &deployment, words, now) {
            if status != deployment.status {
                ctx.api.modify_status_at(ix, |deployment: &mut Deployment| deployment.status = status);
            }
            note_synced(ctx, memory, ix);
            return Ok(());
        }
        if let Some(split) = settled.split(ctx.view(), index, &deployment) {
            let mut look = Look { ctx, words, slot, deployment, sets: Vec::new(), present: None, kept: None };
            look.write_rollout_status(&split)?;
            note_synced(ctx, memory, ix);
            return Ok(());
        }
    }
    let Some(selector) = memory.selector(slot, &deployment) else { return Ok(()) };
    if selector.is_empty() || !selects_its_template(&deployment, &selector) {
        return observe_only(ctx, &deployment);
    }
    let before = ctx.api.version();
    let sets = claim(ctx, index, &deployment, &selector)?;
    let present = present(memory, &sets, &deployment);
    let words = memory.words();
    let mut look = Look { ctx, words, slot, deployment, sets, present, kept: None };
    if look.deployment.meta.is_terminating() {
        let split = look.split(false)?;
        return look.write_status(&split);
    }
    look.note_pause()?;
    if look.deployment.spec.paused || look.is_scaling()? {
        return look.scale_only();
    }
    match look.strategy() {
        DeploymentStrategyType::Recreate => look.recreate()?,
        DeploymentStrategyType::RollingUpdate => look.roll()?,
    }
    if look.ctx.api.version() == before {
        let (split, least) = (look.found(), look.least_available());
        let settled = Settled::of(look.ctx.view(), index, &look.deployment, &split, least);
        memory.settle(slot, settled);
    }
    Ok(())
}

/// After a look that left only the status to write: the next look finds what this one has written, and nothing else to write, unless a rollout begins.
fn note_synced(ctx: &Ctx<'_>, memory: &mut Memory, ix: Ix<Deployment>) {
    let written = ctx.view().deployments.get(ix);
    if let Some(written) = written.filter(|written| has_nothing_to_say_of_progress(written)) {
        memory.set_synced(ix.raw(), written.meta.resource_version);
    }
}

/// No API server stores a Deployment, or a ReplicaSet of it, whose pods it would not know. A snapshot may hold one: its template was left out, and no
/// pod shows it. Its ReplicaSets would make pods without end.
fn selects_its_template(deployment: &Deployment, selector: &Selector) -> bool {
    let labels = &deployment.spec.template.meta.labels;
    selector.matches(|key| labels.value(key))
}

/// A Deployment that selects everything, or not its own pods, is not acted on.
fn observe_only(ctx: &mut Ctx<'_>, deployment: &Deployment) -> Result<(), ApiError> {
    if deployment.status.observed_generation < deployment.meta.generation {
        ctx.api.modify::<Deployment>(&deployment.meta.key(), |deployment| {
            deployment.status.observed_generation = deployment.meta.generation;
        })?;
    }
    Ok(())
}

fn selector(deployment: &Deployment) -> Option<Selector> {
    deployment.spec.selector.as_ref()?.compile().ok()
}

/// The Deployment's ReplicaSets, oldest first, those adopted that fit.
fn claim(
    ctx: &mut Ctx<'_>,
    index: &Index,
    deployment: &Deployment,
    selector: &Selector,
) -> Result<Vec<Arc<ReplicaSet>>, ApiError> {
    let meta = &deployment.meta;
    let mut slots = index.owned_by(Kind::ReplicaSet, &meta.uid);
    slots.extend(index.orphans(Kind::ReplicaSet, &meta.namespace));
    let view = ctx.view();
    let found = slots.into_iter().filter_map(|slot| view.replica_sets.get(Ix::new(slot)).cloned()).collect();
    let mut sets = pods::claim(ctx, deployment, selector, found, None, |_: &ReplicaSet| true)?;
    sets.sort_by(|a, b| sets::by_creation(a, b));
    Ok(sets)
}

/// A ReplicaSet appeared, changed or went: its Deployment is looked at, or all that could adopt it.
pub(super) fn replica_set_changed(
    ctx: &mut Ctx<'_>,
    index: &Index,
    owners: &mut Owners,
    slot: u32,
    old: Option<&ReplicaSet>,
    new: Option<&ReplicaSet>,
) {
    let is_same = match (old, new) {
        (Some(old), Some(new)) => old.meta.owner_references == new.meta.owner_references,
        (Some(_) | None, Some(_) | None) => false,
    };
    if !is_same {
        owners.forget(slot);
    }
    let owner =
        |set: &ReplicaSet| resolve(ctx.view(), Kind::Deployment, &set.meta.namespace, set.meta.controller());
    let after = new.and_then(|new| owners.of(ctx.view(), slot, &new.meta, Kind::Deployment));
    let before = if is_same { after } else { old.and_then(owner) };
    if let Some(slot) = before.filter(|slot| after != Some(*slot)) {
        ctx.enqueue(Controller::Deployment, slot);
    }
    if let Some(slot) = after {
        ctx.enqueue(Controller::Deployment, slot);
        return;
    }
    let Some(set) = new.filter(|set| set.meta.controller().is_none() && !set.meta.labels.is_empty()) else {
        return;
    };
    let is_seen = old.is_some_and(|old| {
        old.meta.labels == set.meta.labels && old.meta.owner_references == set.meta.owner_references
    });
    if is_seen || (old.is_none() && set.meta.is_terminating()) {
        return;
    }
    for slot in index.namespaced(Kind::Deployment, &set.meta.namespace) {
        let deployment = ctx.view().deployments.get(Ix::new(slot));
        let selector = deployment.and_then(|deployment| selector(deployment));
        let labels = &set.meta.labels;
        if selector.is_some_and(|s| !s.is_empty() && s.matches(|key| labels.value(key))) {
            ctx.enqueue(Controller::Deployment, slot);
        }
    }
}

/// A pod of a ReplicaSet went: a Deployment that recreates its pods waits for the last.
pub(super) fn pod_gone(ctx: &mut Ctx<'_>, index: &Index, owners: &mut Owners, of: Ix<ReplicaSet>) {
    let Some(set) = ctx.view().replica_sets.get(of) else { return };
    let Some(slot) = owners.of(ctx.view(), of.raw(), &set.meta, Kind::Deployment) else { return };
    let Some(deployment) = ctx.view().deployments.get(Ix::<Deployment>::new(slot)) else { return };
    if deployment.spec.strategy.r#type != Some(DeploymentStrategyType::Recreate) {
        return;
    }
    let view = ctx.view();
    let is_left = index.owned_by(Kind::ReplicaSet, &deployment.meta.uid).into_iter().any(|slot| {
        let set = view.replica_sets.get(Ix::<ReplicaSet>::new(slot));
        set.is_some_and(|set| !view.pods_of(&set.meta.uid).is_empty())
    });
    if !is_left {
        ctx.enqueue(Controller::Deployment, slot);
    }
}

#[cfg(test)]
mod tests {
    use replank_model::time::Span;
    use serde_json::{Value, json};

    use crate::testing::{node, world};

    /// ReplicaSets and pods after a while of a Deployment with such a template.
    fn made(template: &Value) -> (usize, usize) {
        let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop", "uid": "d"},
            "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": template}});
        let mut world = world(vec![node("n", "a"), deployment]);
        world.pass(Span::from_minutes(2));
        (world.view().replica_sets.len(), world.view().pods.len())
    }

    #[test]
    fn a_deployment_that_would_not_know_its_pods_makes_none() {
        let spec = json!({"containers": [{"name": "c", "image": "i"}]});
        assert_eq!(made(&json!({"metadata": {"labels": {"app": "web"}}, "spec": spec})), (1, 2));
        assert_eq!(made(&json!({"metadata": {"labels": {"app": "other"}}, "spec": spec})), (0, 0));
        assert_eq!(made(&json!({})), (0, 0));
    }
}
