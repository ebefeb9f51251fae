//! What an object is to be.

use replank_model::object::Object;
use replank_model::selector::LabelSelector;
use replank_model::text::RunId;
use replank_model::time::Span;
use replank_protocol::decision::{Decision, End};
use replank_protocol::hindrance::ScaleDown;

/// What an object is to be.
#[derive(Clone, Debug, PartialEq)]
pub enum Goal {
    /// As it is, with another selector. Labels that it asks for and the template lacks are added to the template.
    Selector(LabelSelector),
    /// As a manifest says, with as many replicas as there are.
    Manifest(Object),
    /// Handed over to an Argo Rollout of its name, which takes its template from it; it stays, and wants no pods.
    Rollout(ScaleDown),
}

/// What a migration is told besides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// On whose behalf.
    pub run: RunId,
    /// How long a twin or a Rollout may take to serve before it goes again, and a new object before the migration is said to be blocked.
    pub patience: Span,
}

/// After that time anybody may clear what a migration has written.
pub(super) const EXPIRY: Span = Span::from_minutes(7 * 24 * 60);

/// The end of a decision.
pub(super) fn ended(end: End) -> Decision {
    let waiting = match &end {
        End::Done => Vec::new(),
        End::RolledBack(waiting)
        | End::Blocked(waiting)
        | End::Cancelled(waiting)
        | End::Refused(waiting) => waiting.clone(),
    };
    Decision { waiting: waiting.into(), end: Some(end), ..Decision::default() }
}
