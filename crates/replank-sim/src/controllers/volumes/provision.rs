//! Making and deleting volumes as storage drivers do (external-provisioner, pkg/controller/volume/ephemeral).

use std::sync::Arc;

use replank_model::object::Kind;
use replank_model::object::affinity::{
    NodeSelector, NodeSelectorOperator, NodeSelectorRequirement, NodeSelectorTerm,
};
use replank_model::object::meta::{Key, Meta, OwnerReference};
use replank_model::object::node::LABEL_ZONE;
use replank_model::object::pod::Pod;
use replank_model::object::volume::{
    ClaimRef, CsiVolume, PersistentVolume, PersistentVolumeClaim, ReclaimPolicy, StorageClass,
    VolumeNodeAffinity, VolumePhase, VolumeSpec,
};
use replank_model::text::{Name, NodeName, Text};
use replank_model::view::{Ix, View};

use super::bind::{SELECTED_NODE, class_of};
use super::users::claim_name;
use super::{Due, later};
use crate::controllers::Ctx;
use crate::timing::CloudTimings;
use replank_apiserver::DeleteOptions;
use replank_apiserver::draw::Purpose;

/// Whose volumes are made by hand.
const NOBODY: &str = "kubernetes.io/no-provisioner";
/// Who made a volume.
const MADE_BY: &str = "pv.kubernetes.io/provisioned-by";
/// Who is to make a claim's volume.
const MAKER: &str = "volume.kubernetes.io/storage-provisioner";

/// Whether somebody makes volumes for a class.
pub(super) fn makes_volumes(provisioner: &str) -> bool {
    !provisioner.is_empty() && provisioner != NOBODY
}

/// Asks the driver for a claim's volume. The one answer serves every asking that came before it.
pub(super) fn begin(ctx: &mut Ctx<'_>, slot: u32, claim: &PersistentVolumeClaim, timings: CloudTimings) {
    let Some(class) = class_of(ctx.view(), claim).cloned() else { return };
    let written = ctx.api.modify::<PersistentVolumeClaim>(&claim.meta.key(), |claim| {
        claim.meta.annotations = claim.meta.annotations.with(MAKER, class.provisioner.clone());
    });
    debug_assert!(written.is_ok(), "the claim was just read");
    let span = timings.provision.draw(ctx.draws.draw(claim.meta.uid.as_str(), Purpose::Volume, 0));
    later(ctx, span, Due::Provisioned(slot));
}

/// The driver has made the volume, where the chosen node reaches it.
pub(super) fn finish(ctx: &mut Ctx<'_>, slot: u32) {
    let ix = Ix::<PersistentVolumeClaim>::new(slot);
    let Some(claim) = ctx.view().persistent_volume_claims.get(ix).cloned() else { return };
    if !claim.spec.volume_name.is_empty() || claim.meta.is_terminating() {
        return;
    }
    let Some(class) = class_of(ctx.view(), &claim).cloned() else { return };
    let name = Name::from(format!("pvc-{}", claim.meta.uid));
    if ctx.view().persistent_volumes.find(&Key::cluster(name.clone())).is_some() {
        return;
    }
    let segment = segment(ctx, &class, &claim);
    let volume = volume_for(&claim, &class, &name, segment);
    let created = ctx.api.create(volume);
    debug_assert!(created.is_ok(), "the name was just looked up");
}

/// A topology key and the value that the volume gets; none if its storage is reached from everywhere.
fn segment(ctx: &Ctx<'_>, class: &StorageClass, claim: &PersistentVolumeClaim) -> Option<(Text, Text)> {
    let view = ctx.view();
    let chosen = claim.meta.annotations.value(SELECTED_NODE).map(NodeName::from);
    let key = topology_key(view, &class.provisioner)?;
    if let Some(node) = chosen.and_then(|name| view.node(&name)) {
        return Some((key.clone(), node.meta.labels.get(&key)?.clone()));
    }
    let allowed = class.allowed_topologies.iter().flat_map(|term| &term.match_label_expressions);
    let allowed: Vec<&Text> = allowed
        .filter(|expression| expression.key == key)
        .flat_map(|expression| &expression.values)
        .collect();
    let is_allowed = |value: &str| allowed.is_empty() || allowed.iter().any(|listed| ***listed == *value);
    let values: Vec<Text> = view
        .domains(&key)
        .map(|(value, _)| value)
        .filter(|value| is_allowed(value))
        .map(Text::from)
        .collect();
    let draw = ctx.draws.draw(claim.meta.uid.as_str(), Purpose::Zone, 0).below(values.len() as u64);
    let at = usize::try_from(draw).expect("less than the number of zones");
    values.get(at).map(|value| (key, value.clone()))
}

/// The node label by which a driver tells zones apart: as its nodes say, else the usual one.
fn topology_key(view: &View, driver: &str) -> Option<Text> {
    let said = view.csi_nodes.sorted().into_iter().find_map(|(_, node)| {
        let found = node.spec.drivers.iter().find(|found| &*found.name == driver)?;
        found.topology_keys.iter().find(|key| view.domains(key).next().is_some()).cloned()
    });
    said.or_else(|| view.domains(LABEL_ZONE).next().map(|_| Text::from(LABEL_ZONE)))
}

