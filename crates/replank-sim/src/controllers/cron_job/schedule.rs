//! Schedules of CronJobs, read and followed as upstream's library does (github.com/robfig/cron/v3, `parser.go`,
//! `spec.go`, `constantdelay.go`).

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::{Offset, TimeZone, TimeZoneDatabase};
use replank_model::time::{Span, Time};

/// When something is to happen again and again.
#[derive(Clone, Debug)]
pub(super) enum Schedule {
    /// At certain minutes of certain days, by the clock of a place.
    Clock(Box<Clock>),
    /// Every so many seconds (`@every`).
    Every(i64),
}

/// The fields of a schedule, one bit per value.
#[derive(Clone, Debug)]
pub(super) struct Clock {
    minutes: Field,
    hours: Field,
    days: Field,
    months: Field,
    weekdays: Field,
    zone: TimeZone,
}

/// The values of one field.
#[derive(Clone, Copy, Debug)]
struct Field {
    bits: u64,
    /// Whether it is a star: then it does not choose days by itself.
    is_star: bool,
}

impl Field {
    fn has(self, value: i8) -> bool {
        u32::try_from(value).is_ok_and(|value| self.bits >> value & 1 == 1)
    }
}

/// Bounds of a field, and names of its values from the least on.
struct Bounds {
    least: u32,
    greatest: u32,
    names: &'static [&'static str],
}

const MINUTES: Bounds = Bounds { least: 0, greatest: 59, names: &[] };
const HOURS: Bounds = Bounds { least: 0, greatest: 23, names: &[] };
const DAYS: Bounds = Bounds { least: 1, greatest: 31, names: &[] };
const MONTHS: Bounds = Bounds {
    least: 1,
    greatest: 12,
    names: &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"],
};
const WEEKDAYS: Bounds =
    Bounds { least: 0, greatest: 6, names: &["sun", "mon", "tue", "wed", "thu", "fri", "sat"] };

/// Years ahead in which the next time is sought.
const YEARS_MAX: i16 = 5;

impl Schedule {
    /// Reads a schedule; `None` if it cannot be read. A zone named in the text counts more than `zone`.
    pub(super) fn parse(text: &str, zone: &TimeZone, zones: &TimeZoneDatabase) -> Option<Self> {
        let named = text.strip_prefix("TZ=").or_else(|| text.strip_prefix("CRON_TZ="));
        let (zone, text) = match named.map(|rest| rest.split_once(' ').unwrap_or((rest, ""))) {
            Some((name, rest)) => (zones.get(name).ok()?, rest.trim()),
            None => (zone.clone(), text),
        };
        if let Some(span) = text.strip_prefix("@every ") {
            let span: Span = span.parse().ok()?;
            return Some(Self::Every(span.as_secs().max(1)));
        }
        let text = match text {
            "@yearly" | "@annually" => "0 0 1 1 *",
            "@monthly" => "0 0 1 * *",
            "@weekly" => "0 0 * * 0",
            "@daily" | "@midnight" => "0 0 * * *",
            "@hourly" => "0 * * * *",
            other => other,
        };
        let fields: Vec<&str> = text.split_whitespace().collect();
        let [minutes, hours, days, months, weekdays] = fields.as_slice() else { return None };
        Some(Self::Clock(Box::new(Clock {
            minutes: field(minutes, &MINUTES)?,
            hours: field(hours, &HOURS)?,
            days: field(days, &DAYS)?,
            months: field(months, &MONTHS)?,
            weekdays: field(weekdays, &WEEKDAYS)?,
            zone,
        })))
    }

    /// The first time after another, to the second; `None` if there is none within five years.
    pub(super) fn next(&self, after: Time) -> Option<Time> {
        let seconds = after.as_millis().div_euclid(1_000);
        let next = match self {
            Self::Every(span) => seconds + span,
            Self::Clock(clock) => clock.next(seconds + 1)?,
        };
        Some(Time::from_millis(next * 1_000))
    }
}

