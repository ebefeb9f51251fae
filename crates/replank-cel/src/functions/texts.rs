//! Texts, patterns (cel-go `ext/strings.go`, apiserver `pkg/cel/library/regex.go`).

use regex_lite::Regex;

use super::part::{Made, failed};
use crate::text::text_of;
use crate::value::{Failure, Val};

pub(super) fn call(function: &str, values: &[Val]) -> Made {
    Some(match (function, values) {
        ("contains", [Val::Text(text), Val::Text(part)]) => Ok(Val::Bool(text.contains(&**part))),
        ("startsWith", [Val::Text(text), Val::Text(part)]) => Ok(Val::Bool(text.starts_with(&**part))),
        ("endsWith", [Val::Text(text), Val::Text(part)]) => Ok(Val::Bool(text.ends_with(&**part))),
        ("matches", [Val::Text(text), Val::Text(pattern)]) => {
            regex(pattern).map(|regex| Val::Bool(regex.is_match(text)))
        }
        ("find", [Val::Text(text), Val::Text(pattern)]) => {
            regex(pattern).map(|regex| Val::text(regex.find(text).map_or("", |found| found.as_str())))
        }
        ("findAll", [Val::Text(text), Val::Text(pattern), limit @ ..]) => {
            let limit = match limit {
                [Val::Int(limit)] if *limit >= 0 => usize::try_from(*limit).unwrap_or(usize::MAX),
                _ => usize::MAX,
            };
            let found = |regex: Regex| {
                Val::list(regex.find_iter(text).take(limit).map(|one| Val::text(one.as_str())).collect())
            };
            regex(pattern).map(found)
        }
        ("charAt", [Val::Text(text), Val::Int(index)]) => {
            let characters: Vec<char> = text.chars().collect();
            match usize::try_from(*index) {
                Ok(index) if index < characters.len() => Ok(Val::text(&characters[index].to_string())),
                Ok(index) if index == characters.len() => Ok(Val::text("")),
                Ok(_) | Err(_) => failed(format!("index out of range: {index}")),
            }
        }
        ("indexOf", [Val::Text(text), Val::Text(part), from @ ..]) => index_of(text, part, from),
        ("lastIndexOf", [Val::Text(text), Val::Text(part), until @ ..]) => last_index_of(text, part, until),
        ("lowerAscii", [Val::Text(text)]) => Ok(Val::text(&text.to_ascii_lowercase())),
        ("upperAscii", [Val::Text(text)]) => Ok(Val::text(&text.to_ascii_uppercase())),
        ("trim", [Val::Text(text)]) => Ok(Val::text(text.trim())),
        ("reverse", [Val::Text(text)]) => Ok(Val::text(&text.chars().rev().collect::<String>())),
        ("replace", [Val::Text(text), Val::Text(old), Val::Text(new)]) => {
            Ok(Val::text(&text.replace(&**old, new)))
        }
        ("replace", [Val::Text(text), Val::Text(old), Val::Text(new), Val::Int(count)]) => {
            Ok(Val::text(&match usize::try_from(*count) {
                Ok(count) => text.replacen(&**old, new, count),
                Err(_) => text.replace(&**old, new),
            }))
        }
        ("split", [Val::Text(text), Val::Text(mark), limit @ ..]) => Ok(split(text, mark, limit)),
        ("substring", [Val::Text(text), Val::Int(from), until @ ..]) => {
            let characters: Vec<char> = text.chars().collect();
            let until = match until {
                [Val::Int(until)] => *until,
                _ => i64::try_from(characters.len()).unwrap_or(i64::MAX),
            };
            let range = (usize::try_from(*from), usize::try_from(until));
            match range {
                (Ok(from), Ok(until)) if from <= until && until <= characters.len() => {
                    Ok(Val::text(&characters[from..until].iter().collect::<String>()))
                }
                (Ok(from), Ok(until)) if from > until => {
                    failed(format!("invalid substring range. start: {from}, end: {until}"))
                }
                _ => failed(format!("index out of range: {}", if *from < 0 { *from } else { until })),
            }
        }
        ("join", [Val::List(list), mark @ ..]) => {
            let texts: Vec<String> = list.items.iter().map(text_of).collect();
            let mark = mark.first().map(text_of).unwrap_or_default();
            Ok(Val::text(&texts.join(&mark)))
        }
        ("strings.quote", [Val::Text(text)]) => Ok(Val::text(&replank_model::go::quoted(text))),
        ("jsonpatch.escapeKey", [Val::Text(text)]) => {
            Ok(Val::text(&text.replace('~', "~0").replace('/', "~1")))
        }
        ("format", [Val::Text(text), Val::List(list)]) => formatted(text, &list.items),
        _ => return None,
    })
}

fn regex(pattern: &str) -> Result<Regex, Failure> {
    Regex::new(pattern).map_err(|error| Failure(format!("Illegal regex: {error}")))
}

fn place(found: Option<usize>) -> Result<Val, Failure> {
    Ok(Val::Int(found.and_then(|found| i64::try_from(found).ok()).unwrap_or(-1)))
}

