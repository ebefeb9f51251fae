use super::*;
use crate::release::Release;

fn day(text: &str) -> Day {
    Day::of(format!("{text}T00:00:00Z").parse().expect("a day"))
}

fn version(text: &str) -> Release {
    text.parse().expect("a version")
}

#[test]
fn the_rows_are_all_there() {
    let calendar = Calendar::embedded();
    let versions: Vec<String> = calendar.rows().map(|row| row.version.to_string()).collect();
    let expected: Vec<String> = (10..=37).map(|minor| format!("1.{minor}")).collect();
    assert_eq!(versions, expected);
    for row in calendar.rows() {
        assert!(!row.source.is_empty(), "{}: a date without a source", row.version);
        assert!(row.upstream_release.is_some(), "{}", row.version);
    }
}

/// What versions come to on a day. Each row names where its dates are from.
#[test]
fn support_by_day() {
    let calendar = Calendar::embedded();
    // (version, day, support)
    let cases = [
        // EKS user guide "Understand the Kubernetes version lifecycle on EKS" (latest/ug/versioning/kubernetes-versions.adoc).
        ("1.31", "2024-09-25", Support::ToCome { from: day("2024-09-26") }),
        ("1.31", "2024-09-26", Support::Standard { until: day("2025-11-26") }),
        ("1.31", "2025-11-25", Support::Standard { until: day("2025-11-26") }),
        ("1.31", "2025-11-26", Support::Extended { until: day("2026-11-26") }),
        ("1.31", "2026-11-25", Support::Extended { until: day("2026-11-26") }),
        ("1.31", "2026-11-26", Support::Over { since: day("2026-11-26") }),
        ("1.32", "2026-11-20", Support::Extended { until: day("2027-03-23") }),
        ("1.33", "2026-11-20", Support::Extended { until: day("2027-07-29") }),
        ("1.34", "2026-11-20", Support::Standard { until: day("2026-12-02") }),
        ("1.34", "2026-12-02", Support::Extended { until: day("2027-12-02") }),
        // The end of 1.35 and 1.36 is endoflife.date's reading of AWS' table.
        ("1.35", "2026-11-20", Support::Standard { until: day("2027-03-27") }),
        ("1.36", "2026-11-20", Support::Standard { until: day("2027-08-02") }),
        // EKS's dates of 1.37 are not known: nothing is said of it.
        ("1.37", "2026-11-20", Support::Unknown),
        // The old user guide (doc_source/kubernetes-versions.md): there was no extended support.
        ("1.18", "2022-03-30", Support::Standard { until: day("2022-03-31") }),
        ("1.18", "2022-03-31", Support::Over { since: day("2022-03-31") }),
        // Its end was not found, and so nothing is said.
        ("1.13", "2026-11-20", Support::Unknown),
        // Transitional: not twelve months.
        ("1.22", "2023-06-04", Support::Extended { until: day("2024-09-01") }),
    ];
    for (version_of, on, expected) in cases {
        let row = calendar.row(version(version_of)).expect("a row");
        assert_eq!(row.support(day(on)), expected, "{version_of} on {on}");
    }
}

#[test]
fn standard_support_lasts_14_months_and_extended_support_12_more() {
    // EKS user guide "Understand the Kubernetes version lifecycle on EKS". 1.23 is the first version of which that holds: extended
    // support is there since October 2023, and those before it were given dates of their own.
    let months = |day: Day| {
        let text = day.to_string();
        let (year, month): (i64, i64) = (text[..4].parse().unwrap(), text[5..7].parse().unwrap());
        year * 12 + month
    };
    let mut seen = 0;
    for row in Calendar::embedded().rows().filter(|row| row.version >= Release::minor(1, 23)) {
        let (Some(release), Some(standard), Some(extended)) =
            (row.release, row.standard_end, row.extended_end)
        else {
            assert_eq!(row.version, Release::minor(1, 37), "dates are missing");
            continue;
        };
        assert_eq!(months(extended) - months(standard), 12, "{}", row.version);
        // 1.24 and 1.25 were given two weeks and one more.
        assert!((14..=15).contains(&(months(standard) - months(release))), "{}", row.version);
        seen += 1;
    }
    assert_eq!(seen, 14);
}

