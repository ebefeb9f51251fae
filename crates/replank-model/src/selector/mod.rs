//! Selectors: which objects are meant.
//!
//! - [`label`]: the compiled [`Selector`] and its requirements; what everything else becomes in the end.
//! - [`parse`]: the string syntax (`app=web,tier in (a,b)`), as on kubectl's command line and in list options.
//! - [`object`]: the API's [`LabelSelector`] with `matchLabels` and `matchExpressions`.
//! - [`field`]: field selectors (`spec.nodeName=a`).
//! - [`validate`]: what a label key and a label value may be, and how an invalid field is reported.
//!
//! A selector is evaluated against a look-up function, so that it does not matter how an object keeps its labels, and
//! nothing is allocated to evaluate it.

pub mod field;
pub mod label;
pub mod object;
pub mod parse;
pub mod validate;

pub use field::FieldSelector;
pub use label::{Operator, Requirement, Selector};
pub use object::LabelSelector;

#[cfg(test)]
mod tests;
