//! What one look at the View decides.

use replank_model::time::Time;
use serde::{Deserialize, Serialize};

use crate::command::Command;
use crate::noticed::Noticed;
use crate::wait_list::WaitList;
use crate::waiting::{Hope, InterruptionWait, Waiting, WaitingOn};

/// The result of one call of [`crate::engine::Engine::decide`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[must_use = "a decision that is not carried out is lost"]
#[serde(rename_all = "camelCase")]
pub struct Decision {
    /// What to do, in order.
    pub commands: Vec<Command>,
    /// What is not done, and why.
    pub waiting: WaitList,
    /// When to look again even if nothing is observed; `None` if only an observation can change anything.
    pub wake_at: Option<Time>,
    /// What others did since the last look, as far as it is the run's business.
    pub noticed: Vec<Noticed>,
    /// Set once the run is over.
    pub end: Option<End>,
}

impl Decision {
    /// This decision, and then another that was taken knowing of it and has no end of its own.
    pub fn then(self, next: Self) -> Self {
        let end = self.end.clone();
        Self { end, ..self.joined(next) }
    }

    /// This decision, and then another that was taken knowing of it. While something is going on here that is sure to end soon, the
    /// other's end is not the end.
    pub fn before(self, next: Self, is_pressing: bool) -> Self {
        let is_moving = |waiting: &Waiting| {
            // What nobody knows may never be heard of.
            waiting.on.hope() != Hope::None
                && !matches!(waiting.on, WaitingOn::Interruption(InterruptionWait::Unregistered { .. }))
        };
        let is_open = is_pressing && self.waiting.iter().any(is_moving);
        let end = next.end.clone().filter(|_| !is_open);
        Self { end, ..self.joined(next) }
    }

    fn joined(mut self, next: Self) -> Self {
        self.commands.extend(next.commands);
        self.waiting = self.waiting.joined(next.waiting);
        self.wake_at = self.wake_at.into_iter().chain(next.wake_at).min();
        self.noticed.extend(next.noticed);
        self
    }
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum End {
    /// Everything was done.
    Done,
    /// It could not go on, and nodes are again as they were before; what had blocked, where it is still known.
    RolledBack(Vec<Waiting>),
    /// It cannot go on by itself; what blocks, each with its object and reason.
    Blocked(Vec<Waiting>),
    /// A person ended it; what was in the way of what is left, where something was.
    Cancelled(Vec<Waiting>),
    /// It did not begin: the plan refuses to with such findings.
    Refused(Vec<Waiting>),
}
