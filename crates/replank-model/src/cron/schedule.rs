//! Schedules, and the times that follow from them.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::{Offset, TimeZone};

use crate::time::{Span, Time};

/// When something is to happen again and again.
#[derive(Clone, Debug)]
pub enum Schedule {
    /// At certain minutes of certain days, by the clock of a place.
    Clock(Box<Clock>),
    /// Every so many seconds (`@every`).
    Every(i64),
}

/// The fields of a schedule, one bit per value.
#[derive(Clone, Debug)]
pub struct Clock {
    pub(super) minutes: Field,
    pub(super) hours: Field,
    pub(super) days: Field,
    pub(super) months: Field,
    pub(super) weekdays: Field,
    pub(super) zone: TimeZone,
}

/// The values of one field.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Field {
    pub(super) bits: u64,
    /// Whether it is a star: then it does not choose days by itself.
    pub(super) is_star: bool,
}

impl Field {
    pub(super) fn has(self, value: i8) -> bool {
        u32::try_from(value).is_ok_and(|value| self.bits >> value & 1 == 1)
    }
}

/// Years ahead in which the next time is sought.
pub(super) const YEARS_MAX: i16 = 5;

impl Schedule {
    /// The first time after another, to the second; `None` if there is none within five years.
    #[must_use]
    pub fn next(&self, after: Time) -> Option<Time> {
        let seconds = after.as_millis().div_euclid(1_000);
        let next = match self {
            Self::Every(span) => seconds + span,
            Self::Clock(clock) => clock.next(seconds + 1)?,
        };
        Some(Time::from_millis(next * 1_000))
    }

    /// The first time after another, where equal spans (`@every`) follow each other from an anchor on: the last start that is known.
    #[must_use]
    pub fn next_from(&self, anchor: Time, after: Time) -> Option<Time> {
        match self {
            Self::Every(span) if after >= anchor => {
                let gone = (after - anchor).as_millis() / (span * 1_000);
                self.next(anchor + Span::from_secs(span.saturating_mul(gone)))
            }
            Self::Every(_) | Self::Clock(_) => self.next(after),
        }
    }

    /// All times after another, one after the other.
    pub fn after(&self, from: Time) -> impl Iterator<Item = Time> + '_ {
        std::iter::successors(self.next(from), |at| self.next(*at))
    }
}

impl Clock {
    /// Walks on from a moment until every field fits, as upstream does, clock changes included.
    pub(super) fn next(&self, from: i64) -> Option<i64> {
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
    pub(super) fn is_day(&self, at: DateTime) -> bool {
        let day = self.days.has(at.day());
        let weekday = self.weekdays.has(at.weekday().to_sunday_zero_offset());
        match self.days.is_star || self.weekdays.is_star {
            true => day && weekday,
            false => day || weekday,
        }
    }

    pub(super) fn offset(&self, at: i64) -> Option<i64> {
        let offset = self.zone.to_offset(Timestamp::from_second(at).ok()?);
        Some(i64::from(offset.seconds()))
    }

    /// What the clock shows at a moment.
    pub(super) fn civil(&self, at: i64) -> Option<DateTime> {
        let shown = Timestamp::from_second(at + self.offset(at)?).ok()?;
        Some(Offset::UTC.to_datetime(shown))
    }

    /// A moment at which the clock shows this. Where there is none, or two, one near it (Go's `time.Date`).
    pub(super) fn moment(&self, shown: DateTime) -> Option<i64> {
        let as_utc = Offset::UTC.to_timestamp(shown).ok()?.as_second();
        let offset = self.offset(as_utc)?;
        if offset == 0 {
            return Some(as_utc);
        }
        Some(as_utc - self.offset(as_utc - offset)?)
    }
}

/// The same day of the next month; one that does not exist is counted on, as Go's `AddDate` does.
pub(super) fn months_later(shown: DateTime) -> Option<DateTime> {
    let first = shown.date().first_of_month().at(shown.hour(), shown.minute(), shown.second(), 0);
    let later = first.checked_add(jiff::Span::new().months(1)).ok()?;
    later.checked_add(jiff::Span::new().days(i64::from(shown.day()) - 1)).ok()
}
