//! Tables, as `kubectl get` asks for them: columns, and a row for each object (`pkg/printers/internalversion` upstream).

pub(crate) mod ages;
mod columns;
mod custom;
mod duration;
mod jsonpath;
mod look;
mod rows;
mod seen;

pub(crate) use columns::{Columns, Include, columns, metadata, table};
pub(crate) use look::Moment;
