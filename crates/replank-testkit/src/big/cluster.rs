//! What a big cluster is made of.

/// Pods on each node, and how many of them DaemonSets have.
pub(super) const PODS: usize = 30;

pub(super) const DAEMONS: usize = 3;

/// StatefulSets' pods on each data node.
pub(super) const STATEFUL: usize = 9;

/// How big.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BigCluster {
    pub(super) units: usize,
}

/// The groups, in the order of their nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Group {
    General,
    Data,
    Batch,
}

impl Group {
    pub(super) const ALL: [Self; 3] = [Self::General, Self::Data, Self::Batch];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::General => "general",
            Self::Data => "data",
            Self::Batch => "batch",
        }
    }
}

impl BigCluster {
    /// Names of its node groups.
    #[must_use]
    pub fn groups() -> [&'static str; 3] {
        Group::ALL.map(Group::name)
    }
}
