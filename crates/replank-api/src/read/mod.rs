//! Reading: one object, a list, or a watch, from the read model alone.

mod get;
mod list;
mod options;
mod page;
mod watch;

pub use get::get;
pub use list::list;
pub use watch::{Write, watch};
