//! The journal: every decision that acted, what it did, and what came of it, as lines of JSON.
//!
//! A journal is evidence, and nothing is recovered from it: what must outlive a restart is in the cluster. It is kept by an engine around an engine
//! ([`Recorded`]), so a rehearsal and a live run write the same, and the two can be laid side by side ([`differences`]).

mod compare;
mod entry;
mod read;
mod recorded;
mod tale;
#[cfg(test)]
mod tests;

pub use compare::{Comparison, Difference, differ, differences, word};
pub use entry::{Answered, Beginning, Entry, Place, Seen, Sent, VERSION, Waits, What};
pub use read::{Journal, ReadError, read};
pub use recorded::{Recorded, Sink};
pub use tale::{Fate, NodeTale, PodTale, Tale, WaitTale};
