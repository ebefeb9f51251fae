//! Operators.

use std::cmp::Ordering;
use std::sync::Arc;

use crate::equal::{compare, equal};
use crate::text::text_of;
use crate::value::{Failure, Identity, Key, List, Val};

type Evaluated = Result<Val, Failure>;

/// What an operator makes of its operands; `None` for what is no operator.
pub(super) fn operator(function: &str, values: &[Val]) -> Option<Evaluated> {
    Some(match (function, values) {
        ("_==_", [one, other]) => Ok(Val::Bool(equal(one, other))),
        ("_!=_", [one, other]) => Ok(Val::Bool(!equal(one, other))),
        ("_<_", [one, other]) => ordered(one, other, Ordering::is_lt),
        ("_<=_", [one, other]) => ordered(one, other, Ordering::is_le),
        ("_>_", [one, other]) => ordered(one, other, Ordering::is_gt),
        ("_>=_", [one, other]) => ordered(one, other, Ordering::is_ge),
        ("!_", [Val::Bool(flag)]) => Ok(Val::Bool(!flag)),
        ("-_", [Val::Int(number)]) => number.checked_neg().map(Val::Int).ok_or_else(overflow),
        ("-_", [Val::Double(number)]) => Ok(Val::Double(-number)),
        ("_+_", [one, other]) => add(one, other),
        ("_-_", [one, other]) => subtract(one, other),
        ("_*_" | "_/_" | "_%_", [one, other]) => scale(function, one, other),
        ("@in", [item, Val::List(list)]) => Ok(Val::Bool(list.items.iter().any(|one| equal(one, item)))),
        ("@in", [key, Val::Map(map)]) => Ok(Val::Bool(key.key().is_some_and(|key| map.contains_key(&key)))),
        ("_[_]", [of, index]) => index_of(of, index, false),
        ("_[?_]", [of, index]) => index_of(of, index, true),
        ("!_" | "-_" | "@in", _) => Err(Failure::no_overload()),
        _ => return None,
    })
}

fn overflow() -> Failure {
    Failure("integer overflow".to_owned())
}

fn unsigned_overflow() -> Failure {
    Failure("unsigned integer overflow".to_owned())
}

fn ordered(one: &Val, other: &Val, is: fn(Ordering) -> bool) -> Evaluated {
    match (compare(one, other), one, other) {
        (Some(ordering), _, _) => Ok(Val::Bool(is(ordering))),
        // What is not a number is neither less nor more.
        (None, Val::Double(_), Val::Double(_) | Val::Int(_) | Val::Uint(_)) => Ok(Val::Bool(false)),
        (None, _, _) => Err(Failure::no_overload()),
    }
}

fn add(one: &Val, other: &Val) -> Evaluated {
    match (one, other) {
        (Val::Int(one), Val::Int(other)) => one.checked_add(*other).map(Val::Int).ok_or_else(overflow),
        (Val::Uint(one), Val::Uint(other)) => {
            one.checked_add(*other).map(Val::Uint).ok_or_else(unsigned_overflow)
        }
        (Val::Double(one), Val::Double(other)) => Ok(Val::Double(one + other)),
        (Val::Text(one), Val::Text(other)) => Ok(Val::Text(format!("{one}{other}").into())),
        (Val::Bytes(one), Val::Bytes(other)) => Ok(Val::Bytes([&**one, &**other].concat().into())),
        (Val::List(one), Val::List(other)) => Ok(Val::List(Arc::new(joined(one, other)))),
        (Val::Duration(one), Val::Duration(other)) => Ok(Val::Duration(one + other)),
        (Val::Timestamp(one), Val::Duration(other)) | (Val::Duration(other), Val::Timestamp(one)) => {
            Ok(Val::Timestamp(one + other))
        }
        _ => Err(Failure::no_overload()),
    }
}

