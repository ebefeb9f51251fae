//! The hand-over to an Argo Rollout (docs/migrating of Argo Rollouts: "Reference Deployment From Rollout"): a Rollout takes its template
//! from the Deployment by `workloadRef`, its pods serve beside the Deployment's, then the Deployment is scaled to nothing and stays as
//! the place where the template is kept.
//!
//! Autoscalers target the object that serves. Where Argo scales the Deployment down as pods get ready they scale the Rollout from the
//! beginning: they would put back what it takes.

use std::collections::BTreeSet;
use std::sync::Arc;

use replank_model::object::Kind;
use replank_model::object::autoscaling::HorizontalPodAutoscaler;
use replank_model::object::meta::Key;
use replank_model::object::workload::Deployment;
use replank_model::text::Name;

use super::argo::{self, Rollout};
use super::context::{Context, Leave, Position};
use super::serving::{self, Missing};
use replank_protocol::command::Dependents;
use replank_protocol::decision::End;
use replank_protocol::hindrance::ScaleDown;
use replank_protocol::waiting::MigrationWait;
use replank_protocol::waiting::migration::Copy;

/// What is next.
pub(super) fn step(ctx: &mut Context<'_>, position: &Position) -> Option<End> {
    let of = position.record.before.meta.key();
    let rollout = match argo::find(ctx.view, &of) {
        Some(rollout) if !rollout.refers_to(&of.name) => return Some(ctx.foreign()),
        found => found,
    };
    // Where the Rollout is gone since, the record's end may only not be seen yet.
    let is_leaving = rollout.as_ref().is_none_or(Rollout::is_terminating);
    ctx.memory.is_handed_over &= is_leaving && !position.is_back;
    let Some(live) = position.live.clone() else {
        // Somebody has deleted it: the Rollout has its template from nowhere else.
        let serves = rollout.as_ref().is_some_and(|rollout| rollout.ready > 0);
        ctx.create(position, if serves { Some(0) } else { position.record.before.spec.replicas });
        return None;
    };
    if live.meta.is_terminating() {
        ctx.wait(MigrationWait::Orphaning);
        return None;
    }
    if position.is_back {
        give_back(ctx, position, rollout.as_ref(), &live)
    } else {
        take_over(ctx, position, rollout.as_ref(), &live)
    }
}

/// What is missing until the Rollout serves in the place of a Deployment.
pub(super) fn missing(
    ctx: &Context<'_>,
    rollout: Option<&Rollout>,
    live: &Deployment,
    served: &BTreeSet<Name>,
) -> Option<Missing> {
    let Some(rollout) = rollout else { return Some(Missing::Pods { available: 0, wanted: size(live) }) };
    let wanted = rollout.replicas;
    if !rollout.is_healthy || rollout.available < wanted {
        return Some(Missing::Pods { available: rollout.available.min(wanted), wanted });
    }
    let labels = &live.spec.template.meta.labels;
    let namespace = &live.meta.namespace;
    serving::missing_of(ctx.view, rollout.uid(), namespace, (labels, wanted), served)
}

/// Forward: the Rollout comes to serve, then the Deployment goes to nothing.
fn take_over(
    ctx: &mut Context<'_>,
    position: &Position,
    rollout: Option<&Rollout>,
    live: &Deployment,
) -> Option<End> {
    if let Leave::Stopped(_) = &position.leave {
        match rollout {
            Some(rollout) if rollout.scale_down != ScaleDown::Never => {
                ctx.replace("hold", rollout.with_scale_down(ScaleDown::Never));
                return None;
            }
            // Neither of the two has pods: what is missing is made.
            None if size(live) == 0 => {}
            Some(_) | None => return ctx.stands(&position.leave),
        }
    }
    let to_follow = serving::autoscalers_of(ctx.view, &live.meta.namespace, &live.meta.name);
    let to_follow: Vec<Arc<HorizontalPodAutoscaler>> = to_follow.into_iter().cloned().collect();
    let Some(rollout) = rollout else {
        if position.record.scale_down == ScaleDown::Progressively && !to_follow.is_empty() {
            follow(ctx, &to_follow, ScaleTarget::Rollout, live);
        } else {
            let replicas = size(live).max(position.record.before.spec.replicas.unwrap_or(1));
            ctx.make_rollout(position, argo::rollout(live, replicas, position.record.scale_down));
        }
        return None;
    };
    if rollout.is_terminating() {
        ctx.wait(leaving(ctx, Copy::Rollout, &live.meta.key()));
        return None;
    }
    let is_followed = !of_rollout(ctx, live).is_empty();
    if !is_followed && rollout.replicas < size(live) {
        ctx.replace("size", rollout.with_replicas(size(live)));
        return None;
    }
    if let Some(missing) = missing(ctx, Some(rollout), live, &position.record.served) {
        return ctx.wait_for(Copy::Rollout, rollout.made(), missing);
    }
    match ctx.may_delete(&position.leave) {
        Ok(true) => {}
        Ok(false) => return None,
        Err(end) => return Some(end),
    }
    if !to_follow.is_empty() {
        follow(ctx, &to_follow, ScaleTarget::Rollout, live);
        return None;
    }
    if size(live) > 0 {
        scale_down(ctx, position, live);
        return None;
    }
    let pods = serving::pods_of(ctx.view, &live.meta.uid).len();
    if live.status.replicas > 0 || pods > 0 {
        ctx.wait(MigrationWait::Leaving {
            copy: Copy::Old,
            sets: 0,
            pods: u32::try_from(pods).unwrap_or(u32::MAX),
        });
        return None;
    }
    ctx.memory.is_handed_over = true;
    ctx.lift(&position.holder);
    None
}

