//! What a node says to a pod's volumes.

use replank_model::object::pod::Pod;
use replank_model::object::volume::VolumeSource;
use replank_model::view::View;

use super::attach::Attached;
use super::bind::{Unbindable, VolumeDecisions};
use super::plan::{BoundClaim, VolumePlan};
use super::translate::{BETA_REGION, BETA_ZONE, Kind};
use crate::ids::NodeId;
use crate::plugin::{Code, Failure, Plugin, Reason, Reasons};
use crate::pods::PodEntry;
use crate::world::World;
use replank_model::object::node::{LABEL_REGION, LABEL_ZONE};

pub(super) use super::restricted::is_restricted;

/// Annotation of a CSINode: the old kinds of disks that CSI drivers serve there.
const MIGRATED: &str = "storage.alpha.kubernetes.io/migrated-plugins";

/// Whether two disks cannot be used on one node at once (`isVolumeConflict`).
fn conflict(a: &VolumeSource, b: &VolumeSource) -> bool {
    let gce = a.gce_persistent_disk.as_ref().zip(b.gce_persistent_disk.as_ref());
    let ebs = a.aws_elastic_block_store.as_ref().zip(b.aws_elastic_block_store.as_ref());
    let iscsi = a.iscsi.as_ref().zip(b.iscsi.as_ref());
    let rbd = a.rbd.as_ref().zip(b.rbd.as_ref());
    gce.is_some_and(|(a, b)| a.pd_name == b.pd_name && !(a.read_only && b.read_only))
        || ebs.is_some_and(|(a, b)| a.volume_id == b.volume_id)
        || iscsi.is_some_and(|(a, b)| a.iqn == b.iqn && !(a.read_only && b.read_only))
        || rbd.is_some_and(|(a, b)| {
            a.monitors.iter().any(|monitor| b.monitors.contains(monitor))
                && a.pool == b.pool
                && a.image == b.image
                && !(a.read_only && b.read_only)
        })
}

impl VolumePlan {
    /// VolumeRestrictions. `pods` are those on the node, `taken` the claims in use that only one pod may use.
    pub(in super::super) fn check_restrictions<'a>(
        &self,
        pod: &Pod,
        mut pods: impl Iterator<Item = &'a Pod>,
        taken: i64,
    ) -> Option<Failure> {
        let own: Vec<&VolumeSource> =
            pod.spec.volumes.iter().map(|v| &v.source).filter(|s| is_restricted(s)).collect();
        let is_in_use = !own.is_empty()
            && pods.any(|other| {
                let others = other.spec.volumes.iter().map(|volume| &volume.source);
                others.filter(|other| is_restricted(other)).any(|b| own.iter().any(|a| conflict(a, b)))
            });
        if is_in_use {
            return Some(Failure::resolvable(Plugin::VolumeRestrictions, Reason::DiskConflict));
        }
        (taken > 0).then(|| Failure::resolvable(Plugin::VolumeRestrictions, Reason::ReadWriteOncePodConflict))
    }

    /// NodeVolumeLimits.
    pub(in super::super) fn check_limits(&self, attached: &Attached) -> Option<Failure> {
        if let Some(key) = &self.missing {
            let reason = Reason::ClaimLookUp { namespace: key.namespace.clone(), claim: key.name.clone() };
            return Some(Failure::unresolvable(Plugin::NodeVolumeLimits, reason));
        }
        (!attached.takes(&self.handles))
            .then(|| Failure::resolvable(Plugin::NodeVolumeLimits, Reason::MaxVolumeCount))
    }

    /// Whether limits of attachment can matter at all.
    pub(in super::super) fn attaches(&self) -> bool {
        self.missing.is_some() || !self.handles.is_empty()
    }

    /// Whether a node reaches the volumes of the claims that are bound: what rules out most nodes, and is known of each.
    pub(in super::super) fn reaches(&self, world: &World, view: &View, node: NodeId) -> bool {
        self.bound.iter().all(|claim| claim.objection(world, view, node).is_none())
    }

    /// Whether a node that reaches the volumes takes them, where it decides by itself ([`VolumePlan::decides_by_node`]); what is attached there is known.
    pub(in super::super) fn suits(&self, world: &World, node: NodeId) -> bool {
        (self.handles.is_empty() || world.attached(node).takes(&self.handles)) && self.suits_zone(world, node)
    }

    fn suits_zone(&self, world: &World, node: NodeId) -> bool {
        self.skips_zones() || self.check_zones(world, node).is_none()
    }

    /// How many pods a node takes for their volumes, this one among them and of each no more than `each`; 0 if it does not take those of this one.
    pub(in super::super) fn fits(&self, world: &mut World, view: &View, node: NodeId, each: usize) -> u64 {
        if !self.reaches(world, view, node) || !self.suits_zone(world, node) {
            return 0;
        }
        if self.handles.is_empty() {
            return u64::MAX;
        }
        world.look_up_attached(view, &[node]);
        world.attached(node).takes_times(&self.handles, each)
    }

    /// VolumeBinding, with what placing the pod here decides.
    pub(in super::super) fn check_binding(
        &self,
        world: &World,
        view: &View,
        node: NodeId,
    ) -> Result<VolumeDecisions, Failure> {
        let mut reasons = Reasons::new();
        let bound = self.bound.iter().find_map(|claim| claim.objection(world, view, node));
        let decided = self.decide(world, node);
        // In upstream's order: affinity, binding, room, existence.
        reasons.extend(bound.iter().filter(|reason| **reason == Reason::VolumeNodeAffinity).cloned());
        reasons.extend(decided.as_ref().err().map(|why| match why {
            Unbindable::NoVolume => Reason::NoVolumeToBind,
            Unbindable::NoRoom => Reason::NotEnoughStorage,
        }));
        reasons.extend(bound.into_iter().filter(|reason| *reason == Reason::VolumeGone));
        match decided {
            Ok(decided) if reasons.is_empty() => Ok(decided),
            Ok(_) | Err(_) => Err(Failure {
                plugin: Plugin::VolumeBinding,
                code: Code::UnschedulableAndUnresolvable,
                reasons,
            }),
        }
    }

    /// VolumeZone.
    pub(in super::super) fn check_zones(&self, world: &World, node: NodeId) -> Option<Failure> {
        let labels = &world.nodes[node].node.meta.labels;
        let has_zone =
            [BETA_ZONE, BETA_REGION, LABEL_ZONE, LABEL_REGION].iter().any(|key| labels.contains_key(key));
        if !has_zone {
            return None;
        }
        let is_met = self.zones.iter().all(|(key, values)| {
            let value = labels.get(key).or_else(|| labels.get(stable(key)));
            value.is_some_and(|value| values.contains(value))
        });
        (!is_met).then(|| Failure::unresolvable(Plugin::VolumeZone, Reason::NoVolumeZone))
    }
}

