//! Go's conversions of numbers on amd64, where they differ from Rust's: what is out of range becomes the least integer,
//! not the nearest.

use replank_model::quantity::{Format, Quantity};

/// `int32(x)`.
pub(super) fn to_i32(x: f64) -> i32 {
    let whole = x.trunc();
    if whole >= f64::from(i32::MIN) && whole <= f64::from(i32::MAX) { whole as i32 } else { i32::MIN }
}

/// `int32(math.Ceil(x))`, but no more than the greatest where upstream looks after that.
pub(super) fn ceil_capped(x: f64) -> i32 {
    if x > f64::from(i32::MAX) { i32::MAX } else { to_i32(x.ceil()) }
}

/// `int64(math.Ceil(x))`.
pub(super) fn ceil_i64(x: f64) -> i64 {
    let whole = x.ceil();
    // 2^63 itself is not an integer of 64 bits; -2^63 is.
    let range = -9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0;
    if range.contains(&whole) { whole as i64 } else { i64::MIN }
}

/// Thousandths as a quantity; those of memory in powers of two, where they are whole (`buildQuantity`).
pub(super) fn of_resource(resource: &str, milli: i64) -> Quantity {
    let format = if resource == "memory" { Format::BinarySi } else { Format::DecimalSi };
    Quantity::from_milli(milli, format)
}

/// Thousandths as a quantity.
pub(super) fn of_metric(milli: i64) -> Quantity {
    Quantity::from_milli(milli, Format::DecimalSi)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_out_of_range_is_the_least() {
        assert_eq!((to_i32(-2.9), to_i32(2.9), to_i32(f64::NAN)), (-2, 2, i32::MIN));
        assert_eq!((to_i32(2_147_483_647.9), to_i32(2_147_483_648.0)), (i32::MAX, i32::MIN));
        assert_eq!(
            (ceil_capped(1.1), ceil_capped(1e12), ceil_capped(f64::INFINITY)),
            (2, i32::MAX, i32::MAX)
        );
        assert_eq!((ceil_i64(1.1), ceil_i64(f64::INFINITY), ceil_i64(-1e30)), (2, i64::MIN, i64::MIN));
    }
}
