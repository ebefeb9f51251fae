//! Order and arithmetic (`Cmp`, `Add`, `Sub`, `Mul`, `Neg` in quantity.go).
//!
//! A sum keeps the left operand's format, or takes the right one's if the left is zero.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::iter::Sum;
use std::ops::{Add, AddAssign, Neg, Sub, SubAssign};

use super::decimal::Decimal;
use super::{Exactness, Format, Number, Quantity};

impl Quantity {
    /// Times an integer. Inexact says that the mantissa left the range of `i64`, as upstream's `Mul` does; the number
    /// itself is exact all the same.
    pub fn mul_int(&self, by: i64) -> (Self, Exactness) {
        if let Number::Scaled(amount) = self.number()
            && let Some(product) = amount.checked_mul(by)
        {
            return (Self::plain(self.format(), product), Exactness::Exact);
        }
        let product = self.to_decimal().mul(by);
        let exactness = Exactness::when(product.mantissa_fits_i64());
        (Self::big(self.format(), product), exactness)
    }

    fn format_of_sum(&self, other: &Self) -> Format {
        if self.is_zero() { other.format() } else { self.format() }
    }
}

impl Add for &Quantity {
    type Output = Quantity;

    fn add(self, other: &Quantity) -> Quantity {
        let format = self.format_of_sum(other);
        if let (Number::Scaled(left), Number::Scaled(right)) = (self.number(), other.number())
            && let Some(sum) = left.checked_add(right)
        {
            return Quantity::plain(format, sum);
        }
        Quantity::big(format, self.to_decimal().add(&other.to_decimal()))
    }
}

impl Sub for &Quantity {
    type Output = Quantity;

    fn sub(self, other: &Quantity) -> Quantity {
        let format = self.format_of_sum(other);
        if let (Number::Scaled(left), Number::Scaled(right)) = (self.number(), other.number())
            && let Some(difference) = right.checked_neg().and_then(|right| left.checked_add(right))
        {
            return Quantity::plain(format, difference);
        }
        Quantity::big(format, self.to_decimal().add(&other.to_decimal().neg()))
    }
}

impl AddAssign<&Quantity> for Quantity {
    fn add_assign(&mut self, other: &Quantity) {
        *self = &*self + other;
    }
}

impl SubAssign<&Quantity> for Quantity {
    fn sub_assign(&mut self, other: &Quantity) {
        *self = &*self - other;
    }
}

impl Neg for &Quantity {
    type Output = Quantity;

    fn neg(self) -> Quantity {
        match self.number() {
            Number::Scaled(amount) => match amount.checked_neg() {
                Some(amount) => Quantity::plain(self.format(), amount),
                None => Quantity::big(self.format(), Decimal::from(amount).neg()),
            },
            Number::Decimal(number) => Quantity::big(self.format(), number.neg()),
        }
    }
}

impl<'a> Sum<&'a Quantity> for Quantity {
    fn sum<I: Iterator<Item = &'a Quantity>>(quantities: I) -> Self {
        quantities.fold(Self::ZERO, |sum, quantity| &sum + quantity)
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.number(), other.number()) {
            (Number::Scaled(left), Number::Scaled(right)) => left.cmp(right),
            (Number::Decimal(left), Number::Decimal(right)) => left.cmp(right),
            (Number::Scaled(left), Number::Decimal(right)) => Decimal::from(left).cmp(right),
            (Number::Decimal(left), Number::Scaled(right)) => left.cmp(&right.into()),
        }
    }
}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Quantity {}

/// Over the mantissa without trailing zeros and its exponent: the same for equal numbers, whichever form holds them.
impl Hash for Quantity {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let (mantissa, exponent) = match self.number() {
            Number::Scaled(amount) => {
                let (value, exponent) = amount.reduced();
                (i128::from(value), exponent)
            }
            Number::Decimal(number) if number.signum() == 0 => (0, 0),
            Number::Decimal(number) => {
                let (magnitude, exponent) = number.reduced();
                // More than 36 digits are never equal to a short form; any function of the digits will do.
                let size = magnitude.to_u128().unwrap_or_else(|| u128::from(magnitude.low_u64())) as i128;
                (if number.is_negative() { -size } else { size }, exponent)
            }
        };
        state.write_i128(mantissa);
        state.write_i32(exponent);
    }
}
