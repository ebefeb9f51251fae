//! Ages that are left open in a row that is kept: all else of it stays as long as the object does.

use super::duration::human;

/// What stands before and behind the moment that an age counts from. As JSON writes it, no text of a row has it that is not [`is_ambiguous`].
const MARK: char = '\u{1}';
const WRITTEN: &str = "\\u0001";

/// An age that is not known yet, counted from a moment in milliseconds since 1970.
pub(super) fn open(since: i64) -> String {
    format!("{MARK}{since}{MARK}")
}

/// Whether an object's own JSON has what would be taken for an open age.
pub(crate) fn is_ambiguous(json: &[u8]) -> bool {
    json.windows(WRITTEN.len()).any(|window| window == WRITTEN.as_bytes())
}

/// A row's JSON with its ages at a moment, part by part.
pub(crate) fn fill(row: &str, now: i64, mut each: impl FnMut(&str)) {
    for (number, part) in row.split(WRITTEN).enumerate() {
        match part.parse::<i64>() {
            Ok(since) if number % 2 == 1 => each(&human((now - since) / 1_000)),
            Ok(_) | Err(_) => each(part),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn open_ages_are_filled_in() {
        let row = json!(["web", format!("2 ({} ago)", open(40_000)), open(-20_000), 7]).to_string();
        let mut filled = String::new();
        fill(&row, 100_000, |part| filled.push_str(part));
        assert_eq!(filled, r#"["web","2 (60s ago)","2m",7]"#);
        assert!(is_ambiguous(row.as_bytes()) && is_ambiguous(br#"{"a":"x\u0001"}"#));
        assert!(!is_ambiguous(br#"{"a":"x"}"#));
    }
}
