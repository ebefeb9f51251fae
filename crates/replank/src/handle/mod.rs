//! `replank handle`: messages about instances of AWS are received, and what they announce is drained in the time that is left.

mod args;
mod hold;
mod scales;
mod screen;
mod start;
mod watch;
mod words;

pub(crate) use args::HandleArgs;
pub(crate) use hold::LEASE;
pub(crate) use screen::Screen;
pub(crate) use start::run;
