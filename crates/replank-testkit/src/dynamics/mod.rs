//! Recorded dynamics: what a real control plane did in scripted scenarios, against what the simulated one does.
//!
//! A recording is a JSON Lines file below the directory `REPLANK_TRANSCRIPTS` (else `testdata/transcripts`). Records with
//! `steps` are scenarios and are run here; records with `op` are API requests and are run by [`requests`].

mod choice;
mod compare;
mod log;
mod mapping;
mod project;
mod record;
pub mod report;
mod stage;
mod symbols;

#[cfg(test)]
mod tests;

pub use compare::{Outcome, compare};
pub use log::{Seen, What};
pub use record::Scenario;
pub use stage::{Run, run};
