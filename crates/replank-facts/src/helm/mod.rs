//! Releases of Helm as a dump has them: templates, values and manifest; and which values set a member of an object.

mod guard;
mod stored;
mod template;
#[cfg(test)]
mod tests;
mod values;

pub use stored::{Dependency, Release, Unpack, coalesce, deployed};
pub use values::setting;
