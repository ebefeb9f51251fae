//! What a report about an upgrade's request tells of.

use replank_facts::groups::LearntGroup;
use replank_facts::plan::Plan;
use replank_rehearse::RehearsalResult;

use crate::report::About;

/// What a change request is made from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request<'a> {
    /// The outcome of the rehearsal.
    pub(crate) result: &'a RehearsalResult,
    /// What was rehearsed.
    pub(crate) plan: &'a Plan,
    /// Node groups as they were before.
    pub(crate) groups: &'a [LearntGroup],
    /// What the report says beside the result.
    pub(crate) about: About<'a>,
}
