//! Attaching volumes to nodes and taking them off again (pkg/controller/volume/attachdetach, external-attacher).
//!
//! A volume is attached where a bound pod uses it, and taken off when none does any more. A volume of one node at a time
//! waits until it is off the old node. A kubelet that is not heard of does not say that it has let go: its volumes are
//! taken off by force after 6 minutes, or at once if somebody has declared the node out of service.

use std::collections::BTreeSet;

use replank_model::object::Kind;
use replank_model::object::meta::{Key, Meta};
use replank_model::object::node::{AttachedVolume, Node};
use replank_model::object::pod::Pod;
use replank_model::object::volume::{
    PersistentVolume, VolumeAttachment, VolumeAttachmentSource, VolumeAttachmentSpec, VolumeAttachmentStatus,
};
use replank_model::text::{Name, NodeName, Text};
use replank_model::time::Span;
use replank_model::view::{Ix, View};

use super::Due;
use super::bind::{is_exclusive, volume_named};
use super::users::{Users, claims_of};
use crate::controllers::Ctx;
use crate::event::ControlDue;
use crate::event::Event;
use crate::timing::CloudTimings;
use replank_apiserver::DeleteOptions;

pub(super) use super::attachments::Attachments;
use super::attachments::{Attachment, State};

/// Time after which a volume is taken off a node that does not let go (`maxWaitForUnmountDuration`).
const FORCE_AFTER: Span = Span::from_minutes(6);
/// What the names begin with under which nodes list their volumes.
const PREFIX: &str = "kubernetes.io/csi/";
/// Taint of a node that somebody has declared dead.
const OUT_OF_SERVICE: &str = "node.kubernetes.io/out-of-service";

impl Attachments {
    /// Takes in what is attached at the beginning: what attachments say, and what running pods must have.
    pub(super) fn start(&mut self, ctx: &mut Ctx<'_>, users: &Users, timings: CloudTimings) {
        let objects: Vec<_> =
            ctx.view().volume_attachments.sorted().into_iter().map(|(_, o)| o.clone()).collect();
        for object in objects {
            let Some(name) = object.spec.source.persistent_volume_name.clone() else { continue };
            let node = object.spec.node_name.clone();
            let state = if object.status.attached { State::Attached } else { State::Attaching };
            let attachment = Attachment::new(state, Some(object.meta.name.clone()));
            self.by_volume.entry(name.clone()).or_default().insert(node.clone(), attachment);
            if state == State::Attaching {
                self.order(ctx, &name, &node, timings.attach);
            }
        }
        let volumes: Vec<_> =
            ctx.view().persistent_volumes.sorted().into_iter().map(|(_, v)| v.clone()).collect();
        for volume in &volumes {
            if unique_name(ctx.view(), volume).is_none() {
                continue;
            }
            let attached = self.by_volume.entry(volume.meta.name.clone()).or_default();
            for node in
                claim_of(volume).map(|claim| users.running_nodes(ctx.view(), &claim)).unwrap_or_default()
            {
                attached.entry(node).or_insert_with(|| Attachment::new(State::Attached, None));
            }
            for (node, attachment) in attached {
                if attachment.state == State::Attached {
                    list_on_node(ctx, volume, node, true);
                }
            }
        }
        for (name, attached) in &self.by_volume {
            for node in attached.keys() {
                self.by_node.entry(node.clone()).or_default().insert(name.clone());
            }
        }
    }

    pub(super) fn node_changed(&mut self, ctx: &mut Ctx<'_>, old: Option<&Node>, new: &Node) {
        if is_out_of_service(new) && !old.is_some_and(is_out_of_service) {
            self.look_at_volumes_of(ctx, &new.name());
        }
    }

    /// Somebody has deleted an attachment: the volume is off.
    pub(super) fn deleted(&mut self, ctx: &mut Ctx<'_>, attachment: &VolumeAttachment) {
        let Some(name) = &attachment.spec.source.persistent_volume_name else { return };
        let node = &attachment.spec.node_name;
        let volume = volume_named(ctx.view(), name);
        let was_there = self.by_volume.get_mut(name).is_some_and(|attached| attached.remove(node).is_some());
        if let (Some(volume), true) = (volume, was_there) {
            let object = ctx.view().persistent_volumes[volume].clone();
            list_on_node(ctx, &object, node, false);
            self.look_at(ctx, volume.raw());
        }
    }

    /// Brings the attachments of a volume in line with its users.
    pub(super) fn reconcile(&mut self, ctx: &mut Ctx<'_>, slot: u32, users: &Users, timings: CloudTimings) {
        self.due.remove(&slot);
        let Some(volume) = ctx.view().persistent_volumes.get(Ix::<PersistentVolume>::new(slot)).cloned()
        else {
            return;
        };
        if unique_name(ctx.view(), &volume).is_none() {
            return;
        }
        let wanted = claim_of(&volume).map(|claim| users.nodes(&claim)).unwrap_or_default();
        self.take_off(ctx, slot, &volume, &wanted, timings);
        for node in wanted {
            let attached = self.by_volume.entry(volume.meta.name.clone()).or_default();
            let is_free = attached.is_empty() || !is_exclusive(&volume);
            if !attached.contains_key(&node) && is_free && ctx.view().node(&node).is_some() {
                self.put_on(ctx, &volume, &node, timings);
            }
        }
    }

