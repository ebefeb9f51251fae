//! Which revision pods have, and which they are to have (`stateful_set_control.go`, `getStatefulSetRevisions`).

use std::collections::BTreeSet;
use std::sync::Arc;

use replank_model::object::pod::{Pod, PodTemplate};
use replank_model::object::workload::{ControllerRevision, StatefulSet};

use super::revision_label;
use crate::controllers::history::History;
use crate::controllers::{Ctx, history};
use replank_apiserver::ApiError;

/// The revision from before the update, the one of the update, and their templates.
pub(super) struct Plan {
    pub(super) current: Arc<ControllerRevision>,
    pub(super) update: Arc<ControllerRevision>,
    pub(super) current_template: Arc<PodTemplate>,
    pub(super) update_template: Arc<PodTemplate>,
    pub(super) collisions: i32,
}

/// Finds the revisions; makes one where the template is new.
pub(super) fn plan(
    ctx: &mut Ctx<'_>,
    memory: &mut History,
    set: &StatefulSet,
    all: &[Arc<ControllerRevision>],
) -> Result<Plan, ApiError> {
    let mut collisions = set.status.collision_count.unwrap_or(0);
    let template = Arc::new(set.spec.template.clone());
    let is_equal = |memory: &mut History, revision: &Arc<ControllerRevision>| {
        memory.template(revision).as_ref() == Some(&template)
    };
    let equal = all.iter().rfind(|revision| is_equal(memory, revision)).cloned();
    let update = match (equal, all.last()) {
        (Some(equal), Some(last)) if equal.meta.uid == last.meta.uid => equal,
        (Some(equal), _) => history::renumber(ctx, &equal, history::next_number(all))?,
        (None, _) => history::create(ctx, set, &template, history::next_number(all), &mut collisions)?,
    };
    let current = all
        .iter()
        .find(|revision| **revision.meta.name.text() == *set.status.current_revision)
        .unwrap_or(&update)
        .clone();
    // Data that cannot be read stands for the present template.
    let current_template = memory.template(&current).unwrap_or_else(|| template.clone());
    Ok(Plan { current, update, current_template, update_template: template, collisions })
}

/// Deletes the oldest revisions that no pod has, beyond the history limit.
pub(super) fn truncate(
    ctx: &mut Ctx<'_>,
    set: &StatefulSet,
    owned: &[Arc<Pod>],
    all: &[Arc<ControllerRevision>],
    plan: &Plan,
) -> Result<(), ApiError> {
    let mut live: BTreeSet<&str> = owned.iter().map(|pod| revision_label(pod)).collect();
    live.insert(plan.current.meta.name.as_str());
    live.insert(plan.update.meta.name.as_str());
    let dead: Vec<_> = all.iter().filter(|revision| !live.contains(revision.meta.name.as_str())).collect();
    let Ok(limit) = usize::try_from(set.spec.revision_history_limit.unwrap_or(10)) else { return Ok(()) };
    for revision in dead.iter().take(dead.len().saturating_sub(limit)) {
        history::delete(ctx, revision)?;
    }
    Ok(())
}
