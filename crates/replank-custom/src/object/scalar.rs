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
    let is_whole = value.fract() == 0.0;
    let has_bound = limits.multiple_of.is_some() || limits.maximum.is_some() || limits.minimum.is_some();
    let of_format = || match (&*schema.format, kind) {
        ("", _) => format!("must be of type {kind} (default format)"),
        (format, _) => format!("must be of type {kind} with format {format}"),
    };
    let fits = match (kind, &*schema.format) {
        ("integer", "int32") => is_whole && (-2_147_483_648.0..=2_147_483_647.0).contains(&value),
        ("integer", "uint32") => is_whole && (0.0..=4_294_967_295.0).contains(&value),
        ("integer", "uint64") => is_whole && value >= 0.0,
        ("integer", _) => is_whole,
        _ => true,
    };
    if !fits && (has_bound || !schema.format.is_empty()) {
        let why = format!("Checked value {} in {path}", of_format());
        problems.push(Problem::invalid("<nil>", "\"\"", &why));
    }
    let mut refuse = |why: String| {
        problems.push(Problem::invalid(
            place(path),
            &go_number(number),
            &format!("{path} in body should be {why}"),
        ));
    };
    if let Some(of) = limits.multiple_of {
        let times = value / of;
        if (times - times.round()).abs() > 1e-9 * times.abs().max(1.0) {
            refuse(format!("a multiple of {}", go_float(of)));
        }
    }
    if let Some(most) = limits.maximum {
        if limits.excludes_maximum && value >= most {
            refuse(format!("less than {}", go_float(most)));
        } else if value > most {
            refuse(format!("less than or equal to {}", go_float(most)));
        }
    }
    if let Some(least) = limits.minimum {
        if limits.excludes_minimum && value <= least {
            refuse(format!("greater than {}", go_float(least)));
        } else if value < least {
            refuse(format!("greater than or equal to {}", go_float(least)));
        }
    }
}
