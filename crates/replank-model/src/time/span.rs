//! Spans of time, read and, in JSON, written as Go's `time.Duration` (`ParseDuration` and `String` in Go's `time` package),
//! which is how Kubernetes' `metav1.Duration` reads and writes.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul, Neg, Sub, SubAssign};
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{TextVisitor, shown};

/// A span of time in milliseconds; negative spans lead back.
///
/// ```
/// use replank_model::time::{GoForm, Span};
///
/// assert_eq!("1h30m".parse::<Span>()?, Span::from_secs(5400));
/// assert_eq!(Span::from_secs(5400).to_string(), "1h30m");
/// assert_eq!(GoForm(Span::from_secs(5400)).to_string(), "1h30m0s");
/// # Ok::<(), replank_model::time::SpanError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span(i64);

/// Why a text is not a span.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpanError {
    /// Not of the form.
    #[error("{text:?} is not a duration, such as \"90s\", \"1h30m\" or \"250ms\"")]
    Form {
        /// As it came, cut where it is long.
        text: String,
    },
    /// A number without a unit.
    #[error("the duration {text:?} lacks a unit behind a number: h, m, s or ms")]
    NoUnit {
        /// As it came.
        text: String,
    },
    /// A unit that is none; days are the usual one.
    #[error("the duration {text:?} has the unknown unit {unit:?}: a duration has h, m, s, ms, us and ns")]
    Unit {
        /// What stands there.
        unit: String,
        /// As it came.
        text: String,
    },
    /// More than the 292 years that Kubernetes takes.
    #[error("the duration {text:?} is longer than 292 years")]
    TooLong {
        /// As it came.
        text: String,
    },
}

const MILLIS_PER_SECOND: u64 = 1_000;
const MILLIS_PER_MINUTE: u64 = 60 * MILLIS_PER_SECOND;
const MILLIS_PER_HOUR: u64 = 60 * MILLIS_PER_MINUTE;
const NANOS_PER_MILLI: i128 = 1_000_000;

impl Span {
    /// No time at all.
    pub const ZERO: Self = Self(0);

    /// From milliseconds.
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// From seconds; saturates.
    pub const fn from_secs(seconds: i64) -> Self {
        Self(seconds.saturating_mul(1_000))
    }

    /// From minutes; saturates.
    pub const fn from_minutes(minutes: i64) -> Self {
        Self(minutes.saturating_mul(60_000))
    }

    /// In milliseconds.
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// In seconds, without the fraction.
    pub const fn as_secs(self) -> i64 {
        self.0 / 1_000
    }

    /// Rounded down to its two largest units, and to whole seconds from one on: enough for a figure in a report. `2h11m30s` is `2h11m`.
    #[must_use]
    pub const fn rounded(self) -> Self {
        const MINUTE: i64 = 60_000;
        const HOUR: i64 = 60 * MINUTE;
        let to = match self.0.saturating_abs() {
            ..1_000 => return self,
            1_000..HOUR => 1_000,
            HOUR.. => MINUTE,
        };
        Self(self.0 - self.0 % to)
    }

    /// In seconds, with the fraction: for a number in a report.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1_000.0
    }
}

/// The nanoseconds of a unit.
fn unit_nanos(unit: &str) -> Option<i128> {
    match unit {
        "ns" => Some(1),
        // Both of Unicode's micro signs.
        "us" | "µs" | "μs" => Some(1_000),
        "ms" => Some(NANOS_PER_MILLI),
        "s" => Some(1_000_000_000),
        "m" => Some(60_000_000_000),
        "h" => Some(3_600_000_000_000),
        _ => None,
    }
}

fn split_digits(text: &str) -> (&str, &str) {
    text.split_at(text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len()))
}

/// `whole.fraction` of a unit in nanoseconds, the fraction rounded down; none if it is beyond any duration.
fn term_nanos(whole: &str, fraction: &str, unit: i128) -> Option<i128> {
    /// Nanoseconds of an hour have 13 digits: what stands behind the 18th is not seen in them.
    const FRACTION_DIGITS: usize = 18;
    // No number of more digits, leading zeros aside, fits a duration in any unit.
    let whole = whole.trim_start_matches('0');
    let value: i128 = if whole.is_empty() { 0 } else { whole.parse::<i64>().ok()?.into() };
    let fraction = &fraction[..fraction.len().min(FRACTION_DIGITS)];
    let part: i128 = if fraction.is_empty() { 0 } else { fraction.parse().ok()? };
    Some(value * unit + part * unit / 10i128.pow(fraction.len() as u32))
}

/// A sign or none, then numbers with units. Less than a millisecond counts as one: what is not zero stays so.
impl FromStr for Span {
    type Err = SpanError;

