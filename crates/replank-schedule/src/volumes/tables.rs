//! What is known of volumes.

use replank_model::object::meta::Key;
use replank_model::object::volume::{CsiNode, VolumeAttachment, VolumeSource};
use replank_model::text::{Name, Namespace, NodeName, Text};
use replank_model::view::View;
use rustc_hash::FxHashMap;

use super::attach::Attached;
use super::check;
use super::translate::is_migratable;
use crate::ids::NodeId;

/// Whether a volume is a disk that VolumeRestrictions looks at, or one that a CSI driver serves in its stead.
pub(crate) fn is_disk(source: &VolumeSource) -> bool {
    check::is_restricted(source) || is_migratable(source)
}

/// What is kept about volumes.
#[derive(Clone, Debug, Default)]
pub(crate) struct VolumeTables {
    /// How many pods on known nodes use a claim by name.
    pub(super) users: FxHashMap<(Namespace, Name), u32>,
    /// What is attached to each node, as far as somebody asked.
    pub(super) attached: Vec<Option<(u64, Attached)>>,
    /// Counts changes of claims, volumes and classes: what was worked out before is void.
    pub(super) generation: u64,
    /// Volumes that pods which are assumed on a node will be bound to, with the claim.
    pub(super) promised: FxHashMap<Name, Key>,
    /// Nodes on which volumes will be made for claims of assumed pods.
    pub(super) selected: FxHashMap<Key, NodeName>,
    /// CSINodes of nodes that a trial takes to be there, and that the View does not have.
    pub(super) supposed: FxHashMap<NodeName, CsiNode>,
    /// Volumes that the cluster has attached to a node, with the driver.
    pub(super) attachments: FxHashMap<NodeName, Vec<(Text, Name)>>,
}

impl VolumeTables {
    /// Takes the CSINode of a node to be there.
    pub(crate) fn suppose(&mut self, name: NodeName, csi: CsiNode) {
        self.supposed.insert(name, csi);
    }

    /// Takes it to be there no longer.
    pub(crate) fn suppose_no_longer(&mut self, name: &NodeName) {
        self.supposed.remove(name);
    }

    /// What a node attaches: as the View has it, or else as a trial takes it to be.
    pub(super) fn csi_node<'a>(&'a self, view: &'a View, name: &NodeName) -> Option<&'a CsiNode> {
        let known = view.csi_nodes.by_key(&Key::cluster(name.text().clone()));
        known.map(|known| &**known).or_else(|| self.supposed.get(name))
    }

    /// Counts users of claims, or with a negative sign no longer.
    pub(crate) fn use_claims(&mut self, namespace: &Namespace, claims: &[Name], sign: i32) {
        for claim in claims {
            let key = (namespace.clone(), claim.clone());
            let users = self.users.entry(key).or_default();
            *users = users.saturating_add_signed(sign);
            if *users == 0 {
                self.users.remove(&(namespace.clone(), claim.clone()));
            }
        }
    }

    pub(super) fn is_used(&self, namespace: &Namespace, claim: &Name) -> bool {
        !self.users.is_empty() && self.users.contains_key(&(namespace.clone(), claim.clone()))
    }

    /// What is attached to a node must be worked out anew.
    pub(crate) fn forget_node(&mut self, node: NodeId) {
        if let Some(known) = self.attached.get_mut(node.at()) {
            *known = None;
        }
    }

    /// A claim, a volume or a class changed.
    pub(crate) fn forget_all(&mut self) {
        self.generation += 1;
    }

    /// Takes in an attachment as it is, or that it is gone; returns the nodes it concerns.
    pub(crate) fn observe_attachment(
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
    pub(crate) fn observe_volume(&mut self, name: &Name) {
        self.promised.remove(name);
    }

    /// A claim was observed anew.
    pub(crate) fn observe_claim(&mut self, claim: &Key) {
        self.selected.remove(claim);
    }

    /// Takes promises back.
    pub(crate) fn take_back(&mut self, promised: Promised) {
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
pub(crate) struct Promised {
    pub(super) volumes: Vec<(Name, Option<Key>)>,
    pub(super) claims: Vec<(Key, Option<NodeName>)>,
}
