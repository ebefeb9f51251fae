//! The decisions of Replank, pure.
//!
//! Core is given what was observed ([`Core::observe`]), what became of what it asked for ([`Core::outcome`]) and the time
//! ([`Core::decide`]), and answers with commands, reasons for waiting and the next moment to look. It has no clock, no
//! I/O, no threads and no randomness; the same calls give the same answers, in a rehearsal and live.

pub mod budget;
pub mod command;
pub mod decision;
pub mod drain;
pub mod groups;
pub mod mark;
pub mod plan;
pub mod schedule;
pub mod waiting;
