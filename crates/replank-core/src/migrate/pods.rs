//! The way of kinds that own their pods themselves, StatefulSets, DaemonSets and ReplicaSets: deleted with the pods orphaned, and made
//! again with a selector that takes them over (`ClaimPods`; StatefulSets by name, too). The template stays the same, so its revision
//! is found again among the orphaned ControllerRevisions (`ListRevisions`, `EqualRevision`), and no pod is restarted. What is missing
//! meanwhile is somebody who makes a pod again that is lost.
//!
//! They have no twin: a StatefulSet's pods have fixed names and volumes, and a node has one pod of a
//! DaemonSet.

use std::collections::BTreeSet;
use std::sync::Arc;

use replank_model::object::cluster::Other;
use replank_model::object::meta::Key;
use replank_model::object::pod::Pod;
use replank_model::object::{Kind, Object};
use replank_model::selector::Selector;
use replank_model::text::{Text, Uid};
use replank_model::view::View;

use super::context::{Context, Leave};
use super::judge::{self, Judgement, Path};
use super::record::{Record, Written};
use super::serving::{self, Missing};
use super::subject::{self, parts, selector};
use super::{Goal, Migrated};
use replank_protocol::command::Dependents;
use replank_protocol::decision::End;
use replank_protocol::hindrance::Hindrance;
use replank_protocol::intent::Intent;
use replank_protocol::waiting::migration::Copy;
use replank_protocol::waiting::{MigrationEnd, MigrationWait};

/// Where a migration is, and where it goes.
struct Position {
    record: Record<Object>,
    holder: Arc<Other>,
    live: Option<Object>,
    /// What there is to be in this direction.
    wanted: Object,
    /// What is to go in this direction.
    other: Object,
    is_back: bool,
    leave: Leave,
}

/// Nothing is written down: it is not begun, or over.
pub(super) fn begin(ctx: &mut Context<'_>) -> Option<End> {
    let Some(live) = ctx.live() else { return Some(ctx.refused(vec![MigrationEnd::Gone])) };
    let after = subject::after(&live, &ctx.request.goal);
    let has_ended = ctx.memory.has_begun || subject::makes_the_same(&live, &after);
    if selector(&live) == selector(&after) && has_ended {
        return Some(End::Done);
    }
    if let Err(end) = ctx.may_begin() {
        return end;
    }
    if live.meta().is_terminating() {
        ctx.wait(MigrationWait::Leaving { copy: Copy::Old, sets: 0, pods: 0 });
        return None;
    }
    let judged = judge(ctx.view, ctx.request.kind, &live, &ctx.request.goal);
    if let Err(found) = judged.path(ctx.request.choice) {
        return Some(ctx.refused(found.into_iter().map(MigrationEnd::Hindered).collect()));
    }
    if let Some(wait) = unsettled(&live) {
        ctx.wait(wait);
        return None;
    }
    let labels = &parts(&live)?.template.meta.labels;
    let record = ctx.record_of((subject::bare(&live), after), Path::Keep, labels);
    ctx.lay(&record, live.meta());
    None
}

/// It is begun.
pub(super) fn go_on(ctx: &mut Context<'_>, record: Record<Object>, holder: Arc<Other>) -> Option<End> {
    let live = ctx.live();
    let is_new = |live: &Object| !live.meta().is_terminating() && selector(live) == selector(&record.after);
    let is_back = match ctx.intent {
        Intent::Undo => true,
        Intent::Cancelled => !live.as_ref().is_some_and(is_new),
        Intent::Run | Intent::Paused => false,
    };
    let (wanted, other) = if is_back {
        (record.before.clone(), record.after.clone())
    } else {
        (record.after.clone(), record.before.clone())
    };
    let leave = ctx.leave(&record, &holder);
    step(ctx, &Position { record, holder, live, wanted, other, is_back, leave })
}

