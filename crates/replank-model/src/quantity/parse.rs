//! Reading a quantity (`ParseQuantity` and `parseQuantityString` in quantity.go, `interpret` in suffix.go).

use std::str::FromStr;

use super::decimal::Decimal;
use super::magnitude::Magnitude;
use super::scaled::Scaled;
use super::{Form, Format, MAX_DIGITS, Quantity, QuantityError, Spelled, text};
use crate::go;

/// The finest scale that is kept: 10^-9. What is smaller is rounded away from zero.
const NANO_PLACES: i32 = 9;
/// Digits that upstream lets into the short form (`maxInt64Factors`).
const SHORT_DIGITS: usize = 18;

impl FromStr for Quantity {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, QuantityError> {
        if text.is_empty() {
            return Err(QuantityError::Format);
        }
        let parts = Parts::split(text.as_bytes())?;
        match Suffix::interpret(parts.suffix)? {
            Suffix::Decimal { exponent, format } => decimal(text, &parts, exponent, format),
            Suffix::Binary { power } => binary(text, &parts, power),
        }
    }
}

/// A text, cut into its parts.
struct Parts<'a> {
    negative: bool,
    /// Digits before the point without leading zeros; `0` if nothing is left.
    whole: &'a [u8],
    /// Digits after the point.
    fraction: &'a [u8],
    suffix: &'a [u8],
    /// Upstream's long way needs one digit at least, the short way none: `.Ki` is 0 and `.Ei` is an error.
    has_digits: bool,
}

fn leading(bytes: &[u8], belongs: impl Fn(u8) -> bool) -> (&[u8], &[u8]) {
    let end = bytes.iter().position(|byte| !belongs(*byte)).unwrap_or(bytes.len());
    bytes.split_at(end)
}

impl<'a> Parts<'a> {
    fn split(text: &'a [u8]) -> Result<Self, QuantityError> {
        let (negative, rest) = match text {
            [b'-', rest @ ..] => (true, rest),
            [b'+', rest @ ..] => (false, rest),
            rest => (false, rest),
        };
        let (zeros, rest) = leading(rest, |byte| byte == b'0');
        let (whole, rest) = leading(rest, |byte| byte.is_ascii_digit());
        let (fraction, suffix) = match rest {
            [b'.', rest @ ..] => leading(rest, |byte| byte.is_ascii_digit()),
            rest => (&[][..], rest),
        };
        let (_, rest) = leading(suffix, |byte| b"eEinumkKMGTP".contains(&byte));
        let rest = rest.strip_prefix(b"-").or_else(|| rest.strip_prefix(b"+")).unwrap_or(rest);
        if !rest.iter().all(u8::is_ascii_digit) {
            return Err(QuantityError::Format);
        }
        Ok(Self {
            negative,
            whole: if whole.is_empty() { b"0" } else { whole },
            fraction,
            suffix,
            has_digits: !(zeros.is_empty() && whole.is_empty() && fraction.is_empty()),
        })
    }

    fn digits(&self) -> usize {
        self.whole.len() + self.fraction.len()
    }

    /// The digits without the point as an integer, for the short form.
    fn short_mantissa(&self) -> i64 {
        debug_assert!(self.digits() <= SHORT_DIGITS);
        self.whole.iter().chain(self.fraction).fold(0, |value, digit| value * 10 + i64::from(digit - b'0'))
    }

    /// The digits without the point and without leading zeros, for the long form.
    fn long_mantissa(&self) -> Result<Vec<u8>, QuantityError> {
        if !self.has_digits {
            return Err(QuantityError::Numeric);
        }
        let significant = self.whole.iter().chain(self.fraction).skip_while(|digit| **digit == b'0');
        let count = significant.clone().count();
        bounded(count as i64)?;
        Ok(significant.copied().collect())
    }
}

fn bounded(digits: i64) -> Result<(), QuantityError> {
    if digits > MAX_DIGITS as i64 { Err(QuantityError::Digits { digits }) } else { Ok(()) }
}

enum Suffix {
    Decimal { exponent: i32, format: Format },
    Binary { power: u32 },
}

impl Suffix {
    fn interpret(suffix: &[u8]) -> Result<Self, QuantityError> {
        let decimal = |exponent| Ok(Self::Decimal { exponent, format: Format::DecimalSi });
        match suffix {
            b"" => decimal(0),
            b"n" => decimal(-9),
            b"u" => decimal(-6),
            b"m" => decimal(-3),
            b"k" => decimal(3),
            b"M" => decimal(6),
            b"G" => decimal(9),
            b"T" => decimal(12),
            b"P" => decimal(15),
            b"E" => decimal(18),
            b"Ki" => Ok(Self::Binary { power: 10 }),
            b"Mi" => Ok(Self::Binary { power: 20 }),
            b"Gi" => Ok(Self::Binary { power: 30 }),
            b"Ti" => Ok(Self::Binary { power: 40 }),
            b"Pi" => Ok(Self::Binary { power: 50 }),
            b"Ei" => Ok(Self::Binary { power: 60 }),
            [b'e' | b'E', digits @ ..] => {
                let exponent = go::parse_int(digits).map_err(|_| QuantityError::Suffix)?;
                let narrow = i32::try_from(exponent).map_err(|_| QuantityError::Exponent { exponent })?;
                Ok(Self::Decimal { exponent: narrow, format: Format::DecimalExponent })
            }
            _ => Err(QuantityError::Suffix),
        }
    }
}

