//! Rehearsals: a plan run on the simulated copy of a cluster, and the outcome.
//!
//! The simulated cluster is `replank-sim`'s and knows nothing of reports; what is counted, found and judged of it is here.
//!
//! Layers, each knows only those below it: `compare` → `rehearsal` → `replay`, `finding_entry` → `proof` → `complete`; `migration`, `drain`, `idle` → `complete`; `millis`.

mod by_hand;
pub mod compare;
mod complete;
mod drain;
mod finding_entry;
mod idle;
mod migration;
mod millis;
pub mod proof;
mod rehearsal;
pub mod replay;
#[cfg(test)]
mod testing;

pub use complete::{completed, count_budgets};
pub use drain::{DrainResult, NodeTimes, rehearse_drain};
pub use finding_entry::{ChangeEntry, FindingEntry, Proof, RequestEntry};
pub use idle::Idle;
pub use migration::{MigrationResult, Served, Step, migration_step, rehearse_migration};
pub use rehearsal::{
    Actor, AssumptionEntry, AutoscalerFigures, BatchFigures, Blocker, Bounds, BudgetAt, BudgetFigures, By,
    Cause, ConnectionFigures, CountAt, Demand, DemandError, EndedBatch, EndedBy, Ending, EvictionEntry,
    GroupImage, InterruptionFigures, InterruptionKind, NodeFigures, NodePhase, NodeShape, NodeTimeline,
    NoticedEntry, OtherNode, Outcome, PhaseStart, PodFigures, Progress, RESULT_VERSION, Rehearsal,
    RehearsalResult, Remains, Request, Rollback, ScriptEventEntry, Setup, SizeLeft, StageEntry, StartEntry,
    Stop, Successor, Timeline, Verdict, Wait, WorkloadFigures, failing,
};
