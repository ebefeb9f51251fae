//! `math` (cel-go `ext/math.go`).

use std::cmp::Ordering;

use super::part::Made;
use crate::equal::compare;
use crate::value::{Failure, Val};

pub(super) fn call(function: &str, values: &[Val]) -> Made {
    let name = function.strip_prefix("math.")?;
    Some(match (name, values) {
        ("greatest", [Val::List(list)]) => best(&list.items, Ordering::is_gt),
        ("least", [Val::List(list)]) => best(&list.items, Ordering::is_lt),
        ("greatest", all) => best(all, Ordering::is_gt),
        ("least", all) => best(all, Ordering::is_lt),
        ("abs", [Val::Int(number)]) => {
            number.checked_abs().map(Val::Int).ok_or_else(|| Failure("integer overflow".to_owned()))
        }
        ("abs", [Val::Double(number)]) => Ok(Val::Double(number.abs())),
        ("abs", [number @ Val::Uint(_)]) => Ok(number.clone()),
        ("sign", [Val::Int(number)]) => Ok(Val::Int(number.signum())),
        ("sign", [Val::Uint(number)]) => Ok(Val::Uint((*number).min(1))),
        ("sign", [Val::Double(number)]) => {
            Ok(Val::Double(if *number == 0.0 { 0.0 } else { number.signum() }))
        }
        ("ceil", [Val::Double(number)]) => Ok(Val::Double(number.ceil())),
        ("floor", [Val::Double(number)]) => Ok(Val::Double(number.floor())),
        ("round", [Val::Double(number)]) => Ok(Val::Double(number.round())),
        ("trunc", [Val::Double(number)]) => Ok(Val::Double(number.trunc())),
        ("sqrt", [Val::Double(number)]) => Ok(Val::Double(number.sqrt())),
        ("isNaN", [Val::Double(number)]) => Ok(Val::Bool(number.is_nan())),
        ("isInf", [Val::Double(number)]) => Ok(Val::Bool(number.is_infinite())),
        ("isFinite", [Val::Double(number)]) => Ok(Val::Bool(number.is_finite())),
        _ => return None,
    })
}

fn best(all: &[Val], is_better: fn(Ordering) -> bool) -> Result<Val, Failure> {
    let mut best = all.first().ok_or_else(Failure::no_overload)?;
    for one in all {
        if is_better(compare(one, best).ok_or_else(Failure::no_overload)?) {
            best = one;
        }
    }
    Ok(best.clone())
}
