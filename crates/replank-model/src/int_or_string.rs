//! `IntOrString`: `maxUnavailable: 1` or `maxUnavailable: 25%` (apimachinery 1.36, `pkg/util/intstr/intstr.go`).

use std::fmt;
use std::sync::Arc;

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::go::{self, NumError, Quoted};

/// A number, or a text that is to be a percentage. The text is kept as it came; whether it is a percentage shows when
/// it is [scaled](IntOrString::scaled).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum IntOrString {
    /// Taken as it is.
    Int(i32),
    /// `25%`.
    String(Arc<str>),
}

/// What becomes of the fraction when a percentage of a total is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// Towards positive infinity: `maxSurge`, a disruption budget's `minAvailable` and `maxUnavailable`.
    Up,
    /// Towards negative infinity: a Deployment's `maxUnavailable`.
    Down,
}

/// Why a value cannot be scaled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IntOrStringError {
    /// A text without the percent sign, even if it is a number.
    #[error("invalid value for IntOrString: invalid type: string is not a percentage")]
    NotPercentage,
    /// What stands before the percent sign is not an integer.
    #[error(
        "invalid value for IntOrString: invalid value {}: strconv.Atoi: parsing {}: invalid syntax",
        Quoted(text),
        Quoted(before_percent(text))
    )]
    NotInteger {
        /// All of it.
        text: Arc<str>,
    },
    /// It does not fit 64 bits.
    #[error(
        "invalid value for IntOrString: invalid value {}: strconv.Atoi: parsing {}: value out of range",
        Quoted(text),
        Quoted(before_percent(text))
    )]
    OutOfRange {
        /// All of it.
        text: Arc<str>,
    },
}

fn before_percent(text: &str) -> &str {
    text.strip_suffix('%').unwrap_or(text)
}

impl IntOrString {
    /// The number itself, or the percentage of `total` (`GetScaledValueFromIntOrPercent`).
    ///
    /// # Errors
    /// If it is a text and not a whole percentage.
    pub fn scaled(&self, total: i64, rounding: Rounding) -> Result<i64, IntOrStringError> {
        let text = match self {
            Self::Int(value) => return Ok(i64::from(*value)),
            Self::String(text) => text,
        };
        let percent = text.strip_suffix('%').ok_or(IntOrStringError::NotPercentage)?;
        let percent = go::parse_int(percent.as_bytes()).map_err(|error| match error {
            NumError::Syntax => IntOrStringError::NotInteger { text: text.clone() },
            NumError::Range => IntOrStringError::OutOfRange { text: text.clone() },
        })?;
        // In floats, as upstream: beyond 2^53 the result is as far off as upstream's.
        let share = percent as f64 * total as f64 / 100.0;
        Ok(match rounding {
            Rounding::Up => share.ceil() as i64,
            Rounding::Down => share.floor() as i64,
        })
    }
}

impl From<i32> for IntOrString {
    fn from(value: i32) -> Self {
        Self::Int(value)
    }
}

/// A text that is an integer of 32 bits becomes one, as on kubectl's command line (`intstr.Parse`).
impl From<&str> for IntOrString {
    fn from(text: &str) -> Self {
        match go::parse_int(text.as_bytes()).map(i32::try_from) {
            Ok(Ok(value)) => Self::Int(value),
            Ok(Err(_)) | Err(_) => Self::String(text.into()),
        }
    }
}

impl fmt::Display for IntOrString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(value) => value.fmt(f),
            Self::String(text) => f.write_str(text),
        }
    }
}

impl Serialize for IntOrString {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Int(value) => serializer.serialize_i32(*value),
            Self::String(text) => serializer.serialize_str(text),
        }
    }
}

impl<'de> Deserialize<'de> for IntOrString {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(IntOrStringVisitor)
    }
}

struct IntOrStringVisitor;

impl Visitor<'_> for IntOrStringVisitor {
    type Value = IntOrString;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an integer of 32 bits or a string such as \"25%\"")
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<IntOrString, E> {
        let fits = i32::try_from(value);
        fits.map(IntOrString::Int).map_err(|_| E::invalid_value(de::Unexpected::Signed(value), &self))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<IntOrString, E> {
        let fits = i32::try_from(value);
        fits.map(IntOrString::Int).map_err(|_| E::invalid_value(de::Unexpected::Unsigned(value), &self))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<IntOrString, E> {
        Ok(IntOrString::String(text.into()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(text: &str) -> IntOrString {
        IntOrString::String(text.into())
    }

    #[test]
    fn a_percentage_is_rounded_as_asked() {
        assert_eq!(text("33%").scaled(10, Rounding::Up), Ok(4));
        assert_eq!(text("33%").scaled(10, Rounding::Down), Ok(3));
        assert_eq!(text("-33%").scaled(10, Rounding::Up), Ok(-3));
        assert_eq!(text("+33%").scaled(10, Rounding::Down), Ok(3));
        assert_eq!(IntOrString::Int(-7).scaled(10, Rounding::Down), Ok(-7));
    }

    #[test]
    fn errors_read_as_upstream() {
        let message = |value: &str| text(value).scaled(1, Rounding::Up).unwrap_err().to_string();
        assert_eq!(message("5"), "invalid value for IntOrString: invalid type: string is not a percentage");
        assert_eq!(
            message("1\"%"),
            r#"invalid value for IntOrString: invalid value "1\"%": strconv.Atoi: parsing "1\"": invalid syntax"#
        );
        assert!(message("99999999999999999999%").ends_with("value out of range"));
    }

    #[test]
    fn json_keeps_the_type() {
        let read = |json: &str| serde_json::from_str::<IntOrString>(json);
        assert_eq!(read("5").unwrap(), IntOrString::Int(5));
        assert_eq!(read("\"5\"").unwrap(), text("5"));
        assert_eq!(serde_json::to_string(&read("-5").unwrap()).unwrap(), "-5");
        assert_eq!(serde_json::to_string(&text("5%")).unwrap(), "\"5%\"");
        for json in ["1.5", "2147483648", "-2147483649", "true", "[]"] {
            let error = read(json).unwrap_err().to_string();
            assert!(error.contains("expected an integer of 32 bits or a string"), "{error}");
        }
        assert_eq!(IntOrString::from("12"), IntOrString::Int(12));
        assert_eq!(IntOrString::from("2147483648"), text("2147483648"));
    }

    proptest! {
        #[test]
        fn no_text_panics(value in ".*", total: i64) {
            for value in [value.clone(), format!("{value}%")] {
                if let Err(error) = text(&value).scaled(total, Rounding::Up) {
                    prop_assert!(error.to_string().starts_with("invalid value for IntOrString: "));
                }
            }
        }

        #[test]
        fn a_share_of_a_total_stays_within_it(percent in 0i64..=100, total in 0i64..1_000_000) {
            let value = text(&format!("{percent}%"));
            let up = value.scaled(total, Rounding::Up).unwrap();
            let down = value.scaled(total, Rounding::Down).unwrap();
            prop_assert!(0 <= down && down <= up && up <= total && up - down <= 1);
            prop_assert_eq!(down, percent * total / 100);
        }
    }
}
