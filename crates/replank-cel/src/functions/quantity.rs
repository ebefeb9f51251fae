//! Quantities (apiserver `pkg/cel/library/quantity.go`).

use std::cmp::Ordering;
use std::sync::Arc;

use replank_model::quantity::Quantity;

use super::part::{Made, failed};
use crate::value::Val;

pub(super) fn call(function: &str, values: &[Val]) -> Made {
    Some(match (function, values) {
        ("quantity", [Val::Text(text)]) => match text.parse::<Quantity>() {
            Ok(quantity) => Ok(Val::Quantity(Arc::new(quantity))),
            Err(error) => failed(error.to_string()),
        },
        ("isQuantity", [Val::Text(text)]) => Ok(Val::Bool(text.parse::<Quantity>().is_ok())),
        ("sign", [Val::Quantity(of)]) => Ok(Val::Int(of.signum().into())),
        ("isInteger", [Val::Quantity(of)]) => Ok(Val::Bool(of.as_i64().is_some())),
        ("asInteger", [Val::Quantity(of)]) => match of.as_i64() {
            Some(number) => Ok(Val::Int(number)),
            None => failed("cannot convert value to integer"),
        },
        ("asApproximateFloat", [Val::Quantity(of)]) => Ok(Val::Double(of.approximate_f64())),
        ("isLessThan", [Val::Quantity(one), Val::Quantity(other)]) => Ok(Val::Bool(one < other)),
        ("isGreaterThan", [Val::Quantity(one), Val::Quantity(other)]) => Ok(Val::Bool(one > other)),
        ("compareTo", [Val::Quantity(one), Val::Quantity(other)]) => Ok(Val::Int(match one.cmp(other) {
            Ordering::Less => -1,
            Ordering::Equal => 0,
            Ordering::Greater => 1,
        })),
        ("add" | "sub", [Val::Quantity(one), other]) => {
            let other = match other {
                Val::Quantity(other) => Some(Quantity::clone(other)),
                Val::Int(number) => number.to_string().parse().ok(),
                _ => None,
            }?;
            let made = if function == "add" { &**one + &other } else { &**one - &other };
            Ok(Val::Quantity(Arc::new(made)))
        }
        _ => return None,
    })
}
