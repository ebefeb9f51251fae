//! What one look at the View decides.

use replank_model::time::Time;

use crate::command::Command;
use crate::noticed::Noticed;
use crate::waiting::Waiting;

/// The result of one call of [`crate::Core::decide`].
#[derive(Clone, Debug, Default, PartialEq)]
#[must_use = "a decision that is not carried out is lost"]
pub struct Decision {
    /// What to do, in order.
    pub commands: Vec<Command>,
    /// What is not done, and why: one entry for every thing that waits.
    pub waiting: Vec<Waiting>,
    /// When to look again even if nothing is observed; `None` if only an observation can change anything.
    pub wake_at: Option<Time>,
    /// What others did since the last look, as far as it is the run's business.
    pub noticed: Vec<Noticed>,
    /// Set once the run is over.
    pub end: Option<End>,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq)]
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
