//! What stands behind nodes: groups of instances and the instances themselves.
//!
//! These are not Kubernetes objects. They come from a cloud's API, or are derived from the nodes of a snapshot, and are
//! observed through the View like everything else.

use std::collections::BTreeMap;
use std::fmt;

use crate::labels::{Labels, TextMap};
use crate::object::affinity::Taint;
use crate::object::node::Node;
use crate::object::resources::Resources;
use crate::object::volume::CsiNodeDriver;
use crate::text::{GroupName, InstanceId, Name, NodeName, Text, Zone};
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

/// What an instance of a group is made from (an EC2 launch template's version, and what EKS adds to it), and what the node
/// that it becomes looks like.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LaunchTemplate {
    /// Machine image.
    pub image: Text,
    /// Kubelet version, such as `v1.34.2`.
    pub kubelet_version: Text,
    /// Labels that every node of the group has.
    pub labels: Labels,
    /// Labels that depend on the zone, the zone's own label among them.
    pub zone_labels: BTreeMap<Zone, Labels>,
    /// Labels whose value is the node's name.
    pub name_labels: Vec<Text>,
    /// Taints that nodes register with and keep.
    pub taints: Vec<Taint>,
    /// Instance types, most frequent first; never empty.
    pub shapes: Vec<NodeShape>,
}

/// One instance type of a launch template and what a node of it offers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeShape {
    /// Instance type.
    pub instance_type: Text,
    /// How often the type is launched, relative to the others.
    pub weight: u32,
    /// Labels that depend on the instance type.
    pub labels: Labels,
    /// What a node reports as capacity.
    pub capacity: Resources,
    /// What a node reports as allocatable.
    pub allocatable: Resources,
    /// CSI drivers and how many volumes they attach.
    pub csi_drivers: Vec<CsiNodeDriver>,
}

impl LaunchTemplate {
    /// The node that an instance of this template becomes, as it is once it is Ready.
    #[must_use]
    pub fn node(&self, name: &NodeName, zone: &Zone, shape: &NodeShape) -> Node {
        let nothing = Labels::default();
        let of_zone = self.zone_labels.get(zone).unwrap_or(&nothing);
        let of_name = self.name_labels.iter().map(|key| (key.clone(), name.text().clone()));
        let pairs = self.labels.pairs().iter().chain(of_zone.pairs()).chain(shape.labels.pairs()).cloned();
        let mut node = Node::default();
        node.meta.name = Name::from(name);
        node.meta.labels = pairs.chain(of_name).collect();
        node.spec.taints = self.taints.clone();
        node.status.capacity = shape.capacity.clone();
        node.status.allocatable = shape.allocatable.clone();
        node.status.node_info.kubelet_version = self.kubelet_version.clone();
        node
    }
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
