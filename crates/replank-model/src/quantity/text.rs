//! How a quantity is written (`CanonicalizeBytes` in quantity.go, `construct` in suffix.go).

use std::borrow::Cow;
use std::fmt;

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::decimal::Decimal;
use super::scaled::Scaled;
use super::{Form, Format, Quantity};

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Form::Plain { format, scale, value } => {
                write_scaled(f, *format, Scaled { value: *value, scale: *scale })
            }
            Form::Spelled(spelled) => f.write_str(&spelled.text),
            Form::Big(big) => write_decimal(f, big.format, &big.number),
        }
    }
}

/// The canonical text of a number in the short form.
pub(super) fn write_scaled(f: &mut impl fmt::Write, format: Format, amount: Scaled) -> fmt::Result {
    if amount.value == 0 {
        return f.write_char('0');
    }
    match format {
        Format::DecimalSi | Format::DecimalExponent => write_scaled_decimal(f, format, amount),
        Format::BinarySi => match binary_units(amount) {
            BinaryUnits::Whole(units) => {
                let (mut value, mut power) = (units, 0);
                // Upstream negates to divide, and the smallest integer has no negative: it stays as it is.
                while value != i64::MIN && value.unsigned_abs() >= 1024 && value % 1024 == 0 {
                    value /= 1024;
                    power += 1;
                }
                write!(f, "{value}{}", binary_suffix(power))
            }
            BinaryUnits::TooLarge => write_decimal(f, format, &amount.into()),
            BinaryUnits::None => write_scaled_decimal(f, Format::DecimalSi, amount),
        },
    }
}

/// What a number can be written in with a binary suffix.
enum BinaryUnits {
    Whole(i64),
    TooLarge,
    /// Not whole, or less than 1024: written in decimal.
    None,
}

fn binary_units(amount: Scaled) -> BinaryUnits {
    let (whole, exact) = amount.round_up(0);
    if !exact {
        return BinaryUnits::None;
    }
    match whole.as_i64() {
        Some(units) if units.unsigned_abs() < 1024 => BinaryUnits::None,
        Some(units) => BinaryUnits::Whole(units),
        None => BinaryUnits::TooLarge,
    }
}

fn write_scaled_decimal(f: &mut impl fmt::Write, format: Format, amount: Scaled) -> fmt::Result {
    let (value, exponent) = amount.reduced();
    let extra = exponent.rem_euclid(3);
    // Two digits more than an i64 has fit an i128 with room to spare.
    let value = i128::from(value) * 10i128.pow(extra.unsigned_abs());
    match i64::try_from(value) {
        Ok(value) => write!(f, "{value}")?,
        Err(_) => write!(f, "{value}")?,
    }
    write_decimal_suffix(f, format, exponent - extra)
}

/// The canonical text of a number in the long form.
fn write_decimal(f: &mut impl fmt::Write, format: Format, number: &Decimal) -> fmt::Result {
    if number.signum() == 0 {
        return f.write_char('0');
    }
    let sign = if number.is_negative() { "-" } else { "" };
    if let (Format::BinarySi, Some(units)) = (format, whole_from_1024(number)) {
        let (mut units, mut power) = (units.magnitude().clone(), 0);
        loop {
            let (quotient, remainder) = units.div_rem(1024);
            if remainder != 0 {
                break;
            }
            units = quotient;
            power += 1;
        }
        return write!(f, "{sign}{units}{}", binary_suffix(power));
    }
    let format = match format {
        Format::BinarySi => Format::DecimalSi,
        Format::DecimalSi | Format::DecimalExponent => format,
    };
    let (magnitude, exponent) = number.reduced();
    let extra = exponent.rem_euclid(3);
    write!(f, "{sign}{}", magnitude.shift_up(extra.unsigned_abs() as usize))?;
    write_decimal_suffix(f, format, exponent - extra)
}

/// The number as an integer, if it is one and at least 1024 away from zero.
fn whole_from_1024(number: &Decimal) -> Option<Decimal> {
    let (whole, exact) = number.round_up(0);
    let small = whole.magnitude().to_u128().is_some_and(|units| units < 1024);
    (exact && !small).then_some(whole)
}

