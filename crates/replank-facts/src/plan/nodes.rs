//! Versions in plans: `<1.36` chooses nodes, `1.36` describes new ones.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use replank_model::version::Version;

/// A version as far as somebody cares: `1.36` stands for all its patches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionPrefix {
    major: u64,
    minor: u64,
    patch: Option<u64>,
}

/// Why a text is not a version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a version such as 1.36 or 1.36.2")]
pub struct NotVersion;

impl FromStr for VersionPrefix {
    type Err = NotVersion;

    fn from_str(text: &str) -> Result<Self, NotVersion> {
        let version = Version::parse_generic(text).map_err(|_| NotVersion)?;
        // What follows the numbers is not kept by a generic version: it would be dropped in silence.
        let is_plain = version.to_string() == text.trim().trim_start_matches('v');
        match version.components() {
            [major, minor] if is_plain => Ok(Self { major: *major, minor: *minor, patch: None }),
            [major, minor, patch] if is_plain => {
                Ok(Self { major: *major, minor: *minor, patch: Some(*patch) })
            }
            _ => Err(NotVersion),
        }
    }
}

impl VersionPrefix {
    /// Whether a kubelet's version (`v1.36.2-eks-113cf36`) begins with this one. Text that is not a version does not.
    #[must_use]
    pub fn matches(&self, kubelet: &str) -> bool {
        self.compare(kubelet) == Some(Ordering::Equal)
    }

    /// What a node of this version reports. The patch of a `1.36` is not known before the node is there and stands as 0.
    #[must_use]
    pub fn kubelet_version(&self) -> String {
        format!("v{}.{}.{}", self.major, self.minor, self.patch.unwrap_or(0))
    }

    /// A kubelet's version against this one, in as many numbers as this one has.
    fn compare(&self, kubelet: &str) -> Option<Ordering> {
        let kubelet = Version::parse_generic(kubelet).ok()?;
        let by_minor = (kubelet.major(), kubelet.minor()).cmp(&(self.major, self.minor));
        Some(by_minor.then_with(|| self.patch.map_or(Ordering::Equal, |patch| kubelet.patch().cmp(&patch))))
    }
}

impl fmt::Display for VersionPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)?;
        match self.patch {
            Some(patch) => write!(f, ".{patch}"),
            None => Ok(()),
        }
    }
}

/// How a version is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    Less,
    LessOrEqual,
    Equal,
    GreaterOrEqual,
    Greater,
}

/// A condition on a kubelet's version: `<1.36`, `<=1.35`, `=1.34.2`, `>=1.34`, `>1.33`. Only as many numbers count as are
/// given: 1.36.2 is not `>1.36`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionBound {
    comparison: Comparison,
    version: VersionPrefix,
}

impl FromStr for VersionBound {
    type Err = NotVersion;

    fn from_str(text: &str) -> Result<Self, NotVersion> {
        let signs = [
            ("<=", Comparison::LessOrEqual),
            (">=", Comparison::GreaterOrEqual),
            ("<", Comparison::Less),
            (">", Comparison::Greater),
            ("=", Comparison::Equal),
        ];
        let text = text.trim();
        let found = signs.iter().find_map(|(sign, comparison)| Some((*comparison, text.strip_prefix(sign)?)));
        let (comparison, version) = found.unwrap_or((Comparison::Equal, text));
        Ok(Self { comparison, version: version.trim().parse()? })
    }
}

impl VersionBound {
    /// Whether a kubelet's version meets the condition. Text that is not a version does not.
    #[must_use]
    pub fn matches(&self, kubelet: &str) -> bool {
        let Some(order) = self.version.compare(kubelet) else { return false };
        match self.comparison {
            Comparison::Less => order.is_lt(),
            Comparison::LessOrEqual => order.is_le(),
            Comparison::Equal => order.is_eq(),
            Comparison::GreaterOrEqual => order.is_ge(),
            Comparison::Greater => order.is_gt(),
        }
    }
}

impl fmt::Display for VersionBound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = match self.comparison {
            Comparison::Less => "<",
            Comparison::LessOrEqual => "<=",
            Comparison::Equal => "=",
            Comparison::GreaterOrEqual => ">=",
            Comparison::Greater => ">",
        };
        write!(f, "{sign}{}", self.version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_compares_as_many_numbers_as_it_has() {
        let matching = |bound: &str| -> Vec<&str> {
            let bound: VersionBound = bound.parse().expect("a bound");
            ["v1.34.2-eks-113cf36", "v1.35.0", "v1.36.0", "v1.36.2", "nonsense"]
                .into_iter()
                .filter(|version| bound.matches(version))
                .collect()
        };
        assert_eq!(matching("<1.36"), ["v1.34.2-eks-113cf36", "v1.35.0"]);
        assert_eq!(matching("<=1.36"), ["v1.34.2-eks-113cf36", "v1.35.0", "v1.36.0", "v1.36.2"]);
        assert_eq!(matching("1.36"), ["v1.36.0", "v1.36.2"]);
        assert_eq!(matching("=1.36.2"), ["v1.36.2"]);
        assert_eq!(matching("> 1.35"), ["v1.36.0", "v1.36.2"]);
        assert_eq!(matching(">=v1.36.1"), ["v1.36.2"]);
    }

    #[test]
    fn what_is_no_version_is_refused() {
        for text in ["", "1", "<", "latest", "1.36-eks", "1.36.2.1", "<<1.36"] {
            assert_eq!(text.parse::<VersionBound>(), Err(NotVersion), "{text}");
        }
        assert_eq!("1.36".parse::<VersionPrefix>().map(|v| v.kubelet_version()), Ok("v1.36.0".to_owned()));
    }
}
