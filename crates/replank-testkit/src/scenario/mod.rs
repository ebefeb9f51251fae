//! Scenarios: one text file holds a small cluster, a plan, what happens meanwhile, and the story that is expected.
//!
//! `scenarios/README.md` describes the format for people who write them. A scenario is played with the real pieces: the
//! cluster is made by the simulated API server and controllers, the plan is read by intake and core, and core is in charge of
//! a rehearsal. The story that comes out is compared with the one in the file, line by line.

mod cluster;
mod cores;
mod difference;
mod effects;
mod event;
mod file;
mod flaw;
mod harness;
mod names;
mod play;
mod pods;
mod stage;
mod staged;
mod story;
mod summary;
#[cfg(test)]
mod tests;
mod words;

pub use file::{Problem, Scenario};
pub(crate) use harness::{Played, Suite, check_suite};
pub use harness::{check, files};
pub(crate) use names::Names as PodNames;
pub use play::{Effects, Restarted, play, play_restarted};
pub(crate) use staged::Staged;
