//! Which time of the schedule has come, and when the next one does (`utils.go`).

use jiff::Timestamp;
use jiff::tz::TimeZone;
use replank_model::cron::Schedule;
use replank_model::object::batch::CronJob;
use replank_model::time::{Span, Time};

/// A look comes this much later than the time it is for, so that no clock is still before it (`nextScheduleDelta`).
const LATER: Span = Span::from_millis(100);

/// A schedule that never comes.
#[derive(Debug)]
pub(super) struct Never;

/// What has passed since the last run.
struct Passed {
    /// From when on times count.
    earliest: Time,
    /// The last time that has come.
    last: Option<Time>,
    /// Whether times have come, one or more, that are not looked at one by one.
    is_missed: bool,
}

/// `mostRecentScheduleTime`.
fn passed(cron: &CronJob, schedule: &Schedule, now: Time, heed_deadline: bool) -> Result<Passed, Never> {
    let created = cron.meta.creation_timestamp.unwrap_or(now);
    let mut earliest = cron.status.last_schedule_time.unwrap_or(created);
    if let Some(seconds) = cron.spec.starting_deadline_seconds.filter(|_| heed_deadline) {
        earliest = earliest.max(now - Span::from_secs(seconds));
    }
    let first = schedule.next(earliest).ok_or(Never)?;
    let second = schedule.next(first).ok_or(Never)?;
    if now < first {
        return Ok(Passed { earliest, last: None, is_missed: false });
    }
    if now < second {
        return Ok(Passed { earliest, last: Some(first), is_missed: false });
    }
    // Times need not be equally far from one another: one interval further back there is always one.
    let interval = (second - first).as_secs().max(1);
    let missed = (now - first).as_secs() / interval + 1;
    let mut at = schedule.next(first + Span::from_secs((missed - 2) * interval));
    let mut last = None;
    while let Some(time) = at.filter(|time| *time <= now) {
        last = Some(time);
        at = schedule.next(time);
    }
    Ok(Passed { earliest, last, is_missed: true })
}

/// The last time that has come since the last run, and not longer ago than the deadline.
pub(super) fn due(cron: &CronJob, schedule: &Schedule, now: Time) -> Result<Option<Time>, Never> {
    Ok(passed(cron, schedule, now, true)?.last)
}

/// How long until the next time (`nextScheduleTimeDuration`).
pub(super) fn until_next(cron: &CronJob, schedule: &Schedule, now: Time) -> Option<Span> {
    let from = match passed(cron, schedule, now, false) {
        Err(Never) => now,
        Ok(Passed { last: Some(last), .. }) => last,
        Ok(Passed { is_missed: true, last: None, .. }) => now,
        Ok(Passed { is_missed: false, last: None, earliest }) => earliest,
    };
    Some(schedule.next(from)? + LATER - now)
}

/// A time as the clock of a place shows it.
pub(super) fn rfc3339(at: Time, zone: &TimeZone) -> String {
    let Ok(timestamp) = Timestamp::from_millisecond(at.as_millis()) else { return at.to_string() };
    let offset = zone.to_offset(timestamp);
    match offset.seconds() {
        0 => at.to_string(),
        _ => timestamp.display_with_offset(offset).to_string(),
    }
}
