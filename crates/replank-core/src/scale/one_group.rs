//! One group, as the autoscaler sees it.

use std::collections::BTreeMap;
use std::fmt;

use replank_model::object::cloud::{GroupSize, LaunchTemplate};
use replank_model::text::{GroupName, NodeName, Text, Zone};
use replank_protocol::provisioner::Provisioner;
use replank_protocol::scaling::Market;

use super::ownership::RollOwnership;
use super::tags::OwnOptions;

/// EKS's label that says how a node was bought.
pub(super) const LABEL_CAPACITY: &str = "eks.amazonaws.com/capacityType";

/// The maximum of a group of which nothing is known.
pub const UNKNOWN_MAX: u32 = u32::MAX;

/// Where a group's bounds come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bounds {
    /// From the cloud, or the plan.
    Known,
    /// From `--nodes`.
    Flag,
    /// Nobody said them.
    Assumed,
}

/// What a new node of a group is known from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Nodes that the group has.
    Living,
    /// Instance type, tags, EKS's labels and taints: the group has no node.
    Computed,
}

/// A node group that the autoscaler may change.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// Name.
    pub name: GroupName,
    /// Name of the Auto Scaling group, where that is another.
    pub auto_scaling: Option<Text>,
    /// Bounds, and how many are wanted.
    pub size: GroupSize,
    /// Where the bounds come from.
    pub bounds: Bounds,
    /// Zones, sorted.
    pub zones: Vec<Zone>,
    /// How instances are bought.
    pub market: Market,
    /// Instance types.
    pub types: Vec<Text>,
    /// What instances become.
    pub template: LaunchTemplate,
    /// From what that is known.
    pub origin: Origin,
    /// Settings of its own.
    pub own: OwnOptions,
    /// Its nodes, by zone.
    pub nodes: BTreeMap<Zone, Vec<NodeName>>,
    /// Instances that are no nodes yet, by zone.
    pub booting: BTreeMap<Zone, u32>,
    /// Whether launches are suspended.
    pub is_suspended: bool,
    /// In whose hands it is besides.
    pub ownership: RollOwnership,
}

impl Group {
    /// Its nodes.
    pub(super) fn names(&self) -> impl Iterator<Item = &NodeName> {
        self.nodes.values().flatten()
    }

    /// Number of nodes.
    #[must_use]
    pub fn len(&self) -> u32 {
        let nodes: usize = self.nodes.values().map(Vec::len).sum();
        u32::try_from(nodes).expect("fewer than 2^32 nodes fit in memory")
    }

    /// Whether it has no node.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.values().all(Vec::is_empty)
    }

    /// How many nodes may still be added.
    #[must_use]
    pub fn room(&self) -> u32 {
        self.ownership.room(self.size)
    }

    /// As many nodes as it may have, those aside that a run adds for its own sake.
    #[must_use]
    pub fn max(&self) -> u32 {
        self.ownership.max(self.size)
    }
}

/// Why a group is left alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeftOut {
    /// Neither `--nodes` nor the tags of `--node-group-auto-discovery` name it.
    NotDiscovered,
    /// Somebody else answers for its nodes.
    Provisioner(Provisioner),
    /// Nothing tells what its nodes would offer.
    UnknownType(Vec<Text>),
    /// Nothing tells in which zones they would be.
    NoZones,
    /// Its maximum is 0.
    Closed,
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotDiscovered => f.write_str("not selected by --nodes or --node-group-auto-discovery"),
            Self::Provisioner(provisioner) => write!(f, "its nodes are provisioned by {provisioner}"),
            Self::UnknownType(types) if types.is_empty() => {
                f.write_str("it has no nodes and its instance type is unknown: tag it with node-template/resources/cpu and memory")
            }
            Self::UnknownType(types) => {
                let types: Vec<&str> = types.iter().map(|name| &**name).collect();
                write!(
                    f,
                    "it has no nodes and {} is unknown: tag it with node-template/resources/cpu and memory",
                    types.join(", ")
                )
            }
            Self::NoZones => f.write_str("it has no nodes and its zones are unknown: also pass the output of describe-auto-scaling-groups"),
            Self::Closed => f.write_str("its maximum size is 0"),
        }
    }
}

/// Something that is not known and was taken to be so.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Assumed {
    /// Bounds: from nothing to any number.
    Bounds(GroupName),
    /// What a node offers: worked out from its instance type.
    Computed(GroupName, Text),
    /// Launched types differ: the least of each resource counts.
    LeastOf(GroupName, Vec<Text>),
    /// Zone: an Auto Scaling group launches where it has the fewest instances.
    ZonesInTurn(GroupName),
}

impl Assumed {
    /// Of which group.
    #[must_use]
    pub fn group(&self) -> &GroupName {
        match self {
            Self::Bounds(group)
            | Self::Computed(group, _)
            | Self::LeastOf(group, _)
            | Self::ZonesInTurn(group) => group,
        }
    }

    /// What, in words that do not name the group.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Self::Bounds(_) => {
                "its bounds are unknown: it may shrink to 0 and grow without limit (pass --groups)".to_owned()
            }
            Self::Computed(_, of) if of.is_empty() => {
                "it has no nodes: resources calculated from its tags, minus what EKS AMIs reserve".to_owned()
            }
            Self::Computed(_, of) => {
                format!("it has no nodes: resources calculated for {of}, minus what EKS AMIs reserve")
            }
            Self::LeastOf(_, types) => {
                let types: Vec<&str> = types.iter().map(|name| &**name).collect();
                format!("any of {} may be launched: the least of each resource counts", types.join(", "))
            }
            Self::ZonesInTurn(_) => {
                "new instances are launched in the zone with the fewest, in alphabetical order among equals"
                    .to_owned()
            }
        }
    }
}

impl fmt::Display for Assumed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "group {}: {}", self.group(), self.words())
    }
}
