//! Bounds of texts and numbers.

use regex_lite::Regex;
use serde_json::Number;

use super::place::place;
use crate::problem::{Problem, go_float, go_number, quoted};
use crate::schema::Schema;

pub(super) fn text(text: &str, schema: &Schema, path: &str, problems: &mut Vec<Problem>) {
    let limits = &schema.limits;
    let count = u64::try_from(text.chars().count()).unwrap_or(u64::MAX);
    // What is wrong first is told alone.
    if let Some(most) = limits.max_length.filter(|most| count > *most) {
        problems.push(Problem::too_long(place(path), most));
    } else if let Some(least) = limits.min_length.filter(|least| count < *least) {
        let why = format!("{path} in body should be at least {least} chars long");
        problems.push(Problem::invalid(place(path), &quoted(text), &why));
    } else if let Some(pattern) = &limits.pattern
        && !Regex::new(pattern).is_ok_and(|regex| regex.is_match(text))
    {
        let why = format!("{path} in body should match '{pattern}'");
        problems.push(Problem::invalid(place(path), &quoted(text), &why));
    }
}

pub(super) fn number(number: &Number, schema: &Schema, path: &str, problems: &mut Vec<Problem>) {
    let limits = &schema.limits;
    let Some(value) = number.as_f64() else { return };
    let kind = &*schema.basic;
    let format = &*schema.format;
    let of_format = || match format {
        "" => format!("must be of type {kind} (default format)"),
        format => format!("must be of type {kind} with format {format}"),
    };
    // A bound is to be of the type and format as the value is: no integer is of a type whose maximum is 0.5.
    let bounds = [
        ("MultipleOf", limits.multiple_of),
        ("Minimum boundary", limits.minimum),
        ("Maximum boundary", limits.maximum),
    ];
    for (what, number) in [("Checked", Some(value))].into_iter().chain(bounds) {
        if number.is_some_and(|number| !is_in_range(number, (kind, format))) {
            let why = format!("{what} value {} in {path}", of_format());
            problems.push(Problem::invalid("<nil>", "\"\"", &why));
        }
    }
    // An integer is compared with a bound without its fraction (kube-openapi, `MaximumNativeType`), unless the bound is not of the type.
    let is_integer = !number.is_f64();
    let bound = |bound: f64| match is_integer && is_in_range(bound, (kind, format)) {
        true => bound.trunc(),
        false => bound,
    };
    let factor = limits.multiple_of.map(bound);
    if let Some(factor) = factor.filter(|factor| *factor <= 0.0) {
        let why = format!("factor MultipleOf declared for {path} must be positive: {}", go_float(factor));
        problems.push(Problem::invalid(place(path), &go_float(factor), &why));
    }
    let mut refuse = |why: String| {
        problems.push(Problem::invalid(
            place(path),
            &go_number(number),
            &format!("{path} in body should be {why}"),
        ));
    };
    if let Some(factor) = factor.filter(|factor| *factor > 0.0) {
        let times = value / factor;
        if (times - times.round()).abs() > 1e-9 * times.abs().max(1.0) {
            refuse(format!("a multiple of {}", go_float(factor)));
        }
    }
    if let Some(most) = limits.maximum.map(bound) {
        if limits.excludes_maximum && value >= most {
            refuse(format!("less than {}", go_float(most)));
        } else if value > most {
            refuse(format!("less than or equal to {}", go_float(most)));
        }
    }
    if let Some(least) = limits.minimum.map(bound) {
        if limits.excludes_minimum && value <= least {
            refuse(format!("greater than {}", go_float(least)));
        } else if value < least {
            refuse(format!("greater than or equal to {}", go_float(least)));
        }
    }
}

/// Whether a number can be one of a type and format (kube-openapi, `IsValueValidAgainstRange`).
fn is_in_range(number: f64, of: (&str, &str)) -> bool {
    const INT64_END: f64 = 9_223_372_036_854_775_808.0;
    match of {
        ("integer", "int32") => {
            number.fract() == 0.0 && (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&number)
        }
        // The greatest integer is not told from the one after it here.
        ("integer", _) => number.fract() == 0.0 && (-INT64_END..=INT64_END).contains(&number),
        ("number", "float") => number.abs() <= f64::from(f32::MAX),
        _ => true,
    }
}
