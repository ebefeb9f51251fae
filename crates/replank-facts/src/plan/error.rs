//! What is wrong with a plan.

use std::fmt;

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanError {
    /// Where: `spec.budget.surge`.
    pub path: String,
    /// What stands there.
    pub found: String,
    /// What could stand there.
    pub expected: String,
    /// What to do.
    pub remedy: Option<String>,
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, found, expected, remedy } = self;
        let path = if path.is_empty() { "the plan" } else { path };
        write!(f, "{path}: found {found}, expected {expected}")?;
        match remedy {
            Some(remedy) => write!(f, "; {remedy}"),
            None => Ok(()),
        }
    }
}

/// Everything that is wrong with a plan; never empty.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", lines(.0))]
pub struct PlanErrors(pub Vec<PlanError>);

fn lines(errors: &[PlanError]) -> String {
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}