impl BoundClaim {
    /// What speaks against a node.
    fn objection(&self, world: &World, view: &View, node: NodeId) -> Option<Reason> {
        match self {
            Self::Gone => Some(Reason::VolumeGone),
            Self::Volume { affinity, migrated } => {
                let affinity = match migrated {
                    Some((kind, migrated)) if is_migrated(world, view, *kind, node) => migrated,
                    Some(_) | None => affinity,
                };
                let reaches = affinity.is_none_or(|affinity| world.eligibles.matches(affinity, node));
                (!reaches).then_some(Reason::VolumeNodeAffinity)
            }
        }
    }
}

/// The label that took an old label's place.
fn stable(key: &str) -> &str {
    match key {
        BETA_ZONE => LABEL_ZONE,
        BETA_REGION => LABEL_REGION,
        key => key,
    }
}

fn is_migrated(world: &World, view: &View, kind: Kind, node: NodeId) -> bool {
    let csi_node = world.volumes.csi_node(view, &world.nodes[node].name);
    let plugins = csi_node.and_then(|node| node.meta.annotations.value(MIGRATED));
    plugins.is_some_and(|plugins| plugins.split(',').any(|plugin| plugin == kind.plugin()))
}

impl World {
    /// Works out what is attached to these nodes, where that is not known.
    pub(in super::super) fn look_up_attached(&mut self, view: &View, nodes: &[NodeId]) {
        let generation = self.volumes.generation;
        for &node in nodes {
            if self.volumes.attached.len() <= node.at() {
                self.volumes.attached.resize(node.at() + 1, None);
            }
            if self.volumes.attached[node.at()].as_ref().is_some_and(|(at, _)| *at == generation) {
                continue;
            }
            let pods = self.nodes[node].pods.iter().map(|pod| &self.pods[*pod]);
            let attached = self.attached_with(view, node, pods);
            self.volumes.attached[node.at()] = Some((generation, attached));
        }
    }

    /// What would be attached to a node with these pods.
    pub(in super::super) fn attached_with<'a>(
        &self,
        view: &View,
        node: NodeId,
        pods: impl Iterator<Item = &'a PodEntry>,
    ) -> Attached {
        let name = &self.nodes[node].name;
        let with_volumes = pods.filter(|pod| self.specs[pod.spec].has_volumes).map(|pod| &*pod.pod);
        let attachments = self.volumes.attachments.get(name).map_or(&[][..], Vec::as_slice);
        Attached::of_node(view, self.volumes.csi_node(view, name), attachments, with_volumes)
    }

    /// What is attached to a node that was looked up.
    pub(in super::super) fn attached(&self, node: NodeId) -> &Attached {
        let known = self.volumes.attached.get(node.at()).and_then(Option::as_ref);
        &known.expect("nodes are looked up before they are asked for").1
    }
}
