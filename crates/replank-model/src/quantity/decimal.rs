//! Exact decimals beyond a machine word (upstream: `infDecAmount`, an `inf.Dec` of gopkg.in/inf.v0).

use std::cmp::Ordering;
use std::fmt;

use super::magnitude::Magnitude;
use super::scaled::Scaled;

/// `±magnitude × 10^-places`. Zero is never negative.
#[derive(Clone, Debug)]
pub(super) struct Decimal {
    negative: bool,
    magnitude: Magnitude,
    /// Digits after the point; negative for a number that ends in that many zeros.
    places: i32,
}

/// Both numbers' magnitudes at the finer of their scales.
struct Aligned {
    left: Magnitude,
    right: Magnitude,
    places: i32,
}

impl Decimal {
    pub(super) fn new(negative: bool, magnitude: Magnitude, places: i32) -> Self {
        let negative = negative && !magnitude.is_zero();
        Self { negative, magnitude, places }
    }

    pub(super) fn magnitude(&self) -> &Magnitude {
        &self.magnitude
    }

    pub(super) fn is_negative(&self) -> bool {
        self.negative
    }

    pub(super) fn signum(&self) -> i32 {
        match (self.magnitude.is_zero(), self.negative) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        }
    }

    /// The power of ten of the last digit.
    pub(super) fn exponent(&self) -> i32 {
        -self.places
    }

    fn align(&self, other: &Self) -> Aligned {
        let places = self.places.max(other.places);
        Aligned {
            left: self.magnitude.shift_up(places.abs_diff(self.places) as usize),
            right: other.magnitude.shift_up(places.abs_diff(other.places) as usize),
            places,
        }
    }

    pub(super) fn add(&self, other: &Self) -> Self {
        let Aligned { left, right, places } = self.align(other);
        if self.negative == other.negative {
            return Self::new(self.negative, left.add(&right), places);
        }
        match left.cmp(&right) {
            Ordering::Less => Self::new(other.negative, right.sub(&left), places),
            Ordering::Equal | Ordering::Greater => Self::new(self.negative, left.sub(&right), places),
        }
    }

    pub(super) fn neg(&self) -> Self {
        Self::new(!self.negative, self.magnitude.clone(), self.places)
    }

    pub(super) fn mul(&self, by: i64) -> Self {
        Self::new(self.negative != (by < 0), self.magnitude.mul(by.unsigned_abs()), self.places)
    }

    /// The number with exactly `places` digits after the point, rounded away from zero; says whether nothing was lost.
    pub(super) fn round_up(&self, places: i32) -> (Self, bool) {
        if self.places <= places {
            let magnitude = self.magnitude.shift_up(places.abs_diff(self.places) as usize);
            return (Self::new(self.negative, magnitude, places), true);
        }
        let cut = self.magnitude.shift_down(self.places.abs_diff(places) as usize);
        let magnitude = if cut.lost { cut.kept.increment() } else { cut.kept };
        (Self::new(self.negative, magnitude, places), !cut.lost)
    }

    /// The mantissa's lowest 64 bits, with its sign: what Go's `big.Int.Int64` gives, whatever the size.
    fn low_i64(&self) -> i64 {
        let low = self.magnitude.low_u64() as i64;
        if self.negative { low.wrapping_neg() } else { low }
    }

    pub(super) fn mantissa_fits_i64(&self) -> bool {
        let limit = if self.negative { 1 << 63 } else { (1 << 63) - 1 };
        self.magnitude.to_u128().is_some_and(|magnitude| magnitude <= limit)
    }

    /// The number in units of `10^-places` (`scaledValue` in scale_int.go of 1.36): rounded *up* where digits are
    /// cut, which for a negative number is one more than rounded away from zero, or than the quotient towards zero.
    /// Wraps where it does not fit; callers that care compare first.
    pub(super) fn in_units_of(&self, places: i32) -> i64 {
        let low = self.low_i64();
        let cut = self.places - places;
        if cut <= 0 {
            let power = 10i64.checked_pow(cut.unsigned_abs());
            // Above 10^18 Go converts a float that is out of range, which on amd64 is the smallest integer.
            return low.wrapping_mul(power.unwrap_or(i64::MIN));
        }
        let below_max = self.negative || self.magnitude < Magnitude::from(i64::MAX as u64);
        if let Some(power) = 10i64.checked_pow(cut.unsigned_abs()).filter(|_| below_max) {
            return low / power + i64::from(low % power != 0);
        }
        let (rounded, exact) = self.round_up(places);
        // Rounded away from zero is the ceiling of a positive number; the ceiling of a negative one is one above.
        rounded.low_i64().wrapping_add(i64::from(self.negative && !exact))
    }

    /// `mantissa` as a float times the power of ten, each rounded (`AsApproximateFloat64`).
    pub(super) fn mantissa_f64(&self) -> f64 {
        let mantissa = self.magnitude.to_f64();
        if self.negative { -mantissa } else { mantissa }
    }

    /// The mantissa without its trailing zeros, and the power of ten that then belongs to it.
    pub(super) fn reduced(&self) -> (Magnitude, i32) {
        let (magnitude, zeros) = self.magnitude.strip_zeros();
        let zeros = i32::try_from(zeros).expect("a quantity's digits are bounded");
        (magnitude, self.exponent() + zeros)
    }
}

impl From<Scaled> for Decimal {
    fn from(scaled: Scaled) -> Self {
        Self::new(scaled.value < 0, Magnitude::from(scaled.value.unsigned_abs()), -scaled.scale)
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_sign = self.signum().cmp(&other.signum());
        if by_sign != Ordering::Equal || self.signum() == 0 {
            return by_sign;
        }
        // The position of the first digit decides most comparisons without aligning the digits.
        let first = |number: &Self| i64::from(number.exponent()) + number.magnitude.digits() as i64;
        let by_magnitude = first(self).cmp(&first(other)).then_with(|| {
            let Aligned { left, right, .. } = self.align(other);
            left.cmp(&right)
        });
        if self.negative { by_magnitude.reverse() } else { by_magnitude }
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Decimal {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Decimal {}

/// Plain notation with every stored digit (`inf.Dec`'s `String`): `1.500`, `0.001`, `1200`.
impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.negative {
            f.write_str("-")?;
        }
        let digits = self.magnitude.to_string();
        match usize::try_from(self.places) {
            Ok(0) => f.write_str(&digits),
            Ok(places) if places < digits.len() => {
                let (whole, fraction) = digits.split_at(digits.len() - places);
                write!(f, "{whole}.{fraction}")
            }
            Ok(places) => write!(f, "0.{digits:0>places$}"),
            Err(_) if self.magnitude.is_zero() => f.write_str("0"),
            Err(_) => write!(f, "{digits}{:0<zeros$}", "", zeros = self.places.unsigned_abs() as usize),
        }
    }
}
