//! Groups of a run: their intended sizes without it.
//!
//! A run that replaces a group's nodes writes the group's size down before it raises it ([`replank_protocol::mark::ORIGINAL_SIZE`]), and how much it raises it
//! by ([`replank_protocol::mark::BEGUN`]). Until it is over, that size is what the group wants apart from the run: the autoscaler grows the group within it,
//! and writes what it added into the same tag, so that the run leaves the group as large as it is needed ([`super::growth`]). None of its nodes goes:
//! new ones are not under-used and old ones are not unneeded, they are on their way in and out.

use replank_model::object::cloud::{GroupSize, NodeGroup};

use replank_protocol::mark::{self, Begun, read_size};

/// In whose hands a group is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RollOwnership {
    /// Nobody's.
    #[default]
    Free,
    /// A newer Replank has written on it: it is left alone.
    Newer {
        /// The version of what it wrote.
        version: u64,
    },
    /// A run takes hold of it, or its nodes move into another group: it is left alone.
    Closed,
    /// A run replaces its nodes.
    Run {
        /// Its size as the run has written it down.
        original: GroupSize,
        /// What it wants without the run, as far as that is known.
        wanted: u32,
    },
}

impl RollOwnership {
    /// As a group's tags say.
    pub(super) fn of(group: &NodeGroup) -> Self {
        if let Some(version) = mark::newer_on_group(group) {
            return Self::Newer { version };
        }
        let Some(original) = group.tags.value(mark::ORIGINAL_SIZE).and_then(read_size) else {
            return Self::Free;
        };
        match group.tags.value(mark::BEGUN).and_then(Begun::read) {
            Some(begun) => {
                let wanted = original.desired.max(group.size.desired.saturating_sub(begun.extra));
                Self::Run { original, wanted }
            }
            None => Self::Closed,
        }
    }

    /// Takes it that the group wants at least so many without the run.
    pub(super) fn at_least(&mut self, least: u32) {
        match self {
            Self::Run { wanted, .. } => *wanted = least.max(*wanted),
            Self::Free | Self::Closed | Self::Newer { .. } => {}
        }
    }

    /// How many nodes may be added to a group of such a size.
    pub(super) fn room(self, size: GroupSize) -> u32 {
        match self {
            Self::Free => size.max.saturating_sub(size.desired),
            Self::Closed | Self::Newer { .. } => 0,
            Self::Run { original, wanted, .. } => original.max.saturating_sub(wanted),
        }
    }

    /// The maximum, the run's part aside.
    pub(super) fn max(self, size: GroupSize) -> u32 {
        match self {
            Self::Free | Self::Closed | Self::Newer { .. } => size.max,
            Self::Run { original, .. } => original.max,
        }
    }
}

#[cfg(test)]
mod tests {
    use replank_model::labels::TextMap;
    use replank_model::object::cloud::LaunchTemplate;

    use super::*;

    fn group(desired: u32, max: u32, tags: &[(&str, &str)]) -> NodeGroup {
        let tags = tags.iter().fold(TextMap::default(), |tags, (key, value)| tags.with(*key, *value));
        let size = GroupSize { min: 0, max, desired };
        NodeGroup { tags, ..NodeGroup::new("web".into(), size, Vec::new(), LaunchTemplate::default()) }
    }

    #[test]
    fn a_run_gives_the_autoscaler_no_more_room_than_the_group_had_before() {
        let free = group(3, 5, &[]);
        assert_eq!(RollOwnership::of(&free).room(free.size), 2);
        let newer = group(3, 5, &[(mark::ORIGINAL_SIZE, "v2 0/5/3")]);
        assert_eq!(RollOwnership::of(&newer), RollOwnership::Newer { version: 2 });
        assert_eq!(RollOwnership::of(&newer).room(newer.size), 0);
        let written = group(3, 5, &[(mark::ORIGINAL_SIZE, "0/5/3")]);
        assert_eq!(RollOwnership::of(&written), RollOwnership::Closed);
        let begun = [(mark::ORIGINAL_SIZE, "0/5/3"), (mark::BEGUN, "run nodes=3 surge=1")];
        let raised = group(4, 5, &begun);
        assert_eq!(RollOwnership::of(&raised).room(raised.size), 2, "the surge takes none of it");
        let given_up = group(3, 5, &begun);
        assert_eq!(RollOwnership::of(&given_up).room(given_up.size), 2);
        let full = group(6, 6, &[(mark::ORIGINAL_SIZE, "0/5/5"), (mark::BEGUN, "run nodes=3 surge=1")]);
        assert_eq!(
            RollOwnership::of(&full).room(full.size),
            0,
            "what the run raised the maximum by is the run's"
        );
        assert_eq!(RollOwnership::of(&full).max(full.size), 5);
        let by_hand = group(6, 6, &begun);
        assert_eq!(RollOwnership::of(&by_hand).room(by_hand.size), 0, "somebody else has added two");
        let begun = [(mark::ORIGINAL_SIZE, "0/5/3"), (mark::BEGUN, "run nodes=3 surge=1 extra=4")];
        let retaining = group(6, 6, &begun);
        assert_eq!(RollOwnership::of(&retaining).room(retaining.size), 2, "the run may keep all three");
    }
}
