//! Schedules of CronJobs and CronWorkflows, read and followed as both controllers' library does (github.com/robfig/cron/v3,
//! `spec.go`, `constantdelay.go`), summer time included: by the clock of its zone a time that is skipped in spring does not come
//! that day, and one that comes twice in autumn comes twice.

mod parse;
mod schedule;

pub use parse::zone;
pub use schedule::{Clock, Schedule};

#[cfg(test)]
mod tests;
