//! Levels and versions, and what the labels of a namespace ask for (pod-security-admission `api/helpers.go`).

use std::fmt;

use replank_model::labels::Labels;

use super::super::error::Cause;

/// How much is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    /// Everything.
    Privileged,
    /// What is known to raise privileges is not.
    Baseline,
    /// Only what is hardened.
    Restricted,
}

impl Level {
    fn read(text: &str) -> Option<Self> {
        match text {
            "privileged" => Some(Self::Privileged),
            "baseline" => Some(Self::Baseline),
            "restricted" => Some(Self::Restricted),
            _ => None,
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Privileged => "privileged",
            Self::Baseline => "baseline",
            Self::Restricted => "restricted",
        }
    }
}

/// The version of Kubernetes whose standards count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Version {
    /// 1.x.
    Minor(u32),
    /// The newest.
    Latest,
}

impl Version {
    fn read(text: &str) -> Option<Self> {
        if text == "latest" {
            return Some(Self::Latest);
        }
        let digits = text.strip_prefix("v1.")?;
        let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
        let is_plain = digits == "0" || !digits.starts_with('0');
        digits.parse().ok().filter(|_| is_number && is_plain).map(Self::Minor)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Minor(minor) => write!(f, "v1.{minor}"),
            Self::Latest => f.write_str("latest"),
        }
    }
}

/// A level as one version of Kubernetes has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LevelVersion {
    /// The level.
    pub(crate) level: Level,
    /// The version.
    pub(crate) version: Version,
}

impl LevelVersion {
    /// Whether nothing is refused.
    pub(crate) fn allows_all(self) -> bool {
        self.level == Level::Privileged
    }
}

impl fmt::Display for LevelVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.level.as_str(), self.version)
    }
}

/// What a namespace asks for. What is audited leaves no trace here: nobody keeps an audit log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Policy {
    /// What is refused.
    pub(crate) enforce: LevelVersion,
    /// What is warned of.
    pub(crate) warn: LevelVersion,
}

const PREFIX: &str = "pod-security.kubernetes.io/";

impl Policy {
    /// Whether nothing is refused, and nothing warned of.
    pub(crate) fn allows_all(&self) -> bool {
        self.enforce.allows_all() && self.warn.allows_all()
    }

    /// Whether any of the labels that are read is among these.
    pub(crate) fn is_asked_for(labels: &Labels) -> bool {
        labels.iter().any(|(name, _)| name.starts_with(PREFIX))
    }

    /// Reads the labels of a namespace, and what is wrong with them.
    pub(crate) fn read<'l>(label: impl Fn(&str) -> Option<&'l str>) -> (Self, Vec<Cause>) {
        let nothing = LevelVersion { level: Level::Privileged, version: Version::Latest };
        let mut policy = Self { enforce: nothing, warn: nothing };
        let mut causes = Vec::new();
        let of = |name: &str| label(&format!("{PREFIX}{name}"));
        let level = |name: &str, otherwise: Level, causes: &mut Vec<Cause>| {
            let text = of(name)?;
            let read = Level::read(text);
            if read.is_none() {
                causes.push(wrong(name, text, "must be one of privileged, baseline, restricted"));
            }
            Some((read.unwrap_or(otherwise), read.is_some()))
        };
        let version = |name: &str, causes: &mut Vec<Cause>| {
            let text = of(name)?;
            let read = Version::read(text);
            if read.is_none() {
                causes.push(wrong(name, text, "must be \"latest\" or \"v1.x\""));
            }
            Some(read.unwrap_or(Version::Latest))
        };
        let enforced = level("enforce", Level::Restricted, &mut causes);
        policy.enforce.level = enforced.map_or(policy.enforce.level, |(level, _)| level);
        policy.enforce.version = version("enforce-version", &mut causes).unwrap_or(policy.enforce.version);
        level("audit", Level::Privileged, &mut causes);
        version("audit-version", &mut causes);
        let warned = level("warn", Level::Privileged, &mut causes);
        policy.warn.level = warned.map_or(policy.warn.level, |(level, _)| level);
        let warned_version = version("warn-version", &mut causes);
        policy.warn.version = warned_version.unwrap_or(policy.warn.version);
        // Who enforces is warned of as much, unless the namespace says otherwise.
        let is_enforced = enforced.is_some_and(|(_, is_known)| is_known);
        if warned.is_none() && is_enforced && policy.enforce.level > policy.warn.level {
            policy.warn.level = policy.enforce.level;
            if warned_version.is_none() {
                policy.warn.version = policy.enforce.version;
            }
        }
        (policy, causes)
    }
}

fn wrong(name: &str, text: &str, why: &str) -> Cause {
    Cause::invalid(format!("metadata.labels[{PREFIX}{name}]"), &format!("{text:?}"), why)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(labels: &[(&'static str, &'static str)]) -> (String, String, Vec<String>) {
        let of = |name: &str| {
            labels.iter().find(|(known, _)| name == format!("{PREFIX}{known}")).map(|(_, value)| *value)
        };
        let (policy, causes) = Policy::read(of);
        let causes =
            causes.into_iter().map(|cause| format!("{}: {}", cause.field.unwrap_or_default(), cause.message));
        (policy.enforce.to_string(), policy.warn.to_string(), causes.collect())
    }

    #[test]
    fn labels_are_read_as_upstream_reads_them() {
        let of = |enforce: &str, warn: &str| (enforce.to_owned(), warn.to_owned(), Vec::new());
        assert_eq!(read(&[]), of("privileged:latest", "privileged:latest"));
        assert_eq!(
            read(&[("enforce", "baseline"), ("enforce-version", "v1.20")]),
            of("baseline:v1.20", "baseline:v1.20")
        );
        assert_eq!(
            read(&[("enforce", "restricted"), ("warn", "baseline")]),
            of("restricted:latest", "baseline:latest")
        );
        let (enforce, warn, causes) = read(&[("enforce", "x"), ("warn-version", "v1.01")]);
        assert_eq!((enforce.as_str(), warn.as_str()), ("restricted:latest", "privileged:latest"));
        assert_eq!(
            causes,
            [
                "metadata.labels[pod-security.kubernetes.io/enforce]: Invalid value: \"x\": must be one of privileged, baseline, restricted",
                "metadata.labels[pod-security.kubernetes.io/warn-version]: Invalid value: \"v1.01\": must be \"latest\" or \"v1.x\"",
            ]
        );
    }
}