/// A number with a power of ten.
fn decimal(text: &str, parts: &Parts<'_>, exponent: i32, format: Format) -> Result<Quantity, QuantityError> {
    let scale = i64::from(exponent) - parts.fraction.len() as i64;
    if parts.digits() > SHORT_DIGITS || scale < i64::from(-NANO_PLACES) {
        return long_decimal(parts, scale, format);
    }
    let mantissa = parts.short_mantissa();
    let digits = mantissa.checked_ilog10().map_or(0, |log| i64::from(log) + 1);
    if mantissa != 0 {
        bounded(digits + scale)?;
    }
    // Zero has no digits whatever its scale; a scale of its own would only have to be bounded everywhere else.
    let scale = if mantissa == 0 { scale.min(0) } else { scale };
    let amount = Scaled {
        value: if parts.negative { -mantissa } else { mantissa },
        scale: i32::try_from(scale).expect("bounded by the digits above, and by -9 below"),
    };
    let keeps_text = scale % 3 == 0 && mantissa % 1000 != 0 && parts.whole[0] != b'0';
    Ok(short(text, keeps_text, format, amount))
}

/// A quantity in the short form. Upstream keeps the text that it believes to be canonical; where it is not, so does
/// this.
fn short(text: &str, keeps_text: bool, format: Format, amount: Scaled) -> Quantity {
    if !keeps_text || text::is_canonical(text, format, amount) {
        return Quantity::plain(format, amount);
    }
    Quantity(Form::Spelled(Box::new(Spelled { format, amount, text: text.into() })))
}

fn long_decimal(parts: &Parts<'_>, scale: i64, format: Format) -> Result<Quantity, QuantityError> {
    let digits = parts.long_mantissa()?;
    if digits.is_empty() {
        // Upstream keeps the scale of a zero, and prints that many zeros as its exact number.
        let places = (-scale).clamp(0, MAX_DIGITS as i64) as i32;
        return Ok(Quantity::big(format, Decimal::new(false, Magnitude::default(), places)));
    }
    bounded(digits.len() as i64 + scale)?;
    let shift = scale + i64::from(NANO_PLACES);
    let magnitude = if shift >= 0 {
        let shift = usize::try_from(shift).expect("not negative, and bounded by the digits");
        Magnitude::from_digits(&digits).shift_up(shift)
    } else {
        let cut = usize::try_from(-shift).unwrap_or(usize::MAX);
        let (kept, lost) = digits.split_at(digits.len().saturating_sub(cut));
        let kept = Magnitude::from_digits(kept);
        if lost.iter().any(|digit| *digit != b'0') { kept.increment() } else { kept }
    };
    Ok(Quantity::big(format, Decimal::new(parts.negative, magnitude, NANO_PLACES)))
}

/// A number with a power of two.
fn binary(text: &str, parts: &Parts<'_>, power: u32) -> Result<Quantity, QuantityError> {
    // Upstream's estimate of the digits that the suffix leaves for the mantissa: three for each Ki.
    let room = 14usize.checked_sub((power / 10 * 3) as usize);
    if parts.fraction.is_empty() && room.is_some_and(|room| parts.whole.len() <= room) {
        let mantissa = parts.short_mantissa();
        let units = mantissa << power;
        let amount = Scaled { value: if parts.negative { -units } else { units }, scale: 0 };
        return Ok(short(text, mantissa & 7 != 0, Format::BinarySi, amount));
    }
    let digits = parts.long_mantissa()?;
    let places = i32::try_from(parts.fraction.len()).map_err(|_| QuantityError::Numeric)?;
    let magnitude = Magnitude::from_digits(&digits).mul(1 << power);
    if magnitude.is_zero() {
        let number = Decimal::new(false, magnitude, places.min(MAX_DIGITS as i32));
        return Ok(Quantity::big(Format::BinarySi, number));
    }
    let (size, _) = Decimal::new(false, magnitude, places).round_up(NANO_PLACES);
    let max = Decimal::from(Scaled { value: i64::MAX, scale: 0 });
    let size = if size > max { max } else { size };
    let format = if size < Decimal::from(Scaled { value: 1, scale: 0 }) {
        Format::DecimalSi
    } else {
        Format::BinarySi
    };
    Ok(Quantity::big(format, if parts.negative { size.neg() } else { size }))
}