/// One field: ranges, steps and names, separated by commas.
fn field(text: &str, bounds: &Bounds) -> Option<Field> {
    let mut field = Field { bits: 0, is_star: false };
    for part in text.split(',').filter(|part| !part.is_empty()) {
        let (range, step) = part.split_once('/').map_or((part, None), |(range, step)| (range, Some(step)));
        let (first, last) = range.split_once('-').map_or((range, None), |(first, last)| (first, Some(last)));
        let is_star = matches!(first, "*" | "?");
        let (least, mut greatest) = match (is_star, last) {
            (true, _) => (bounds.least, bounds.greatest),
            (false, None) => (number(first, bounds)?, number(first, bounds)?),
            (false, Some(last)) => (number(first, bounds)?, number(last, bounds)?),
        };
        let step = match step {
            None => 1,
            Some(step) => {
                if last.is_none() {
                    greatest = bounds.greatest;
                }
                step.parse::<u32>().ok().filter(|step| *step > 0)?
            }
        };
        if least < bounds.least || greatest > bounds.greatest || least > greatest {
            return None;
        }
        field.is_star |= is_star && step == 1;
        let step = usize::try_from(step).ok()?;
        field.bits |= (least..=greatest).step_by(step).fold(0, |bits, value| bits | 1 << value);
    }
    Some(field)
}

fn number(text: &str, bounds: &Bounds) -> Option<u32> {
    let lower = text.to_lowercase();
    let named = bounds.names.iter().zip(bounds.least..).find(|(name, _)| **name == lower);
    named.map(|(_, value)| value).or_else(|| text.parse().ok())
}

impl Clock {
    /// Walks on from a moment until every field fits, as upstream does, clock changes included.
    fn next(&self, from: i64) -> Option<i64> {
        let mut at = from;
        let year_max = self.civil(at)?.year() + YEARS_MAX;
        // Whether the smaller fields have been set back to their least values.
        let mut is_set_back = false;
        'wrap: loop {
            if self.civil(at)?.year() > year_max {
                return None;
            }
            while !self.months.has(self.civil(at)?.month()) {
                let now = self.civil(at)?;
                let first = if is_set_back { now } else { now.date().first_of_month().at(0, 0, 0, 0) };
                is_set_back = true;
                at = self.moment(months_later(first)?)?;
                if self.civil(at)?.month() == 1 {
                    continue 'wrap;
                }
            }
            while !self.is_day(self.civil(at)?) {
                let now = self.civil(at)?;
                let start = if is_set_back { now } else { now.date().at(0, 0, 0, 0) };
                is_set_back = true;
                at = self.moment(start.checked_add(jiff::Span::new().days(1)).ok()?)?;
                // Midnight may have been moved by a change of the clock.
                let hour = i64::from(self.civil(at)?.hour());
                if hour != 0 {
                    at += 3600 * if hour > 12 { 24 - hour } else { -hour };
                }
                if self.civil(at)?.day() == 1 {
                    continue 'wrap;
                }
            }
            while !self.hours.has(self.civil(at)?.hour()) {
                if !is_set_back {
                    let now = self.civil(at)?;
                    at = self.moment(now.date().at(now.hour(), 0, 0, 0))?;
                    is_set_back = true;
                }
                at += 3600;
                if self.civil(at)?.hour() == 0 {
                    continue 'wrap;
                }
            }
            while !self.minutes.has(self.civil(at)?.minute()) {
                if !is_set_back {
                    at -= at.rem_euclid(60);
                    is_set_back = true;
                }
                at += 60;
                if self.civil(at)?.minute() == 0 {
                    continue 'wrap;
                }
            }
            // The seconds' field is always 0; the minute after may not fit.
            match self.civil(at)?.second() {
                0 => return Some(at),
                second => {
                    is_set_back = true;
                    at += 60 - i64::from(second);
                }
            }
        }
    }

    /// Whether day of month and day of week fit: both where one is a star, else either.
    fn is_day(&self, at: DateTime) -> bool {
        let day = self.days.has(at.day());
        let weekday = self.weekdays.has(at.weekday().to_sunday_zero_offset());
        match self.days.is_star || self.weekdays.is_star {
            true => day && weekday,
            false => day || weekday,
        }
    }

    fn offset(&self, at: i64) -> Option<i64> {
        let offset = self.zone.to_offset(Timestamp::from_second(at).ok()?);
        Some(i64::from(offset.seconds()))
    }

    /// What the clock shows at a moment.
    fn civil(&self, at: i64) -> Option<DateTime> {
        let shown = Timestamp::from_second(at + self.offset(at)?).ok()?;
        Some(Offset::UTC.to_datetime(shown))
    }

    /// A moment at which the clock shows this. Where there is none, or two, one near it (Go's `time.Date`).
    fn moment(&self, shown: DateTime) -> Option<i64> {
        let as_utc = Offset::UTC.to_timestamp(shown).ok()?.as_second();
        let offset = self.offset(as_utc)?;
        if offset == 0 {
            return Some(as_utc);
        }
        Some(as_utc - self.offset(as_utc - offset)?)
    }
}

