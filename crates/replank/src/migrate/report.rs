//! What a migration has to say before it begins.

use replank_core::migrate::{Judgement, Migrated, Path};
use replank_facts::coverage::Coverage;
use replank_model::object::meta::Key;
use replank_model::time::Time;
use replank_protocol::hindrance::Hindrance;
use replank_rehearse::MigrationResult;

use super::writers::Writer;

/// What was assessed, and the outcome.
#[derive(Debug)]
pub(super) struct Report {
    /// What was read, in a few words.
    pub(super) name: String,
    /// When it was.
    pub(super) now: Time,
    pub(super) kind: Migrated,
    pub(super) key: Key,
    /// Who writes it in versions that are gone.
    pub(super) writers: Vec<Writer>,
    pub(super) before: String,
    pub(super) after: String,
    /// Whether it keeps its selector, and a Rollout takes over.
    pub(super) is_handed_over: bool,
    pub(super) judgement: Judgement,
    /// The way that was taken, or what forbids it.
    pub(super) path: Result<Path, Vec<Hindrance>>,
    /// The outcome; `None` if no path is possible.
    pub(super) result: Option<MigrationResult>,
    /// What of the cluster could be seen.
    pub(super) coverage: Coverage,
}

/// Whether there is nothing to move: the object has the selector already, and is one under every version; or a Rollout has taken over.
pub(super) fn is_nothing_to_move(report: &Report) -> bool {
    matches!(*report.judgement.both, [Hindrance::SameSelector | Hindrance::HandedOver])
}
