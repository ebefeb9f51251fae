//! What a run writes down of groups that nobody can put tags on: in its record.
//!
//! A decision collects what it wants noted , and writes all of it at once, with the record's version as the precondition. What is not seen in the
//! record is wanted again by the next decision, like a tag.

use std::collections::BTreeMap;

use replank_model::text::{GroupName, Text};
use replank_protocol::mark;
use replank_protocol::record::GroupRecord;

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

/// Whether something that is to be noted says that the run has halted.
pub(super) fn halts(notes: &Notes) -> bool {
    notes.values().any(|changes| changes.contains_key(mark::HALTED))
}
