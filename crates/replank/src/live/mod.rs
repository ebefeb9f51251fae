//! A live cluster in place of a snapshot, and `replank snapshot`.

mod args;
mod read;
mod snapshot;

pub(crate) use args::{LiveArgs, SnapshotArgs};
pub(crate) use read::{Read, read, runtime};
pub(crate) use snapshot::run;
