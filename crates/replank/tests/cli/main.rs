//! The built binary, as a person or a script meets it.

mod common;
mod input;
mod interrupt;
mod output;
mod repeat;
mod usage;