/// Upstream looks the power up and writes nothing for one that it does not have: 1024^7 is written `1`.
fn binary_suffix(power: u32) -> &'static str {
    match power {
        1 => "Ki",
        2 => "Mi",
        3 => "Gi",
        4 => "Ti",
        5 => "Pi",
        6 => "Ei",
        _ => "",
    }
}

/// As with the binary ones, a power that has no suffix is dropped: 10^21 in decimal SI is written `1`.
fn write_decimal_suffix(f: &mut impl fmt::Write, format: Format, exponent: i32) -> fmt::Result {
    match format {
        Format::DecimalExponent if exponent == 0 => Ok(()),
        Format::DecimalExponent => write!(f, "e{exponent}"),
        Format::DecimalSi | Format::BinarySi => f.write_str(match exponent {
            -9 => "n",
            -6 => "u",
            -3 => "m",
            3 => "k",
            6 => "M",
            9 => "G",
            12 => "T",
            15 => "P",
            18 => "E",
            _ => "",
        }),
    }
}

/// Whether `text` is the canonical text of the number; nothing is allocated to find out.
pub(super) fn is_canonical(text: &str, format: Format, amount: Scaled) -> bool {
    let mut rest = Expect { rest: text };
    write_scaled(&mut rest, format, amount).is_ok() && rest.rest.is_empty()
}

/// Fails on the first piece that is not what was expected.
struct Expect<'a> {
    rest: &'a str,
}

impl fmt::Write for Expect<'_> {
    fn write_str(&mut self, piece: &str) -> fmt::Result {
        // An empty prefix is not compared: at the end of a page that costs more than all the rest.
        if !piece.is_empty() {
            self.rest = self.rest.strip_prefix(piece).ok_or(fmt::Error)?;
        }
        Ok(())
    }
}

/// Go's `math.Pow10`: a table of every 32nd power times or divided by one of the powers below, so that its last bit
/// is the same.
pub(super) fn pow10(exponent: i32) -> f64 {
    /// Powers of ten that `f64` holds exactly to 10^22, and the nearest ones above.
    const LOW: [f64; 32] = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17,
        1e18, 1e19, 1e20, 1e21, 1e22, 1e23, 1e24, 1e25, 1e26, 1e27, 1e28, 1e29, 1e30, 1e31,
    ];
    const UP: [f64; 10] = [1e0, 1e32, 1e64, 1e96, 1e128, 1e160, 1e192, 1e224, 1e256, 1e288];
    const DOWN: [f64; 11] =
        [1e0, 1e-32, 1e-64, 1e-96, 1e-128, 1e-160, 1e-192, 1e-224, 1e-256, 1e-288, 1e-320];
    let size = exponent.unsigned_abs() as usize;
    match exponent {
        0..=308 => UP[size / 32] * LOW[size % 32],
        -323..=-1 => DOWN[size / 32] / LOW[size % 32],
        309.. => f64::INFINITY,
        ..-323 => 0.0,
    }
}

impl Serialize for Quantity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// From a string, with the surrounding white space that upstream also takes off; from a number, as if it were
/// written in its shortest form; `null` is zero.
impl<'de> Deserialize<'de> for Quantity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(QuantityVisitor)
    }
}

struct QuantityVisitor;

impl QuantityVisitor {
    fn read<E: de::Error>(text: &str) -> Result<Quantity, E> {
        text.trim().parse().map_err(|error| {
            /// Enough of a text to find it by; more is of no use in a message.
            const SHOWN: usize = 64;
            let shown = match text.char_indices().nth(SHOWN) {
                Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
                None => Cow::Borrowed(text),
            };
            E::custom(format_args!("quantity {shown:?}: {error}"))
        })
    }
}

impl Visitor<'_> for QuantityVisitor {
    type Value = Quantity;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a quantity, such as \"500m\", \"1.5Gi\" or 2")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Quantity, E> {
        Self::read(text)
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Quantity, E> {
        Self::read(&value.to_string())
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Quantity, E> {
        Self::read(&value.to_string())
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Quantity, E> {
        /// A float of that size was hardly written out, and plain digits would lose the exponent's format.
        const WRITTEN_OUT: f64 = 1e18;
        let text = if value.abs() < WRITTEN_OUT { value.to_string() } else { format!("{value:e}") };
        Self::read(&text)
    }

    fn visit_unit<E: de::Error>(self) -> Result<Quantity, E> {
        Ok(Quantity::ZERO)
    }
}
