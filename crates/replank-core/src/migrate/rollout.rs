//! The hand-over to an Argo Rollout (docs/migrating of Argo Rollouts: "Reference Deployment From Rollout"): a Rollout takes its template
//! from the Deployment by `workloadRef`, its pods serve beside the Deployment's, then the Deployment is scaled to nothing and stays as
//! the place where the template is kept.
//!
//! Autoscalers follow whoever serves. Where Argo scales the Deployment down as pods get ready they scale the Rollout from the
//! beginning: they would put back what it takes.

use std::collections::BTreeSet;
use std::sync::Arc;

use replank_model::object::Kind;
use replank_model::object::autoscaling::HorizontalPodAutoscaler;
use replank_model::object::meta::Key;
use replank_model::object::workload::Deployment;
use replank_model::text::Name;

use super::argo::{self, Rollout};
use super::serving::{self, Missing};
use super::turn::{Leave, Stand, Turn};
use replank_protocol::command::Dependents;
use replank_protocol::decision::End;
use replank_protocol::hindrance::ScaleDown;
use replank_protocol::migration::Copy;
use replank_protocol::migration::Wait;

/// What is next.
pub(super) fn step(turn: &mut Turn<'_>, stand: &Stand) -> Option<End> {
    let of = stand.record.before.meta.key();
    let rollout = match argo::find(turn.view, &of) {
        Some(rollout) if !rollout.refers_to(&of.name) => return Some(turn.foreign()),
        found => found,
    };
    let Some(live) = stand.live.clone() else {
        // Somebody has deleted it: the Rollout has its template from nowhere else.
        let serves = rollout.as_ref().is_some_and(|rollout| rollout.ready > 0);
        turn.create(stand, if serves { Some(0) } else { stand.record.before.spec.replicas });
        return None;
    };
    if live.meta.is_terminating() {
        turn.wait(Wait::Orphaning);
        return None;
    }
    if stand.is_back {
        give_back(turn, stand, rollout.as_ref(), &live)
    } else {
        take_over(turn, stand, rollout.as_ref(), &live)
    }
}

/// Whether a Deployment has been handed over: a Rollout refers to it, and it wants no pods itself.
pub(super) fn is_handed_over(view: &replank_model::view::View, live: &Deployment) -> bool {
    let rollout = argo::find(view, &live.meta.key());
    size(live) == 0 && rollout.is_some_and(|rollout| rollout.refers_to(&live.meta.name))
}

/// What is missing until the Rollout serves in the place of a Deployment.
pub(super) fn missing(
    turn: &Turn<'_>,
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
    serving::missing_of(turn.view, rollout.uid(), namespace, (labels, wanted), served)
}

/// Forward: the Rollout comes to serve, then the Deployment goes to nothing.
fn take_over(
    turn: &mut Turn<'_>,
    stand: &Stand,
    rollout: Option<&Rollout>,
    live: &Deployment,
) -> Option<End> {
    if let Leave::Stopped(_) = &stand.leave {
        match rollout {
            Some(rollout) if rollout.scale_down != ScaleDown::Never => {
                turn.replace("hold", rollout.with_scale_down(ScaleDown::Never));
                return None;
            }
            // Neither of the two has pods: what is missing is made.
            None if size(live) == 0 => {}
            Some(_) | None => return turn.stands(&stand.leave),
        }
    }
    let to_follow = serving::autoscalers_of(turn.view, &live.meta.namespace, &live.meta.name);
    let to_follow: Vec<Arc<HorizontalPodAutoscaler>> = to_follow.into_iter().cloned().collect();
    let Some(rollout) = rollout else {
        if stand.record.scale_down == ScaleDown::Progressively && !to_follow.is_empty() {
            follow(turn, &to_follow, Whom::Rollout, live);
        } else {
            let replicas = size(live).max(stand.record.before.spec.replicas.unwrap_or(1));
            turn.make_rollout(stand, argo::rollout(live, replicas, stand.record.scale_down));
        }
        return None;
    };
    if rollout.is_terminating() {
        turn.wait(leaving(turn, Copy::Rollout, &live.meta.key()));
        return None;
    }
    let is_followed = !of_rollout(turn, live).is_empty();
    if !is_followed && rollout.replicas < size(live) {
        turn.replace("size", rollout.with_replicas(size(live)));
        return None;
    }
    if let Some(missing) = missing(turn, Some(rollout), live, &stand.record.served) {
        return turn.wait_for(Copy::Rollout, rollout.made(), missing);
    }
    match turn.may_delete(&stand.leave) {
        Ok(true) => {}
        Ok(false) => return None,
        Err(end) => return Some(end),
    }
    if !to_follow.is_empty() {
        follow(turn, &to_follow, Whom::Rollout, live);
        return None;
    }
    if size(live) > 0 {
        scale_down(turn, stand, live);
        return None;
    }
    let pods = serving::pods_of(turn.view, &live.meta.uid).len();
    if live.status.replicas > 0 || pods > 0 {
        turn.wait(Wait::Leaving { copy: Copy::Old, sets: 0, pods: u32::try_from(pods).unwrap_or(u32::MAX) });
        return None;
    }
    turn.lift(&stand.holder);
    None
}

