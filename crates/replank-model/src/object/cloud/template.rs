//! Launch templates: how their versions are numbered, and what comes of them.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::labels::Labels;
use crate::object::affinity::Taint;
use crate::object::node::Node;
use crate::object::resources::Resources;
use crate::object::volume::CsiNodeDriver;
use crate::text::{GroupName, Name, NodeName, Text, Zone};

/// One version of an EC2 launch template.
///
/// EC2 numbers the versions of a template from 1 on, and a number never comes back: versions that are deleted leave gaps
/// (CreateLaunchTemplateVersion, DeleteLaunchTemplateVersions). So a number is a name, and no position in a list.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LaunchTemplateRef {
    /// The template's id, such as `lt-0123456789abcdef0`.
    pub id: Text,
    /// The version's number.
    pub version: u64,
}

impl LaunchTemplateRef {
    /// The number of a template's first version.
    pub const FIRST: u64 = 1;

    /// What stands for the template of a group of which only nodes are known: an id that follows from the group's name, as EC2 would write one.
    #[must_use]
    pub fn invented(group: &GroupName) -> Self {
        Self { id: Text::from(format!("lt-0{:016x}", fnv1a(group.as_str()))), version: Self::FIRST }
    }

    /// Another version of the template.
    #[must_use]
    pub fn at(&self, version: u64) -> Self {
        Self { id: self.id.clone(), version }
    }
}

/// FNV-1a, 64 bits: a name that follows from another name has to be the same on every machine, and nothing else.
fn fnv1a(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// `lt-0123456789abcdef0 v3`
impl fmt::Display for LaunchTemplateRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} v{}", self.id, self.version)
    }
}

/// A launch template's version that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a launch template's id and a version, such as `lt-0123456789abcdef0 v3`, and found `{0}`")]
pub struct BadLaunchTemplateRef(pub String);

impl FromStr for LaunchTemplateRef {
    type Err = BadLaunchTemplateRef;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bad = || BadLaunchTemplateRef(text.to_owned());
        let (id, version) = text.split_once(" v").ok_or_else(bad)?;
        let is_number = version.bytes().all(|byte| byte.is_ascii_digit());
        let version =
            version.parse().ok().filter(|version| is_number && *version >= Self::FIRST).ok_or_else(bad)?;
        let is_id = id.strip_prefix("lt-").is_some_and(|rest| !rest.is_empty() && !rest.contains(' '));
        is_id.then(|| Self { id: Text::from(id), version }).ok_or_else(bad)
    }
}

/// The versions of launch templates that a group has used, or may go back to.
pub type LaunchTemplates = BTreeMap<LaunchTemplateRef, LaunchTemplate>;

/// What an instance of a group is made from (an EC2 launch template's version, and what EKS adds to it), and what the node
/// that it becomes looks like.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
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
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_read_as_it_is_written() {
        let version = LaunchTemplateRef { id: "lt-0123456789abcdef0".into(), version: 12 };
        assert_eq!(version.to_string(), "lt-0123456789abcdef0 v12");
        assert_eq!(version.to_string().parse(), Ok(version));
        for bad in
            ["", "1", "lt-1", "lt-1 v", "lt-1 v0", "lt-1 v+1", "lt-1 v1 ", "lt- v1", "ami-1 v1", "lt-1 x v1"]
        {
            assert_eq!(bad.parse::<LaunchTemplateRef>(), Err(BadLaunchTemplateRef(bad.to_owned())), "{bad}");
        }
    }

    #[test]
    fn an_invented_id_looks_like_one_and_follows_from_the_name() {
        let web = LaunchTemplateRef::invented(&"web".into());
        assert_eq!(web, LaunchTemplateRef::invented(&"web".into()));
        assert_ne!(web, LaunchTemplateRef::invented(&"batch".into()));
        assert_eq!((web.id.len(), web.version), ("lt-0123456789abcdef0".len(), 1));
        assert_eq!(web.to_string().parse(), Ok(web));
    }
}
