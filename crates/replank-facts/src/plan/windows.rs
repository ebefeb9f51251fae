//! When pods may be moved: windows by the clock of a place.
//!
//! A window opens at a time of day, on certain days of the week, and stays open for a span of real time. By the clock of its zone a
//! start that is skipped when summer time begins comes as much later as the clock skips, and one that comes twice in autumn opens
//! the window the first time only (RFC 5545, section 3.3.5, and what calendars make of it). A window is as long as it says,
//! whatever the clock does meanwhile.

use std::fmt;
use std::str::FromStr;

use jiff::civil::{self, Weekday};
use jiff::tz::{TimeZone, TimeZoneDatabase};
use jiff::{Timestamp, ToSpan};
use replank_model::time::{Span, Time};

/// Longest window: a week. One that is longer is open always.
pub(super) const LONGEST: Span = Span::from_minutes(7 * 24 * 60);
/// How far ahead the next opening is looked for: a window opens once a week at least, and the clock may skip.
const DAYS_AHEAD: i64 = 9;

/// All windows; without any it is always open.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Windows(pub Vec<Window>);

/// One window.
#[derive(Clone, Debug, PartialEq)]
pub struct Window {
    /// When it opens.
    pub start: Start,
    /// For how long.
    pub duration: Span,
    /// By which clock.
    pub zone: TimeZone,
}

/// Days of the week and a time of day: `Mon-Fri 01:00`, `Sat,Sun 23:30`, `02:00` (every day).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    /// One bit a day, Monday the first.
    days: u8,
    hour: i8,
    minute: i8,
}

/// Whether it is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It is, until then; `None`: for good.
    Open(Option<Time>),
    /// It is not, and opens then.
    Closed(Time),
}

impl Windows {
    /// Whether it is open at a moment.
    #[must_use]
    pub fn at(&self, now: Time) -> Standing {
        if self.0.is_empty() {
            return Standing::Open(None);
        }
        let mut spans: Vec<(Time, Time)> = self.0.iter().flat_map(|window| window.around(now)).collect();
        spans.sort_unstable();
        let mut until = None;
        for (start, end) in &spans {
            let is_open = until.unwrap_or(now) >= *start && *end > until.unwrap_or(now);
            if is_open {
                until = Some(*end);
            }
        }
        match until {
            Some(until) if until - now > LONGEST => Standing::Open(None),
            Some(until) => Standing::Open(Some(until)),
            None => {
                let next = spans.iter().map(|(start, _)| *start).find(|start| *start > now);
                Standing::Closed(next.expect("every window opens once a week"))
            }
        }
    }

    /// How long it is open between two moments.
    #[must_use]
    pub fn open_within(&self, from: Time, to: Time) -> Span {
        let (mut at, mut open) = (from, Span::ZERO);
        while at < to {
            let next = match self.at(at) {
                Standing::Open(None) => to,
                Standing::Open(Some(until)) | Standing::Closed(until) => until.min(to),
            };
            if matches!(self.at(at), Standing::Open(_)) {
                open += next - at;
            }
            at = next;
        }
        open
    }

    /// When the window opened that is open at a moment; `None` where it is closed, or always open.
    #[must_use]
    pub fn opened(&self, now: Time) -> Option<Time> {
        let spans = self.0.iter().flat_map(|window| window.around(now));
        spans.filter(|(start, end)| *start <= now && now < *end).map(|(start, _)| start).max()
    }
}

impl Window {
    /// From when to when it is open, for every opening that may concern a moment, and the next ones.
    fn around(&self, now: Time) -> Vec<(Time, Time)> {
        let Ok(timestamp) = Timestamp::from_millisecond(now.as_millis()) else { return Vec::new() };
        let today = timestamp.to_zoned(self.zone.clone()).date();
        let back = self.duration.as_secs().div_euclid(86_400) + 2;
        let days = (-back..=DAYS_AHEAD).filter_map(|day| today.checked_add(day.days()).ok());
        days.filter_map(|day| self.opening(day)).map(|start| (start, start + self.duration)).collect()
    }

