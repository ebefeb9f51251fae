//! Numbers and times in words.

use replank_model::time::{Span, Time};

/// A span as a figure of two units: `41s`, `1m5s`, `2h14m`.
pub(crate) fn span(span: Span) -> String {
    span.rounded().to_string()
}

/// Milliseconds, the same.
pub(crate) fn millis(millis: i64) -> String {
    span(Span::from_millis(millis))
}

/// `1 node`, `2 nodes`, `1,523 nodes`.
pub(crate) fn count(number: usize, noun: &str) -> String {
    format!("{} {noun}{}", grouped(number), if number == 1 { "" } else { "s" })
}

/// With commas between thousands.
pub(crate) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The same of a number that may be negative.
pub(crate) fn number(number: i64) -> String {
    let sign = if number < 0 { "-" } else { "" };
    format!("{sign}{}", grouped(usize::try_from(number.unsigned_abs()).unwrap_or(usize::MAX)))
}

/// A moment for a person: `2026-11-20 09:52:07`, in UTC.
pub(crate) fn moment(at: Time) -> String {
    at.to_string().replace('T', " ").replace('Z', "")
}

/// The first letter as a capital, unless the first word is a name: `minAvailable 1` stays as it is.
pub(crate) fn capital(text: &str) -> String {
    let word = text.split([' ', ':', ',']).next().unwrap_or_default();
    if !word.chars().all(|character| character.is_ascii_lowercase()) {
        return text.to_owned();
    }
    let mut characters = text.chars();
    characters.next().map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_moments_are_as_people_write_them() {
        assert_eq!((count(1, "node"), count(1_523, "node")), ("1 node".to_owned(), "1,523 nodes".to_owned()));
        assert_eq!([-1_204, 0, 5_000].map(number), ["-1,204", "0", "5,000"]);
        assert_eq!(moment("2026-11-20T09:52:07Z".parse().expect("a time")), "2026-11-20 09:52:07");
        assert_eq!(
            (capital("passes"), capital("it waits: 3")),
            ("Passes".to_owned(), "It waits: 3".to_owned())
        );
        assert_eq!(capital("minAvailable 1 of 1"), "minAvailable 1 of 1");
        assert_eq!(millis(8_040_000), "2h14m");
    }
}
