//! Values of options that several commands about upgrades have in common.

use std::path::PathBuf;

use clap::ValueEnum;
use replank_advice::upgrade::routes::Way;
use replank_lifecycle::release::Release;
use replank_model::time::{Span, Time, TimeError};

use crate::cli::limit;

/// When to roll nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RouteWord {
    /// As rarely as the version skew policy allows.
    FewestRolls,
    /// Before every step of the control plane, so that they match it.
    EveryStep,
}

impl RouteWord {
    pub(crate) const fn way(self) -> Way {
        match self {
            Self::FewestRolls => Way::FewestRolls,
            Self::EveryStep => Way::EveryStep,
        }
    }

    /// As it is given.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::FewestRolls => "fewest-rolls",
            Self::EveryStep => "every-step",
        }
    }

    /// As it was given.
    pub(crate) fn read(text: &str) -> Option<Self> {
        [Self::FewestRolls, Self::EveryStep].into_iter().find(|one| one.as_str() == text)
    }
}

/// `web=user-data.sh`.
pub(crate) fn kubelet(text: &str) -> Result<(String, PathBuf), String> {
    let (group, file) = text.split_once('=').ok_or("expected GROUP=FILE, such as web=user-data.sh")?;
    Ok((group.to_owned(), PathBuf::from(file)))
}

/// Longest look ahead: versions live for little more than two years.
const AHEAD_DAYS_MAX: i64 = 3_660;

/// Days, or a duration.
pub(crate) fn ahead(text: &str) -> Result<Span, String> {
    let days = text.strip_suffix('d').and_then(|days| days.parse::<i64>().ok());
    let span = match days {
        Some(days) => Span::from_minutes(days.clamp(-1, AHEAD_DAYS_MAX + 1) * 24 * 60),
        None => limit(text).map_err(|_| "expected days or a duration, such as 90d or 36h".to_owned())?,
    };
    match span >= Span::ZERO && span <= Span::from_minutes(AHEAD_DAYS_MAX * 24 * 60) {
        true => Ok(span),
        false => Err(format!("expected 0d to {AHEAD_DAYS_MAX}d")),
    }
}

/// A time, or a day: its begin in UTC, as for the calendar's days.
pub(crate) fn day_or_time(text: &str) -> Result<Time, String> {
    let is_day = text.len() == 10 && !text.contains('T');
    let time = if is_day { format!("{text}T00:00:00Z").parse() } else { text.parse() };
    time.map_err(|_: TimeError| {
        format!("{text:?} is neither a day nor a time, such as 2026-11-20 or 2026-11-20T09:52:00Z")
    })
}

/// A minor version.
pub(crate) fn release(text: &str) -> Result<Release, String> {
    // A version may be followed by anything in a snapshot; what a person types may not.
    let number = text.strip_prefix('v').unwrap_or(text);
    let is_plain = number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let read: Option<Release> = text.parse().ok().filter(|_| is_plain);
    let release = read.ok_or_else(|| "expected a minor version such as 1.36".to_owned())?;
    if release.patch > 0 {
        return Err("expected a minor version such as 1.36: EKS chooses the patch".to_owned());
    }
    Ok(release)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minor_version_is_followed_by_nothing() {
        assert!(release("1.36").is_ok() && release("v1.36").is_ok() && release("1.36.0").is_ok());
        for wrong in ["1.5x", "1.36-eks", "1.36.2", "1", "latest", ""] {
            let told = release(wrong).expect_err(wrong);
            assert!(told.starts_with("expected a minor version such as 1.36"), "{told}");
        }
    }

    #[test]
    fn a_look_ahead_is_days_or_a_duration() {
        assert_eq!(ahead("90d"), Ok(Span::from_minutes(90 * 24 * 60)));
        assert_eq!(ahead("0d"), Ok(Span::ZERO));
        assert_eq!(ahead("36h"), Ok(Span::from_minutes(36 * 60)));
        assert!(
            ["-1d", "99999999999999d", "soon", "90", "4000d"].into_iter().all(|text| ahead(text).is_err())
        );
    }

    #[test]
    fn a_day_is_its_begin() {
        let begin: Time = "2027-06-15T00:00:00Z".parse().expect("it is a time");
        assert_eq!(day_or_time("2027-06-15"), Ok(begin));
        assert_eq!(day_or_time("2027-06-15T00:00:00Z"), Ok(begin));
        for wrong in ["2027-06-31", "2027-6-15", "tomorrow", "15.06.2027", ""] {
            let told = day_or_time(wrong).expect_err(wrong);
            assert!(told.contains("2026-11-20"), "{told}");
        }
    }

    #[test]
    fn versions_are_minor_ones() {
        assert_eq!(release("v1.36"), Ok(Release::minor(1, 36)));
        assert!(release("1.36.2").is_err() && release("1").is_err());
    }
}