fn index_of(text: &str, part: &str, from: &[Val]) -> Result<Val, Failure> {
    let from = match from {
        [Val::Int(from)] => *from,
        _ => 0,
    };
    let length = text.chars().count();
    let Some(begin) = usize::try_from(from).ok().filter(|begin| *begin <= length) else {
        return failed(format!("index out of range: {from}"));
    };
    let rest: String = text.chars().skip(begin).collect();
    place(rest.find(part).map(|at| begin + rest[..at].chars().count()))
}

fn last_index_of(text: &str, part: &str, until: &[Val]) -> Result<Val, Failure> {
    let characters: Vec<char> = text.chars().collect();
    let wanted: Vec<char> = part.chars().collect();
    let last = match until {
        [Val::Int(until)] => *until,
        _ => i64::try_from(characters.len()).unwrap_or(i64::MAX),
    };
    let Ok(last) = usize::try_from(last) else { return failed(format!("index out of range: {last}")) };
    if wanted.len() > characters.len() {
        return place(None);
    }
    let starts = (0..=last.min(characters.len() - wanted.len())).rev();
    place(starts.into_iter().find(|at| characters[*at..].starts_with(&wanted)))
}

fn split(text: &str, mark: &str, limit: &[Val]) -> Val {
    let limit = match limit {
        [Val::Int(limit)] => *limit,
        _ => -1,
    };
    let pieces: Vec<String> = match (usize::try_from(limit), mark) {
        (Ok(0), _) => Vec::new(),
        (_, "") => text.chars().map(String::from).collect(),
        (Ok(limit), _) => text.splitn(limit, mark).map(str::to_owned).collect(),
        (Err(_), _) => text.split(mark).map(str::to_owned).collect(),
    };
    Val::list(pieces.iter().map(|piece| Val::text(piece)).collect())
}

/// `%s`, `%d`, `%f`, `%e`, `%b`, `%x`, `%X`, `%o`.
fn formatted(text: &str, values: &[Val]) -> Result<Val, Failure> {
    let (mut out, mut rest, mut values) = (String::new(), text.chars().peekable(), values.iter());
    while let Some(next) = rest.next() {
        if next != '%' {
            out.push(next);
            continue;
        }
        let mut precision = None;
        if rest.peek() == Some(&'.') {
            rest.next();
            let mut digits = String::new();
            while let Some(digit) = rest.next_if(char::is_ascii_digit) {
                digits.push(digit);
            }
            precision = digits.parse::<usize>().ok();
        }
        let Some(verb) = rest.next() else { return failed("unexpected end of format string") };
        if verb == '%' {
            out.push('%');
            continue;
        }
        let Some(value) = values.next() else {
            return failed("index out of range: not enough arguments for format");
        };
        out.push_str(&one(verb, precision, value)?);
    }
    Ok(Val::text(&out))
}

fn one(verb: char, precision: Option<usize>, value: &Val) -> Result<String, Failure> {
    let unfit = || {
        Failure(format!("error during formatting: {} cannot be formatted with %{verb}", value.type_name()))
    };
    let number = match value {
        Val::Double(number) => Some(*number),
        #[expect(clippy::cast_precision_loss, reason = "as the language has it")]
        Val::Int(number) => Some(*number as f64),
        #[expect(clippy::cast_precision_loss, reason = "as the language has it")]
        Val::Uint(number) => Some(*number as f64),
        _ => None,
    };
    match (verb, value) {
        ('s', value) => Ok(text_of(value)),
        ('d', Val::Int(_) | Val::Uint(_)) => Ok(text_of(value)),
        ('f', _) => number.map(|number| format!("{number:.*}", precision.unwrap_or(6))).ok_or_else(unfit),
        ('e', _) => {
            let Some(number) = number else { return Err(unfit()) };
            let text = format!("{number:.*e}", precision.unwrap_or(6));
            let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
            let exponent: i32 = exponent.parse().unwrap_or(0);
            Ok(format!("{digits}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs()))
        }
        ('b', Val::Int(number)) => Ok(signed(*number, |of| format!("{of:b}"))),
        ('b', Val::Uint(number)) => Ok(format!("{number:b}")),
        ('b', Val::Bool(flag)) => Ok(u8::from(*flag).to_string()),
        ('o', Val::Int(number)) => Ok(signed(*number, |of| format!("{of:o}"))),
        ('o', Val::Uint(number)) => Ok(format!("{number:o}")),
        ('x', Val::Int(number)) => Ok(signed(*number, |of| format!("{of:x}"))),
        ('X', Val::Int(number)) => Ok(signed(*number, |of| format!("{of:X}"))),
        ('x', Val::Uint(number)) => Ok(format!("{number:x}")),
        ('X', Val::Uint(number)) => Ok(format!("{number:X}")),
        ('x', Val::Text(text)) => Ok(text.bytes().map(|byte| format!("{byte:02x}")).collect()),
        ('X', Val::Text(text)) => Ok(text.bytes().map(|byte| format!("{byte:02X}")).collect()),
        _ => Err(unfit()),
    }
}

fn signed(number: i64, text: impl Fn(u64) -> String) -> String {
    format!("{}{}", if number < 0 { "-" } else { "" }, text(number.unsigned_abs()))
}
