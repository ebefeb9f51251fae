//! An unsigned integer of any size, in base 10^18.
//!
//! Everything a quantity does to a number is decimal: shift by powers of ten, count digits, strip zeros, print.
//! In a decimal base each of these is a move of limbs, so that the few lines here replace a binary big-integer
//! dependency (`num-bigint` and its traits) and its quadratic conversions from and to text.

use std::cmp::Ordering;
use std::fmt;

use smallvec::SmallVec;

/// Decimal digits per limb.
const LIMB_DIGITS: usize = 18;
/// One more than the largest limb.
const BASE: u64 = 10u64.pow(LIMB_DIGITS as u32);

/// 10 to the power `exponent`; `exponent` is below [`LIMB_DIGITS`].
fn pow10(exponent: usize) -> u64 {
    debug_assert!(exponent < LIMB_DIGITS);
    10u64.pow(exponent as u32)
}

/// Digits in the decimal form of `limb`, which is not zero.
fn limb_digits(limb: u64) -> usize {
    limb.ilog10() as usize + 1
}

/// A natural number. Little-endian limbs; no limb of zero at the top, so that zero has no limbs at all.
///
/// Three limbs (54 digits) lie inside the value: an `i64` shifted by the nine places of a nano needs 28 digits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Magnitude {
    limbs: SmallVec<[u64; 3]>,
}

/// What is left after digits were cut off the end of a number, and whether any of them was not zero.
pub(super) struct Cut {
    pub(super) kept: Magnitude,
    pub(super) lost: bool,
}

impl Magnitude {
    /// The number that `digits` (ASCII decimal digits, any count, leading zeros allowed) spell.
    pub(super) fn from_digits(digits: &[u8]) -> Self {
        let mut limbs = SmallVec::with_capacity(digits.len().div_ceil(LIMB_DIGITS));
        for chunk in digits.rchunks(LIMB_DIGITS) {
            limbs.push(chunk.iter().fold(0u64, |limb, digit| limb * 10 + u64::from(digit - b'0')));
        }
        Self::trimmed(limbs)
    }

    fn trimmed(mut limbs: SmallVec<[u64; 3]>) -> Self {
        while limbs.last() == Some(&0) {
            limbs.pop();
        }
        Self { limbs }
    }

    pub(super) fn is_zero(&self) -> bool {
        self.limbs.is_empty()
    }

    /// Number of decimal digits; 0 for zero.
    pub(super) fn digits(&self) -> usize {
        self.limbs.last().map_or(0, |top| (self.limbs.len() - 1) * LIMB_DIGITS + limb_digits(*top))
    }

    /// The number, if it has at most two limbs (36 digits).
    pub(super) fn to_u128(&self) -> Option<u128> {
        match self.limbs.as_slice() {
            [] => Some(0),
            [low] => Some(u128::from(*low)),
            [low, high] => Some(u128::from(*high) * u128::from(BASE) + u128::from(*low)),
            _ => None,
        }
    }

    /// The lowest 64 bits.
    pub(super) fn low_u64(&self) -> u64 {
        self.limbs.iter().rev().fold(0, |low, limb| u64::wrapping_mul(low, BASE).wrapping_add(*limb))
    }

    /// The nearest `f64` (ties to even); infinite where the number is out of range.
    pub(super) fn to_f64(&self) -> f64 {
        match self.to_u128() {
            Some(small) => small as f64,
            None => self.to_string().parse().expect("decimal digits are a float's text"),
        }
    }

    pub(super) fn add(&self, other: &Self) -> Self {
        let (long, short) = if self.limbs.len() >= other.limbs.len() { (self, other) } else { (other, self) };
        let mut limbs = SmallVec::with_capacity(long.limbs.len() + 1);
        let mut carry = 0;
        for (index, limb) in long.limbs.iter().enumerate() {
            let sum = limb + short.limbs.get(index).copied().unwrap_or(0) + carry;
            limbs.push(sum % BASE);
            carry = sum / BASE;
        }
        limbs.push(carry);
        Self::trimmed(limbs)
    }

    /// `self - other`, where `other` is not the larger one.
    pub(super) fn sub(&self, other: &Self) -> Self {
        debug_assert!(*self >= *other, "a magnitude has no sign");
        let mut limbs = SmallVec::with_capacity(self.limbs.len());
        let mut borrow = 0;
        for (index, limb) in self.limbs.iter().enumerate() {
            let take = other.limbs.get(index).copied().unwrap_or(0) + borrow;
            borrow = u64::from(*limb < take);
            limbs.push(limb + borrow * BASE - take);
        }
        Self::trimmed(limbs)
    }

    pub(super) fn mul(&self, by: u64) -> Self {
        let mut limbs = SmallVec::with_capacity(self.limbs.len() + 2);
        let mut carry = 0u128;
        for limb in &self.limbs {
            let product = u128::from(*limb) * u128::from(by) + carry;
            limbs.push((product % u128::from(BASE)) as u64);
            carry = product / u128::from(BASE);
        }
        while carry > 0 {
            limbs.push((carry % u128::from(BASE)) as u64);
            carry /= u128::from(BASE);
        }
        Self::trimmed(limbs)
    }

