//! What the autoscaler adds to a rolling group is recorded where the run reads the group's final size.
//!
//! A run ends as many instances without replacement as its group is larger than the size that the run wrote down. So an autoscaler that raises the
//! group meanwhile has to raise that size as well, or the run would take the new nodes for its own surge. The group is raised first, and
//! then the size: where a process dies between the two, the one after it sees a group that is larger than the run alone could have made it. The run
//! says how large that is ([`mark::Begun::extra`]); its own surge never counts as added.

use replank_model::object::cloud::GroupSize;
use replank_model::text::Text;

use super::group::Group;
use super::ownership::RollOwnership;
use super::up::Given;
use replank_protocol::command::{Effect, GroupEffect};
use replank_protocol::mark::{self, size_tag, size_text};

/// What a group in a run's hands is to want in the end; `None` for any other.
pub(super) fn in_the_end(given: Given<'_>, group: &Group) -> Option<u32> {
    let RollOwnership::Run { wanted, .. } = group.ownership else { return None };
    let owed = given.state.owed.get(&group.name).copied().unwrap_or(0);
    Some(wanted.max(owed))
}

/// Writes what groups are to want in the end, where that is more than is written.
pub(super) fn record_growth(given: Given<'_>) -> Vec<(Text, Effect)> {
    let due = given.groups.all.iter().filter_map(|group| {
        let RollOwnership::Run { original, .. } = group.ownership else { return None };
        let desired = in_the_end(given, group).filter(|desired| *desired > original.desired)?;
        let to = GroupSize { desired, ..original };
        let key = Text::from(format!("adopt/{}/{}", group.name, size_text(to)));
        // As it is written, whatever its version.
        let from = given.view.groups().get(&group.name)?.tags.get(mark::ORIGINAL_SIZE).cloned();
        let tag = Effect::Group(GroupEffect::Tag {
            group: given.view.group_id(&group.name),
            key: mark::ORIGINAL_SIZE.into(),
            from,
            value: size_tag(to),
        });
        Some((key, tag))
    });
    due.collect()
}
