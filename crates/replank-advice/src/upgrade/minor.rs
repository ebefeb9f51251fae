//! Minor versions of Kubernetes: what upgrades go by. Patches come with them.

use std::fmt;

use replank_model::version::Version;

/// A minor version: `Minor(36)` is 1.36.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Minor(pub u64);

impl Minor {
    /// From a version as nodes and APIs write it (`v1.36.2-eks-1a2b3c`, `1.36`). There is no other major version than 1.
    #[must_use]
    pub fn of(text: &str) -> Option<Self> {
        Version::parse_generic(text)
            .ok()
            .filter(|version| version.major() == 1)
            .map(|version| Self(version.minor()))
    }

    /// The one after it.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }

    /// How many minor versions it is older than another one; 0 where it is not.
    #[must_use]
    pub const fn behind(self, newer: Self) -> u64 {
        newer.0.saturating_sub(self.0)
    }
}

impl fmt::Display for Minor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "1.{}", self.0)
    }
}

/// One step of the control plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// What it runs before.
    pub from: Minor,
    /// What it runs afterwards: always the next one. Neither Kubernetes ("Version Skew Policy": API servers never skip a minor
    /// version) nor EKS ("Update existing cluster to new Kubernetes version") takes two at once.
    pub to: Minor,
}

impl fmt::Display for Hop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {}", self.from, self.to)
    }
}

/// Why there is no way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoWay {
    /// A control plane does not go back, but for one minor version within days ([`super::rollback`]).
    #[error("the control plane runs {from}, and {to} is older: a control plane cannot be downgraded")]
    Back {
        /// What it runs.
        from: Minor,
        /// What was asked for.
        to: Minor,
    },
    /// Farther than Kubernetes has ever gone: a slip of the pen.
    #[error("from {from} to {to} it would be more than {HOPS_MAX} steps")]
    Far {
        /// What it runs.
        from: Minor,
        /// What was asked for.
        to: Minor,
    },
}

/// Steps of one plan: more than ten years of versions.
pub const HOPS_MAX: u64 = 40;

/// The steps of the control plane; none where it is there already.
///
/// # Errors
/// Where there is no way.
pub fn hops(from: Minor, to: Minor) -> Result<Vec<Hop>, NoWay> {
    if to < from {
        return Err(NoWay::Back { from, to });
    }
    if from.behind(to) > HOPS_MAX {
        return Err(NoWay::Far { from, to });
    }
    Ok((from.0..to.0).map(|at| Hop { from: Minor(at), to: Minor(at + 1) }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_as_nodes_and_apis_write_them() {
        for (text, expected) in
            [("v1.36.2-eks-1a2b3c", Some(36)), ("1.9", Some(9)), ("2.1", None), ("", None), ("latest", None)]
        {
            assert_eq!(Minor::of(text), expected.map(Minor), "{text}");
        }
        assert!(Minor(9) < Minor(10));
        assert_eq!((Minor(33).behind(Minor(36)), Minor(36).behind(Minor(33))), (3, 0));
    }

    #[test]
    fn a_control_plane_goes_one_minor_version_at_a_time() {
        let told = |from, to| {
            hops(Minor(from), Minor(to)).map(|hops| hops.iter().map(Hop::to_string).collect::<Vec<_>>())
        };
        assert_eq!(told(33, 36).unwrap(), ["1.33 to 1.34", "1.34 to 1.35", "1.35 to 1.36"]);
        assert_eq!(told(36, 36).unwrap(), [""; 0]);
        assert_eq!(told(36, 35), Err(NoWay::Back { from: Minor(36), to: Minor(35) }));
        assert_eq!(told(1, 99), Err(NoWay::Far { from: Minor(1), to: Minor(99) }));
    }
}
