use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use proptest::prelude::*;

use super::*;

fn quantity(text: &str) -> Quantity {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn hash(quantity: &Quantity) -> u64 {
    let mut hasher = DefaultHasher::new();
    quantity.hash(&mut hasher);
    hasher.finish()
}

#[test]
fn a_quantity_is_two_words() {
    assert_eq!(size_of::<Quantity>(), 16);
    assert_eq!(size_of::<Option<Quantity>>(), 16);
}

#[test]
fn equal_numbers_are_equal_whatever_their_form() {
    for (left, right) in [
        ("1", "1000m"),
        ("1", "1.0000000000"),
        ("1.5Gi", "1536Mi"),
        ("1e3", "1k"),
        ("8Ei", "9223372036854775807"),
        ("0", "-0.00000000000"),
        ("1E", "1000000000000000000000m"),
        ("-1n", "-0.0000000001"),
    ] {
        let (left, right) = (quantity(left), quantity(right));
        assert_eq!(left, right);
        assert_eq!(hash(&left), hash(&right), "{left} {right}");
    }
}

#[test]
fn the_text_is_kept_where_upstream_keeps_it() {
    for (text, written) in [
        ("007", "007"),
        ("+5", "+5"),
        ("1.", "1."),
        ("+1.Ki", "+1.Ki"),
        ("8.Ki", "8Ki"),
        ("1E3", "1E3"),
        ("1.5E3", "1500"),
        ("1.000", "1"),
        ("1.250", "1.250"),
    ] {
        assert_eq!(quantity(text).to_string(), written);
    }
    // Arithmetic and rounding write it anew.
    assert_eq!((&quantity("007") + &quantity("0")).to_string(), "7");
    assert_eq!(quantity("1.250").round_up_units().0.to_string(), "2");
    assert_eq!(quantity("007").round_up_units().0.to_string(), "007");
}

#[test]
fn digits_decide_what_has_no_digits() {
    // Upstream's short way reads nothing as zero, its long way does not.
    assert_eq!(quantity(".Ti").to_string(), "0");
    assert_eq!("Ei".parse::<Quantity>(), Err(QuantityError::Numeric));
    assert_eq!(".e-10".parse::<Quantity>(), Err(QuantityError::Numeric));
    assert_eq!(quantity("m"), Quantity::ZERO);
}

#[test]
fn sizes_are_bounded() {
    assert_eq!(
        "1e99999999999".parse::<Quantity>(),
        Err(QuantityError::Exponent { exponent: 99_999_999_999 })
    );
    assert_eq!(
        "1e-99999999999".parse::<Quantity>(),
        Err(QuantityError::Exponent { exponent: -99_999_999_999 })
    );
    // Upstream's own error: its exponent is read in 64 bits.
    assert_eq!("1e99999999999999999999".parse::<Quantity>(), Err(QuantityError::Suffix));
    assert_eq!("1e2147483647".parse::<Quantity>(), Err(QuantityError::Digits { digits: 2_147_483_648 }));
    assert_eq!("1e10000".parse::<Quantity>(), Err(QuantityError::Digits { digits: 10_001 }));
    assert_eq!(quantity("1e9999").exact_decimal().len(), 10_000);
    let long = "9".repeat(MAX_DIGITS + 1);
    for text in [long.clone(), format!(".{long}"), format!("-{long}e-999999"), format!("{long}Ki")] {
        assert_eq!(text.parse::<Quantity>(), Err(QuantityError::Digits { digits: 10_001 }), "{text}");
    }
    let error = "1e10000".parse::<Quantity>().unwrap_err().to_string();
    assert!(
        error.starts_with("the quantity needs 10001 digits, and no more than 10000 are taken"),
        "{error}"
    );
    // Small numbers need no digits, however small: they are one nano.
    assert_eq!(quantity("1e-2147483648"), quantity("1n"));
    assert_eq!(quantity("-123456789e-2147483648").to_string(), "-1e-9");
    assert_eq!(quantity(&format!("0.{}1", "0".repeat(100_000))), quantity("1n"));
    // A zero has none at all.
    assert_eq!(quantity("0e2147483647").exact_decimal(), "0");
    assert_eq!(quantity("0e-2147483648").exact_decimal().len(), MAX_DIGITS + 2);
    assert_eq!(quantity(&"0".repeat(1_000_000)), Quantity::ZERO);
}

#[test]
fn the_extremes_of_i64_hold() {
    for format in [Format::DecimalSi, Format::BinarySi, Format::DecimalExponent] {
        for value in [i64::MIN, i64::MIN + 1, i64::MAX] {
            let units = Quantity::from_units(value, format);
            assert_eq!(units.to_string(), value.to_string());
            assert_eq!((&units - &units).to_string(), "0");
            assert_eq!(-&-&units, units);
            assert_eq!(quantity(&units.to_string()), units);
            assert_eq!((&units + &units), units.mul_int(2).0);
        }
    }
    let low = Quantity::from_milli(i64::MIN, Format::BinarySi);
    assert_eq!(low.to_string(), "-9223372036854775808m");
    assert_eq!(quantity("1e9").cmp(&quantity("1e-9")), std::cmp::Ordering::Greater);
    assert_eq!(
        quantity("-1e99").cmp(&Quantity::from_units(i64::MIN, Format::DecimalSi)),
        std::cmp::Ordering::Less
    );
}

#[test]
fn powers_without_a_suffix_are_written_as_upstream_writes_them() {
    // The look-up of the suffix finds nothing, and nothing is written: 1000E is "1".
    assert_eq!(quantity("1000E").to_string(), "1");
    assert_eq!(quantity("1e21").to_string(), "1e21");
    let exbi = quantity("512Ei");
    assert_eq!(exbi.to_string(), "9223372036854775807");
    let exbi = (0..10).fold(quantity("1Ei"), |sum, _| &sum + &sum);
    assert_eq!(
        (exbi.to_string(), exbi.exact_decimal()),
        ("1".to_owned(), "1180591620717411303424.000000000".to_owned())
    );
}

#[test]
fn json_takes_strings_and_numbers() {
    let read = |json: &str| serde_json::from_str::<Quantity>(json);
    for (json, text) in [
        ("\"1500m\"", "1500m"),
        ("\" 2Gi\\n\"", "2Gi"),
        ("2", "2"),
        ("-3", "-3"),
        ("1.5", "1500m"),
        ("0.1", "100m"),
        ("null", "0"),
        ("18446744073709551615", "18446744073709551615"),
        ("1e300", "1e300"),
        ("1e17", "100P"),
    ] {
        assert_eq!(read(json).unwrap().to_string(), text, "{json}");
    }
    assert_eq!(serde_json::to_string(&quantity("1.5Gi")).unwrap(), "\"1536Mi\"");
    let error = read("\"1Mib\"").unwrap_err().to_string();
    assert!(error.starts_with("quantity \"1Mib\": quantities must match the regular expression"), "{error}");
    let error = read("[]").unwrap_err().to_string();
    assert!(error.contains("expected a quantity, such as \"500m\", \"1.5Gi\" or 2"), "{error}");
    let long = read(&format!("\"{}\"", "é".repeat(1000))).unwrap_err().to_string();
    assert!(long.len() < 400, "{long}");
}

/// Texts of every form that parse, with the exponents of real amounts.
fn texts() -> impl Strategy<Value = String> {
    let suffix = prop::sample::select(vec![
        "", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei",
    ]);
    let suffix = prop_oneof![
        4 => suffix.prop_map(str::to_owned),
        1 => (-12i32..20).prop_map(|exponent| format!("e{exponent}")),
    ];
    ("[+-]?", "[0-9]{1,4}|[0-9]{1,22}", "(\\.[0-9]{0,12})?", suffix)
        .prop_map(|(sign, whole, fraction, suffix)| format!("{sign}{whole}{fraction}{suffix}"))
}

/// Below 10^21, above which upstream's text drops the power of ten.
fn is_writable(quantity: &Quantity) -> bool {
    let limit = quantity_limit();
    *quantity < limit && *quantity > -&limit
}

fn quantity_limit() -> Quantity {
    quantity("1000E")
}

proptest! {
    #[test]
    fn no_text_panics(text in ".*", digits in "[-+.0-9eEinumkKMGTP]{0,40}") {
        for text in [text, digits] {
            if let Ok(quantity) = text.parse::<Quantity>() {
                let _: (String, String) = (quantity.to_string(), quantity.exact_decimal());
                let _: (i64, i64, f64) = (quantity.value(), quantity.milli_value(), quantity.approximate_f64());
                let _: (Option<i64>, u64) = (quantity.as_i64(), hash(&quantity));
                let _: Quantity = &quantity + &quantity.mul_int(i64::MIN).0;
                prop_assert_eq!(&quantity - &quantity, Quantity::ZERO);
            }
        }
    }

    #[test]
    fn what_is_written_reads_back(text in texts()) {
        let quantity = quantity(&text);
        prop_assume!(is_writable(&quantity));
        let again: Quantity = quantity.to_string().parse().unwrap();
        prop_assert_eq!(&again, &quantity);
        prop_assert_eq!(hash(&again), hash(&quantity));
        let rewritten = &Quantity::ZERO + &quantity;
        prop_assert_eq!(&rewritten.to_string().parse::<Quantity>().unwrap(), &quantity);
        prop_assert_eq!(rewritten.to_string(), (-&-&quantity).to_string());
        let plain: Quantity = quantity.exact_decimal().parse().unwrap();
        prop_assert_eq!(plain, quantity);
    }

    #[test]
    fn order_agrees_with_arithmetic(left in texts(), right in texts(), third in texts()) {
        let (left, right, third) = (quantity(&left), quantity(&right), quantity(&third));
        prop_assert_eq!(left.cmp(&right), (&left - &right).signum().cmp(&0));
        prop_assert_eq!(left.cmp(&right), right.cmp(&left).reverse());
        prop_assert_eq!(left.cmp(&right), (&left + &third).cmp(&(&right + &third)));
        prop_assert_eq!(&(&left + &right) - &right, left.clone());
        prop_assert_eq!(&left + &right, &right + &left);
        prop_assert_eq!(&(&left + &right) + &third, &left + &(&right + &third));
        if left == right {
            prop_assert_eq!(hash(&left), hash(&right));
        }
        let all = [left.clone(), right.clone(), third.clone()];
        prop_assert_eq!(all.iter().sum::<Quantity>(), &(&left + &right) + &third);
    }

    #[test]
    fn products_are_repeated_sums(text in texts(), by in -20i64..20) {
        let quantity = quantity(&text);
        let mut sum = Quantity::ZERO;
        for _ in 0..by.abs() {
            sum += &quantity;
        }
        prop_assert_eq!(quantity.mul_int(by).0, if by < 0 { -&sum } else { sum });
    }

    #[test]
    fn rounding_moves_away_from_zero_by_less_than_a_unit(text in texts()) {
        let quantity = quantity(&text);
        for (rounded, exactness, unit) in [
            { let (rounded, exactness) = quantity.round_up_units(); (rounded, exactness, "1") },
            { let (rounded, exactness) = quantity.round_up_milli(); (rounded, exactness, "1m") },
        ] {
            let moved = if quantity.signum() < 0 { &quantity - &rounded } else { &rounded - &quantity };
            prop_assert!(moved.signum() >= 0 && moved < unit.parse().unwrap());
            prop_assert_eq!(moved.is_zero(), exactness == Exactness::Exact);
        }
    }
}