    /// When it opens on a day.
    fn opening(&self, day: civil::Date) -> Option<Time> {
        if !self.start.is_on(day.weekday()) {
            return None;
        }
        let shown = day.at(self.start.hour, self.start.minute, 0, 0);
        let start = self.zone.to_ambiguous_timestamp(shown).compatible().ok()?;
        Some(Time::from_millis(start.as_millisecond()))
    }
}

impl Start {
    fn is_on(self, day: Weekday) -> bool {
        self.days >> day.to_monday_zero_offset() & 1 == 1
    }
}

/// A zone of the bundled tables, by its IANA name.
pub fn zone(name: &str) -> Option<TimeZone> {
    TimeZoneDatabase::bundled().get(name).ok()
}

const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/// What is wrong with a start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoStart;

impl FromStr for Start {
    type Err = NoStart;

    fn from_str(text: &str) -> Result<Self, NoStart> {
        let (days, time) = match text.split_once(' ') {
            Some((days, time)) => (days_of(days)?, time),
            None => (0b111_1111, text),
        };
        let (hour, minute) = time.split_once(':').ok_or(NoStart)?;
        let number = |text: &str, most: i8| {
            let number = text.parse::<i8>().ok().filter(|number| (0..=most).contains(number));
            number.filter(|_| text.len() == 2 && !text.starts_with('+')).ok_or(NoStart)
        };
        Ok(Self { days, hour: number(hour, 23)?, minute: number(minute, 59)? })
    }
}

fn days_of(text: &str) -> Result<u8, NoStart> {
    let day = |text: &str| DAYS.iter().position(|day| day.eq_ignore_ascii_case(text)).ok_or(NoStart);
    let mut days = 0;
    for part in text.split(',') {
        let (first, last) = match part.split_once('-') {
            Some((first, last)) => (day(first)?, day(last)?),
            None => (day(part)?, day(part)?),
        };
        let mut at = first;
        days |= 1 << at;
        // `Sat-Mon` goes over the end of the week.
        while at != last {
            at = (at + 1) % DAYS.len();
            days |= 1 << at;
        }
    }
    Ok(days)
}

