//! Interruptions: instances that are taken away, by whomever, are drained in the time that is left.

pub mod body;
pub mod notice;
