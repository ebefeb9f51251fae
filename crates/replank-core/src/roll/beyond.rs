//! What a group has beyond its size.

use replank_model::object::cloud::GroupSize;

use super::context::{GroupRoll, Source};
use super::kept::keeps_nodes;
use super::member::Scope;
use replank_facts::plan::Retained;
use replank_protocol::record::GroupRecord;

/// Instances that the group wants beyond its size before the run, those aside that moved into it and those that are kept.
pub(super) fn beyond(roll: &GroupRoll<'_>) -> u32 {
    match (roll.group, roll.original) {
        (Some(_), Some(_)) => roll.wanted().saturating_sub(roll.wanted_before() + roll.retained()),
        (Some(_) | None, Some(_) | None) => 0,
    }
}

/// What the group itself is to want at least when all that it has beyond its size is gone, and so many of the nodes that are retained.
pub(super) fn floor(roll: &GroupRoll<'_>, retained: u32) -> u32 {
    roll.group.map_or(0, |group| group.size.desired.saturating_sub(beyond(roll) + retained))
}

/// How many more nodes than before a group may want for the run's sake as far as it is by now; `None` before it has begun.
///
/// A node comes up beside another one only once that is marked as retained, or its group wants one less. So what somebody else has added shows from the
/// beginning, and not only when the run has all that it may come to want. A run that has halted releases what it kept: then nothing tells any more how much
/// that was.
pub(super) fn extra_by_now(scope: &Scope, roll: &GroupRoll<'_>) -> Option<u32> {
    let begun = roll.begun.as_ref()?;
    if roll.halted.is_some() || !keeps_nodes(scope) && !roll.is_moved_into() {
        return Some(begun.extra);
    }
    let nodes = roll.nodes;
    // One that was kept and has got pods since then is drained once more, and one that somebody has uncordoned is left to him: each is still beside the
    // one in its place.
    let again = if roll.retained_until.is_some() { nodes.draining.len() } else { 0 };
    let still = u32::try_from(again + nodes.aside.len()).unwrap_or(u32::MAX);
    let by_now = [roll.gone(), roll.moved(), still].into_iter().fold(begun.surge, u32::saturating_add);
    Some(begun.extra.min(by_now))
}

/// The most that the run raises the group's maximum to.
pub(super) fn max_raised(scope: &Scope, roll: &GroupRoll<'_>, original: GroupSize) -> u32 {
    let keeps = scope.plan.care.retain.capacity == Retained::Cordoned;
    let kept = if keeps || roll.sources.iter().any(Source::is_managed) {
        roll.begun.as_ref().map_or(0, |begun| begun.nodes)
    } else {
        0
    };
    original.desired + roll.moved() + roll.allowance(scope).surge + kept
}

/// What is known of a group's bounds once nothing on it tells any more what they were.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BoundsBefore {
    /// Its size before the run.
    pub(super) original: GroupSize,
    /// The most that the run raised its maximum to.
    pub(super) max_raised: u32,
}

impl BoundsBefore {
    /// As the group's tags say.
    pub(super) fn read(scope: &Scope, roll: &GroupRoll<'_>) -> Option<Self> {
        let original = roll.original?;
        Some(Self { original, max_raised: max_raised(scope, roll, original) })
    }

    /// As the run's record says. It does not say how many nodes were to be replaced, and so to be kept: no more than the group wanted.
    pub(super) fn recorded(scope: &Scope, record: &GroupRecord) -> Self {
        let kept = if keeps_nodes(scope) { record.original.desired } else { 0 };
        Self { original: record.original, max_raised: record.wanted + kept }
    }
}