impl fmt::Display for Start {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.days != 0b111_1111 {
            let days: Vec<&str> = DAYS
                .iter()
                .enumerate()
                .filter(|(at, _)| self.days >> at & 1 == 1)
                .map(|(_, day)| *day)
                .collect();
            write!(f, "{} ", days.join(","))?;
        }
        write!(f, "{:02}:{:02}", self.hour, self.minute)
    }
}

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} for {}", self.start, self.duration)?;
        match self.zone.iana_name() {
            Some(name) => write!(f, " ({name})"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(start: &str, hours: i64, zone: &str) -> Window {
        Window {
            start: start.parse().expect("a start"),
            duration: Span::from_minutes(hours * 60),
            zone: super::zone(zone).expect("a zone"),
        }
    }

    fn at(windows: &Windows, now: &str) -> String {
        match windows.at(now.parse().expect("a time")) {
            Standing::Open(None) => "open".to_owned(),
            Standing::Open(Some(until)) => format!("open until {until}"),
            Standing::Closed(opens) => format!("closed until {opens}"),
        }
    }

    #[test]
    fn a_window_opens_on_its_days_and_closes_after_its_span() {
        let nights = Windows(vec![window("Mon-Fri 01:00", 4, "Asia/Tokyo")]);
        // Monday 01:00 in Tokyo is Sunday 16:00 UTC.
        assert_eq!(at(&nights, "2026-01-04T15:59:59Z"), "closed until 2026-01-04T16:00:00Z");
        assert_eq!(at(&nights, "2026-01-04T16:00:00Z"), "open until 2026-01-04T20:00:00Z");
        assert_eq!(at(&nights, "2026-01-04T20:00:00Z"), "closed until 2026-01-05T16:00:00Z");
        // Friday's is over: the next is Monday's.
        assert_eq!(at(&nights, "2026-01-08T20:00:00Z"), "closed until 2026-01-11T16:00:00Z");
    }

    #[test]
    fn windows_that_touch_are_one_and_a_week_of_them_never_closes() {
        let two = Windows(vec![window("22:00", 2, "UTC"), window("Tue 00:00", 3, "UTC")]);
        assert_eq!(at(&two, "2026-01-05T23:00:00Z"), "open until 2026-01-06T03:00:00Z");
        assert_eq!(at(&two, "2026-01-06T23:00:00Z"), "open until 2026-01-07T00:00:00Z");
        assert_eq!(at(&Windows(vec![window("00:00", 24, "UTC")]), "2026-01-05T23:00:00Z"), "open");
        assert_eq!(at(&Windows::default(), "2026-01-05T23:00:00Z"), "open");
    }

    #[test]
    fn a_start_that_the_clock_skips_comes_later_and_one_that_comes_twice_counts_once() {
        let nights = Windows(vec![window("02:30", 1, "Europe/Berlin")]);
        // 29 March 2026, 02:00 becomes 03:00: 02:30 does not exist, and 03:30 CEST is 01:30 UTC.
        assert_eq!(at(&nights, "2026-03-29T00:30:00Z"), "closed until 2026-03-29T01:30:00Z");
        assert_eq!(at(&nights, "2026-03-29T02:00:00Z"), "open until 2026-03-29T02:30:00Z");
        // 25 October 2026, 03:00 becomes 02:00: the first 02:30 is 00:30 UTC, the second opens nothing.
        assert_eq!(at(&nights, "2026-10-25T00:30:00Z"), "open until 2026-10-25T01:30:00Z");
        assert_eq!(at(&nights, "2026-10-25T01:30:00Z"), "closed until 2026-10-26T01:30:00Z");
    }

    #[test]
    fn a_window_is_as_long_as_it_says_whatever_the_clock_does() {
        let night = Windows(vec![window("Sun 01:00", 4, "Europe/Berlin")]);
        assert_eq!(at(&night, "2026-03-29T00:00:00Z"), "open until 2026-03-29T04:00:00Z");
        assert_eq!(at(&night, "2026-10-24T23:00:00Z"), "open until 2026-10-25T03:00:00Z");
        assert_eq!(
            night.opened("2026-10-25T02:59:59Z".parse().expect("a time")).map(|at| at.to_string()),
            Some("2026-10-24T23:00:00Z".to_owned())
        );
    }

    #[test]
    fn how_long_windows_are_open_is_counted() {
        let from: Time = "2026-11-20T10:00:00Z".parse().expect("a time");
        let (hour, days) = (Span::from_minutes(60), Span::from_minutes(3 * 24 * 60));
        let open = |windows| Windows(windows).open_within(from, from + days);
        assert_eq!(open(Vec::new()), days);
        let second = Window { duration: Span::from_secs(1), ..window("10:30", 1, "UTC") };
        assert_eq!(open(vec![second]), Span::from_secs(3));
        assert_eq!(open(vec![window("09:00", 2, "UTC")]), hour * 6, "in it at both ends");
        assert_eq!(
            open(vec![window("09:00", 2, "UTC"), window("10:00", 2, "UTC")]),
            hour * 9,
            "none counts twice"
        );
    }

    #[test]
    fn starts_are_read_as_they_are_printed_and_others_are_refused() {
        for (text, shown) in [
            ("Mon-Fri 01:00", "Mon,Tue,Wed,Thu,Fri 01:00"),
            ("sat-mon 23:30", "Mon,Sat,Sun 23:30"),
            ("Mon,Wed 09:05", "Mon,Wed 09:05"),
            ("00:00", "00:00"),
        ] {
            let start: Start = text.parse().expect(text);
            assert_eq!(start.to_string(), shown);
            assert_eq!(shown.parse(), Ok(start));
        }
        for text in ["24:00", "1:00", "01:60", "Monday 01:00", "Mon- 01:00", "Mon", "", "+1:00", "Mon  01:00"]
        {
            assert_eq!(text.parse::<Start>(), Err(NoStart), "{text}");
        }
    }
}
