//! The Common Expression Language as a Kubernetes API server speaks it: read, checked against types, evaluated.
//!
//! Kubernetes' answers depend on a checker that knows the schema of an object (what an undefined field or an argument of the wrong type is refused with), on its own
//! functions (quantities, addresses, URLs, formats), and on optionals. Sources of the rules: the language's specification, cel-go, and apiserver `pkg/cel`.
//!
//! Layers, each knows only those below it: `eval`, `check` → `functions`, `parse` → `convert`, `equal`, `text` → `value`, `types`, `ast`.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "whatever a function does not take is told alike: there is no such overload"
)]

pub mod ast;
pub mod check;
pub mod convert;
pub mod equal;
pub mod eval;
pub mod fault;
mod functions;
mod names;
mod parse;
#[cfg(test)]
mod tests;
mod text;
pub mod time;
pub mod types;
pub mod value;

pub use ast::Expr;
pub use check::{Names, check};
pub use eval::{Scope, evaluate};
pub use fault::Faults;
pub use parse::parse;
pub use types::{ObjectType, Type};
pub use value::{Failure, Val};