    /// Quotient and remainder; `by` is not zero.
    pub(super) fn div_rem(&self, by: u64) -> (Self, u64) {
        let mut limbs: SmallVec<[u64; 3]> = SmallVec::from_elem(0, self.limbs.len());
        let mut remainder = 0u64;
        for (index, limb) in self.limbs.iter().enumerate().rev() {
            let part = u128::from(remainder) * u128::from(BASE) + u128::from(*limb);
            limbs[index] = (part / u128::from(by)) as u64;
            remainder = (part % u128::from(by)) as u64;
        }
        (Self::trimmed(limbs), remainder)
    }

    /// `self × 10^places`.
    pub(super) fn shift_up(&self, places: usize) -> Self {
        if self.is_zero() || places == 0 {
            return self.clone();
        }
        let mut limbs: SmallVec<[u64; 3]> = SmallVec::from_elem(0, places / LIMB_DIGITS);
        limbs.extend_from_slice(&self.mul(pow10(places % LIMB_DIGITS)).limbs);
        Self { limbs }
    }

    /// `self / 10^places`, rounded down.
    pub(super) fn shift_down(&self, places: usize) -> Cut {
        let whole = places / LIMB_DIGITS;
        let Some(upper) = self.limbs.get(whole..) else {
            return Cut { kept: Self::default(), lost: !self.is_zero() };
        };
        let upper = Self { limbs: SmallVec::from_slice(upper) };
        let (kept, remainder) = upper.div_rem(pow10(places % LIMB_DIGITS));
        let lost = remainder != 0 || self.limbs[..whole].iter().any(|limb| *limb != 0);
        Cut { kept, lost }
    }

    pub(super) fn increment(&self) -> Self {
        self.add(&Self::from(1))
    }

    /// The number without its trailing decimal zeros, and how many there were.
    pub(super) fn strip_zeros(&self) -> (Self, usize) {
        let Some(whole) = self.limbs.iter().position(|limb| *limb != 0) else {
            return (Self::default(), 0);
        };
        let mut limb = self.limbs[whole];
        let mut zeros = whole * LIMB_DIGITS;
        while limb.is_multiple_of(10) {
            limb /= 10;
            zeros += 1;
        }
        (self.shift_down(zeros).kept, zeros)
    }
}

impl From<u64> for Magnitude {
    fn from(value: u64) -> Self {
        Self::trimmed(SmallVec::from_slice(&[value % BASE, value / BASE]))
    }
}

impl Ord for Magnitude {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_length = self.limbs.len().cmp(&other.limbs.len());
        by_length.then_with(|| self.limbs.iter().rev().cmp(other.limbs.iter().rev()))
    }
}

impl PartialOrd for Magnitude {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Magnitude {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((top, rest)) = self.limbs.split_last() else {
            return f.write_str("0");
        };
        write!(f, "{top}")?;
        rest.iter().rev().try_for_each(|limb| write!(f, "{limb:0LIMB_DIGITS$}"))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(value: u128) -> Magnitude {
        Magnitude::from_digits(value.to_string().as_bytes())
    }

    #[test]
    fn carries_and_borrows_cross_limbs() {
        let nines = Magnitude::from_digits("9".repeat(54).as_bytes());
        let next = nines.increment();
        assert_eq!(next.to_string(), format!("1{}", "0".repeat(54)));
        assert_eq!(next.digits(), 55);
        assert_eq!(next.sub(&Magnitude::from(1)), nines);
        assert_eq!(next.strip_zeros(), (Magnitude::from(1), 54));
        assert_eq!(Magnitude::from_digits(b"0000").digits(), 0);
    }

    proptest! {
        #[test]
        fn agrees_with_u128(a in 0u128..1 << 120, b in 0u128..1 << 120, by in 1u64.., places in 0usize..60) {
            let (low, high) = (a.min(b), a.max(b));
            prop_assert_eq!(of(a).to_string(), a.to_string());
            prop_assert_eq!(of(a).cmp(&of(b)), a.cmp(&b));
            prop_assert_eq!(of(a).add(&of(b)), of(a + b));
            prop_assert_eq!(of(high).sub(&of(low)), of(high - low));
            prop_assert_eq!(of(a).low_u64(), a as u64);
            prop_assert_eq!(of(a).to_f64(), a as f64);
            let (quotient, remainder) = of(a).div_rem(by);
            prop_assert_eq!(quotient.mul(by).add(&Magnitude::from(remainder)), of(a));
            prop_assert!(remainder < by);
            let up = of(a).shift_up(places);
            let zeros = if a == 0 { 0 } else { places };
            prop_assert_eq!(up.to_string(), format!("{a}{}", "0".repeat(zeros)));
            let down = up.shift_down(places);
            prop_assert!(!down.lost);
            prop_assert_eq!(&down.kept, &of(a));
            let cut = of(a).shift_down(places);
            let power = 10u128.checked_pow(places as u32);
            prop_assert_eq!(cut.kept, of(power.map_or(0, |power| a / power)));
            prop_assert_eq!(cut.lost, power.map_or(a != 0, |power| a % power != 0));
        }
    }
}
