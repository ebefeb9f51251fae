//! By whose clock a person reads times: `--time-zone`.
//!
//! Sentences come with their times in UTC, and the same sentences are members of JSON, so the crates that make them know no zone. Where text is
//! written for a person, its times are rewritten: as RFC 3339 with the zone's offset, which every flag and file of Replank reads too. A time that
//! stands in quotes or after `=` is somebody's value, and stays.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fmt;
use std::path::Path;
use std::str::FromStr;
use std::sync::OnceLock;

use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use replank_facts::plan::zone as named;
use replank_model::time::Time;

/// Said once, before anything is written; UTC until then.
static CHOSEN: OnceLock<Zone> = OnceLock::new();
/// `2026-11-20T09:52:00Z`.
const LENGTH: usize = 20;
/// Where a machine says its zone if `TZ` does not.
const LOCALTIME: &str = "/etc/localtime";

/// A zone as it was asked for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Zone {
    zone: TimeZone,
    name: String,
}

/// Why there is no such zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NoZone {
    /// No name of the database.
    Unknown(String),
    /// `local`, and `TZ` names no zone.
    Variable(String),
    /// `local`, and the machine does not say.
    Unsaid,
}

impl std::error::Error for NoZone {}

impl fmt::Display for NoZone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(name) => write!(
                f,
                "no time zone is called {name:?}: expected a name of the IANA database such as Europe/Berlin, UTC, or local"
            ),
            Self::Variable(text) => {
                write!(f, "TZ={text:?} names no time zone: pass a name such as Europe/Berlin")
            }
            Self::Unsaid => write!(
                f,
                "this machine does not say its time zone (no TZ, and {LOCALTIME} cannot be read): pass a name such as Europe/Berlin"
            ),
        }
    }
}

/// From now on times are shown by this clock.
pub(crate) fn choose(zone: &Zone) {
    // Only the first one counts, and there is only one.
    drop(CHOSEN.set(zone.clone()));
}

/// The zone by which times are shown.
pub(crate) fn chosen() -> Zone {
    CHOSEN.get().cloned().unwrap_or_else(Zone::utc)
}

/// Text for a person, with its times by the chosen clock.
pub(crate) fn times(text: &str) -> Cow<'_, str> {
    CHOSEN.get().map_or(Cow::Borrowed(text), |zone| zone.times(text))
}

/// Markdown for a person, with its times by the chosen clock; fenced code stays as it is.
pub(crate) fn times_of_markdown(text: &str) -> String {
    CHOSEN.get().map_or_else(|| text.to_owned(), |zone| zone.times_of_markdown(text))
}

impl Zone {
    fn utc() -> Self {
        Self { zone: TimeZone::UTC, name: "UTC".to_owned() }
    }

    /// Whether its times are written with a `Z`.
    pub(crate) fn is_utc(&self) -> bool {
        self.zone == TimeZone::UTC || matches!(self.zone.iana_name(), Some("UTC" | "Etc/UTC"))
    }

    /// A moment by its clock; none where the calendar ends.
    pub(crate) fn clock(&self, at: Time) -> Option<Zoned> {
        Timestamp::from_millisecond(at.as_millis()).ok().map(|at| at.to_zoned(self.zone.clone()))
    }

    /// The text with its times by this clock.
    fn times<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.is_utc() {
            return Cow::Borrowed(text);
        }
        let (mut shown, mut copied) = (String::new(), 0);
        for (end, _) in text.match_indices('Z') {
            let end = end + 1;
            let Some(start) = end.checked_sub(LENGTH).filter(|start| *start >= copied) else { continue };
            let Some(time) = text.get(start..end).filter(|_| is_told(&text[..start], &text[end..])) else {
                continue;
            };
            let Some(clock) = time.parse().ok().and_then(|at| self.clock(at)) else { continue };
            shown.push_str(&text[copied..start]);
            shown.push_str(&clock.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string());
            copied = end;
        }
        if copied == 0 {
            return Cow::Borrowed(text);
        }
        shown.push_str(&text[copied..]);
        Cow::Owned(shown)
    }

    fn times_of_markdown(&self, text: &str) -> String {
        let mut is_code = false;
        let lines = text.split_inclusive('\n').map(|line| {
            let is_fence = line.trim_start().starts_with("```");
            is_code ^= is_fence;
            if is_fence || is_code { Cow::Borrowed(line) } else { self.times(line) }
        });
        lines.collect()
    }

    /// What the machine says of itself: `TZ`, as POSIX and its libraries read it, or the file.
    fn local(variable: Option<&OsStr>, file: &Path) -> Result<Self, NoZone> {
        let of = |zone| Self { zone, name: "local time".to_owned() };
        let Some(variable) = variable else {
            let target = std::fs::read_link(file).ok();
            let by_name = target.as_deref().and_then(of_database).and_then(|name| named(&name));
            return by_name.or_else(|| of_file(file)).map(of).ok_or(NoZone::Unsaid);
        };
        let text = variable.to_string_lossy();
        let bare = text.strip_prefix(':').unwrap_or(&text);
        // An empty TZ is UTC.
        let zone = match bare {
            "" => Some(TimeZone::UTC),
            path if path.starts_with('/') => of_file(Path::new(path)),
            name => named(name).or_else(|| TimeZone::posix(name).ok()),
        };
        zone.map(of).ok_or_else(|| NoZone::Variable(text.into_owned()))
    }
}

/// The name that a path into a database ends with.
fn of_database(path: &Path) -> Option<String> {
    let (_, name) = path.to_str()?.split_once("zoneinfo/")?;
    Some(name.to_owned())
}

