//! The decisions of Replank, pure.
//!
//! Core is given what was observed ([`Core::observe`]), what became of what it asked for ([`Core::outcome`]) and the time
//! ([`Core::decide`]), and answers with commands, reasons for waiting and the next moment to look. It has no clock, no
//! I/O, no threads and no randomness; the same calls give the same answers, in a rehearsal and live.

mod account;
mod builder;
mod decide;
pub mod drain;
mod engines;
pub mod interrupt;
pub mod migrate;
mod moving;
mod noticed;
mod order;
mod proof;
mod resume;
mod roll;
mod run;
pub mod scale;
mod sent;

use replank_model::text::NodeName;
use replank_model::view::View;
use std::collections::BTreeSet;

use replank_facts::plan::{Plan, RunOptions};
pub use resume::ResumeError;
pub use run::Preflight;

pub use decide::Core;

/// The nodes that a plan replaces as things are: those that it chooses and that are not yet what it wants.
#[must_use]
pub fn nodes_to_replace(view: &View, plan: &Plan, options: &RunOptions) -> BTreeSet<NodeName> {
    roll::old_nodes(view, plan, options)
}