fn step(ctx: &mut Context<'_>, position: &Position) -> Option<End> {
    let Some(live) = &position.live else {
        let direction = if position.is_back { "back" } else { "make" };
        ctx.make(direction, position.wanted.clone(), &position.holder);
        return None;
    };
    if live.meta().is_terminating() {
        ctx.wait(MigrationWait::Orphaning);
        return None;
    }
    if selector(live) == selector(&position.wanted) {
        return settle(ctx, position, live);
    }
    if selector(live) == selector(&position.other) {
        return release(ctx, position, live);
    }
    Some(ctx.foreign())
}

/// What is to stay is there: once it has its pods, and Services find them, it is over.
fn settle(ctx: &mut Context<'_>, position: &Position, live: &Object) -> Option<End> {
    let left = orphans(ctx.view, &position.record.before);
    if left > 0 {
        ctx.wait(MigrationWait::PodAdoption { pods: left });
        return None;
    }
    let now = parts(live)?;
    if !now.is_seen {
        ctx.wait(MigrationWait::Rollout { updated: now.settled.0, wanted: now.settled.1 });
        return None;
    }
    if !position.is_back
        && let Some(missing) = unserved(ctx.view, live, &position.record)
    {
        return ctx.wait_for(Copy::New, live.meta().creation_timestamp, missing);
    }
    // A deletion that was decided on before it was called off may be on its way: the record has to outlive it.
    if !position.is_back || ctx.is_quiet() {
        ctx.lift(&position.holder);
    }
    None
}

/// What is to go is there: it goes if what was judged is still so.
fn release(ctx: &mut Context<'_>, position: &Position, live: &Object) -> Option<End> {
    let (now, noted) = (parts(live)?, parts(&position.other)?);
    let is_as_noted = subject::makes_the_same(live, &position.other) && now.replicas == noted.replicas;
    // Somebody has rolled or scaled it since: the record goes, and it is judged anew.
    if !is_as_noted {
        if ctx.is_quiet() {
            ctx.lift(&position.holder);
        }
        return None;
    }
    if let Some(end) = ctx.stands(&position.leave) {
        return Some(end);
    }
    if let Some(wait) = unsettled(live) {
        ctx.wait(wait);
        return None;
    }
    // Streams do not wait for each other: pods that are nobody's yet may be seen before the object goes.
    if let Some(missing) = unserved(ctx.view, live, &position.record) {
        return ctx.wait_for(Copy::Old, Some(position.record.since), missing);
    }
    match ctx.may_delete(&position.leave) {
        Ok(true) => ctx.delete_object(live, Dependents::Orphaned),
        Ok(false) => {}
        Err(end) => return Some(end),
    }
    None
}

fn unsettled(live: &Object) -> Option<MigrationWait> {
    let now = parts(live)?;
    let (updated, wanted) = now.settled;
    (!now.is_seen || updated != wanted).then_some(MigrationWait::Rollout { updated, wanted })
}

fn pods_of<'a>(view: &'a View, owner: &Uid) -> Vec<&'a Arc<Pod>> {
    let pods = view.pods_of(owner).iter().filter_map(|ix| view.pods.get(*ix));
    pods.filter(|pod| pod.is_active()).collect()
}

/// The first Service of those that served when it began which has none of the pods among its ready endpoints.
fn unserved(view: &View, live: &Object, record: &Record<Object>) -> Option<Missing> {
    let pods: BTreeSet<Uid> =
        pods_of(view, &live.meta().uid).into_iter().map(|pod| pod.meta.uid.clone()).collect();
    serving::unserved_by(view, &pods, &live.meta().namespace, &record.served)
}

/// Pods that were an object's and are nobody's.
fn orphans(view: &View, before: &Object) -> u32 {
    let Some(Ok(selector)) = selector(before).map(replank_model::selector::LabelSelector::compile) else {
        return 0;
    };
    let pods = view.select_pods(&before.meta().namespace, &selector).filter_map(|ix| view.pods.get(ix));
    let left = pods.filter(|pod| pod.is_active() && pod.meta.controller().is_none());
    // Only pods of its own names are a StatefulSet's.
    let left = left.filter(|pod| before.kind() != Kind::StatefulSet || is_member(pod, before));
    u32::try_from(left.count()).unwrap_or(u32::MAX)
}

