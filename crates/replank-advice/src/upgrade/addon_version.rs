//! Versions of EKS add-ons: `v1.19.2-eksbuild.1`.

use std::fmt;

use replank_model::text::Text;
use replank_model::version::Version;

/// A version of an add-on; they are ordered by their numbers, the build last.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AddonVersion {
    numbers: [u64; 3],
    build: u64,
    text: Text,
}

impl AddonVersion {
    /// Reads one: numbers, and the build of EKS where there is one.
    #[must_use]
    pub fn of(text: &str) -> Option<Self> {
        let version = Version::parse_generic(text).ok()?;
        let build = text.rsplit_once("-eksbuild.").and_then(|(_, build)| build.parse().ok()).unwrap_or(0);
        Some(Self {
            numbers: [version.major(), version.minor(), version.patch()],
            build,
            text: Text::from(text),
        })
    }

    /// The first two numbers: what is gone one at a time.
    #[must_use]
    pub const fn minor(&self) -> (u64, u64) {
        (self.numbers[0], self.numbers[1])
    }

    /// The three numbers.
    #[must_use]
    pub const fn numbers(&self) -> [u64; 3] {
        self.numbers
    }
}

impl fmt::Display for AddonVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn builds_are_numbers() {
        let of = |text: &str| AddonVersion::of(text).expect("a version");
        assert!(of("v1.9.3-eksbuild.6") < of("v1.10.1-eksbuild.3"));
        assert!(of("v1.10.1-eksbuild.9") < of("v1.10.1-eksbuild.10"));
        assert_eq!(of("v1.33.0-eksbuild.2").minor(), (1, 33));
        assert_eq!(of("v1.33.0-eksbuild.2").to_string(), "v1.33.0-eksbuild.2");
        assert_eq!(AddonVersion::of("newest"), None);
    }
}
