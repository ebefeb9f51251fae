//! The ways to a goal, and what is said of each.

use replank_protocol::hindrance::Hindrance;

/// How a Deployment comes by another selector, or another keeper of its pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Path {
    /// Deleted with its ReplicaSet orphaned and made again with a selector that takes the ReplicaSet over: the pods stay.
    Keep,
    /// A copy under another name serves while the Deployment is made anew.
    Twin,
    /// An Argo Rollout takes over beside it.
    Rollout,
}

impl Path {
    /// As it is written.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Keep => "keep",
            Self::Twin => "twin",
            Self::Rollout => "rollout",
        }
    }

    pub(super) fn of(text: &str) -> Option<Self> {
        [Self::Keep, Self::Twin, Self::Rollout].into_iter().find(|path| path.as_str() == text)
    }
}

/// Which way is wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// Keep the pods if possible, otherwise use a twin.
    #[default]
    Auto,
    /// This one or none.
    Only(Path),
}

/// What was found about the ways.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judgement {
    /// What forbids all.
    pub both: Vec<Hindrance>,
    /// The ways that lead to what is wanted, the best first, and what forbids each.
    pub ways: Vec<(Path, Vec<Hindrance>)>,
}

impl Judgement {
    /// What forbids a way; nothing where it does not lead there at all.
    #[must_use]
    pub fn against(&self, path: Path) -> &[Hindrance] {
        let found = self.ways.iter().find(|(way, _)| *way == path);
        found.map_or(&[], |(_, hindrances)| hindrances)
    }

    /// The way to take.
    ///
    /// # Errors
    /// What forbids it.
    pub fn path(&self, choice: Choice) -> Result<Path, Vec<Hindrance>> {
        if !self.both.is_empty() {
            return Err(self.both.clone());
        }
        let is_meant = |path: Path| match choice {
            Choice::Auto => true,
            Choice::Only(only) => path == only,
        };
        let ways: Vec<_> = self.ways.iter().filter(|(path, _)| is_meant(*path)).collect();
        match ways.iter().find(|(_, hindrances)| hindrances.is_empty()) {
            Some((path, _)) => Ok(*path),
            None => Err(ways.into_iter().flat_map(|(_, hindrances)| hindrances.clone()).collect()),
        }
    }
}