    /// An attachment is done, or undone.
    pub(super) fn finish(&mut self, ctx: &mut Ctx<'_>, number: u32) {
        let Some((name, node)) = self.work.remove(&number) else { return };
        let Some(attached) = self.by_volume.get_mut(&name) else { return };
        let Some(attachment) = attached.get_mut(&node) else { return };
        let volume = volume_named(ctx.view(), &name);
        let object = attachment.object.clone();
        match attachment.state {
            State::Attaching => {
                attachment.state = State::Attached;
                if let Some(object) = object {
                    let written = ctx.api.modify::<VolumeAttachment>(&Key::cluster(object), |object| {
                        object.status.attached = true;
                    });
                    debug_assert!(written.is_ok(), "one that is deleted is forgotten");
                }
                let volume = volume.map(|ix| ctx.view().persistent_volumes[ix].clone());
                if let Some(volume) = volume {
                    list_on_node(ctx, &volume, &node, true);
                }
            }
            State::Attached => {}
            State::Detaching => {
                attached.remove(&node);
                if let Some(object) = object {
                    remove_object(ctx, object);
                }
            }
        }
        if let Some(volume) = volume {
            self.look_at(ctx, volume.raw());
        }
    }

    /// Takes a volume off the nodes that do not want it, as far as they have let go.
    fn take_off(
        &mut self,
        ctx: &mut Ctx<'_>,
        slot: u32,
        volume: &PersistentVolume,
        wanted: &BTreeSet<NodeName>,
        timings: CloudTimings,
    ) {
        let now = ctx.api.now();
        let Some(attached) = self.by_volume.get_mut(&volume.meta.name) else { return };
        let mut gone = Vec::new();
        for (node, attachment) in attached.iter_mut() {
            if wanted.contains(node) {
                attachment.unused_since = None;
                continue;
            }
            if attachment.state != State::Attached {
                continue;
            }
            if attachment.unused_since.is_none() {
                attachment.unused_since = Some(now);
                attachment.is_held = self.silent.contains(node);
            }
            let object = ctx.api.view().node(node);
            let is_forced = object.is_some_and(|node| is_out_of_service(node));
            let due = attachment.unused_since.unwrap_or(now) + FORCE_AFTER;
            if attachment.is_held && !is_forced && due > now {
                ctx.agenda.at(due, Event::Control(ControlDue::Volumes(Due::Attach(slot))));
                continue;
            }
            attachment.state = State::Detaching;
            gone.push((node.clone(), attachment.object.clone()));
        }
        for (node, object) in gone {
            list_on_node(ctx, volume, &node, false);
            if let Some(object) = object {
                mark_deleted(ctx, object);
            }
            self.order(ctx, &volume.meta.name, &node, timings.detach);
        }
    }

    fn put_on(
        &mut self,
        ctx: &mut Ctx<'_>,
        volume: &PersistentVolume,
        node: &NodeName,
        timings: CloudTimings,
    ) {
        let name = attachment_name(&volume.meta.name, node);
        let attaching = Attachment::new(State::Attaching, Some(name.clone()));
        self.by_volume.entry(volume.meta.name.clone()).or_default().insert(node.clone(), attaching);
        self.by_node.entry(node.clone()).or_default().insert(volume.meta.name.clone());
        let driver = driver(volume).unwrap_or_default();
        let attachment = VolumeAttachment {
            meta: Meta {
                name,
                finalizers: vec![Text::from(format!("external-attacher/{}", driver.replace('.', "-")))],
                ..Meta::default()
            },
            spec: VolumeAttachmentSpec {
                attacher: driver,
                node_name: node.clone(),
                source: VolumeAttachmentSource { persistent_volume_name: Some(volume.meta.name.clone()) },
            },
            status: VolumeAttachmentStatus { attached: false },
        };
        let created = ctx.api.create(attachment);
        debug_assert!(created.is_ok(), "one is made only where none is");
        self.order(ctx, &volume.meta.name, node, timings.attach);
    }
}

fn claim_of(volume: &PersistentVolume) -> Option<Key> {
    let kept = volume.spec.claim_ref.as_ref()?;
    Some(Key::new(kept.namespace.clone(), kept.name.clone()))
}

/// Asks for an attachment to be undone: its driver's finalizer holds the object until it is.
fn mark_deleted(ctx: &mut Ctx<'_>, name: Name) {
    let key = Key::cluster(name);
    let is_held =
        ctx.view().find::<VolumeAttachment>(&key).is_some_and(|object| !object.meta.finalizers.is_empty());
    if is_held {
        let deleted = ctx.api.delete(Kind::VolumeAttachment, &key, &DeleteOptions::default());
        debug_assert!(deleted.is_ok(), "it was just found");
    }
}

