//! `value × 10^scale` in a machine word: the form nearly every quantity has (upstream: `int64Amount` in amount.go
//! and the helpers of math.go).

use std::cmp::Ordering;

/// A decimal number with an `i64` mantissa.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Scaled {
    pub(super) value: i64,
    /// Power of ten; at least -9 for whatever was parsed, and never above the digit bound.
    pub(super) scale: i32,
}

impl Scaled {
    pub(super) const ZERO: Self = Self { value: 0, scale: 0 };

    /// `value × 10^scale` as an integer, if it is one *by its form* (a negative scale is not looked into: "1000m" is
    /// not an integer here) and fits.
    pub(super) fn as_i64(self) -> Option<i64> {
        let up = u32::try_from(self.scale).ok()?;
        match raise(self.value, up) {
            Raised::Fits(value) => Some(value),
            Raised::Overflows { .. } => None,
        }
    }

    /// The number in units of `10^scale`, rounded away from zero. On overflow it is what upstream returns, which is
    /// of no use but must be the same: the wrapped product for the few scales it multiplies at once, else 0.
    pub(super) fn in_units_of(self, scale: i32) -> i64 {
        if self.scale < scale {
            return lower(self.value, scale.abs_diff(self.scale)).value;
        }
        match raise(self.value, self.scale.abs_diff(scale)) {
            Raised::Fits(value) => value,
            Raised::Overflows { upstream } => upstream,
        }
    }

    /// At least as coarse as `scale`, rounded away from zero; says whether nothing was lost.
    pub(super) fn round_up(self, scale: i32) -> (Self, bool) {
        if self.scale >= scale {
            return (self, true);
        }
        let lowered = lower(self.value, scale.abs_diff(self.scale));
        (Self { value: lowered.value, scale }, lowered.exact)
    }

    /// The sum at the finer of both scales, if it fits.
    pub(super) fn checked_add(self, other: Self) -> Option<Self> {
        if other.value == 0 {
            return Some(self);
        }
        if self.value == 0 {
            return Some(other);
        }
        let scale = self.scale.min(other.scale);
        let left = raise(self.value, self.scale.abs_diff(scale)).fits()?;
        let right = raise(other.value, other.scale.abs_diff(scale)).fits()?;
        Some(Self { value: left.checked_add(right)?, scale })
    }

    pub(super) fn checked_neg(self) -> Option<Self> {
        Some(Self { value: self.value.checked_neg()?, scale: self.scale })
    }

    /// The product, if upstream computes it in this form: the mantissa fits, and the number is an integer within
    /// `i64` (`Mul` in amount.go; everything else goes the decimal way, with the same numeric result).
    pub(super) fn checked_mul(self, by: i64) -> Option<Self> {
        if self.value == 0 {
            return Some(self);
        }
        if by == 0 {
            return Some(Self::ZERO);
        }
        let value = self.value.checked_mul(by)?;
        if self.scale >= 0 {
            raise(value, self.scale.unsigned_abs()).fits()?;
        } else if !lower(value, self.scale.unsigned_abs()).exact {
            return None;
        }
        Some(Self { value, scale: self.scale })
    }

    /// `value` without its factors of ten, and the power of ten that then belongs to it. Zero is `(0, 0)`.
    pub(super) fn reduced(self) -> (i64, i32) {
        if self.value == 0 {
            return (0, 0);
        }
        let (mut value, mut exponent) = (self.value, self.scale);
        while value % 10 == 0 {
            value /= 10;
            exponent += 1;
        }
        (value, exponent)
    }

    /// Numeric order.
    pub(super) fn cmp(self, other: Self) -> Ordering {
        match self.scale.cmp(&other.scale) {
            Ordering::Equal => self.value.cmp(&other.value),
            Ordering::Greater => compare_raised(self.value, self.scale.abs_diff(other.scale), other.value),
            Ordering::Less => {
                compare_raised(other.value, other.scale.abs_diff(self.scale), self.value).reverse()
            }
        }
    }
}

/// `coarse × 10^places` against `fine`.
fn compare_raised(coarse: i64, places: u32, fine: i64) -> Ordering {
    // 10^19 is above every i64, so that beyond it only the sign of `coarse` counts; up to it the product fits i128.
    match 10i128.checked_pow(places).filter(|_| places <= 19) {
        Some(power) => (i128::from(coarse) * power).cmp(&i128::from(fine)),
        None if coarse == 0 => 0.cmp(&fine),
        None => coarse.cmp(&0),
    }
}

enum Raised {
    Fits(i64),
    Overflows { upstream: i64 },
}

impl Raised {
    fn fits(self) -> Option<i64> {
        match self {
            Self::Fits(value) => Some(value),
            Self::Overflows { .. } => None,
        }
    }
}

/// `value × 10^places` (`positiveScaleInt64` in math.go of 1.36).
fn raise(value: i64, places: u32) -> Raised {
    if value == 0 {
        return Raised::Fits(0);
    }
    match 10i64.checked_pow(places) {
        Some(power) => match value.checked_mul(power) {
            Some(product) => Raised::Fits(product),
            None if matches!(places, 1 | 2 | 3 | 6 | 9) && value != i64::MIN => {
                Raised::Overflows { upstream: value.wrapping_mul(power) }
            }
            None => Raised::Overflows { upstream: 0 },
        },
        None => Raised::Overflows { upstream: 0 },
    }
}

struct Lowered {
    value: i64,
    exact: bool,
}

/// `value / 10^places`, rounded away from zero (`negativeScaleInt64` in math.go).
fn lower(value: i64, places: u32) -> Lowered {
    let (quotient, remainder) = match 10i64.checked_pow(places) {
        Some(power) => (value / power, value % power),
        None => (0, value),
    };
    // |quotient| is below i64::MAX as soon as there is a remainder: the power is 10 or more.
    Lowered { value: quotient + remainder.signum(), exact: remainder == 0 }
}