/// The Rollout serves: the Deployment goes to nothing, by Argo's hand or by ours. Argo's scales down for the first template only: where
/// it has not by the end of the patience, it will not.
fn scale_down(turn: &mut Turn<'_>, stand: &Stand, live: &Deployment) {
    let until = stand.record.since + turn.patience();
    match stand.record.scale_down {
        ScaleDown::OnSuccess | ScaleDown::Progressively if turn.now < until => {
            turn.wake_at(until);
            turn.wait(Wait::ScaledDown { replicas: size(live) });
        }
        ScaleDown::Never | ScaleDown::OnSuccess | ScaleDown::Progressively => {
            resize(turn, live, 0);
        }
    }
}

/// Back: the Deployment serves as before, then the Rollout goes.
fn give_back(
    turn: &mut Turn<'_>,
    stand: &Stand,
    rollout: Option<&Rollout>,
    live: &Deployment,
) -> Option<End> {
    if let Some(rollout) = rollout.filter(|rollout| rollout.scale_down != ScaleDown::Never) {
        turn.replace("hold", rollout.with_scale_down(ScaleDown::Never));
        return None;
    }
    let followed = of_rollout(turn, live);
    // Whoever follows the Rollout has said meanwhile how many there are to be.
    let before = stand.record.before.spec.replicas.unwrap_or(1);
    let wanted = match rollout {
        Some(rollout) if !followed.is_empty() => rollout.replicas.max(1),
        Some(_) | None => before,
    };
    if size(live) < wanted {
        resize(turn, live, wanted);
        return None;
    }
    let is_needed = rollout.is_some_and(|rollout| rollout.ready > 0);
    if is_needed && let Some(missing) = serving::missing(turn.view, live, &stand.record.served) {
        turn.wait_on_missing(Copy::Old, missing);
        return None;
    }
    if !followed.is_empty() {
        follow(turn, &followed, Whom::Deployment, live);
        return None;
    }
    if rollout.is_some_and(Rollout::is_terminating) {
        turn.wait(leaving(turn, Copy::Rollout, &live.meta.key()));
        return None;
    }
    match turn.may_delete(&stand.leave) {
        Ok(true) => {}
        Ok(false) => return None,
        Err(end) => return Some(end),
    }
    if let Some(rollout) = rollout {
        turn.delete_object(&rollout.object(), Dependents::Collected);
        return None;
    }
    let left = leaving(turn, Copy::Rollout, &live.meta.key());
    if left != (Wait::Leaving { copy: Copy::Rollout, sets: 0, pods: 0 }) {
        turn.wait(left);
        return None;
    }
    // One that nobody has seen yet may be on its way: the record has to outlive it.
    if turn.is_still() {
        turn.lift(&stand.holder);
    }
    None
}

fn size(deployment: &Deployment) -> i32 {
    deployment.spec.replicas.unwrap_or(1)
}

fn resize(turn: &mut Turn<'_>, live: &Deployment, replicas: i32) {
    let mut live = live.clone();
    live.spec.replicas = Some(replicas);
    turn.replace("scale-down", live.into());
}

/// Autoscalers that scale the Rollout.
fn of_rollout(turn: &Turn<'_>, live: &Deployment) -> Vec<Arc<HorizontalPodAutoscaler>> {
    let found = serving::autoscalers_of_kind(turn.view, &live.meta.namespace, argo::KIND, &live.meta.name);
    found.into_iter().cloned().collect()
}

/// Whom autoscalers scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whom {
    Rollout,
    Deployment,
}

/// Has autoscalers scale the Rollout, or the Deployment of its name.
fn follow(turn: &mut Turn<'_>, autoscalers: &[Arc<HorizontalPodAutoscaler>], whom: Whom, live: &Deployment) {
    let (api_version, kind) = match whom {
        Whom::Rollout => (argo::API_VERSION, argo::KIND),
        Whom::Deployment => (Kind::Deployment.api_version(), Kind::Deployment.as_str()),
    };
    for autoscaler in autoscalers {
        let mut autoscaler = HorizontalPodAutoscaler::clone(autoscaler);
        let target = &mut autoscaler.spec.scale_target_ref;
        (target.api_version, target.kind) = (api_version.into(), kind.into());
        target.name = live.meta.name.clone();
        turn.replace("scale", autoscaler.into());
    }
}

/// What the Rollout of a name still owns.
fn leaving(turn: &Turn<'_>, copy: Copy, of: &Key) -> Wait {
    let is_its = |owner: &replank_model::object::meta::OwnerReference| {
        &*owner.kind == argo::KIND && owner.name == of.name
    };
    let sets = turn.view.replica_sets.unordered().map(|(_, set)| set);
    let sets: Vec<_> = sets
        .filter(|set| set.meta.namespace == of.namespace && set.meta.controller().is_some_and(is_its))
        .collect();
    let pods: usize = sets.iter().map(|set| turn.view.pods_of(&set.meta.uid).len()).sum();
    let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    Wait::Leaving { copy, sets: count(sets.len()), pods: count(pods) }
}
