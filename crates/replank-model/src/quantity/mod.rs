//! Kubernetes' `resource.Quantity`, exact: `100m`, `1536Mi`, `12e6`.
//!
//! The rules are those of apimachinery 1.36, `pkg/api/resource` (quantity.go, amount.go, math.go, suffix.go,
//! scale_int.go). Upstream keeps a number either as an `int64` with a power of ten or as a big decimal, and which of
//! the two it is shows through: in [`Quantity::as_i64`], in what an overflow returns, in the digits of
//! [`Quantity::exact_decimal`]. The same two forms are kept here, so that each answer is the same.
//!
//! One thing differs on purpose. Upstream takes every exponent of 32 bits, and printing or adding `1e2147483647`
//! then takes gigabytes. Here a text whose number has more than [`MAX_DIGITS`] digits is refused when it is read.

mod arithmetic;
mod decimal;
mod magnitude;
mod parse;
mod parts;
mod scaled;
mod text;

pub use parts::{Exactness, Format, MAX_DIGITS, Quantity, QuantityError};
use parts::{Form, Number, Spelled};

impl Quantity {
    /// Near enough, with upstream's own rounding (`AsApproximateFloat64`): mantissa times a power of ten that is
    /// itself rounded. Infinite where out of range.
    pub fn approximate_f64(&self) -> f64 {
        let (mantissa, exponent) = match self.number() {
            Number::Scaled(amount) => (amount.value as f64, amount.scale),
            Number::Decimal(number) => (number.mantissa_f64(), number.exponent()),
        };
        if exponent == 0 || mantissa == 0.0 { mantissa } else { mantissa * text::pow10(exponent) }
    }
}

#[cfg(test)]
mod tests;
