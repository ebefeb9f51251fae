//! Points in time and the spans between them, in whole milliseconds.
//!
//! Nothing here reads a clock: a [`Time`] comes from an object, or from the caller. Arithmetic
//! saturates at the ends of `i64`, 292 million years away, so that no date in an input can make it panic.

mod shown;
mod span;

use std::fmt;
use std::num::NonZeroU64;
use std::ops::{Add, AddAssign, Neg, Sub, SubAssign};
use std::str::FromStr;

use jiff::SignedDuration;
use jiff::civil::{DateTime, date};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub use span::{GoForm, Span, SpanError};

use shown::{TextVisitor, shown};

/// A point in time: milliseconds since 1970-01-01T00:00:00Z.
///
/// Kubernetes writes most of its times in whole seconds (`metav1.Time`), and so does this, rounded down; see
/// [`MicroTime`] for the others. Reading takes any fraction and offset.
///
/// ```
/// use replank_model::time::{Span, Time};
///
/// let created: Time = "2026-11-20T10:52:00.250+01:00".parse()?;
/// assert_eq!(created.to_string(), "2026-11-20T09:52:00Z");
/// assert_eq!((created + Span::from_secs(90)).floor_seconds().to_string(), "2026-11-20T09:53:30Z");
/// # Ok::<(), replank_model::time::TimeError>(())
/// ```
///
/// Objects have several that may be missing: `Option<Time>` takes no more room than a `Time`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Time(NonZeroU64);

/// What is added to the milliseconds, so that they can be kept as a number that is never 0, in their order.
const BIAS: u64 = 1 << 63;

const MILLIS_PER_SECOND: i64 = 1_000;
/// In UTC. Differences of civil dates, and not jiff's timestamps, because those end before the year 9999 does.
const EPOCH: DateTime = date(1970, 1, 1).at(0, 0, 0, 0);
/// 0000-01-01T00:00:00Z and the last millisecond of 9999: what RFC 3339 can write.
const WRITABLE: (i64, i64) = (-62_167_219_200_000, 253_402_300_799_999);

/// Why a text is not a time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TimeError {
    /// Not of the form.
    #[error("{text:?} is not a time as in RFC 3339, such as \"2026-11-20T09:52:00Z\"")]
    Form {
        /// As it came, cut where it is long.
        text: String,
    },
    /// Of the form, but there is no such day, hour or offset.
    #[error("{text:?}: no such date and time")]
    Calendar {
        /// As it came.
        text: String,
    },
}

impl Time {
    /// From milliseconds since the Unix epoch; the least of all `i64` is taken for the one after it.
    pub const fn from_millis(millis: i64) -> Self {
        match NonZeroU64::new(millis.cast_unsigned() ^ BIAS) {
            Some(biased) => Self(biased),
            None => Self(NonZeroU64::MIN),
        }
    }

    /// Milliseconds since the Unix epoch.
    pub const fn as_millis(self) -> i64 {
        (self.0.get() ^ BIAS).cast_signed()
    }

    /// The beginning of its second: as it comes back from an API server.
    pub const fn floor_seconds(self) -> Self {
        let millis = self.as_millis();
        Self::from_millis(millis.saturating_sub(millis.rem_euclid(MILLIS_PER_SECOND)))
    }

    /// Date and time in UTC, held within the years that can be written.
    fn date_time(self) -> DateTime {
        let since_epoch = SignedDuration::from_millis(self.as_millis().clamp(WRITABLE.0, WRITABLE.1));
        EPOCH.checked_add(since_epoch).expect("civil dates reach from the year -9999 to the end of 9999")
    }
}

/// `YYYY-MM-DDTHH:MM:SS`, then a fraction or none, then `Z` or an offset.
struct Parts {
    date_time: [i16; 6],
    millis: i64,
    /// None if there is no such offset.
    offset_seconds: Option<i64>,
}

