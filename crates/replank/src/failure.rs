//! Why a command ends early: what went wrong, what caused it, what to do next, and the exit code.

use std::fmt;

use crate::exit::Exit;

/// The early end of a command.
#[derive(Debug)]
pub(crate) struct Failure {
    /// How the process ends.
    pub(crate) exit: Exit,
    /// What went wrong, with its causes.
    pub(crate) error: anyhow::Error,
    /// What to do next, where the error does not say it.
    pub(crate) next: Option<String>,
}

impl Failure {
    /// What was asked for is not right.
    pub(crate) fn usage(error: impl Into<anyhow::Error>) -> Self {
        Self { exit: Exit::Usage, error: error.into(), next: None }
    }

    /// What was asked for is not right, in words.
    pub(crate) fn usage_message(message: impl fmt::Display) -> Self {
        Self::usage(anyhow::anyhow!("{message}"))
    }

    /// The program or the machine failed.
    pub(crate) fn internal(error: impl Into<anyhow::Error>) -> Self {
        Self { exit: Exit::Internal, error: error.into(), next: None }
    }

    /// With the next step to take.
    pub(crate) fn next(mut self, step: impl Into<String>) -> Self {
        self.next = Some(step.into());
        self
    }
}
