//! Which values are equal, and which come first.

use std::cmp::Ordering;

use crate::value::{Identity, List, Val};

/// Whether two values are equal. Values of different types are not, numbers aside.
#[must_use]
pub fn equal(one: &Val, other: &Val) -> bool {
    match (one, other) {
        (Val::Null, Val::Null) => true,
        (Val::Bool(one), Val::Bool(other)) => one == other,
        (Val::Text(one), Val::Text(other)) => one == other,
        (Val::Bytes(one), Val::Bytes(other)) => one == other,
        (Val::List(one), Val::List(other)) => lists(one, other),
        (Val::Map(one), Val::Map(other)) => {
            one.len() == other.len()
                && one.iter().all(|(key, value)| other.get(key).is_some_and(|of| equal(value, of)))
        }
        (Val::Optional(one), Val::Optional(other)) => match (one, other) {
            (Some(one), Some(other)) => equal(one, other),
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        },
        (Val::Type(one), Val::Type(other)) => one == other,
        (Val::Url(one), Val::Url(other)) => one == other,
        (Val::Ip(one), Val::Ip(other)) => one == other,
        (Val::Cidr(one, bits), Val::Cidr(other, other_bits)) => one == other && bits == other_bits,
        (Val::Format(one), Val::Format(other)) => one == other,
        (one, other) => compare(one, other) == Some(Ordering::Equal),
    }
}

/// Lists that are sets are equal in any order; those with keys too.
fn lists(one: &List, other: &List) -> bool {
    let is_ordered = one.kind == Identity::Place && other.kind == Identity::Place;
    if one.items.len() != other.items.len() {
        return false;
    }
    if is_ordered {
        return one.items.iter().zip(&other.items).all(|(one, other)| equal(one, other));
    }
    one.items.iter().all(|item| other.items.iter().any(|of| equal(item, of)))
}

/// Which comes first; `None` for what cannot be compared.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "cel-go compares numbers of different types as doubles")]
pub fn compare(one: &Val, other: &Val) -> Option<Ordering> {
    match (one, other) {
        (Val::Bool(one), Val::Bool(other)) => Some(one.cmp(other)),
        (Val::Int(one), Val::Int(other)) => Some(one.cmp(other)),
        (Val::Uint(one), Val::Uint(other)) => Some(one.cmp(other)),
        (Val::Int(one), Val::Uint(other)) => Some(i128::from(*one).cmp(&i128::from(*other))),
        (Val::Uint(one), Val::Int(other)) => Some(i128::from(*one).cmp(&i128::from(*other))),
        (Val::Double(one), Val::Double(other)) => one.partial_cmp(other),
        (Val::Int(one), Val::Double(other)) => (*one as f64).partial_cmp(other),
        (Val::Uint(one), Val::Double(other)) => (*one as f64).partial_cmp(other),
        (Val::Double(one), Val::Int(other)) => one.partial_cmp(&(*other as f64)),
        (Val::Double(one), Val::Uint(other)) => one.partial_cmp(&(*other as f64)),
        (Val::Text(one), Val::Text(other)) => Some(one.cmp(other)),
        (Val::Bytes(one), Val::Bytes(other)) => Some(one.cmp(other)),
        (Val::Duration(one), Val::Duration(other)) | (Val::Timestamp(one), Val::Timestamp(other)) => {
            Some(one.cmp(other))
        }
        (Val::Quantity(one), Val::Quantity(other)) => Some(one.cmp(other)),
        (Val::Semver(one), Val::Semver(other)) => {
            Some(semver(&one.before, &other.before, one.numbers.cmp(&other.numbers)))
        }
        _ => None,
    }
}

/// A version without an addition comes after those with one; parts that are numbers come first, by value.
fn semver(one: &[String], other: &[String], numbers: Ordering) -> Ordering {
    if numbers != Ordering::Equal {
        return numbers;
    }
    match (one.is_empty(), other.is_empty()) {
        (true, true) => return Ordering::Equal,
        (true, false) => return Ordering::Greater,
        (false, true) => return Ordering::Less,
        (false, false) => {}
    }
    let part = |one: &String, other: &String| match (one.parse::<u64>(), other.parse::<u64>()) {
        (Ok(one), Ok(other)) => one.cmp(&other),
        (Ok(_), Err(_)) => Ordering::Less,
        (Err(_), Ok(_)) => Ordering::Greater,
        (Err(_), Err(_)) => one.cmp(other),
    };
    let first = one.iter().zip(other).map(|(one, other)| part(one, other)).find(|found| found.is_ne());
    first.unwrap_or_else(|| one.len().cmp(&other.len()))
}
