//! What a run writes down of groups that nobody can put tags on: in its record.
//!
//! A decision collects what it wants noted ([`Context::note`]), and writes all of it at once, with the record's version as the precondition. What is not seen in the
//! record is wanted again by the next decision, like a tag.

use std::collections::BTreeMap;
use std::sync::Arc;

use replank_model::object::cluster::Other;
use replank_model::text::{GroupName, Text};
use replank_protocol::command::CommandKey;
use replank_protocol::mark;
use replank_protocol::record::GroupRecord;

use super::context::Context;

/// What is to be written, by group and key; `None` takes a note away.
pub(super) type Notes = BTreeMap<GroupName, BTreeMap<Text, Option<Text>>>;

/// The records of groups with notes written on them.
pub(super) fn written(
    mut groups: BTreeMap<GroupName, GroupRecord>,
    notes: &Notes,
) -> BTreeMap<GroupName, GroupRecord> {
    for (name, changes) in notes {
        let Some(group) = groups.get_mut(name) else { continue };
        for (key, value) in changes {
            group.notes = match value {
                Some(value) => group.notes.with(key.clone(), value.clone()),
                None => group.notes.without(key),
            };
        }
    }
    groups
}

/// The key of a write of the record. That the run halts is told apart: until it is seen, nothing else may be begun.
pub(super) fn key(ctx: &Context<'_>, holder: &Arc<Other>, halts: bool) -> CommandKey {
    let effect = if halts { "record-halt" } else { "record" };
    ctx.key(effect, format!("{}/{}", holder.meta.key(), holder.meta.resource_version.0))
}

/// Whether something that is to be noted says that the run has halted.
pub(super) fn halts(notes: &Notes) -> bool {
    notes.values().any(|changes| changes.contains_key(mark::HALTED))
}

/// Whether the note that the run has halted is on its way.
pub(super) fn is_halting(ctx: &Context<'_>) -> bool {
    let is_under_way = |holder| ctx.sent.is_under_way(ctx.now, &key(ctx, holder, true));
    ctx.scope.is_external() && ctx.holder.as_ref().is_some_and(is_under_way)
}