/// Takes out the object of an attachment that is undone.
fn remove_object(ctx: &mut Ctx<'_>, name: Name) {
    let key = Key::cluster(name);
    let Some(object) = ctx.view().find::<VolumeAttachment>(&key).cloned() else { return };
    let result = if object.meta.finalizers.is_empty() {
        ctx.api.delete(Kind::VolumeAttachment, &key, &DeleteOptions::default()).map(drop)
    } else {
        ctx.api.modify::<VolumeAttachment>(&key, |object| object.meta.finalizers.clear()).map(drop)
    };
    debug_assert!(result.is_ok(), "it was just found");
}

/// Whether all volumes of a pod are attached to its node, as the kubelet waits for
/// (pkg/kubelet/volumemanager `VerifyControllerAttachedVolume`).
pub(crate) fn is_attached(view: &View, pod: &Pod) -> bool {
    let claims = claims_of(pod);
    if claims.is_empty() {
        return true;
    }
    let Some(node) = pod.node.as_ref().and_then(|name| view.node(name)) else { return true };
    claims.iter().all(|key| {
        let Some(claim) = view.persistent_volume_claims.by_key(key) else { return false };
        let volume = volume_named(view, &claim.spec.volume_name).map(|ix| &view.persistent_volumes[ix]);
        match volume {
            None => false,
            Some(volume) => unique_name(view, volume).is_none_or(|name| {
                node.status.volumes_attached.iter().any(|attached| name.is(&attached.name))
            }),
        }
    })
}

/// The name under which a node lists a volume; `None` for volumes that are not attached
/// (pkg/volume/util `GetUniqueVolumeNameFromSpec`).
fn unique_name<'v>(view: &View, volume: &'v PersistentVolume) -> Option<UniqueName<'v>> {
    let driver = driver(volume)?;
    let object = view.csi_drivers.named(&driver);
    if object.is_some_and(|object| object.spec.attach_required == Some(false)) {
        return None;
    }
    let spec = &volume.spec;
    let handle = match (&spec.csi, &spec.aws_elastic_block_store, &spec.gce_persistent_disk) {
        (Some(csi), _, _) => &*csi.volume_handle,
        (None, Some(disk), _) => disk.volume_id.rsplit('/').next().unwrap_or_default(),
        (None, None, Some(disk)) => &*disk.pd_name,
        (None, None, None) => volume.meta.name.as_str(),
    };
    Some(UniqueName { driver, handle })
}

/// The name under which a node lists a volume, as long as it need not be written.
struct UniqueName<'v> {
    driver: Text,
    handle: &'v str,
}

impl UniqueName<'_> {
    /// Whether it is this one.
    fn is(&self, name: &str) -> bool {
        let driver_and_handle = name.strip_prefix(PREFIX).and_then(|rest| rest.strip_prefix(&*self.driver));
        driver_and_handle.and_then(|rest| rest.strip_prefix('^')) == Some(self.handle)
    }

    fn text(&self) -> Text {
        Text::from(format!("{PREFIX}{}^{}", self.driver, self.handle))
    }
}

/// The driver that attaches a volume; in-tree kinds are served by their CSI successors.
fn driver(volume: &PersistentVolume) -> Option<Text> {
    let spec = &volume.spec;
    match (&spec.csi, &spec.aws_elastic_block_store, &spec.gce_persistent_disk, &spec.azure_disk) {
        (Some(csi), _, _, _) => Some(csi.driver.clone()),
        (None, Some(_), _, _) => Some("ebs.csi.aws.com".into()),
        (None, None, Some(_), _) => Some("pd.csi.storage.gke.io".into()),
        (None, None, None, Some(_)) => Some("disk.csi.azure.com".into()),
        (None, None, None, None) => None,
    }
}

/// Attachments are named by a hash of what is attached where.
fn attachment_name(volume: &Name, node: &NodeName) -> Name {
    let hash = xxhash_rust::xxh3::xxh3_128(format!("{volume}@{node}").as_bytes());
    Name::from(format!("csi-{hash:032x}"))
}

fn is_out_of_service(node: &Node) -> bool {
    node.spec.taints.iter().any(|taint| &*taint.key == OUT_OF_SERVICE)
}

/// Writes in a node's status that a volume is attached to it, or is not.
fn list_on_node(ctx: &mut Ctx<'_>, volume: &PersistentVolume, node: &NodeName, is_there: bool) {
    let Some(name) = unique_name(ctx.view(), volume) else { return };
    let Some(known) = ctx.view().node(node) else { return };
    let is_listed = known.status.volumes_attached.iter().any(|attached| name.is(&attached.name));
    if is_listed == is_there {
        return;
    }
    let name = name.text();
    let written = ctx.api.modify::<Node>(&Key::cluster(node.text().clone()), |node| {
        node.status.volumes_attached.retain(|attached| *attached.name != *name);
        if is_there {
            node.status.volumes_attached.push(AttachedVolume { name });
        }
    });
    debug_assert!(written.is_ok(), "the node was just read");
}