/// Whether a pod is called as one of a StatefulSet (`isMemberOf`).
fn is_member(pod: &Pod, set: &Object) -> bool {
    let ordinal = pod.meta.name.as_str().strip_prefix(set.meta().name.as_str());
    let ordinal = ordinal.and_then(|rest| rest.strip_prefix('-'));
    ordinal.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Judges the way from an object to what it is to be.
#[must_use]
pub(super) fn judge(view: &View, kind: Migrated, live: &Object, goal: &Goal) -> Judgement {
    let after = subject::after(live, goal);
    let mut both = judge::any(view, kind, live.meta(), live.text().len() + after.text().len());
    let ways = vec![(Path::Keep, Vec::new())];
    match goal {
        Goal::Rollout(_) => {
            both.push(Hindrance::NoRolloutOf { kind: kind.kind() });
            return Judgement { both, ways };
        }
        Goal::Selector(_) | Goal::Manifest(_) => {}
    }
    let selector = match judge::compiled(selector(&after)) {
        Ok(selector) => selector,
        Err(why) => return Judgement { both: vec![Hindrance::Selector { why }], ways },
    };
    let (Some(old), Some(new)) = (parts(live), parts(&after)) else {
        return Judgement { both: vec![Hindrance::NoSet], ways };
    };
    let labels = (&old.template.meta.labels, &new.template.meta.labels);
    both.extend(judge::selecting((old.selector, new.selector), &selector, labels.1));
    both.extend(judge::unselected(view, &live.meta().namespace, labels));
    Judgement { both, ways: vec![(Path::Keep, keep(view, live, &after, &selector))] }
}

fn keep(view: &View, live: &Object, after: &Object, selector: &Selector) -> Vec<Hindrance> {
    let mut found = Vec::new();
    let pods = pods_of(view, &live.meta().uid);
    let unmatched = pods.iter().find(|pod| !selector.matches(|key| pod.meta.labels.value(key)));
    found.extend(unmatched.map(|pod| Hindrance::PodLabels {
        pod: pod.meta.name.clone(),
        selector: Text::from(selector.to_string()),
    }));
    if !subject::makes_the_same(live, after) {
        found.push(Hindrance::OtherPods);
    }
    if !subject::same_claims(live, after) {
        found.push(Hindrance::OtherClaims);
    }
    found.extend(rivals(view, live, &pods));
    found
}

/// Others that would take the pods over while nobody owns them. StatefulSets take pods of their own names only, and Jobs those that
/// bear their uid.
fn rivals(view: &View, live: &Object, pods: &[&Arc<Pod>]) -> Vec<Hindrance> {
    let sets = [Kind::ReplicaSet, Kind::DaemonSet].into_iter().flat_map(|kind| view.objects_of(kind));
    let others = sets.filter(|rival| {
        rival.meta().namespace == live.meta().namespace && rival.meta().uid != live.meta().uid
    });
    let mut found = Vec::new();
    for rival in others {
        let Ok(takes) = judge::compiled(selector(&rival)) else { continue };
        if pods.iter().any(|pod| takes.matches(|key| pod.meta.labels.value(key))) {
            found.push(Hindrance::PodRival { kind: rival.kind(), key: rival.meta().key() });
        }
    }
    for (_, controller) in view.replication_controllers.sorted() {
        let (meta, pairs) = (&controller.meta, controller.spec.selector.pairs());
        let takes = |pod: &Pod| {
            !pairs.is_empty() && pairs.iter().all(|(key, value)| pod.meta.labels.get(key) == Some(value))
        };
        if meta.namespace == live.meta().namespace && pods.iter().any(|pod| takes(pod)) {
            let key: Key = meta.key();
            found.push(Hindrance::PodRival { kind: Kind::ReplicationController, key });
        }
    }
    found
}
