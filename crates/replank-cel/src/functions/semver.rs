//! Semantic versions (apiserver `pkg/cel/library/semverlib.go`).

use std::cmp::Ordering;
use std::sync::Arc;

use super::part::{Made, failed};
use crate::equal::compare;
use crate::value::{Semver, Val};

pub(super) fn call(function: &str, values: &[Val]) -> Made {
    Some(match (function, values) {
        ("semver", [Val::Text(text), lenient @ ..]) => match read(text, is_true(lenient)) {
            Some(version) => Ok(Val::Semver(Arc::new(version))),
            None => failed("No Major.Minor.Patch elements found"),
        },
        ("isSemver", [Val::Text(text), lenient @ ..]) => {
            Ok(Val::Bool(read(text, is_true(lenient)).is_some()))
        }
        ("major", [Val::Semver(of)]) => number(of.numbers[0]),
        ("minor", [Val::Semver(of)]) => number(of.numbers[1]),
        ("patch", [Val::Semver(of)]) => number(of.numbers[2]),
        ("isLessThan", [one @ Val::Semver(_), other @ Val::Semver(_)]) => {
            Ok(Val::Bool(compare(one, other) == Some(Ordering::Less)))
        }
        ("isGreaterThan", [one @ Val::Semver(_), other @ Val::Semver(_)]) => {
            Ok(Val::Bool(compare(one, other) == Some(Ordering::Greater)))
        }
        ("compareTo", [one @ Val::Semver(_), other @ Val::Semver(_)]) => {
            Ok(Val::Int(match compare(one, other) {
                Some(Ordering::Less) => -1,
                Some(Ordering::Greater) => 1,
                Some(Ordering::Equal) | None => 0,
            }))
        }
        _ => return None,
    })
}

fn is_true(values: &[Val]) -> bool {
    matches!(values, [Val::Bool(true)])
}

fn number(number: u64) -> Result<Val, crate::value::Failure> {
    Ok(Val::Int(i64::try_from(number).unwrap_or(i64::MAX)))
}

/// A version; where that is asked for, with a `v` in front, with fewer numbers, and with zeros before them.
fn read(text: &str, is_lenient: bool) -> Option<Semver> {
    let text = if is_lenient { text.trim().trim_start_matches('v') } else { text };
    let text = text.split_once('+').map_or(text, |(before, _)| before);
    let (numbers, before) = match text.split_once('-') {
        Some((numbers, before)) => (numbers, before.split('.').map(str::to_owned).collect()),
        None => (text, Vec::new()),
    };
    let mut read = [0; 3];
    let parts: Vec<&str> = numbers.split('.').collect();
    if parts.len() > 3 || (parts.len() < 3 && !is_lenient) {
        return None;
    }
    for (slot, part) in read.iter_mut().zip(parts) {
        let is_plain = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        let has_zero = part.len() > 1 && part.starts_with('0') && !is_lenient;
        *slot = part.parse().ok().filter(|_| is_plain && !has_zero)?;
    }
    let is_word = |part: &String| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    before.iter().all(is_word).then_some(Semver { numbers: read, before })
}
