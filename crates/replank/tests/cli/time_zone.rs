//! `--time-zone`: by whose clock text is read, and what does not change.

use crate::common::{PLAN, Ran, SNAPSHOT, command, replank, scratch};

const BERLIN: [&str; 2] = ["--time-zone", "Europe/Berlin"];

fn rehearsed(arguments: &[&str]) -> Ran {
    let ran = replank(&[&["rehearse", SNAPSHOT, "-f", PLAN], arguments].concat());
    assert_eq!(ran.code, Some(3), "{ran:?}");
    ran
}

/// A node that a run left marked, looked at in summer.
fn left(test: &str, arguments: &[&str]) -> Ran {
    let node = scratch(
        &format!("time-zone/{test}.yaml"),
        "kind: Node\napiVersion: v1\nmetadata:\n  name: web-1\n  annotations: {replank.dev/run: r1, replank.dev/role: queued, \
         replank.dev/since: \"2026-07-01T00:00:00Z\", replank.dev/expires: \"2026-07-08T22:30:00Z\"}\n",
    );
    let ran = replank(&[&["leftover", &node, "--now", "2026-07-09T10:00:00Z"], arguments].concat());
    assert_eq!(ran.code, Some(3), "{ran:?}");
    ran
}

#[test]
fn a_report_shows_times_of_winter_and_of_summer_by_the_clock_of_the_zone() {
    let winter = rehearsed(&BERLIN);
    assert!(winter.stdout.contains("2026-11-20T10:52:00+01:00 to 2026-11-20T"), "{}", winter.stdout);
    assert!(
        winter.stderr.contains("snapshot time: 2026-11-20T10:52:00+01:00: the newest"),
        "{}",
        winter.stderr
    );
    let words = |ran: &Ran| ran.stdout.split_whitespace().map(str::to_owned).collect::<Vec<_>>().join(" ");
    let summer = words(&left("summer", &BERLIN));
    assert!(summer.contains("at 2026-07-09T12:00:00+02:00"), "{summer}");
    assert!(
        summer.contains("since 2026-07-01T02:00:00+02:00; expired at 2026-07-09T00:30:00+02:00:"),
        "{summer}"
    );
    assert!(!format!("{summer}{}", winter.stdout).contains(":00Z"), "{summer}\n{}", winter.stdout);
}

#[test]
fn without_a_zone_text_is_in_utc_and_json_is_so_always() {
    assert_eq!(left("utc", &["--time-zone", "UTC"]).stdout, left("utc", &[]).stdout);
    assert!(left("utc", &[]).stdout.contains("at 2026-07-09T10:00:00Z"));
    let json = ["-o", "json"];
    assert_eq!(left("utc", &[&json[..], &BERLIN].concat()).stdout, left("utc", &json).stdout);
    let rehearsed = rehearsed(&[&json[..], &BERLIN].concat()).json();
    assert_eq!(rehearsed["start"], "2026-11-20T09:52:00Z");
    assert!(!rehearsed.to_string().contains("+01:00"), "{rehearsed}");
}

#[test]
fn markdown_and_the_plot_of_starts_are_by_the_clock_of_the_zone() {
    let ran = replank(&[&["check", SNAPSHOT, "-f", PLAN, "-o", "markdown"], &BERLIN[..]].concat());
    assert!(ran.stdout.contains("Snapshot of 2026-11-20T10:52:00+01:00."), "{}", ran.stdout);
    assert!(!ran.stdout.contains("2026-11-20T10:24:00Z"), "{}", ran.stdout);
    let sweep = |zone: &str| replank(&["rehearse", "--start-sweep", "7d", "--time-zone", zone]).stdout;
    let (utc, tokyo) = (sweep("UTC"), sweep("Asia/Tokyo"));
    assert!(
        utc.contains("starts, times in UTC\n") && tokyo.contains("starts, times in Asia/Tokyo\n"),
        "{tokyo}"
    );
    // The first start is that of the snapshot, 09:52 in UTC.
    assert!(utc.contains("\n  Fri 11-20                      "), "{utc}");
    assert!(tokyo.contains("\n  Fri 11-20                                        "), "{tokyo}");
    assert!(tokyo.contains("+09:00") && !utc.contains("+00:00"), "{tokyo}");
}

#[test]
fn what_is_shown_can_be_passed_as_the_time() {
    let (utc, berlin) = ("2026-11-20T10:00:00Z", "2026-11-20T11:00:00+01:00");
    let check = |now: &str| replank(&["check", SNAPSHOT, "-f", PLAN, "-o", "json", "--now", now]).stdout;
    assert_eq!(check(utc), check(berlin));
}

#[test]
fn local_is_the_zone_of_the_machine() {
    let of = |zone: &str| {
        let mut command = command(&["rehearse", "--time-zone", "local"]);
        Ran::from(command.env("TZ", zone).output().expect("the binary can be run"))
    };
    let ran = of("Asia/Tokyo");
    assert!(ran.stdout.contains("2026-11-20T18:52:00+09:00 to "), "{ran:?}");
    let error = of("Mars/Base").usage_error();
    assert!(
        error.contains("TZ=\"Mars/Base\" names no time zone") && error.contains("Europe/Berlin"),
        "{error}"
    );
}

#[test]
fn a_zone_that_is_not_there_is_named_with_an_example() {
    for name in ["Mars/Base", "CEST", "+01:00"] {
        let error = replank(&["rehearse", "--time-zone", name]).usage_error();
        assert!(error.contains(&format!("no time zone is called \"{name}\"")), "{error}");
        assert!(error.contains("such as Europe/Berlin, UTC, or local"), "{error}");
    }
}