/// The same day of the next month; one that does not exist is counted on, as Go's `AddDate` does.
fn months_later(shown: DateTime) -> Option<DateTime> {
    let first = shown.date().first_of_month().at(shown.hour(), shown.minute(), shown.second(), 0);
    let later = first.checked_add(jiff::Span::new().months(1)).ok()?;
    later.checked_add(jiff::Span::new().days(i64::from(shown.day()) - 1)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(text: &str, zone: &str, after: &str, count: usize) -> Vec<String> {
        let zones = TimeZoneDatabase::bundled();
        let zone = zones.get(zone).expect("a zone of the bundle");
        let schedule = Schedule::parse(text, &zone, &zones).expect("a schedule");
        let mut at: Time = after.parse().expect("a time");
        let next = std::iter::repeat_with(|| {
            at = schedule.next(at).expect("a next time");
            at.to_string()
        });
        next.take(count).collect()
    }

    #[test]
    fn minutes_steps_and_names() {
        assert_eq!(
            times("*/20 9-10 * * mon-fri", "UTC", "2026-01-02T10:30:00Z", 3),
            ["2026-01-02T10:40:00Z", "2026-01-05T09:00:00Z", "2026-01-05T09:20:00Z"]
        );
        assert_eq!(
            times("@monthly", "UTC", "2026-01-31T00:00:00Z", 2),
            ["2026-02-01T00:00:00Z", "2026-03-01T00:00:00Z"]
        );
        assert_eq!(times("@every 1m30s", "UTC", "2026-01-01T00:00:00Z", 1), ["2026-01-01T00:01:30Z"]);
    }

    #[test]
    fn day_of_month_or_day_of_week() {
        assert_eq!(
            times("0 0 13 * fri", "UTC", "2026-02-07T00:00:00Z", 3),
            ["2026-02-13T00:00:00Z", "2026-02-20T00:00:00Z", "2026-02-27T00:00:00Z"]
        );
        assert_eq!(times("0 0 31 * *", "UTC", "2026-02-01T00:00:00Z", 1), ["2026-03-31T00:00:00Z"]);
    }

    #[test]
    fn the_clock_of_a_place_with_its_changes() {
        // 02:30 does not exist on the day when summer time begins.
        assert_eq!(
            times("30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", 2),
            ["2026-03-30T00:30:00Z", "2026-03-31T00:30:00Z"]
        );
        assert_eq!(
            times("0 9 * * *", "America/New_York", "2026-03-07T12:00:00Z", 2),
            ["2026-03-07T14:00:00Z", "2026-03-08T13:00:00Z"]
        );
    }

    #[test]
    fn what_cannot_be_read() {
        let zones = TimeZoneDatabase::bundled();
        for text in
            ["* * * *", "60 * * * *", "5-1 * * * *", "*/0 * * * *", "* * * * 7", "@often", "a * * * *"]
        {
            assert!(Schedule::parse(text, &TimeZone::UTC, &zones).is_none(), "{text}");
        }
        // It can be read, and never comes.
        let never = Schedule::parse("0 0 31 2 *", &TimeZone::UTC, &zones).expect("a schedule");
        assert_eq!(never.next(Time::from_millis(0)), None);
    }
}
