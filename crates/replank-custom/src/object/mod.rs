//! What a schema does with an object: takes out, fills in, refuses.

mod compose;
mod correlate;
pub mod embedded;
mod fill;
mod format;
mod found;
mod lists;
mod place;
mod prune;
mod scalar;
mod validate;

pub(crate) use correlate::old_item;
pub use fill::{drop_nulls, fill};
pub use format::fits;
pub use lists::check as repeated;
pub(crate) use place::at as member_path;
pub use prune::prune;
pub use validate::validate;
