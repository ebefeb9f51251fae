//! Disks of old kinds: which exclude each other, and how the CSI drivers that serve them see them.

use std::collections::BTreeSet;

use replank_model::object::affinity::{NodeSelectorOperator, NodeSelectorRequirement, NodeSelectorTerm};
use replank_model::object::volume::{PersistentVolume, VolumeSource};

pub(super) const ZONE_LABELS: [&str; 4] = [
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
];

/// Disks that only one pod of a node may use.
pub(super) fn is_restricted(source: &VolumeSource) -> bool {
    source.aws_elastic_block_store.is_some()
        || source.gce_persistent_disk.is_some()
        || source.iscsi.is_some()
        || source.rbd.is_some()
}

pub(super) fn conflict(a: &VolumeSource, b: &VolumeSource) -> bool {
    if let (Some(a), Some(b)) = (&a.aws_elastic_block_store, &b.aws_elastic_block_store) {
        return a.volume_id == b.volume_id;
    }
    let (is_same, only_read) = match (a, b) {
        (VolumeSource { iscsi: Some(a), .. }, VolumeSource { iscsi: Some(b), .. }) => {
            (a.iqn == b.iqn, a.read_only && b.read_only)
        }
        (
            VolumeSource { gce_persistent_disk: Some(a), .. },
            VolumeSource { gce_persistent_disk: Some(b), .. },
        ) => (a.pd_name == b.pd_name, a.read_only && b.read_only),
        (VolumeSource { rbd: Some(a), .. }, VolumeSource { rbd: Some(b), .. }) => {
            let meet = a.monitors.iter().any(|monitor| b.monitors.contains(monitor));
            (meet && (&a.pool, &a.image) == (&b.pool, &b.image), a.read_only && b.read_only)
        }
        _ => (false, false),
    };
    is_same && !only_read
}

/// A disk as the driver that took over from the old plugin sees it.
pub(super) struct Disk {
    pub(super) plugin: &'static str,
    /// Empty where volumes of the driver are not counted.
    pub(super) driver: &'static str,
    zone_key: Option<&'static str>,
    pub(super) handle: Option<String>,
}

/// The drivers: old plugin, new driver, the node label that tells its zones.
const DRIVERS: [(&str, &str, Option<&str>); 7] = [
    ("kubernetes.io/aws-ebs", "ebs.csi.aws.com", Some("topology.ebs.csi.aws.com/zone")),
    ("kubernetes.io/gce-pd", "pd.csi.storage.gke.io", Some("topology.gke.io/zone")),
    ("kubernetes.io/azure-disk", "disk.csi.azure.com", None),
    ("kubernetes.io/cinder", "cinder.csi.openstack.org", Some("topology.cinder.csi.openstack.org/zone")),
    ("kubernetes.io/portworx-volume", "pxd.portworx.com", None),
    ("kubernetes.io/azure-file", "", None),
    ("kubernetes.io/vsphere-volume", "", None),
];

/// The driver that took over from an old provisioner; empty where its volumes are not counted.
pub(super) fn successor(provisioner: &str) -> Option<&'static str> {
    DRIVERS.iter().find(|(plugin, _, _)| *plugin == provisioner).map(|(_, driver, _)| *driver)
}

fn disk(number: usize, handle: Option<String>) -> Disk {
    let (plugin, driver, zone_key) = DRIVERS[number];
    Disk { plugin, driver, zone_key, handle }
}

fn ebs_handle(id: &str) -> Option<String> {
    let Some(path) = id.strip_prefix("aws://") else { return Some(id.to_owned()) };
    let (_, name) = path.split_once('/')?;
    let name = name.trim_matches('/');
    (name.starts_with("vol-") && !name.contains('/')).then(|| name.to_owned())
}

