//! Which template pods are to have, and what is remembered of older ones (`constructHistory`, `cleanupHistory`).

use std::collections::BTreeSet;
use std::sync::Arc;

use replank_model::object::Kind;
use replank_model::object::pod::{Pod, PodTemplate};
use replank_model::object::workload::{ControllerRevision, DaemonSet};
use replank_model::selector::{LabelSelector, Selector};
use replank_model::text::Text;
use replank_model::view::{Ix, View};

use super::template::HASH_LABEL;
use crate::controllers::history::History;
use crate::controllers::index::Index;
use crate::controllers::{Ctx, hash, history, pods};
use replank_apiserver::ApiError;

/// The present revision's hash, and the old revisions.
#[derive(Debug)]
pub(super) struct Revisions {
    pub(super) hash: Text,
    old: Vec<Arc<ControllerRevision>>,
}

/// What a look found that had nothing to write: it holds as long as the set asks for the same, and its revisions are the same.
#[derive(Debug)]
pub(super) struct Settled {
    asked: LabelSelector,
    template: PodTemplate,
    /// The slots of the revisions, sorted.
    slots: Vec<u32>,
    listed: Vec<Arc<ControllerRevision>>,
    /// The selector, compiled.
    pub(super) selector: Arc<Selector>,
    pub(super) revisions: Arc<Revisions>,
}

impl Settled {
    /// Nothing where revisions wait for somebody to adopt them.
    pub(super) fn of(
        view: &View,
        index: &Index,
        set: &DaemonSet,
        selector: &Arc<Selector>,
        revisions: &Arc<Revisions>,
    ) -> Option<Self> {
        let slots = index.owned_by(Kind::ControllerRevision, &set.meta.uid);
        let listed = slots.iter().map(|slot| view.controller_revisions.get(Ix::new(*slot)).cloned());
        let listed = listed.collect::<Option<Vec<_>>>()?;
        let is_all = !index.has_orphans(Kind::ControllerRevision, &set.meta.namespace);
        let (asked, template) = (set.spec.selector.clone()?, set.spec.template.clone());
        let (selector, revisions) = (selector.clone(), revisions.clone());
        is_all.then_some(Self { asked, template, slots, listed, selector, revisions })
    }

    /// Whether it holds.
    pub(super) fn is_of(&self, view: &View, index: &Index, set: &DaemonSet) -> bool {
        let mut known = self.slots.iter().zip(&self.listed);
        set.spec.template == self.template
            && set.spec.selector.as_ref() == Some(&self.asked)
            && index.owns(Kind::ControllerRevision, &set.meta.uid, &self.slots)
            && !index.has_orphans(Kind::ControllerRevision, &set.meta.namespace)
            && known.all(|(slot, known)| {
                view.controller_revisions.get(Ix::new(*slot)).is_some_and(|one| Arc::ptr_eq(one, known))
            })
    }
}

/// Finds the revisions; makes one where the template is new.
pub(super) fn construct(
    ctx: &mut Ctx<'_>,
    index: &Index,
    memory: &mut History,
    set: &DaemonSet,
    selector: &Selector,
) -> Result<Revisions, ApiError> {
    let listed = history::list_all(ctx, index, set);
    let mut found = pods::claim(ctx, set, selector, listed, None, |_: &ControllerRevision| true)?;
    history::sort(&mut found);
    let template = Arc::new(set.spec.template.clone());
    let mut old = Vec::new();
    let mut present = Vec::new();
    for revision in found {
        let revision = labelled(ctx, revision)?;
        match memory.template(&revision).as_ref() == Some(&template) {
            true => present.push(revision),
            false => old.push(revision),
        }
    }
    let number = history::next_number(&old);
    let current = match present.pop() {
        None => snapshot(ctx, set, &template, number)?,
        Some(last) => {
            if !present.is_empty() {
                relabel(ctx, set, hash_of(&last))?;
            }
            for double in &present {
                history::delete(ctx, double)?;
            }
            if last.revision < number { history::renumber(ctx, &last, number)? } else { last }
        }
    };
    Ok(Revisions { hash: hash_of(&current).clone(), old })
}

fn hash_of(revision: &ControllerRevision) -> &Text {
    static NONE: std::sync::LazyLock<Text> = std::sync::LazyLock::new(|| Text::from(""));
    revision.meta.labels.get(HASH_LABEL).unwrap_or(&NONE)
}

/// A revision without a hash gets its name for one.
fn labelled(
    ctx: &mut Ctx<'_>,
    revision: Arc<ControllerRevision>,
) -> Result<Arc<ControllerRevision>, ApiError> {
    if revision.meta.labels.contains_key(HASH_LABEL) {
        return Ok(revision);
    }
    ctx.api.modify::<ControllerRevision>(&revision.meta.key(), |revision| {
        let name = revision.meta.name.text().clone();
        revision.meta.labels = revision.meta.labels.with(HASH_LABEL, name);
    })
}

/// Stores a revision for a new template. Where another template has its name, the next look tries another.
fn snapshot(
    ctx: &mut Ctx<'_>,
    set: &DaemonSet,
    template: &Arc<PodTemplate>,
    number: i64,
) -> Result<Arc<ControllerRevision>, ApiError> {
    let hash = hash::of_template(ctx.api, template, set.status.collision_count);
    let revision = history::revision_of(set, template, number, &hash, HASH_LABEL);
    let key = revision.meta.key();
    let refusal = match ctx.api.create(revision) {
        Err(error) if error.reason == "AlreadyExists" => error,
        done => return done,
    };
    match ctx.view().controller_revisions.by_key(&key).cloned() {
        Some(known) if history::stands_for(&known, template) => Ok(known),
        Some(_) | None => {
            ctx.api.modify::<DaemonSet>(&set.meta.key(), |set| {
                *set.status.collision_count.get_or_insert(0) += 1;
            })?;
            Err(refusal)
        }
    }
}

/// Gives all pods the hash of the revision that is kept of several equal ones.
fn relabel(ctx: &mut Ctx<'_>, set: &DaemonSet, hash: &Text) -> Result<(), ApiError> {
    for pod in pods::owned(ctx, set) {
        if pod.meta.labels.get(HASH_LABEL) != Some(hash) {
            ctx.api.modify::<Pod>(&pod.meta.key(), |pod| {
                pod.meta.labels = pod.meta.labels.with(HASH_LABEL, hash.clone());
            })?;
        }
    }
    Ok(())
}

/// Deletes the oldest revisions that no pod has, beyond the history limit.
pub(super) fn clean_up(ctx: &mut Ctx<'_>, set: &DaemonSet, revisions: &Revisions) -> Result<(), ApiError> {
    let limit = usize::try_from(set.spec.revision_history_limit.unwrap_or(10)).unwrap_or(0);
    let surplus = revisions.old.len().saturating_sub(limit);
    if surplus == 0 {
        return Ok(());
    }
    let pods = pods::owned(ctx, set);
    let live: BTreeSet<&Text> = pods.iter().filter_map(|pod| pod.meta.labels.get(HASH_LABEL)).collect();
    let dead = revisions.old.iter().filter(|revision| !live.contains(hash_of(revision)));
    for revision in dead.take(surplus) {
        match ctx.api.delete(Kind::ControllerRevision, &revision.meta.key(), &Default::default()) {
            Ok(_) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
