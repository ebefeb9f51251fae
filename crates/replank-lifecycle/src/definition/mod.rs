//! Whether the API server takes a CustomResourceDefinition of `v1` (apiextensions-apiserver,
//! `pkg/apis/apiextensions/validation/validation.go`, as Kubernetes 1.36 has it).
//!
//! [`check`] is asked of what has its type ([`crate::schema`]). It refuses what the server refuses. What is not computed here
//! (expressions and their cost, defaults that have to match a pattern or a format) is [`Judged::Unknown`]: whoever writes a
//! definition takes that for a refusal.

mod conversion;
mod defaults;
mod names;
mod openapi;
mod pattern;
mod place;
mod problem;
mod props;
mod spec;
mod structural;
#[cfg(test)]
mod tests;
mod value;

use serde_json::Value;

use crate::tree::Plain;

pub use problem::{DefinitionProblem, Judged};

/// Everything for which the server would refuse a definition, and what cannot be told; empty where it is accepted.
pub fn check(object: &Value) -> Vec<DefinitionProblem> {
    check_plain(&Plain::of_value(object))
}

/// The same of what a tree says.
pub(crate) fn check_plain(object: &Plain<'_>) -> Vec<DefinitionProblem> {
    spec::check(object)
}
