use proptest::prelude::*;

use super::*;

fn time(text: &str) -> Time {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn span(text: &str) -> Span {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn times_read_with_fractions_and_offsets() {
    for (text, millis) in [
        ("1970-01-01T00:00:00Z", 0),
        ("2026-11-20T09:52:00Z", 1_795_168_320_000),
        ("2026-11-20T09:52:00.5Z", 1_795_168_320_500),
        ("2026-11-20T09:52:00.123456789Z", 1_795_168_320_123),
        ("2026-11-20T09:52:00,04Z", 1_795_168_320_040),
        ("2026-11-20T18:52:00+09:00", 1_795_168_320_000),
        ("2026-11-20T04:22:00.000001-05:30", 1_795_168_320_000),
        ("1969-12-31T23:59:59.999Z", -1),
        ("2024-02-29T12:00:00-00:00", 1_709_208_000_000),
        ("0000-01-01T00:00:00Z", WRITABLE.0),
        ("9999-12-31T23:59:59.999Z", WRITABLE.1),
        ("0001-01-01T00:00:00Z", -62_135_596_800_000),
    ] {
        assert_eq!(time(text).as_millis(), millis, "{text}");
    }
}

#[test]
fn what_is_no_time_is_refused() {
    for text in [
        "",
        "2026-11-20",
        "2026-11-20T09:52:00",
        "2026-11-20 09:52:00Z",
        "2026-11-20t09:52:00Z",
        "2026-11-20T09:52:00z",
        "2026-11-20T09:52:00.Z",
        "2026-11-20T09:52:00+0900",
        "2026-11-20T09:52:00+9:00",
        "2026-11-20T09:52:00Z ",
        "+026-11-20T09:52:00Z",
        "2026-11-20T09:52:00é",
        "２026-11-20T09:52:00Z",
    ] {
        assert!(matches!(text.parse::<Time>(), Err(TimeError::Form { .. })), "{text}");
    }
    for text in [
        "2026-02-29T00:00:00Z",
        "2026-00-01T00:00:00Z",
        "2026-13-01T00:00:00Z",
        "2026-01-01T24:00:00Z",
        "2026-01-01T00:00:60Z",
        "2026-01-01T00:00:00+24:00",
        "2026-01-01T00:00:00+00:60",
        "9999-12-31T23:59:59-00:01",
        "0000-01-01T00:00:00+00:01",
    ] {
        assert!(matches!(text.parse::<Time>(), Err(TimeError::Calendar { .. })), "{text}");
    }
    let error = "x".repeat(1000).parse::<Time>().unwrap_err().to_string();
    assert!(error.ends_with("…\" is not a time as in RFC 3339, such as \"2026-11-20T09:52:00Z\""), "{error}");
    assert!(error.len() < 200);
}

#[test]
fn times_are_written_as_kubernetes_writes_them() {
    let at = time("2026-11-20T09:52:07.250Z");
    assert_eq!(at.to_string(), "2026-11-20T09:52:07Z");
    assert_eq!(MicroTime(at).to_string(), "2026-11-20T09:52:07.250000Z");
    assert_eq!(format!("{at:?}"), "2026-11-20T09:52:07.250000Z");
    assert_eq!(serde_json::to_string(&at).unwrap(), "\"2026-11-20T09:52:07Z\"");
    let lease: MicroTime = serde_json::from_str("\"2026-11-20T09:52:07.250999Z\"").unwrap();
    assert_eq!(lease, MicroTime(at));
    assert_eq!(serde_json::to_string(&lease).unwrap(), "\"2026-11-20T09:52:07.250000Z\"");
    assert_eq!(Time::from_millis(-1).to_string(), "1969-12-31T23:59:59Z");
    assert_eq!(Time::from_millis(i64::MAX).to_string(), "9999-12-31T23:59:59Z");
    assert_eq!(Time::from_millis(i64::MIN).to_string(), "0000-01-01T00:00:00Z");
    let error = serde_json::from_str::<Time>("5").unwrap_err().to_string();
    assert!(error.contains("expected a time as in RFC 3339"), "{error}");
    assert!(serde_json::from_str::<Time>("\"yesterday\"").is_err());
    assert_eq!(serde_json::from_str::<Option<Time>>("null").unwrap(), None);
}

#[test]
fn a_time_that_may_be_missing_takes_no_more_room() {
    assert_eq!(size_of::<Option<Time>>(), size_of::<i64>());
    let millis = [i64::MIN + 1, -1, 0, 1, i64::MAX];
    assert!(millis.is_sorted_by_key(|millis| Time::from_millis(*millis)));
    assert_eq!(millis.map(|millis| Time::from_millis(millis).as_millis()), millis);
}

#[test]
fn arithmetic_saturates() {
    let (first, last) = (Time::from_millis(i64::MIN), Time::from_millis(i64::MAX));
    assert_eq!(last + Span::from_secs(1), last);
    assert_eq!(first - Span::from_secs(1), first);
    assert_eq!((last - first).as_millis(), i64::MAX);
    assert_eq!(first.floor_seconds(), first);
    assert_eq!((-Span::from_millis(i64::MIN)).as_millis(), i64::MAX);
    assert_eq!(Span::from_minutes(i64::MAX) * -2, Span::from_millis(i64::MIN));
    assert_eq!(Time::from_millis(-1).floor_seconds(), Time::from_millis(-1000));
    let mut at = Time::from_millis(5);
    at += Span::from_millis(3);
    at -= Span::from_millis(1);
    assert_eq!(at - Time::from_millis(5), [2, -1, 1].map(Span::from_millis).into_iter().sum());
}

#[test]
fn spans_read_and_write_as_in_go() {
    for (text, millis, written) in [
        ("0", 0, "0s"),
        ("-0", 0, "0s"),
        ("0s", 0, "0s"),
        ("1h30m", 5_400_000, "1h30m0s"),
        ("10m", 600_000, "10m0s"),
        ("30s", 30_000, "30s"),
        ("300ms", 300, "300ms"),
        ("-1.5h", -5_400_000, "-1h30m0s"),
        ("+.5s", 500, "500ms"),
        ("1.s", 1_000, "1s"),
        ("1.05s", 1_050, "1.05s"),
        ("1m0.25s", 60_250, "1m0.25s"),
        ("36h0m1s", 129_601_000, "36h0m1s"),
        ("1ns", 1, "1ms"),
        ("-1us", -1, "-1ms"),
        ("1000µs", 1, "1ms"),
        ("1000μs1ns", 2, "2ms"),
        ("1s1s", 2_000, "2s"),
        ("0.3333333333333333333333h", 1_200_000, "20m0s"),
        ("00000000000000000000000001h", 3_600_000, "1h0m0s"),
    ] {
        assert_eq!(span(text).as_millis(), millis, "{text}");
        assert_eq!(GoForm(Span::from_millis(millis)).to_string(), written, "{text}");
    }
    assert_eq!(span("2562047h47m16.854s").to_string(), "2562047h47m16.854s");
    assert_eq!(serde_json::from_str::<Span>("\"6h\"").unwrap(), Span::from_secs(21_600));
    assert_eq!(serde_json::to_string(&Span::from_secs(90)).unwrap(), "\"1m30s\"");
    assert_eq!((Span::from_millis(-1_999).as_secs(), Span::from_millis(250).as_secs_f64()), (-1, 0.25));
}

#[test]
fn messages_leave_out_what_is_zero_and_can_be_read_back() {
    for (seconds, written) in [
        (0, "0s"),
        (5, "5s"),
        (60, "1m"),
        (65, "1m5s"),
        (3_600, "1h"),
        (3_605, "1h5s"),
        (7_260, "2h1m"),
        (-5_400, "-1h30m"),
    ] {
        assert_eq!(Span::from_secs(seconds).to_string(), written);
        assert_eq!(span(written), Span::from_secs(seconds));
    }
    assert_eq!(Span::from_millis(61_500).to_string(), "1m1.5s");
    assert_eq!(serde_json::to_string(&Span::from_secs(3_600)).unwrap(), "\"1h0m0s\"");
}

#[test]
fn figures_have_two_units() {
    for (text, rounded) in [
        ("350ms", "350ms"),
        ("41.9s", "41s"),
        ("1m5.2s", "1m5s"),
        ("2h11m30s", "2h11m"),
        ("76h0m59s", "76h"),
        ("-2h11m30s", "-2h11m"),
    ] {
        assert_eq!(span(text).rounded().to_string(), rounded);
    }
}

#[test]
fn what_is_no_span_is_refused_with_a_reason() {
    let message = |text: &str| text.parse::<Span>().unwrap_err().to_string();
    for text in ["", "-", "s", ".s", "--1s", "1s-1s", " 1s", "1..5s"] {
        assert!(text.parse::<Span>().is_err(), "{text}");
    }
    assert_eq!(message("10"), "the duration \"10\" lacks a unit behind a number: h, m, s or ms");
    assert_eq!(
        message("1d"),
        "the duration \"1d\" has the unknown unit \"d\": a duration has h, m, s, ms, us and ns"
    );
    assert_eq!(message("2562048h"), "the duration \"2562048h\" is longer than 292 years");
    assert!(message(&format!("{}h", "9".repeat(1000))).ends_with("is longer than 292 years"));
    assert_eq!(message("soon"), "\"soon\" is not a duration, such as \"90s\", \"1h30m\" or \"250ms\"");
}

proptest! {
    #[test]
    fn no_text_panics(text in ".*", time in "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}[.0-9]{0,5}[-+Z][0-9:]{0,6}",
        span in "[-+]?([0-9.]{0,30}[hmsnuµ]{0,2}){0,4}") {
        for text in [text, time, span] {
            if let Ok(time) = text.parse::<Time>() {
                prop_assert_eq!(time.to_string().parse::<Time>(), Ok(time.floor_seconds()));
            }
            if let Ok(span) = text.parse::<Span>() {
                prop_assert_eq!(span.to_string().parse::<Span>(), Ok(span));
            }
        }
    }

    #[test]
    fn what_is_written_reads_back(millis in WRITABLE.0..=WRITABLE.1, span in -9_000_000_000_000i64..9_000_000_000_000) {
        let at = Time::from_millis(millis);
        prop_assert_eq!(MicroTime(at).to_string().parse::<Time>(), Ok(at));
        prop_assert_eq!(at.to_string().parse::<Time>(), Ok(at.floor_seconds()));
        let span = Span::from_millis(span);
        prop_assert_eq!(span.to_string().parse::<Span>(), Ok(span));
        prop_assert_eq!((at + span) - at, span);
        prop_assert_eq!(at < at + span, span > Span::ZERO);
    }
}
