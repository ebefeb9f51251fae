//! Volumes: claims and what they are or can be bound to, limits of attachment, zones, disks that only one pod may use.
//!
//! Sources (Kubernetes 1.36): `pkg/scheduler/framework/plugins/{volumerestrictions,nodevolumelimits,volumebinding,
//! volumezone}`, component-helpers `storage/volume`, csi-translation-lib.

mod attach;
mod bind;
mod check;
mod plan;
mod translate;

use replank_model::object::meta::Key;
use replank_model::object::volume::{CsiNode, VolumeAttachment, VolumeSource};
use replank_model::text::{Name, Namespace, NodeName, Text};
use replank_model::view::View;
use rustc_hash::FxHashMap;

pub(super) use attach::Attached;
pub use bind::VolumeDecisions;
pub(super) use plan::VolumePlan;
pub(super) use translate::is_migratable;

use super::ids::NodeId;

/// Whether a volume is a disk that VolumeRestrictions looks at, or one that a CSI driver serves in its stead.
pub(super) fn is_disk(source: &VolumeSource) -> bool {
    check::is_restricted(source) || is_migratable(source)
}

/// What is kept about volumes.
#[derive(Clone, Debug, Default)]
pub(super) struct VolumeTables {
    /// How many pods on known nodes use a claim by name.
    users: FxHashMap<(Namespace, Name), u32>,
    /// What is attached to each node, as far as somebody asked.
    attached: Vec<Option<(u64, Attached)>>,
    /// Counts changes of claims, volumes and classes: what was worked out before is void.
    generation: u64,
    /// Volumes that pods which are assumed on a node will be bound to, with the claim.
    promised: FxHashMap<Name, Key>,
    /// Nodes on which volumes will be made for claims of assumed pods.
    selected: FxHashMap<Key, NodeName>,
    /// CSINodes of nodes that a trial takes to be there, and that the View does not have.
    supposed: FxHashMap<NodeName, CsiNode>,
    /// Volumes that the cluster has attached to a node, with the driver.
    attachments: FxHashMap<NodeName, Vec<(Text, Name)>>,
}

impl VolumeTables {
    /// Takes the CSINode of a node to be there.
    pub(super) fn suppose(&mut self, name: NodeName, csi: CsiNode) {
        self.supposed.insert(name, csi);
    }

    /// Takes it to be there no longer.
    pub(super) fn suppose_no_longer(&mut self, name: &NodeName) {
        self.supposed.remove(name);
    }

    /// What a node attaches: as the View has it, or else as a trial takes it to be.
    fn csi_node<'a>(&'a self, view: &'a View, name: &NodeName) -> Option<&'a CsiNode> {
        let known = view.csi_nodes.by_key(&Key::cluster(name.text().clone()));
        known.map(|known| &**known).or_else(|| self.supposed.get(name))
    }

    /// Counts users of claims, or with a negative sign no longer.
    pub(super) fn use_claims(&mut self, namespace: &Namespace, claims: &[Name], sign: i32) {
        for claim in claims {
            let key = (namespace.clone(), claim.clone());
            let users = self.users.entry(key).or_default();
            *users = users.saturating_add_signed(sign);
            if *users == 0 {
                self.users.remove(&(namespace.clone(), claim.clone()));
            }
        }
    }

    fn is_used(&self, namespace: &Namespace, claim: &Name) -> bool {
        !self.users.is_empty() && self.users.contains_key(&(namespace.clone(), claim.clone()))
    }

    /// What is attached to a node must be worked out anew.
    pub(super) fn forget_node(&mut self, node: NodeId) {
        if let Some(known) = self.attached.get_mut(node.at()) {
            *known = None;
        }
    }

    /// A claim, a volume or a class changed.
    pub(super) fn forget_all(&mut self) {
        self.generation += 1;
    }

    /// Takes in an attachment as it is, or that it is gone; returns the nodes it concerns.
    pub(super) fn observe_attachment(
        &mut self,
        old: Option<&VolumeAttachment>,
        new: Option<&VolumeAttachment>,
    ) -> [Option<NodeName>; 2] {
        let entry = |of: &VolumeAttachment| {
            let volume = of.spec.source.persistent_volume_name.clone()?;
            Some((of.spec.attacher.clone(), volume)).filter(|(driver, _)| !driver.is_empty())
        };
        if let Some((old, gone)) = old.and_then(|old| Some((old, entry(old)?)))
            && let Some(list) = self.attachments.get_mut(&old.spec.node_name)
        {
            if let Some(at) = list.iter().position(|known| *known == gone) {
                list.swap_remove(at);
            }
            if list.is_empty() {
                self.attachments.remove(&old.spec.node_name);
            }
        }
        if let Some((new, entry)) = new.and_then(|new| Some((new, entry(new)?))) {
            self.attachments.entry(new.spec.node_name.clone()).or_default().push(entry);
        }
        [old.map(|of| of.spec.node_name.clone()), new.map(|of| of.spec.node_name.clone())]
    }

    /// A volume was observed anew: what was promised of it is in it, or is void.
    pub(super) fn observe_volume(&mut self, name: &Name) {
        self.promised.remove(name);
    }

    /// A claim was observed anew.
    pub(super) fn observe_claim(&mut self, claim: &Key) {
        self.selected.remove(claim);
    }

    /// Promises what placing a pod on a node decides; returns what it replaced.
    pub(super) fn promise(&mut self, decided: &VolumeDecisions, node: &NodeName) -> Promised {
        let volumes = decided
            .bindings
            .iter()
            .map(|(claim, volume)| (volume.clone(), self.promised.insert(volume.clone(), claim.clone())));
        let volumes = volumes.collect();
        let claims = decided
            .provisions
            .iter()
            .map(|claim| (claim.clone(), self.selected.insert(claim.clone(), node.clone())));
        Promised { volumes, claims: claims.collect() }
    }

    /// Takes promises back.
    pub(super) fn take_back(&mut self, promised: Promised) {
        for (volume, before) in promised.volumes {
            match before {
                Some(claim) => self.promised.insert(volume, claim),
                None => self.promised.remove(&volume),
            };
        }
        for (claim, before) in promised.claims {
            match before {
                Some(node) => self.selected.insert(claim, node),
                None => self.selected.remove(&claim),
            };
        }
    }
}

/// What a promise replaced.
#[derive(Clone, Debug, Default)]
pub(super) struct Promised {
    volumes: Vec<(Name, Option<Key>)>,
    claims: Vec<(Key, Option<NodeName>)>,
}
