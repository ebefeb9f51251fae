//! Quantities, and the forms of their numbers.

use std::fmt;

use super::decimal::Decimal;
use super::scaled::Scaled;

/// Most digits that a quantity's number may have before its decimal point, and its mantissa as written.
///
/// Any real amount has less than 30; 10,000 leaves room for whatever a test or a fuzzer writes that upstream also
/// handles in reasonable time, and bounds a quantity to about 5 KiB.
pub const MAX_DIGITS: usize = 10_000;

/// How a quantity is written. Parsing remembers it, and arithmetic keeps that of the left operand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Format {
    /// `12M`: powers of 1000, and `n`, `u`, `m` below one.
    #[default]
    DecimalSi,
    /// `12Mi`: powers of 1024; what is below 1024 or not whole is written as [`Format::DecimalSi`].
    BinarySi,
    /// `12e6`.
    DecimalExponent,
}

impl Format {
    /// Upstream's name: `DecimalSI`, `BinarySI`, `DecimalExponent`.
    pub fn name(self) -> &'static str {
        match self {
            Self::DecimalSi => "DecimalSI",
            Self::BinarySi => "BinarySI",
            Self::DecimalExponent => "DecimalExponent",
        }
    }
}

/// Whether an operation kept every digit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exactness {
    /// Nothing was lost.
    Exact,
    /// Digits were rounded off, or the result left the range that the operation promises.
    Inexact,
}

impl Exactness {
    pub(super) fn when(exact: bool) -> Self {
        if exact { Self::Exact } else { Self::Inexact }
    }
}

/// Why a text is not a quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    /// Upstream's `ErrFormatWrong`.
    #[error("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")]
    Format,
    /// Upstream's `ErrNumeric`.
    #[error("unable to parse numeric part of quantity")]
    Numeric,
    /// Upstream's `ErrSuffix`.
    #[error("unable to parse quantity's suffix")]
    Suffix,
    /// The exponent has more than 32 bits. Upstream drops the upper ones and takes another number.
    #[error("the quantity's exponent {exponent} is outside the 32 bits that Kubernetes keeps of it")]
    Exponent {
        /// As written.
        exponent: i64,
    },
    /// More digits than [`MAX_DIGITS`].
    #[error(
        "the quantity needs {digits} digits, and no more than {} are taken: printing or adding such a number \
         takes memory without bound",
        MAX_DIGITS
    )]
    Digits {
        /// Before the decimal point, or in the mantissa.
        digits: i64,
    },
}

/// An exact amount of something: cores, bytes, requests per second.
///
/// Equality, order and hash are numeric: `1 == 1000m`; see [`Quantity::format`] for how it is written. The text of a
/// parsed quantity stays as it was where upstream keeps it (`007`, `1.Ki`, `+5`), and is canonical otherwise.
///
/// ```
/// use replank_model::quantity::Quantity;
///
/// let request: Quantity = "1.5Gi".parse()?;
/// assert_eq!(request.to_string(), "1536Mi");
/// assert_eq!(request.value(), 1_610_612_736);
/// # Ok::<(), replank_model::quantity::QuantityError>(())
/// ```
#[derive(Clone)]
pub struct Quantity(pub(super) Form);

/// 16 bytes; nothing is allocated unless the number or its text asks for it.
#[derive(Clone)]
pub(super) enum Form {
    /// `value × 10^scale`, written canonically. The fields of [`Scaled`] lie here one by one: as a struct they would
    /// bring their own padding and make the whole half as large again.
    Plain { format: Format, scale: i32, value: i64 },
    /// The same, with a text of its own.
    Spelled(Box<Spelled>),
    /// More than 18 digits, or a binary suffix on a fraction.
    Big(Box<Big>),
}

#[derive(Clone)]
pub(super) struct Spelled {
    pub(super) format: Format,
    pub(super) amount: Scaled,
    pub(super) text: Box<str>,
}

#[derive(Clone)]
pub(super) struct Big {
    pub(super) format: Format,
    pub(super) number: Decimal,
}

/// A quantity's number, whichever form holds it.
pub(super) enum Number<'a> {
    Scaled(Scaled),
    Decimal(&'a Decimal),
}

