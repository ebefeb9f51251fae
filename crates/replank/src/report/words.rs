//! Numbers in words.

use replank_model::time::Span;

/// A span as a figure, rounded down to two units: `350ms`, `41s`, `1m5s`, `2h14m`, `76h`.
pub(crate) fn span(span: Span) -> String {
    span.rounded().to_string()
}

/// Milliseconds of the machine's own time: `350ms`, `4.2s`, `1m5s`.
pub(crate) fn wall(millis: u64) -> String {
    match millis {
        ..1_000 => format!("{millis}ms"),
        1_000..60_000 => format!("{}.{}s", millis / 1_000, millis % 1_000 / 100),
        60_000.. => span(Span::from_millis(i64::try_from(millis).unwrap_or(i64::MAX))),
    }
}

/// `1 node`, `2 nodes`, `1,523 nodes`.
pub(crate) fn count(number: usize, noun: &str) -> String {
    format!("{} {noun}{}", grouped(number), if number == 1 { "" } else { "s" })
}

/// With commas between thousands.
pub(crate) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_have_two_units() {
        let cases = [
            (0, "0s"),
            (350, "350ms"),
            (41_900, "41s"),
            (65_000, "1m5s"),
            (3_600_000, "1h"),
            (8_040_000, "2h14m"),
            (273_600_000, "76h"),
            (7_882_000, "2h11m"),
            (-65_000, "-1m5s"),
        ];
        for (millis, text) in cases {
            assert_eq!(span(Span::from_millis(millis)), text);
        }
        assert_eq!((wall(350), wall(4_250), wall(65_000)), ("350ms".into(), "4.2s".into(), "1m5s".into()));
    }

    #[test]
    fn counts_agree_with_their_nouns() {
        assert_eq!(count(1, "node"), "1 node");
        assert_eq!(count(0, "pod"), "0 pods");
        assert_eq!(count(1_523_000, "event"), "1,523,000 events");
        assert_eq!([-1_204, 0, 5_000].map(number), ["-1,204", "0", "5,000"]);
    }
}
