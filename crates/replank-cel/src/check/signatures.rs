//! What functions take and give (cel-go's standard library and extensions, and apiserver `pkg/cel/library`).

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::types::{
    AUTHORIZER, CIDR, DECISION, FORMAT, GROUP_CHECK, IP, PATH_CHECK, QUANTITY, RESOURCE_CHECK, SEMVER, Type,
    URL,
};

/// One way to call a function.
#[derive(Clone, Debug)]
pub(super) struct Signature {
    pub(super) is_method: bool,
    pub(super) takes: Vec<Type>,
    pub(super) gives: Type,
}

/// One function a line; `a.f(b) -> c` is a method.
const TABLE: &str = include_str!("signatures.txt");

pub(super) fn signatures() -> &'static BTreeMap<&'static str, Vec<Signature>> {
    static ALL: LazyLock<BTreeMap<&'static str, Vec<Signature>>> = LazyLock::new(|| {
        let mut all: BTreeMap<&'static str, Vec<Signature>> = BTreeMap::new();
        for line in TABLE.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')) {
            let (name, signature) = read(line).expect("a line of the table has its form");
            all.entry(name).or_default().push(signature);
        }
        all
    });
    &ALL
}

/// Reads `name | takes , takes | gives`, with `method` or `function` in front.
fn read(line: &'static str) -> Option<(&'static str, Signature)> {
    let mut parts = line.split('|').map(str::trim);
    let (how, name, takes, gives) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    // The operators are written with their bars.
    let name = if name == "OR" { "_||_" } else { name };
    let takes = split(takes).into_iter().map(of_word).collect::<Option<Vec<_>>>()?;
    Some((name, Signature { is_method: how == "m", takes, gives: of_word(gives)? }))
}

/// The words between commas that are not within parentheses.
fn split(text: &str) -> Vec<&str> {
    let (mut depth, mut from, mut all) = (0, 0, Vec::new());
    for (at, one) in text.char_indices() {
        match one {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                all.push(text[from..at].trim());
                from = at + 1;
            }
            _ => {}
        }
    }
    if !text[from..].trim().is_empty() {
        all.push(text[from..].trim());
    }
    all
}

fn of_word(word: &str) -> Option<Type> {
    if let Some(within) = word.strip_prefix("list(").and_then(|rest| rest.strip_suffix(')')) {
        return of_word(within).map(Type::list);
    }
    if let Some(within) = word.strip_prefix("optional(").and_then(|rest| rest.strip_suffix(')')) {
        return of_word(within).map(Type::optional);
    }
    if let Some(within) = word.strip_prefix("map(").and_then(|rest| rest.strip_suffix(')')) {
        let parts = split(within);
        return Some(Type::map(of_word(parts.first()?)?, of_word(parts.get(1)?)?));
    }
    Some(match word {
        "dyn" => Type::Dyn,
        "null" => Type::Null,
        "bool" => Type::Bool,
        "int" => Type::Int,
        "uint" => Type::Uint,
        "double" => Type::Double,
        "string" => Type::Text,
        "bytes" => Type::Bytes,
        "duration" => Type::Duration,
        "timestamp" => Type::Timestamp,
        "type" => Type::Type,
        "quantity" => QUANTITY,
        "url" => URL,
        "ip" => IP,
        "cidr" => CIDR,
        "format" => FORMAT,
        "semver" => SEMVER,
        "authorizer" => AUTHORIZER,
        "path" => PATH_CHECK,
        "group" => GROUP_CHECK,
        "resource" => RESOURCE_CHECK,
        "decision" => DECISION,
        "A" => Type::Open(0),
        "B" => Type::Open(1),
        _ => return None,
    })
}
