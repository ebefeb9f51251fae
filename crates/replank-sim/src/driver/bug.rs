//! Bugs that can be planted in the driver: what careless drivers do. Tests plant them, to see that the checkers notice; nothing else does.

use replank_model::object::cloud::{LaunchTemplateRef, NodeGroup};
use replank_model::object::pod::Pod;
use replank_model::time::{Span, Time};
use replank_protocol::command::Effect;

/// How old the list is from which [`DriverBug::StaleEmptiness`] reads that a node is empty.
const STALE: Span = Span::from_secs(30);

/// What the driver does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DriverBug {
    /// Evictions and deletions name no uid; a call without an answer is repeated, which would do no harm if they did.
    NoUid,
    /// A command without an answer is sent once more, without a look at what there is.
    ResendAfterTimeout,
    /// Instances missing from a partial answer of the cloud count as deleted.
    PartialPollIsDeletion,
    /// That a node is empty is read off a list that is older than its cordon.
    StaleEmptiness,
    /// An instance that is not listed counts as terminated.
    AbsentIsTerminated,
    /// A launch template's version is taken by its position among those that are there, as if none had ever been deleted.
    TemplateByIndex,
}

impl DriverBug {
    /// Whether a command of which no answer came is sent once more.
    pub(super) fn repeats(self, effect: &Effect) -> bool {
        match self {
            Self::NoUid => matches!(effect, Effect::Kubernetes(_)),
            Self::ResendAfterTimeout => true,
            Self::PartialPollIsDeletion
            | Self::StaleEmptiness
            | Self::AbsentIsTerminated
            | Self::TemplateByIndex => false,
        }
    }

    /// Whether a pod is in the list from which the driver reads what is left on a node.
    pub(super) fn lists(self, pod: &Pod, now: Time) -> bool {
        match self {
            Self::StaleEmptiness => pod.meta.creation_timestamp.is_none_or(|made| made + STALE < now),
            Self::NoUid
            | Self::ResendAfterTimeout
            | Self::PartialPollIsDeletion
            | Self::AbsentIsTerminated
            | Self::TemplateByIndex => true,
        }
    }

    /// Which of the versions that are there is taken for the one of a number.
    pub(super) fn version(self, group: &NodeGroup, meant: LaunchTemplateRef) -> LaunchTemplateRef {
        match self {
            Self::TemplateByIndex => {
                let position =
                    usize::try_from(meant.version - LaunchTemplateRef::FIRST).unwrap_or(usize::MAX);
                let last = group.templates.len().saturating_sub(1);
                group.templates.keys().nth(position.min(last)).cloned().unwrap_or(meant)
            }
            Self::NoUid
            | Self::ResendAfterTimeout
            | Self::PartialPollIsDeletion
            | Self::StaleEmptiness
            | Self::AbsentIsTerminated => meant,
        }
    }
}