pub(super) fn inline(source: &VolumeSource) -> Option<Disk> {
    let text = |text: &str| Some(text.to_owned());
    let found = if let Some(disk) = &source.aws_elastic_block_store {
        (0, ebs_handle(&disk.volume_id))
    } else if let Some(disk) = &source.gce_persistent_disk {
        (1, Some(format!("zone UNSPECIFIED {}", disk.pd_name)))
    } else if let Some(disk) = &source.azure_disk {
        (2, text(&disk.disk_uri))
    } else if let Some(disk) = &source.cinder {
        (3, text(&disk.volume_id))
    } else if let Some(disk) = &source.portworx_volume {
        (4, text(&disk.volume_id))
    } else if source.azure_file.is_some() {
        (5, None)
    } else if source.vsphere_volume.is_some() {
        (6, None)
    } else {
        return None;
    };
    Some(disk(found.0, found.1))
}

pub(super) fn of(volume: &PersistentVolume) -> Option<Disk> {
    let spec = &volume.spec;
    let text = |text: &str| Some(text.to_owned());
    let found = if let Some(disk) = &spec.aws_elastic_block_store {
        (0, ebs_handle(&disk.volume_id))
    } else if let Some(disk) = &spec.gce_persistent_disk {
        let [beta, _, stable, _] = ZONE_LABELS;
        let labels = [volume.meta.labels.value(beta), volume.meta.labels.value(stable)];
        let zones = labels.into_iter().flatten().find(|zones| !zones.is_empty()).unwrap_or("UNSPECIFIED");
        // A disk in several zones is one of a region, which is told from its first zone.
        let place = match zones.split_once("__") {
            Some((first, _)) => {
                format!("region {}", first.rsplit_once('-').map_or(first, |(region, _)| region))
            }
            None => format!("zone {zones}"),
        };
        (1, Some(format!("{place} {}", disk.pd_name)))
    } else if let Some(disk) = &spec.azure_disk {
        (2, text(&disk.disk_uri))
    } else if let Some(disk) = &spec.cinder {
        (3, text(&disk.volume_id))
    } else if let Some(disk) = &spec.portworx_volume {
        (4, text(&disk.volume_id))
    } else if spec.azure_file.is_some() {
        (5, None)
    } else if spec.vsphere_volume.is_some() {
        (6, None)
    } else {
        return None;
    };
    Some(disk(found.0, found.1))
}

pub(super) fn terms_of(volume: &PersistentVolume) -> Option<Vec<NodeSelectorTerm>> {
    let required = volume.spec.node_affinity.as_ref().and_then(|affinity| affinity.required.as_ref());
    required.map(|required| required.node_selector_terms.clone())
}

/// Where a disk can be reached from as its driver sees it: zones are told by a label of its own.
pub(super) fn translated(volume: &PersistentVolume, disk: &Disk) -> Option<Vec<NodeSelectorTerm>> {
    let mut terms = terms_of(volume);
    let Some(zone_key) = disk.zone_key else { return terms };
    let [beta, beta_region, stable, region] = ZONE_LABELS;
    let before = terms.clone();
    let wants = |key: &str, filled: bool| {
        let all = before.iter().flatten().flat_map(|term| &term.match_expressions);
        all.filter(|wanted| &*wanted.key == key).any(|wanted| !filled || !wanted.values.is_empty())
    };
    let labels = &volume.meta.labels;
    let is_old = !wants(stable, false)
        && (wants(beta, false) || (labels.value(stable).is_none() && labels.value(beta).is_some()));
    let key = if is_old { beta } else { stable };
    let mut rename = |from: &str, to: &str| {
        for wanted in terms.iter_mut().flatten().flat_map(|term| &mut term.match_expressions) {
            if &*wanted.key == from {
                wanted.key = to.into();
            }
        }
    };
    if is_old && wants(beta_region, true) {
        rename(beta_region, region);
    }
    if wants(key, true) {
        rename(key, zone_key);
        return terms;
    }
    let Some(zones) = labels.value(key) else { return terms };
    let values: BTreeSet<&str> = zones.split("__").map(str::trim).filter(|zone| !zone.is_empty()).collect();
    if values.is_empty() {
        return terms;
    }
    let wanted = NodeSelectorRequirement {
        key: zone_key.into(),
        operator: NodeSelectorOperator::In,
        values: values.into_iter().map(Into::into).collect(),
    };
    let list = terms.get_or_insert_default();
    if list.is_empty() {
        list.push(NodeSelectorTerm::default());
    }
    list.iter_mut().for_each(|term| term.match_expressions.push(wanted.clone()));
    terms
}