fn volume_for(
    claim: &PersistentVolumeClaim,
    class: &StorageClass,
    name: &Name,
    segment: Option<(Text, Text)>,
) -> PersistentVolume {
    let required = segment.map(|(key, value)| NodeSelector {
        node_selector_terms: vec![NodeSelectorTerm {
            match_expressions: vec![NodeSelectorRequirement {
                key,
                operator: NodeSelectorOperator::In,
                values: vec![value],
            }],
            ..NodeSelectorTerm::default()
        }],
    });
    let mut capacity = replank_model::object::resources::Resources::default();
    capacity.set("storage", claim.spec.resources.requests.get("storage").cloned().unwrap_or_default());
    let meta = Meta { name: name.clone(), ..Meta::default() };
    let meta = Meta { annotations: meta.annotations.with(MADE_BY, class.provisioner.clone()), ..meta };
    PersistentVolume {
        meta,
        spec: VolumeSpec {
            capacity,
            access_modes: claim.spec.access_modes.clone(),
            storage_class_name: class.meta.name.clone(),
            claim_ref: Some(ClaimRef {
                namespace: claim.meta.namespace.text().clone(),
                name: claim.meta.name.clone(),
                uid: claim.meta.uid.clone(),
            }),
            persistent_volume_reclaim_policy: Some(class.reclaim_policy.unwrap_or(ReclaimPolicy::Delete)),
            volume_mode: claim.spec.volume_mode.clone(),
            node_affinity: required.map(|required| VolumeNodeAffinity { required: Some(required) }),
            csi: Some(CsiVolume {
                driver: class.provisioner.clone(),
                volume_handle: Text::from(format!("vol-{name}")),
                read_only: false,
            }),
            ..VolumeSpec::default()
        },
        ..PersistentVolume::default()
    }
}

/// A released volume's storage is deleted, by the driver that made it; nobody deletes storage that was made by hand.
pub(super) fn begin_reclaim(ctx: &mut Ctx<'_>, slot: u32, volume: &PersistentVolume, timings: CloudTimings) {
    if volume.meta.annotations.contains_key(MADE_BY) || volume.spec.csi.is_some() {
        let span = timings.provision.draw(ctx.draws.draw(volume.meta.uid.as_str(), Purpose::Volume, 1));
        return later(ctx, span, Due::Reclaimed(slot));
    }
    let written = ctx.api.modify::<PersistentVolume>(&volume.meta.key(), |volume| {
        volume.status.phase = Some(VolumePhase::Failed);
    });
    debug_assert!(written.is_ok(), "the volume was just read");
}

/// The storage of a released volume is gone, and the volume with it; one that is still attached is tried again.
pub(super) fn reclaim(ctx: &mut Ctx<'_>, slot: u32) {
    let ix = Ix::<PersistentVolume>::new(slot);
    let Some(volume) = ctx.view().persistent_volumes.get(ix).cloned() else { return };
    if volume.status.phase != Some(VolumePhase::Released) || volume.meta.is_terminating() {
        return;
    }
    let is_attached = ctx.view().volume_attachments.unordered().any(|(_, attachment)| {
        attachment.spec.source.persistent_volume_name.as_ref() == Some(&volume.meta.name)
    });
    if is_attached {
        return later(ctx, replank_model::time::Span::from_secs(5), Due::Reclaimed(slot));
    }
    let deleted = ctx.api.delete(Kind::PersistentVolume, &volume.meta.key(), &DeleteOptions::default());
    debug_assert!(deleted.is_ok(), "the volume was just read");
}

/// Makes the claims of a pod's ephemeral volumes; they belong to the pod and go with it.
pub(super) fn make_ephemeral(ctx: &mut Ctx<'_>, slot: u32) {
    let Some(pod) = ctx.view().pods.get(Ix::<Pod>::new(slot)).cloned() else { return };
    if pod.is_terminating() || pod.is_terminal() {
        return;
    }
    for volume in &pod.spec.volumes {
        let template =
            volume.source.ephemeral.as_ref().and_then(|source| source.volume_claim_template.clone());
        let (Some(template), Some(name)) = (template, claim_name(&pod, volume)) else { continue };
        let key = Key { namespace: pod.meta.namespace.clone(), name };
        if ctx.view().persistent_volume_claims.find(&key).is_some() {
            continue;
        }
        let owner = OwnerReference {
            api_version: Text::from("v1"),
            kind: Text::from("Pod"),
            name: pod.meta.name.clone(),
            uid: pod.meta.uid.clone(),
            controller: Some(true),
            block_owner_deletion: Some(true),
        };
        let claim = PersistentVolumeClaim {
            meta: Meta {
                name: key.name,
                namespace: key.namespace,
                labels: template.meta.labels.clone(),
                annotations: template.meta.annotations.clone(),
                owner_references: vec![owner].into(),
                ..Meta::default()
            },
            spec: template.spec.clone(),
            ..PersistentVolumeClaim::default()
        };
        // A quota may refuse it; the pod then waits, as it would.
        let created: Result<Arc<PersistentVolumeClaim>, _> = ctx.api.create(claim);
        if let Err(error) = created {
            debug_assert!(error.code == 403, "only a quota or a namespace on its way out says no");
        }
    }
}