/// The Rollout serves: the Deployment goes to nothing, by Argo's hand or by ours. Argo's scales down for the first template only: where
/// it has not by the end of the patience, it will not.
fn scale_down(ctx: &mut Context<'_>, position: &Position, live: &Deployment) {
    let until = position.record.since + ctx.patience();
    match position.record.scale_down {
        ScaleDown::OnSuccess | ScaleDown::Progressively if ctx.now < until => {
            ctx.wake_at(until);
            ctx.wait(MigrationWait::ScaledDown { replicas: size(live) });
        }
        ScaleDown::Never | ScaleDown::OnSuccess | ScaleDown::Progressively => {
            resize(ctx, live, 0);
        }
    }
}

/// Back: the Deployment serves as before, then the Rollout goes.
fn give_back(
    ctx: &mut Context<'_>,
    position: &Position,
    rollout: Option<&Rollout>,
    live: &Deployment,
) -> Option<End> {
    if let Some(rollout) = rollout.filter(|rollout| rollout.scale_down != ScaleDown::Never) {
        ctx.replace("hold", rollout.with_scale_down(ScaleDown::Never));
        return None;
    }
    let followed = of_rollout(ctx, live);
    // The Rollout's autoscaler may have changed the replicas meanwhile.
    let before = position.record.before.spec.replicas.unwrap_or(1);
    let wanted = match rollout {
        Some(rollout) if !followed.is_empty() => rollout.replicas.max(1),
        Some(_) | None => before,
    };
    if size(live) < wanted {
        resize(ctx, live, wanted);
        return None;
    }
    let is_needed = rollout.is_some_and(|rollout| rollout.ready > 0);
    if is_needed && let Some(missing) = serving::missing(ctx.view, live, &position.record.served) {
        ctx.wait_on_missing(Copy::Old, missing);
        return None;
    }
    if !followed.is_empty() {
        follow(ctx, &followed, ScaleTarget::Deployment, live);
        return None;
    }
    if rollout.is_some_and(Rollout::is_terminating) {
        ctx.wait(leaving(ctx, Copy::Rollout, &live.meta.key()));
        return None;
    }
    match ctx.may_delete(&position.leave) {
        Ok(true) => {}
        Ok(false) => return None,
        Err(end) => return Some(end),
    }
    if let Some(rollout) = rollout {
        ctx.delete_object(&rollout.object(), Dependents::Collected);
        return None;
    }
    let left = leaving(ctx, Copy::Rollout, &live.meta.key());
    if left != (MigrationWait::Leaving { copy: Copy::Rollout, sets: 0, pods: 0 }) {
        ctx.wait(left);
        return None;
    }
    // One that nobody has seen yet may be on its way: the record has to outlive it.
    if ctx.is_still() {
        ctx.lift(&position.holder);
    }
    None
}

fn size(deployment: &Deployment) -> i32 {
    deployment.spec.replicas.unwrap_or(1)
}

fn resize(ctx: &mut Context<'_>, live: &Deployment, replicas: i32) {
    let mut live = live.clone();
    live.spec.replicas = Some(replicas);
    ctx.replace("scale-down", live.into());
}

/// Autoscalers that scale the Rollout.
fn of_rollout(ctx: &Context<'_>, live: &Deployment) -> Vec<Arc<HorizontalPodAutoscaler>> {
    let found = serving::autoscalers_of_kind(ctx.view, &live.meta.namespace, argo::KIND, &live.meta.name);
    found.into_iter().cloned().collect()
}

/// The object that autoscalers scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ScaleTarget {
    Rollout,
    Deployment,
}

/// Has autoscalers scale the Rollout, or the Deployment of its name.
fn follow(
    ctx: &mut Context<'_>,
    autoscalers: &[Arc<HorizontalPodAutoscaler>],
    target: ScaleTarget,
    live: &Deployment,
) {
    let (api_version, kind) = match target {
        ScaleTarget::Rollout => (argo::API_VERSION, argo::KIND),
        ScaleTarget::Deployment => (Kind::Deployment.api_version(), Kind::Deployment.as_str()),
    };
    for autoscaler in autoscalers {
        let mut autoscaler = HorizontalPodAutoscaler::clone(autoscaler);
        let target = &mut autoscaler.spec.scale_target_ref;
        (target.api_version, target.kind) = (api_version.into(), kind.into());
        target.name = live.meta.name.clone();
        ctx.replace("scale", autoscaler.into());
    }
}

/// What the Rollout of a name still owns.
fn leaving(ctx: &Context<'_>, copy: Copy, of: &Key) -> MigrationWait {
    let is_its = |owner: &replank_model::object::meta::OwnerReference| {
        &*owner.kind == argo::KIND && owner.name == of.name
    };
    let sets = ctx.view.replica_sets.unordered().map(|(_, set)| set);
    let sets: Vec<_> = sets
        .filter(|set| set.meta.namespace == of.namespace && set.meta.controller().is_some_and(is_its))
        .collect();
    let pods: usize = sets.iter().map(|set| ctx.view.pods_of(&set.meta.uid).len()).sum();
    let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    MigrationWait::Leaving { copy, sets: count(sets.len()), pods: count(pods) }
}