    fn from_str(text: &str) -> Result<Self, SpanError> {
        let form = || SpanError::Form { text: shown(text) };
        let too_long = || SpanError::TooLong { text: shown(text) };
        let (negative, mut rest) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        if rest == "0" {
            return Ok(Self::ZERO);
        }
        if rest.is_empty() {
            return Err(form());
        }
        let mut nanos = 0i128;
        while !rest.is_empty() {
            let (whole, after) = split_digits(rest);
            let (fraction, after) = after.strip_prefix('.').map_or(("", after), split_digits);
            if whole.is_empty() && fraction.is_empty() {
                return Err(form());
            }
            let is_number = |character: char| character == '.' || character.is_ascii_digit();
            let (unit, after) = after.split_at(after.find(is_number).unwrap_or(after.len()));
            if unit.is_empty() {
                return Err(SpanError::NoUnit { text: shown(text) });
            }
            let unknown = || SpanError::Unit { unit: shown(unit), text: shown(text) };
            nanos +=
                term_nanos(whole, fraction, unit_nanos(unit).ok_or_else(unknown)?).ok_or_else(too_long)?;
            if nanos > i128::from(i64::MAX) {
                return Err(too_long());
            }
            rest = after;
        }
        // At most a millionth of i64::MAX.
        let millis = (nanos + NANOS_PER_MILLI - 1).div_euclid(NANOS_PER_MILLI) as i64;
        Ok(Self(if negative { -millis } else { millis }))
    }
}

/// As people write it, and every flag and plan reads it: Go's form without the units that are zero. `1h30m`, `10m`, `1m5s`, `1.5s`, `300ms`, `0s`.
/// It is the one form of all messages and reports; data has [`GoForm`].
impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write(*self, f, Zeros::Omitted)
    }
}

/// Go's form, with every unit below the largest: `1h30m0s`, `10m0s`. So `metav1.Duration` writes it, and we do in JSON.
#[derive(Clone, Copy, Debug)]
pub struct GoForm(pub Span);

impl fmt::Display for GoForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write(self.0, f, Zeros::Written)
    }
}

/// What becomes of minutes and seconds that are zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Zeros {
    Written,
    Omitted,
}

fn write(span: Span, f: &mut fmt::Formatter<'_>, zeros: Zeros) -> fmt::Result {
    if span.0 < 0 {
        f.write_str("-")?;
    }
    let millis = span.0.unsigned_abs();
    if millis > 0 && millis < MILLIS_PER_SECOND {
        return write!(f, "{millis}ms");
    }
    let (hours, minutes) = (millis / MILLIS_PER_HOUR, millis % MILLIS_PER_HOUR / MILLIS_PER_MINUTE);
    let has_zeros = zeros == Zeros::Written;
    if hours > 0 {
        write!(f, "{hours}h")?;
    }
    if minutes > 0 || hours > 0 && has_zeros {
        write!(f, "{minutes}m")?;
    }
    let rest = millis % MILLIS_PER_MINUTE;
    if rest == 0 && millis > 0 && !has_zeros {
        return Ok(());
    }
    write!(f, "{}", rest / MILLIS_PER_SECOND)?;
    let fraction = millis % MILLIS_PER_SECOND;
    if fraction > 0 {
        write!(f, ".{}", format!("{fraction:03}").trim_end_matches('0'))?;
    }
    f.write_str("s")
}

impl Add for Span {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sub for Span {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl AddAssign for Span {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl SubAssign for Span {
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

impl Neg for Span {
    type Output = Self;

    fn neg(self) -> Self {
        Self(self.0.saturating_neg())
    }
}

impl Mul<i64> for Span {
    type Output = Self;

    fn mul(self, by: i64) -> Self {
        Self(self.0.saturating_mul(by))
    }
}

impl Sum for Span {
    fn sum<I: Iterator<Item = Self>>(spans: I) -> Self {
        spans.fold(Self::ZERO, Add::add)
    }
}

impl Span {
    /// The span, so many times as short; rounded to milliseconds. What is not a number above zero leaves it as it is.
    #[must_use]
    pub fn divided(self, times: f64) -> Self {
        if !times.is_finite() || times <= 0.0 {
            return self;
        }
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            reason = "spans are far below 2^53 ms"
        )]
        let millis = (self.as_millis() as f64 / times).round() as i64;
        Self::from_millis(millis)
    }
}

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&GoForm(*self))
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let expecting = "a duration, such as \"90s\" or \"1h30m\"";
        deserializer.deserialize_str(TextVisitor { expecting, read: str::parse::<Self> })
    }
}
