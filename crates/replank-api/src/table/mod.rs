//! Tables, as `kubectl get` asks for them: columns, and a row for each object (`pkg/printers/internalversion` upstream).

mod columns;
mod custom;
mod duration;
mod jsonpath;
mod look;
mod rows;
mod seen;

pub(crate) use columns::{Columns, Include, columns, metadata, table};
