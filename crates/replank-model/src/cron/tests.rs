use crate::time::Time;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use proptest::prelude::*;

use super::*;

fn schedule(text: &str, zone: &str) -> Schedule {
    Schedule::parse(text, &super::zone(zone).expect("a zone of the bundle")).expect("a schedule")
}

fn times(text: &str, zone: &str, after: &str, count: usize) -> Vec<String> {
    let schedule = schedule(text, zone);
    schedule.after(after.parse().expect("a time")).take(count).map(|at| at.to_string()).collect()
}

#[test]
fn minutes_steps_and_names() {
    assert_eq!(
        times("*/20 9-10 * * mon-fri", "UTC", "2026-01-02T10:30:00Z", 3),
        ["2026-01-02T10:40:00Z", "2026-01-05T09:00:00Z", "2026-01-05T09:20:00Z"]
    );
    assert_eq!(
        times("@monthly", "UTC", "2026-01-31T00:00:00Z", 2),
        ["2026-02-01T00:00:00Z", "2026-03-01T00:00:00Z"]
    );
    assert_eq!(times("@every 1m30s", "UTC", "2026-01-01T00:00:00Z", 1), ["2026-01-01T00:01:30Z"]);
    let every = Schedule::parse("@every 6h", &TimeZone::UTC).expect("a schedule");
    let from = |after: &str| {
        let time = |text: &str| text.parse::<Time>().expect("a time");
        every.next_from(time("2026-01-01T01:00:00Z"), time(after)).map(|at| at.to_string())
    };
    assert_eq!(from("2026-01-01T12:59:59Z").as_deref(), Some("2026-01-01T13:00:00Z"));
    assert_eq!(from("2026-01-01T13:00:00Z").as_deref(), Some("2026-01-01T19:00:00Z"));
}

#[test]
fn day_of_month_or_day_of_week() {
    assert_eq!(
        times("0 0 13 * fri", "UTC", "2026-02-07T00:00:00Z", 3),
        ["2026-02-13T00:00:00Z", "2026-02-20T00:00:00Z", "2026-02-27T00:00:00Z"]
    );
    assert_eq!(times("0 0 31 * *", "UTC", "2026-02-01T00:00:00Z", 1), ["2026-03-31T00:00:00Z"]);
}

#[test]
fn the_clock_of_a_place_with_its_changes() {
    // 02:30 does not exist on the day when summer time begins.
    assert_eq!(
        times("30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", 2),
        ["2026-03-30T00:30:00Z", "2026-03-31T00:30:00Z"]
    );
    assert_eq!(
        times("0 9 * * *", "America/New_York", "2026-03-07T12:00:00Z", 2),
        ["2026-03-07T14:00:00Z", "2026-03-08T13:00:00Z"]
    );
}

#[test]
fn what_cannot_be_read() {
    for text in ["* * * *", "60 * * * *", "5-1 * * * *", "*/0 * * * *", "* * * * 7", "@often", "a * * * *"] {
        assert!(Schedule::parse(text, &TimeZone::UTC).is_err(), "{text}");
    }
    // It can be read, and never comes.
    let never = schedule("0 0 31 2 *", "UTC");
    assert_eq!(never.next(Time::from_millis(0)), None);
}

#[test]
fn a_time_that_comes_twice_comes_twice() {
    // 25 October 2026, 03:00 becomes 02:00 in Berlin.
    assert_eq!(
        times("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", 3),
        ["2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z", "2026-10-26T01:30:00Z"]
    );
    assert_eq!(
        times("CRON_TZ=Asia/Tokyo 0 1 * * *", "UTC", "2026-01-01T00:00:00Z", 1),
        ["2026-01-01T16:00:00Z"]
    );
}

/// A field as text, with the values that it stands for, worked out apart from the parser.
fn any_field(least: i8, greatest: i8) -> impl Strategy<Value = (String, Vec<i8>, bool)> {
    let all = move || (least..=greatest).collect::<Vec<_>>();
    let every = move |step: i8| {
        (least..=greatest).step_by(usize::try_from(step).expect("positive")).collect::<Vec<_>>()
    };
    prop_oneof![
        3 => Just(("*".to_owned(), all(), true)),
        2 => (least..=greatest).prop_map(|value| (value.to_string(), vec![value], false)),
        1 => (2..=greatest.min(20)).prop_map(move |step| (format!("*/{step}"), every(step), false)),
        1 => (least..=greatest, least..=greatest).prop_map(|(a, b)| {
            let (a, b) = (a.min(b), a.max(b));
            (format!("{a}-{b}"), (a..=b).collect(), false)
        }),
        1 => (least..=greatest, least..=greatest).prop_map(|(a, b)| (format!("{a},{b}"), vec![a, b], false)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// Minute by minute, by the clock of zones whose changes are whole hours, away from midnight: what fits, comes.
    #[test]
    fn every_minute_that_fits_comes_and_no_other(
        minute in any_field(0, 59),
        hour in any_field(0, 23),
        day in any_field(1, 31),
        weekday in any_field(0, 6),
        zone in prop::sample::select(vec!["UTC", "Europe/Berlin", "America/New_York", "Asia/Tokyo", "Australia/Sydney"]),
        // From some day of 2026 on: spring and autumn are met.
        start in 0_i64..360,
    ) {
        let text = format!("{} {} {} * {}", minute.0, hour.0, day.0, weekday.0);
        let clock = super::zone(zone).expect("a zone of the bundle");
        let from = "2026-01-01T00:00:00Z".parse::<Time>().expect("a time").as_millis() + start * 86_400_000;
        let until = from + 4 * 86_400_000;
        let fits = |millis: &i64| {
            let at = Timestamp::from_millisecond(*millis).expect("in range").to_zoned(clock.clone());
            let (is_day, is_weekday) = (day.1.contains(&at.day()), weekday.1.contains(&at.weekday().to_sunday_zero_offset()));
            let is_its_day = if day.2 || weekday.2 { is_day && is_weekday } else { is_day || is_weekday };
            minute.1.contains(&at.minute()) && hour.1.contains(&at.hour()) && is_its_day
        };
        let wanted: Vec<i64> = (from + 60_000..until).step_by(60_000).filter(fits).collect();
        let schedule = schedule(&text, zone);
        let found: Vec<i64> =
            schedule.after(Time::from_millis(from)).map(Time::as_millis).take_while(|at| *at < until).collect();
        prop_assert_eq!(found, wanted, "{} in {}", text, zone);
    }
}
