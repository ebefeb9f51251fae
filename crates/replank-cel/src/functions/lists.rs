//! Lists and sets (apiserver `pkg/cel/library/lists.go`, cel-go `ext/lists.go` and `ext/sets.go`).

use std::cmp::Ordering;

use super::part::{Made, failed};
use crate::equal::{compare, equal};
use crate::value::{Failure, Val};

pub(super) fn call(function: &str, values: &[Val]) -> Made {
    Some(match (function, values) {
        ("isSorted", [Val::List(list)]) => Ok(Val::Bool(
            list.items.windows(2).all(|pair| compare(&pair[0], &pair[1]).is_none_or(Ordering::is_le)),
        )),
        ("sum", [Val::List(list)]) => sum(&list.items),
        ("min", [Val::List(list)]) => extreme(&list.items, "min", Ordering::is_lt),
        ("max", [Val::List(list)]) => extreme(&list.items, "max", Ordering::is_gt),
        ("indexOf", [Val::List(list), item]) => place(list.items.iter().position(|one| equal(one, item))),
        ("lastIndexOf", [Val::List(list), item]) => {
            place(list.items.iter().rposition(|one| equal(one, item)))
        }
        ("slice", [Val::List(list), Val::Int(from), Val::Int(until)]) => {
            match (usize::try_from(*from), usize::try_from(*until)) {
                (Ok(from), Ok(until)) if from <= until && until <= list.items.len() => {
                    Ok(Val::list(list.items[from..until].to_vec()))
                }
                _ => failed(format!("cannot slice({from}, {until}), list has {} items", list.items.len())),
            }
        }
        ("flatten", [Val::List(list)]) => Ok(Val::list(flat(&list.items, 1))),
        ("flatten", [Val::List(list), Val::Int(depth)]) => Ok(Val::list(flat(&list.items, *depth))),
        ("sort", [Val::List(list)]) => {
            let mut items = list.items.clone();
            items.sort_by(|one, other| compare(one, other).unwrap_or(Ordering::Equal));
            Ok(Val::list(items))
        }
        ("distinct", [Val::List(list)]) => {
            let mut items: Vec<Val> = Vec::new();
            for item in &list.items {
                if !items.iter().any(|one| equal(one, item)) {
                    items.push(item.clone());
                }
            }
            Ok(Val::list(items))
        }
        ("reverse", [Val::List(list)]) => Ok(Val::list(list.items.iter().rev().cloned().collect())),
        ("first", [Val::List(list)]) => {
            Ok(list.items.first().cloned().map_or(Val::Optional(None), Val::some))
        }
        ("last", [Val::List(list)]) => Ok(list.items.last().cloned().map_or(Val::Optional(None), Val::some)),
        ("lists.range", [Val::Int(count)]) => {
            Ok(Val::list((0..(*count).clamp(0, 100_000)).map(Val::Int).collect()))
        }
        ("sets.contains", [Val::List(list), Val::List(wanted)]) => {
            Ok(Val::Bool(wanted.items.iter().all(|item| has(&list.items, item))))
        }
        ("sets.equivalent", [Val::List(one), Val::List(other)]) => Ok(Val::Bool(
            one.items.iter().all(|item| has(&other.items, item))
                && other.items.iter().all(|item| has(&one.items, item)),
        )),
        ("sets.intersects", [Val::List(one), Val::List(other)]) => {
            Ok(Val::Bool(one.items.iter().any(|item| has(&other.items, item))))
        }
        _ => return None,
    })
}

fn has(items: &[Val], item: &Val) -> bool {
    items.iter().any(|one| equal(one, item))
}

fn place(found: Option<usize>) -> Result<Val, Failure> {
    Ok(Val::Int(found.and_then(|found| i64::try_from(found).ok()).unwrap_or(-1)))
}

fn sum(items: &[Val]) -> Result<Val, Failure> {
    let Some(first) = items.first() else { return Ok(Val::Int(0)) };
    items[1..].iter().try_fold(first.clone(), |sum, item| match (sum, item) {
        (Val::Int(sum), Val::Int(item)) => {
            sum.checked_add(*item).map(Val::Int).ok_or_else(|| Failure("integer overflow".to_owned()))
        }
        (Val::Uint(sum), Val::Uint(item)) => sum
            .checked_add(*item)
            .map(Val::Uint)
            .ok_or_else(|| Failure("unsigned integer overflow".to_owned())),
        (Val::Double(sum), Val::Double(item)) => Ok(Val::Double(sum + item)),
        (Val::Duration(sum), Val::Duration(item)) => Ok(Val::Duration(sum + item)),
        _ => Err(Failure::no_overload()),
    })
}

fn extreme(items: &[Val], name: &str, is_better: fn(Ordering) -> bool) -> Result<Val, Failure> {
    let Some(first) = items.first() else { return failed(format!("{name} called on empty list")) };
    let mut best = first;
    for item in &items[1..] {
        match compare(item, best) {
            Some(ordering) if is_better(ordering) => best = item,
            Some(_) => {}
            None => return Err(Failure::no_overload()),
        }
    }
    Ok(best.clone())
}

fn flat(items: &[Val], depth: i64) -> Vec<Val> {
    let mut out = Vec::new();
    for item in items {
        match item {
            Val::List(list) if depth > 0 => out.extend(flat(&list.items, depth - 1)),
            other => out.push(other.clone()),
        }
    }
    out
}
