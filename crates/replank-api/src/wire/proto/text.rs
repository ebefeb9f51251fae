//! Times and durations, between their texts and their numbers.

use jiff::Timestamp;

/// Seconds and nanoseconds of a time as JSON has it.
pub(super) fn time(text: &str) -> Option<(i64, i32)> {
    let time: Timestamp = text.parse().ok()?;
    // Before 1970, seconds are rounded down, as Go has them.
    let (seconds, nanos) = (time.as_second(), time.subsec_nanosecond());
    if nanos < 0 { Some((seconds - 1, nanos + 1_000_000_000)) } else { Some((seconds, nanos)) }
}

/// A time as JSON has it, with so many digits behind the second.
pub(super) fn time_text(seconds: i64, nanos: i32, digits: u8) -> Option<String> {
    let time = Timestamp::new(seconds, nanos).ok()?;
    let printer = jiff::fmt::temporal::DateTimePrinter::new().precision(Some(digits));
    Some(printer.timestamp_to_string(&time))
}

/// Nanoseconds of a duration in Go's form, such as `1h2m3.5s`.
pub(super) fn duration(text: &str) -> Option<i64> {
    let (sign, mut rest) = text.strip_prefix('-').map_or((1.0, text), |rest| (-1.0, rest));
    let mut nanos = 0.0;
    while !rest.is_empty() && rest != "0" {
        let end = rest.find(|one: char| !one.is_ascii_digit() && one != '.')?;
        let (number, unit) = rest.split_at(end);
        let end = unit.find(|one: char| one.is_ascii_digit() || one == '.').unwrap_or(unit.len());
        let (unit, after) = unit.split_at(end);
        let size = match unit {
            "h" => 3_600e9,
            "m" => 60e9,
            "s" => 1e9,
            "ms" => 1e6,
            "us" | "µs" => 1e3,
            "ns" => 1.0,
            _ => return None,
        };
        nanos += number.parse::<f64>().ok()? * size;
        rest = after;
    }
    // A duration of Go has 64 bits of nanoseconds; casts saturate.
    Some((sign * nanos) as i64)
}

/// A duration in Go's form.
pub(super) fn duration_text(nanos: i64) -> String {
    let (sign, nanos) = (if nanos < 0 { "-" } else { "" }, nanos.unsigned_abs());
    let fraction = |value: u64, unit: u64| {
        let digits = unit.ilog10() as usize;
        let text = format!("{}.{:0digits$}", value / unit, value % unit);
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    };
    match nanos {
        0 => "0s".to_owned(),
        1..1_000 => format!("{sign}{nanos}ns"),
        1_000..1_000_000 => format!("{sign}{}µs", fraction(nanos, 1_000)),
        1_000_000..1_000_000_000 => format!("{sign}{}ms", fraction(nanos, 1_000_000)),
        _ => {
            let minutes = nanos / 60_000_000_000;
            let seconds = fraction(nanos % 60_000_000_000, 1_000_000_000);
            match (minutes / 60, minutes % 60) {
                (0, 0) => format!("{sign}{seconds}s"),
                (0, minutes) => format!("{sign}{minutes}m{seconds}s"),
                (hours, minutes) => format!("{sign}{hours}h{minutes}m{seconds}s"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_come_back_as_they_were() {
        assert_eq!(time("2026-11-25T08:00:00Z"), Some((1_795_593_600, 0)));
        assert_eq!(time_text(1_795_593_600, 0, 0).as_deref(), Some("2026-11-25T08:00:00Z"));
        assert_eq!(time_text(0, 1_500_000, 6).as_deref(), Some("1970-01-01T00:00:00.001500Z"));
        assert_eq!((time("yesterday"), time_text(i64::MAX, 0, 0)), (None, None));
    }

    #[test]
    fn durations_are_written_as_go_writes_them() {
        for text in ["0s", "1ns", "1.5µs", "20ms", "30s", "1m0s", "1h2m3.5s", "-10s"] {
            assert_eq!(duration_text(duration(text).expect(text)), text);
        }
        assert_eq!((duration("1x"), duration("9"), duration("é")), (None, None, None));
    }
}
