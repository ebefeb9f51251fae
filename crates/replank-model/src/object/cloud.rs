//! What stands behind nodes: groups of instances and the instances themselves.
//!
//! These are not Kubernetes objects. They come from a cloud's API, or are derived from the nodes of a snapshot, and are
//! observed through the View like everything else.

use std::fmt;

use crate::labels::{Labels, TextMap};
use crate::object::affinity::Taint;
use crate::object::resources::Resources;
use crate::text::{GroupName, InstanceId, NodeName, Text, Zone};
use crate::time::Time;

/// A group of interchangeable instances: an Auto Scaling group, or the one behind an EKS managed node group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeGroup {
    /// Name.
    pub name: GroupName,
    /// How many instances there must and may be, and how many are wanted.
    pub size: GroupSize,
    /// Zones in which instances are launched, sorted.
    pub zones: Vec<Zone>,
    /// Launch template version that new instances get (index into `templates`).
    pub current: TemplateVersion,
    /// All versions of the launch template, oldest first.
    pub templates: Vec<LaunchTemplate>,
    /// Tags: where a run writes the original bounds before it raises them.
    pub tags: TextMap,
}

impl NodeGroup {
    /// The template that new instances get.
    #[must_use]
    pub fn template(&self) -> &LaunchTemplate {
        &self.templates[self.current.0 as usize]
    }
}

/// Minimum, maximum and desired number of instances of a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupSize {
    /// Lower bound.
    pub min: u32,
    /// Upper bound.
    pub max: u32,
    /// What the group works towards.
    pub desired: u32,
}

impl fmt::Display for GroupSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (min {}, max {})", self.desired, self.min, self.max)
    }
}

/// Which version of a group's launch template: a position in [`NodeGroup::templates`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TemplateVersion(pub u32);

/// What an instance of a group is made from (an EC2 launch template's version, and what EKS adds to it).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LaunchTemplate {
    /// Machine image.
    pub image: Text,
    /// Kubelet version, such as `v1.34.2`.
    pub kubelet_version: Text,
    /// Instance types, in order of preference.
    pub instance_types: Vec<Text>,
    /// Labels that nodes register with, less those that name the node or its zone.
    pub labels: Labels,
    /// Taints that nodes register with and keep.
    pub taints: Vec<Taint>,
    /// What a node reports as capacity.
    pub capacity: Resources,
    /// What a node reports as allocatable.
    pub allocatable: Resources,
}

/// One machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    /// Id.
    pub id: InstanceId,
    /// Group that launched it.
    pub group: GroupName,
    /// Zone.
    pub zone: Zone,
    /// Where it is in its life.
    pub state: InstanceState,
    /// Launch template version it was made from.
    pub template: TemplateVersion,
    /// When it was asked for; unknown for instances that only a snapshot's nodes speak of.
    pub launched: Option<Time>,
    /// The node it registered as, once it has.
    pub node: Option<NodeName>,
}

/// Where an instance is in its life (EC2 InstanceStateName).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum InstanceState {
    /// Booting.
    Pending,
    /// Up.
    Running,
    /// Going down for good.
    ShuttingDown,
    /// Gone.
    Terminated,
}

impl InstanceState {
    /// As EC2 writes it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::ShuttingDown => "shutting-down",
            Self::Terminated => "terminated",
        }
    }

    /// Whether the group counts the instance.
    #[must_use]
    pub fn is_alive(self) -> bool {
        match self {
            Self::Pending | Self::Running => true,
            Self::ShuttingDown | Self::Terminated => false,
        }
    }
}

impl fmt::Display for InstanceState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The instance id at the end of a provider id (`aws:///eu-west-1a/i-0abc` → `i-0abc`).
#[must_use]
pub fn instance_of(provider_id: &str) -> Option<InstanceId> {
    let id = provider_id.rsplit('/').next()?;
    (!id.is_empty()).then(|| InstanceId::from(id))
}