fn of_file(path: &Path) -> Option<TimeZone> {
    TimeZone::tzif("", &std::fs::read(path).ok()?).ok()
}

/// Whether what stands around a time makes it a word of a sentence or a cell of a table.
fn is_told(before: &str, after: &str) -> bool {
    let begins = before.chars().next_back().is_none_or(|last| last.is_whitespace() || last == '(');
    let ends = after.chars().next().is_none_or(|next| next.is_whitespace() || ",;:.)".contains(next));
    begins && ends
}

impl FromStr for Zone {
    type Err = NoZone;

    fn from_str(name: &str) -> Result<Self, NoZone> {
        if name == "local" {
            return Self::local(std::env::var_os("TZ").as_deref(), Path::new(LOCALTIME));
        }
        let zone = named(name).ok_or_else(|| NoZone::Unknown(name.to_owned()))?;
        let name = zone.iana_name().unwrap_or(name).to_owned();
        Ok(Self { zone, name })
    }
}

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn berlin() -> Zone {
        "Europe/Berlin".parse().expect("a zone")
    }

    #[test]
    fn times_in_a_sentence_are_those_of_the_zone_in_summer_and_in_winter() {
        assert_eq!(
            berlin().times("from 2026-07-01T09:52:00Z to 2026-12-31T23:30:00Z, (2026-11-20T10:24:00Z)."),
            "from 2026-07-01T11:52:00+02:00 to 2027-01-01T00:30:00+01:00, (2026-11-20T11:24:00+01:00)."
        );
        // The hour that comes twice is told apart by its offset.
        assert_eq!(
            berlin().times("2026-10-25T00:30:00Z 2026-10-25T01:30:00Z"),
            "2026-10-25T02:30:00+02:00 2026-10-25T02:30:00+01:00"
        );
        let kolkata: Zone = "Asia/Kolkata".parse().expect("a zone");
        assert_eq!(kolkata.times("at 2026-11-20T20:00:00Z:"), "at 2026-11-21T01:30:00+05:30:");
    }

    #[test]
    fn what_is_shown_is_the_same_moment() {
        let (at, shown) = ("2026-11-20T09:52:00Z", berlin().times("2026-11-20T09:52:00Z"));
        assert_eq!(shown.parse::<Time>(), at.parse::<Time>());
    }

    #[test]
    fn values_and_what_only_looks_like_a_time_stay() {
        for text in [
            "\"2026-11-20T09:52:00Z\"",
            "replank.dev/since=2026-11-20T09:52:00Z",
            "etl-2026-11-20T09:52:00Z-a",
            "2026-11-20T09:52:00Zed",
            "2026-13-20T09:52:00Z",
            "2026-11-20T09:52:00+01:00",
            "2026-11-20",
            "ZZZ Größe Z",
            "ÄÄÄÄÄÄÄÄÄÄZ",
        ] {
            assert_eq!(berlin().times(text), text);
        }
        for name in ["UTC", "Etc/UTC"] {
            let utc: Zone = name.parse().expect("a zone");
            assert_eq!(utc.times("2026-11-20T09:52:00Z"), "2026-11-20T09:52:00Z", "{name}");
        }
    }

    #[test]
    fn a_zone_that_is_not_there_is_named_with_an_example() {
        for name in ["Mars/Base", "", "CEST", "Local", "+01:00"] {
            let error = name.parse::<Zone>().expect_err("no zone").to_string();
            assert!(error.contains(&format!("{name:?}")) && error.contains("Europe/Berlin"), "{error}");
        }
        assert_eq!("europe/berlin".parse::<Zone>().expect("a zone").to_string(), "Europe/Berlin");
    }

    #[test]
    fn local_is_what_tz_says_and_without_it_the_file() {
        let none = Path::new("/nonexistent/localtime");
        let by_variable = |text: &str| {
            Zone::local(Some(OsStr::new(text)), none)
                .map(|zone| zone.times("2026-07-01T09:52:00Z").into_owned())
        };
        let summer = Ok("2026-07-01T11:52:00+02:00".to_owned());
        for text in ["Europe/Berlin", ":Europe/Berlin", "CET-1CEST,M3.5.0,M10.5.0/3"] {
            assert_eq!(by_variable(text), summer, "{text}");
        }
        assert_eq!(by_variable(""), Ok("2026-07-01T09:52:00Z".to_owned()));
        assert_eq!(by_variable("Mars/Base"), Err(NoZone::Variable("Mars/Base".to_owned())));
        assert_eq!(by_variable("/nonexistent/zone"), Err(NoZone::Variable("/nonexistent/zone".to_owned())));
        assert_eq!(Zone::local(None, none), Err(NoZone::Unsaid));
        assert_eq!(
            of_database(Path::new("/usr/share/zoneinfo/Europe/Berlin")).as_deref(),
            Some("Europe/Berlin")
        );
        assert_eq!(of_database(Path::new("/etc/zone")), None);
    }

    #[test]
    fn fenced_code_of_markdown_stays() {
        let text =
            "at 2026-11-20T09:52:00Z\n```yaml\nsince: 2026-11-20T09:52:00Z\n```\n| 2026-11-20T09:52:00Z |\n";
        assert_eq!(
            berlin().times_of_markdown(text),
            "at 2026-11-20T10:52:00+01:00\n```yaml\nsince: 2026-11-20T09:52:00Z\n```\n| 2026-11-20T10:52:00+01:00 |\n"
        );
    }
}