impl Quantity {
    /// Zero, in [`Format::DecimalSi`].
    pub const ZERO: Self = Self(Form::Plain { format: Format::DecimalSi, scale: 0, value: 0 });

    /// `value`, to be written in `format` (`NewQuantity`).
    pub const fn from_units(value: i64, format: Format) -> Self {
        Self(Form::Plain { format, scale: 0, value })
    }

    /// `value / 1000`, to be written in `format` (`NewMilliQuantity`).
    pub const fn from_milli(value: i64, format: Format) -> Self {
        Self(Form::Plain { format, scale: -3, value })
    }

    pub(super) fn plain(format: Format, amount: Scaled) -> Self {
        Self(Form::Plain { format, scale: amount.scale, value: amount.value })
    }

    pub(super) fn big(format: Format, number: Decimal) -> Self {
        Self(Form::Big(Box::new(Big { format, number })))
    }

    pub(super) fn number(&self) -> Number<'_> {
        match &self.0 {
            Form::Plain { format: _, scale, value } => {
                Number::Scaled(Scaled { value: *value, scale: *scale })
            }
            Form::Spelled(spelled) => Number::Scaled(spelled.amount),
            Form::Big(big) => Number::Decimal(&big.number),
        }
    }

    pub(super) fn to_decimal(&self) -> Decimal {
        match self.number() {
            Number::Scaled(amount) => amount.into(),
            Number::Decimal(number) => number.clone(),
        }
    }

    /// How it is written.
    pub fn format(&self) -> Format {
        match &self.0 {
            Form::Plain { format, .. } => *format,
            Form::Spelled(spelled) => spelled.format,
            Form::Big(big) => big.format,
        }
    }

    /// -1, 0 or 1.
    pub fn signum(&self) -> i32 {
        match self.number() {
            Number::Scaled(amount) => amount.value.signum() as i32,
            Number::Decimal(number) => number.signum(),
        }
    }

    /// Whether it is nothing.
    pub fn is_zero(&self) -> bool {
        self.signum() == 0
    }

    /// In whole units, rounded up as upstream's `Value` does: away from zero in the short form, towards positive
    /// infinity (or one beyond) in the long one. Out of the range of `i64` it wraps, saturates or is 0, as upstream.
    pub fn value(&self) -> i64 {
        self.in_units_of(0)
    }

    /// In thousandths, rounded and overflowing as [`Quantity::value`] (upstream's `MilliValue`).
    pub fn milli_value(&self) -> i64 {
        self.in_units_of(-3)
    }

    pub(super) fn in_units_of(&self, scale: i32) -> i64 {
        match self.number() {
            Number::Scaled(amount) => amount.in_units_of(scale),
            Number::Decimal(number) => number.in_units_of(-scale),
        }
    }

    /// The integer, where upstream's `AsInt64` gives one: in the short form, and written without a fraction.
    /// `1000m` and `7Ei` are none.
    pub fn as_i64(&self) -> Option<i64> {
        match self.number() {
            Number::Scaled(amount) => amount.as_i64(),
            Number::Decimal(_) => None,
        }
    }

    /// The stored number in plain notation, with every digit that is kept of it: `1.500`, `7`, `512.000000000`.
    pub fn exact_decimal(&self) -> String {
        self.to_decimal().to_string()
    }

    /// Rounded away from zero to whole thousandths.
    pub fn round_up_milli(&self) -> (Self, Exactness) {
        self.round_up(-3)
    }

    /// Rounded away from zero to whole units.
    pub fn round_up_units(&self) -> (Self, Exactness) {
        self.round_up(0)
    }

    /// Upstream's `RoundUp`. A number that needs none keeps its text.
    pub(super) fn round_up(&self, scale: i32) -> (Self, Exactness) {
        match self.number() {
            Number::Scaled(amount) if amount.scale >= scale => (self.clone(), Exactness::Exact),
            Number::Scaled(amount) => {
                let (amount, exact) = amount.round_up(scale);
                (Self::plain(self.format(), amount), Exactness::when(exact))
            }
            Number::Decimal(number) => {
                let (number, exact) = number.round_up(-scale);
                (Self::big(self.format(), number), Exactness::when(exact))
            }
        }
    }
}

impl Default for Quantity {
    fn default() -> Self {
        Self::ZERO
    }
}

impl fmt::Debug for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Quantity({self})")
    }
}
