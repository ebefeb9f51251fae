//! Functions and methods: cel-go's standard library and extensions, and those of Kubernetes.

mod basic;
mod format;
mod lists;
mod net;
mod numbers;
mod part;
mod quantity;
mod semver;
mod texts;
mod url;

use crate::value::{Failure, Val};
use part::Made;

/// Functions whose names have dots.
const QUALIFIED: [&str; 14] = [
    "sets.contains",
    "sets.equivalent",
    "sets.intersects",
    "optional.of",
    "optional.none",
    "optional.ofNonZeroValue",
    "optional.unwrap",
    "strings.quote",
    "lists.range",
    "ip.isCanonical",
    "format.named",
    "jsonpatch.escapeKey",
    "math.greatest",
    "math.least",
];

/// Whether a name with dots is that of a function.
pub(crate) fn is_qualified(name: &str) -> bool {
    QUALIFIED.contains(&name) || name.starts_with("math.") || name.starts_with("format.")
}

/// Calls a function; what a method is called on is its first argument.
pub(crate) fn call(function: &str, values: &[Val]) -> Result<Val, Failure> {
    let parts: [fn(&str, &[Val]) -> Made; 9] = [
        basic::call,
        texts::call,
        lists::call,
        quantity::call,
        net::call,
        url::call,
        numbers::call,
        semver::call,
        format::call,
    ];
    parts.iter().find_map(|part| part(function, values)).unwrap_or_else(|| Err(Failure::no_overload()))
}