/// Sets have no item twice; of lists with keys the later item takes the place of the earlier.
fn joined(one: &List, other: &List) -> List {
    let mut items = one.items.clone();
    for item in &other.items {
        let same = match &one.kind {
            Identity::Place => None,
            Identity::Value => items.iter().position(|of| equal(of, item)),
            Identity::Keys(keys) => items.iter().position(|of| has_keys_of(of, item, keys)),
        };
        match same {
            Some(index) => items[index] = item.clone(),
            None => items.push(item.clone()),
        }
    }
    List { items, kind: one.kind.clone() }
}

fn has_keys_of(one: &Val, other: &Val, keys: &[String]) -> bool {
    let (Val::Map(one), Val::Map(other)) = (one, other) else { return false };
    keys.iter().all(|key| {
        let key = Key::Text(key.as_str().into());
        match (one.get(&key), other.get(&key)) {
            (Some(one), Some(other)) => equal(one, other),
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        }
    })
}

fn subtract(one: &Val, other: &Val) -> Evaluated {
    match (one, other) {
        (Val::Int(one), Val::Int(other)) => one.checked_sub(*other).map(Val::Int).ok_or_else(overflow),
        (Val::Uint(one), Val::Uint(other)) => {
            one.checked_sub(*other).map(Val::Uint).ok_or_else(unsigned_overflow)
        }
        (Val::Double(one), Val::Double(other)) => Ok(Val::Double(one - other)),
        (Val::Duration(one), Val::Duration(other)) | (Val::Timestamp(one), Val::Timestamp(other)) => {
            Ok(Val::Duration(one - other))
        }
        (Val::Timestamp(one), Val::Duration(other)) => Ok(Val::Timestamp(one - other)),
        _ => Err(Failure::no_overload()),
    }
}

fn scale(function: &str, one: &Val, other: &Val) -> Evaluated {
    let by_zero =
        || Failure(if function == "_%_" { "modulus by zero" } else { "division by zero" }.to_owned());
    match (one, other) {
        (Val::Int(_), Val::Int(0)) | (Val::Uint(_), Val::Uint(0)) if function != "_*_" => Err(by_zero()),
        (Val::Int(one), Val::Int(other)) => match function {
            "_*_" => one.checked_mul(*other),
            "_/_" => one.checked_div(*other),
            _ => one.checked_rem(*other),
        }
        .map(Val::Int)
        .ok_or_else(overflow),
        (Val::Uint(one), Val::Uint(other)) => match function {
            "_*_" => one.checked_mul(*other),
            "_/_" => one.checked_div(*other),
            _ => one.checked_rem(*other),
        }
        .map(Val::Uint)
        .ok_or_else(unsigned_overflow),
        (Val::Double(one), Val::Double(other)) if function == "_*_" => Ok(Val::Double(one * other)),
        (Val::Double(one), Val::Double(other)) if function == "_/_" => Ok(Val::Double(one / other)),
        _ => Err(Failure::no_overload()),
    }
}

fn index_of(of: &Val, index: &Val, is_optional: bool) -> Evaluated {
    let found = match of {
        Val::List(list) => {
            let Some(Key::Int(index)) = index.key() else { return Err(Failure::no_overload()) };
            let item = usize::try_from(index).ok().and_then(|index| list.items.get(index));
            item.cloned().ok_or_else(|| format!("index out of bounds: {index}"))
        }
        Val::Map(map) => {
            let key = index.key().ok_or_else(Failure::no_overload)?;
            map.get(&key).cloned().ok_or_else(|| format!("no such key: {}", text_of(index)))
        }
        Val::Optional(None) => return Ok(Val::Optional(None)),
        Val::Optional(Some(of)) => return index_of(of, index, true),
        _ => return Err(Failure::no_overload()),
    };
    match (found, is_optional) {
        (Ok(value), true) => Ok(Val::some(value)),
        (Err(_), true) => Ok(Val::Optional(None)),
        (found, false) => found.map_err(Failure),
    }
}
