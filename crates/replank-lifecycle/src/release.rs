//! Versions of Kubernetes and of products, as far as the life of an API knows them.

use std::fmt;
use std::str::FromStr;

use replank_model::version::{Version, VersionError};

/// Up to three numbers, those that are missing being 0: `1.22`, `v1.6.0`. What may follow them (`-eks-1a2b3c`) is left
/// off: an API comes and goes with a minor version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Release {
    /// The first number.
    pub major: u64,
    /// The second number.
    pub minor: u64,
    /// The third number.
    pub patch: u64,
}

impl Release {
    /// A minor version.
    pub const fn minor(major: u64, minor: u64) -> Self {
        Self { major, minor, patch: 0 }
    }
}

impl FromStr for Release {
    type Err = VersionError;

    fn from_str(text: &str) -> Result<Self, VersionError> {
        let version = Version::parse_generic(text)?;
        Ok(Self { major: version.major(), minor: version.minor(), patch: version.patch() })
    }
}

/// Without a third number of 0.
impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self { major, minor, patch: 0 } => write!(f, "{major}.{minor}"),
            Self { major, minor, patch } => write!(f, "{major}.{minor}.{patch}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_count_and_what_follows_them_does_not() {
        let read = |text: &str| text.parse::<Release>().map(|release| release.to_string()).ok();
        assert_eq!(read("v1.6.0"), Some("1.6".into()));
        assert_eq!(read("1.31.4-eks-56e63d8"), Some("1.31.4".into()));
        assert_eq!(read("1"), None);
        assert_eq!(read("latest"), None);
        assert!("1.9".parse::<Release>().unwrap() < Release::minor(1, 10));
    }
}