impl Parts {
    fn split(text: &[u8]) -> Option<Self> {
        let (head, tail) = text.split_at_checked("YYYY-MM-DDTHH:MM:SS".len())?;
        let marks = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':')];
        if marks.iter().any(|(at, mark)| head[*at] != *mark) {
            return None;
        }
        let (millis, zone) = match tail {
            // Go takes the comma too.
            [b'.' | b',', tail @ ..] => {
                let digits = tail.iter().take_while(|byte| byte.is_ascii_digit()).count();
                let (digits, zone) = tail.split_at(digits);
                if digits.is_empty() {
                    return None;
                }
                let padded = digits.iter().map(|digit| i64::from(digit - b'0')).chain([0, 0]);
                (padded.take(3).fold(0, |millis, digit| millis * 10 + digit), zone)
            }
            zone => (0, zone),
        };
        let offset_seconds = match zone {
            b"Z" => Some(0),
            [sign @ (b'+' | b'-'), hour @ .., b':', minute_tens, minute_ones] if hour.len() == 2 => {
                let (hours, minutes) = (number(hour)?, number(&[*minute_tens, *minute_ones])?);
                let size = i64::from(hours) * 3600 + i64::from(minutes) * 60;
                let size = (hours < 24 && minutes < 60).then_some(size);
                if *sign == b'-' { size.map(Neg::neg) } else { size }
            }
            _ => return None,
        };
        let fields = [(0, 4), (5, 7), (8, 10), (11, 13), (14, 16), (17, 19)];
        let mut date_time = [0; 6];
        for (field, (from, to)) in date_time.iter_mut().zip(fields) {
            *field = number(&head[from..to])?;
        }
        Some(Self { date_time, millis, offset_seconds })
    }

    fn to_time(&self) -> Option<Time> {
        let [year, month, day, hour, minute, second] = self.date_time;
        let small = |number: i16| i8::try_from(number).ok();
        let date_time =
            DateTime::new(year, small(month)?, small(day)?, small(hour)?, small(minute)?, small(second)?, 0);
        let seconds = date_time.ok()?.duration_since(EPOCH).as_secs();
        let millis = (seconds - self.offset_seconds?) * MILLIS_PER_SECOND + self.millis;
        // An offset can lead out of the years that can be written.
        (WRITABLE.0..=WRITABLE.1).contains(&millis).then_some(Time::from_millis(millis))
    }
}

/// Two or four digits.
fn number(digits: &[u8]) -> Option<i16> {
    let is_number = digits.iter().all(u8::is_ascii_digit);
    is_number.then(|| digits.iter().fold(0, |value, digit| value * 10 + i16::from(digit - b'0')))
}

impl FromStr for Time {
    type Err = TimeError;

    fn from_str(text: &str) -> Result<Self, TimeError> {
        let parts = Parts::split(text.as_bytes()).ok_or_else(|| TimeError::Form { text: shown(text) })?;
        parts.to_time().ok_or_else(|| TimeError::Calendar { text: shown(text) })
    }
}

/// RFC 3339, in whole seconds, UTC.
impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_seconds(f, self.date_time())?;
        f.write_str("Z")
    }
}

fn write_seconds(f: &mut fmt::Formatter<'_>, at: DateTime) -> fmt::Result {
    let (year, month, day) = (i64::from(at.year()), at.month(), at.day());
    let (hour, minute, second) = (at.hour(), at.minute(), at.second());
    // Reports have a great many times: written digit by digit, and in one piece.
    let mut text = *b"0000-00-00T00:00:00";
    digits(&mut text[..4], year);
    for (from, number) in [(5, month), (8, day), (11, hour), (14, minute), (17, second)] {
        digits(&mut text[from..from + 2], number.into());
    }
    f.write_str(str::from_utf8(&text).map_err(|_| fmt::Error)?)
}

/// Writes a number into a place that it fits in.
fn digits(place: &mut [u8], number: i64) {
    let mut rest = number;
    for digit in place.iter_mut().rev() {
        *digit = b'0' + u8::try_from(rest.rem_euclid(10)).expect("a digit");
        rest = rest.div_euclid(10);
    }
}

/// As [`MicroTime`] writes it: the milliseconds are of interest where a program is looked into.
impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&MicroTime(*self), f)
    }
}

impl Add<Span> for Time {
    type Output = Self;

    fn add(self, span: Span) -> Self {
        Self::from_millis(self.as_millis().saturating_add(span.as_millis()))
    }
}

impl Sub<Span> for Time {
    type Output = Self;

    fn sub(self, span: Span) -> Self {
        Self::from_millis(self.as_millis().saturating_sub(span.as_millis()))
    }
}

impl AddAssign<Span> for Time {
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}

impl SubAssign<Span> for Time {
    fn sub_assign(&mut self, span: Span) {
        *self = *self - span;
    }
}

/// From `earlier` to this; negative if it is the later one.
impl Sub for Time {
    type Output = Span;

    fn sub(self, earlier: Self) -> Span {
        Span::from_millis(self.as_millis().saturating_sub(earlier.as_millis()))
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer
            .deserialize_str(TextVisitor { expecting: "a time as in RFC 3339", read: str::parse::<Self> })
    }
}

/// A time that Kubernetes writes with six digits of a second (`metav1.MicroTime`): a Lease's `renewTime`, an Event's
/// `eventTime`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(transparent)]
pub struct MicroTime(pub Time);

impl fmt::Display for MicroTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = self.0.date_time();
        write_seconds(f, at)?;
        write!(f, ".{:06}Z", at.subsec_nanosecond() / 1_000)
    }
}

impl Serialize for MicroTime {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests;
