//! What an expression comes to (cel-go `interpreter`).

mod each;
mod operators;
mod walk;

pub use walk::{Scope, evaluate};
