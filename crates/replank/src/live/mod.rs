//! A live cluster in place of a snapshot, and `replank snapshot`.

mod args;
mod carry;
mod permitted;
mod read;
mod snapshot;
mod told;

pub(crate) use args::{LiveArgs, SnapshotArgs};
pub(crate) use carry::{carry_out, lost_on_the_way, pressed};
pub(crate) use permitted::permitted;
pub(crate) use read::{Read, ToScan, read, read_to_scan, read_with, runtime};
pub(crate) use snapshot::run;
pub(crate) use told::{Form, RENEWED_EVERY, Waits, error_line, event_line, fitting, line, refused};
