//! `replank upgrade run`: the plan of `upgrade plan`, made of a live cluster and of what EKS says, and carried out step by step.
//!
//! ```text
//! look (EKS, cluster) ─► plan ─► asked ─► record ─► step: look again, ask EKS or roll, follow ─► record ─► next step
//! ```
//!
//! What a step has done stands in EKS and on nodes; the record says which step it is. So another process goes on from there, and does nothing twice.

mod addon;
mod args;
mod begin;
mod belongs;
mod carry;
mod codes;
mod commits;
mod control_plane;
mod course;
mod eyes;
mod ground;
mod keeper;
mod nodes;
mod offer;
mod record;
mod resume;
mod rollback;
mod show;
mod state;
mod teller;
mod way_back;

pub(crate) use args::{UpgradeResumeArgs, UpgradeRollbackArgs, UpgradeRunArgs, UpgradeStateArgs};
pub(super) use begin::run;
pub(super) use resume::resume;
pub(super) use rollback::rollback;
pub(super) use state::{cancel, status};
