//! Raises of groups in a run's hands that nobody knows the outcome of yet.
//!
//! What the autoscaler adds to such a group has to be recorded ([`super::growth`]), and only if it was added. An answer says so, and so does the
//! group. A raise that nobody answers for is not taken to have happened: it may have been lost on its way, and what is recorded then makes the run
//! leave a node more than anybody wants. So it is kept with its sizes until the group is seen as large as it was to be, or until it can no
//! longer come to be seen. Meanwhile the group is not raised a second time, and the run neither resizes it nor ends an instance of it without
//! replacement: that would hide what the raise has added.

use std::collections::{BTreeMap, BTreeSet};

use replank_model::object::cloud::NodeGroup;
use replank_model::text::GroupName;
use replank_model::time::Time;
use replank_protocol::command::{Answer, CommandKey, Outcome};

use crate::sent::SETTLED_WITHIN;

/// A raise that was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Raise {
    /// The group.
    pub(crate) group: GroupName,
    /// How many nodes it is to want.
    pub(crate) to: u32,
    /// How many it is then to want in the end, without the run.
    pub(crate) kept: u32,
    /// When it was sent.
    pub(crate) at: Time,
}

/// See the module's page.
#[derive(Debug, Default)]
pub(super) struct Raises(BTreeMap<CommandKey, (Raise, Time)>);

impl Raises {
    /// Takes in raises that were sent.
    pub(super) fn sent(&mut self, raises: BTreeMap<CommandKey, Raise>) {
        let until = |raise: Raise| {
            let until = raise.at + SETTLED_WITHIN;
            (raise, until)
        };
        self.0.extend(raises.into_iter().map(|(key, raise)| (key, until(raise))));
    }

    /// Takes in what became of a command; what a group is to want in the end because of it.
    pub(super) fn answered(&mut self, outcome: &Outcome) -> Option<(GroupName, u32)> {
        match &outcome.answer {
            Answer::Done => self.0.remove(&outcome.key).map(|(raise, _)| (raise.group, raise.kept)),
            Answer::Refused(_) => {
                self.0.remove(&outcome.key);
                None
            }
            Answer::Unknown { .. } => {
                if let Some((_, until)) = self.0.get_mut(&outcome.key) {
                    *until = outcome.at + SETTLED_WITHIN;
                }
                None
            }
        }
    }

    /// Takes in how a group is seen; what it is to want in the end because of raises that show on it.
    pub(super) fn seen(&mut self, group: &NodeGroup) -> Option<(GroupName, u32)> {
        let shown = self
            .0
            .extract_if(.., |_, (raise, _)| raise.group == group.name && group.size.desired >= raise.to);
        shown.map(|(_, (raise, _))| (raise.group, raise.kept)).max_by_key(|(_, kept)| *kept)
    }

    /// Forgets what can no longer come to be seen.
    pub(super) fn forget_late(&mut self, now: Time) {
        self.0.retain(|_, (_, until)| *until >= now);
    }

    /// The groups that may have been raised.
    pub(super) fn groups(&self) -> BTreeSet<GroupName> {
        self.0.values().map(|(raise, _)| raise.group.clone()).collect()
    }

    /// When the first of them can no longer come to be seen.
    pub(super) fn until(&self) -> Option<Time> {
        self.0.values().map(|(_, until)| *until).min()
    }
}