#[test]
fn what_forces_an_upgrade_depends_on_the_policy() {
    let calendar = Calendar::embedded();
    let row = calendar.row(version("1.34.2-eks-1a2b3c")).expect("patches do not count");
    assert_eq!(row.forced(Policy::Standard), Some(day("2026-12-02")));
    assert_eq!(row.forced(Policy::Extended), Some(day("2027-12-02")));
    assert_eq!(calendar.row(version("1.18")).unwrap().forced(Policy::Extended), Some(day("2022-03-31")));
    assert_eq!((Policy::parse("STANDARD"), Policy::parse("standard")), (Some(Policy::Standard), None));
}

#[test]
fn a_window_fails_on_the_next_end_only() {
    let calendar = Calendar::embedded();
    let ends = |of: &str, days: i64| {
        let now = day("2026-11-20");
        let support = calendar.row(version(of)).unwrap().support(now);
        support.ends_before(now.begin() + DAY * days)
    };
    assert!(ends("1.31", 6) && !ends("1.31", 5), "extended support ends 2026-11-26");
    assert!(ends("1.34", 12) && !ends("1.34", 11), "standard support ends 2026-12-02");
    assert!(!ends("1.33", 90), "standard support ended in July, which is not news");
    assert!(ends("1.30", 0), "over");
    assert!(!ends("1.37", 10_000), "not known");
}

#[test]
fn what_aws_says_replaces_its_own_dates() {
    let mut calendar = Calendar::embedded();
    let said = r#"{"clusterVersions": [
        {"clusterVersion": "1.37", "clusterType": "eks", "defaultVersion": false, "versionStatus": "STANDARD_SUPPORT",
         "releaseDate": "2026-10-01T17:00:00-07:00", "endOfStandardSupportDate": 1827705600, "endOfExtendedSupportDate": null}]}"#;
    assert_eq!(calendar.overlay(said).unwrap(), 1);
    let row = calendar.row(version("1.37")).unwrap();
    assert_eq!(row.release, Some(day("2026-10-02")), "days are UTC");
    assert_eq!(row.standard_end, Some(day("2027-12-02")));
    assert_eq!(row.extended_end, None);
    assert_eq!(row.upstream_release, Some(day("2026-08-26")), "EKS does not say, so it stays");
    assert_eq!(calendar.rows().count(), 28);
}

#[test]
fn what_is_wrong_is_named() {
    let wrong = |text: &str| Calendar::embedded().overlay(text).unwrap_err().to_string();
    assert!(wrong("{}").starts_with("neither a list of calendar rows"));
    assert_eq!(wrong(r#"[{"version": "newest"}]"#), r#"row 1: "newest": expected a version such as 1.36"#);
    assert_eq!(
        wrong(r#"[{"version": "1.36", "eks_release": "June 2026"}]"#),
        r#"the row of 1.36: `eks_release` is "June 2026": expected a day such as 2026-11-26"#
    );
    assert_eq!(
        wrong(r#"{"clusterVersions": [{"clusterVersion": "1.36", "releaseDate": "soon"}]}"#),
        r#"the row of 1.36: `releaseDate` is "\"soon\"": expected a day such as 2026-11-26"#
    );
    assert_eq!(
        wrong(
            r#"[{"version": "1.36", "eks_standard_support_end": "2027-08-02", "eks_extended_support_end": "2026-08-02"}]"#
        ),
        "the row of 1.36: extended support ends before standard support does"
    );
    assert!(wrong(r#"[{"version": "1.36", "end": "2027-08-02"}]"#).contains("unknown field `end`"));
}

#[test]
fn days_are_those_of_utc() {
    let late: Time = "2026-11-26T23:59:59Z".parse().unwrap();
    assert_eq!(Day::of(late), day("2026-11-26"));
    assert_eq!(day("2026-12-02").since(day("2026-11-26")), 6);
    assert_eq!(day("2026-11-26").to_string(), "2026-11-26");
}
