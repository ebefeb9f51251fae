//! How many volumes are attached to a node, and how many it takes.

use replank_model::object::meta::{Key, Meta};
use replank_model::object::pod::Pod;
use replank_model::object::volume::{CsiNode, PersistentVolumeClaim};
use replank_model::text::{self, Name, Text};
use replank_model::view::View;

use super::plan::{BETA_STORAGE_CLASS, claim_name};
use super::translate::{Kind, inline_handle, volume_handle};

/// A volume as its driver knows it: driver and handle.
pub(super) type Handle = (Text, Text);

/// What is attached to one node.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Attached {
    /// Volumes of the pods on the node, sorted, each once.
    handles: Vec<Handle>,
    /// Only drivers with a limit.
    drivers: Vec<Driver>,
}

/// How many volumes a driver takes on the node, and how many it has, volumes of nobody's pod included.
#[derive(Clone, Debug)]
struct Driver {
    name: Text,
    most: i64,
    has: i64,
}

impl Attached {
    /// Of a node with these pods.
    pub(super) fn of_node<'a>(
        view: &View,
        csi_node: Option<&CsiNode>,
        attachments: &[(Text, Name)],
        pods: impl Iterator<Item = &'a Pod>,
    ) -> Self {
        let mut attached = Self::default();
        let Some(csi_node) = csi_node else { return attached };
        attached.drivers = limits(csi_node);
        if attached.drivers.is_empty() {
            return attached;
        }
        for pod in pods {
            handles_of(view, pod, &mut attached.handles);
        }
        sort(&mut attached.handles);
        for (driver, _) in &attached.handles {
            if let Some(driver) = driver_of(&mut attached.drivers, driver) {
                driver.has += 1;
            }
        }
        let mut beside: Vec<Handle> = Vec::new();
        for (driver, volume) in attachments {
            let volume = view.persistent_volumes.by_key(&Key::cluster(volume.clone()));
            if let Some(csi) = volume.and_then(|volume| volume.spec.csi.as_ref()) {
                beside.push((driver.clone(), csi.volume_handle.clone()));
            }
        }
        sort(&mut beside);
        for handle in &beside {
            if attached.handles.binary_search(handle).is_err()
                && let Some(driver) = driver_of(&mut attached.drivers, &handle.0)
            {
                driver.has += 1;
            }
        }
        attached
    }

    /// Whether these volumes can be attached too.
    pub(super) fn takes(&self, new: &[Handle]) -> bool {
        self.drivers.iter().all(|driver| {
            let of_driver = || new.iter().filter(|handle| text::same(&handle.0, &driver.name));
            let has_room =
                |more: usize| i64::try_from(more).is_ok_and(|more| driver.has + more <= driver.most);
            let is_new = |handle: &&Handle| self.handles.binary_search(handle).is_err();
            // Where there is room for all of them, nobody needs to know which are there already.
            has_room(of_driver().count()) || {
                let more = of_driver().filter(is_new).count();
                more == 0 || has_room(more)
            }
        })
    }

    /// How many pods can have so many volumes attached each where none is there already, as far as the drivers of these mind.
    pub(super) fn takes_times(&self, new: &[Handle], each: usize) -> u64 {
        let is_concerned = |driver: &&Driver| new.iter().any(|handle| text::same(&handle.0, &driver.name));
        let left = self.drivers.iter().filter(is_concerned).map(|driver| driver.most - driver.has).min();
        let each = u64::try_from(each.max(1)).unwrap_or(u64::MAX);
        left.map_or(u64::MAX, |left| u64::try_from(left).unwrap_or(0) / each)
    }
}

fn sort(handles: &mut Vec<Handle>) {
    handles.sort();
    handles.dedup();
}

fn driver_of<'a>(drivers: &'a mut [Driver], name: &Text) -> Option<&'a mut Driver> {
    drivers.iter_mut().find(|driver| text::same(&driver.name, name))
}

fn limits(node: &CsiNode) -> Vec<Driver> {
    let mut drivers: Vec<Driver> = Vec::new();
    for driver in &node.spec.drivers {
        let Some(most) = driver.allocatable.as_ref().and_then(|allocatable| allocatable.count) else {
            continue;
        };
        // Of two with one name the later counts.
        drivers.retain(|known| known.name != driver.name);
        drivers.push(Driver { name: driver.name.clone(), most: most.into(), has: 0 });
    }
    drivers
}

/// The volumes of a pod, each once, sorted.
pub(super) fn sorted_handles(view: &View, pod: &Pod) -> Vec<Handle> {
    let mut handles = Vec::new();
    handles_of(view, pod, &mut handles);
    sort(&mut handles);
    handles
}

/// Adds the volumes of a pod whose driver and handle are known (`filterAttachableVolumes`).
fn handles_of(view: &View, pod: &Pod, handles: &mut Vec<Handle>) {
    for volume in &pod.spec.volumes {
        match claim_name(pod, volume) {
            Some(name) => {
                let key = Key::new(pod.meta.namespace.clone(), name);
                let claim = view.persistent_volume_claims.by_key(&key);
                handles.extend(claim.and_then(|claim| handle_of_claim(view, claim)));
            }
            None => {
                let inline = inline_handle(&volume.source);
                handles.extend(inline.map(|(driver, handle)| (Text::from(driver), handle)));
            }
        }
    }
}

/// Driver and handle of a claim's volume, or of the volume that will be made for it (`getCSIDriverInfo`).
fn handle_of_claim(view: &View, claim: &PersistentVolumeClaim) -> Option<Handle> {
    let volume = &claim.spec.volume_name;
    let volume =
        (!volume.is_empty()).then(|| view.persistent_volumes.by_key(&Key::cluster(volume.clone()))).flatten();
    let handle = match volume {
        Some(volume) => match &volume.spec.csi {
            Some(csi) => Some((csi.driver.clone(), csi.volume_handle.clone())),
            None => volume_handle(volume).map(|(driver, handle)| (Text::from(driver), handle)),
        },
        None => {
            let class = class_of(&claim.meta, claim.spec.storage_class_name.as_ref());
            let class = view.storage_classes.by_key(&Key::cluster(class?))?;
            let driver = match Kind::of_provisioner(&class.provisioner) {
                Some(kind) => Text::from(kind.driver()?),
                None => class.provisioner.clone(),
            };
            // No driver's handle has this form, so that a claim without volume is one volume of its own.
            Some((driver, format!("\0{}", claim.meta.key()).into()))
        }
    };
    handle.filter(|(driver, handle)| !driver.is_empty() && !handle.is_empty())
}

/// The storage class of a claim or volume; `None` for none.
pub(super) fn class_of(meta: &Meta, named: Option<&Name>) -> Option<Name> {
    let annotated = meta.annotations.get(BETA_STORAGE_CLASS).map(|class| Name::new(class.clone()));
    annotated.or_else(|| named.cloned()).filter(|class| !class.is_empty())
}
