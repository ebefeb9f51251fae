//! Disks of old kinds, as the CSI drivers that serve them see them.
//!
//! Source: csi-translation-lib 1.36 (`plugins/*.go`).

use replank_model::object::affinity::{
    NodeSelector, NodeSelectorOperator, NodeSelectorRequirement, NodeSelectorTerm,
};
use replank_model::object::node::{LABEL_REGION, LABEL_ZONE};
use replank_model::object::volume::{PersistentVolume, VolumeSource};
use replank_model::text::Text;

pub(super) const BETA_ZONE: &str = "failure-domain.beta.kubernetes.io/zone";
pub(super) const BETA_REGION: &str = "failure-domain.beta.kubernetes.io/region";
/// Separates zones in a volume's zone label.
pub(super) const ZONES_SEPARATOR: &str = "__";
const UNSPECIFIED: &str = "UNSPECIFIED";

/// A kind of disk that a CSI driver serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    AwsEbs,
    GcePd,
    AzureDisk,
    AzureFile,
    Cinder,
    Portworx,
    Vsphere,
}

const ALL: [Kind; 7] = [
    Kind::AwsEbs,
    Kind::GcePd,
    Kind::AzureDisk,
    Kind::AzureFile,
    Kind::Cinder,
    Kind::Portworx,
    Kind::Vsphere,
];

impl Kind {
    /// The old provisioner's name.
    pub(super) fn plugin(self) -> &'static str {
        match self {
            Self::AwsEbs => "kubernetes.io/aws-ebs",
            Self::GcePd => "kubernetes.io/gce-pd",
            Self::AzureDisk => "kubernetes.io/azure-disk",
            Self::AzureFile => "kubernetes.io/azure-file",
            Self::Cinder => "kubernetes.io/cinder",
            Self::Portworx => "kubernetes.io/portworx-volume",
            Self::Vsphere => "kubernetes.io/vsphere-volume",
        }
    }

    /// The CSI driver, where the scheduler counts its volumes and knows its topology (`isCSIMigrationOn`).
    pub(super) fn driver(self) -> Option<&'static str> {
        match self {
            Self::AwsEbs => Some("ebs.csi.aws.com"),
            Self::GcePd => Some("pd.csi.storage.gke.io"),
            Self::AzureDisk => Some("disk.csi.azure.com"),
            Self::Cinder => Some("cinder.csi.openstack.org"),
            Self::Portworx => Some("pxd.portworx.com"),
            Self::AzureFile | Self::Vsphere => None,
        }
    }

    /// The node label that the driver understands as zone.
    fn topology_key(self) -> Option<&'static str> {
        match self {
            Self::AwsEbs => Some("topology.ebs.csi.aws.com/zone"),
            Self::GcePd => Some("topology.gke.io/zone"),
            Self::Cinder => Some("topology.cinder.csi.openstack.org/zone"),
            Self::AzureDisk | Self::AzureFile | Self::Portworx | Self::Vsphere => None,
        }
    }

    pub(super) fn of_provisioner(name: &str) -> Option<Self> {
        ALL.into_iter().find(|kind| kind.plugin() == name)
    }

    fn of_source(source: &VolumeSource) -> Option<Self> {
        let is = |is: bool, kind: Kind| is.then_some(kind);
        is(source.aws_elastic_block_store.is_some(), Self::AwsEbs)
            .or(is(source.gce_persistent_disk.is_some(), Self::GcePd))
            .or(is(source.azure_disk.is_some(), Self::AzureDisk))
            .or(is(source.azure_file.is_some(), Self::AzureFile))
            .or(is(source.cinder.is_some(), Self::Cinder))
            .or(is(source.portworx_volume.is_some(), Self::Portworx))
            .or(is(source.vsphere_volume.is_some(), Self::Vsphere))
    }

    pub(super) fn of_volume(volume: &PersistentVolume) -> Option<Self> {
        let spec = &volume.spec;
        let is = |is: bool, kind: Kind| is.then_some(kind);
        is(spec.aws_elastic_block_store.is_some(), Self::AwsEbs)
            .or(is(spec.gce_persistent_disk.is_some(), Self::GcePd))
            .or(is(spec.azure_disk.is_some(), Self::AzureDisk))
            .or(is(spec.azure_file.is_some(), Self::AzureFile))
            .or(is(spec.cinder.is_some(), Self::Cinder))
            .or(is(spec.portworx_volume.is_some(), Self::Portworx))
            .or(is(spec.vsphere_volume.is_some(), Self::Vsphere))
    }
}

/// Whether an inline volume is of a kind that a CSI driver serves (`IsInlineMigratable`).
pub(in super::super) fn is_migratable(source: &VolumeSource) -> bool {
    Kind::of_source(source).is_some()
}

/// Driver and handle of an inline disk.
pub(super) fn inline_handle(source: &VolumeSource) -> Option<(&'static str, Text)> {
    let kind = Kind::of_source(source)?;
    let handle = match kind {
        Kind::AwsEbs => ebs_handle(&source.aws_elastic_block_store.as_ref()?.volume_id)?,
        Kind::GcePd => gce_handle(UNSPECIFIED, &source.gce_persistent_disk.as_ref()?.pd_name),
        Kind::AzureDisk => source.azure_disk.as_ref()?.disk_uri.clone(),
        Kind::Cinder => source.cinder.as_ref()?.volume_id.clone(),
        Kind::Portworx => source.portworx_volume.as_ref()?.volume_id.clone(),
        Kind::AzureFile | Kind::Vsphere => return None,
    };
    Some((kind.driver()?, handle))
}

/// Driver and handle of a volume of an old kind.
pub(super) fn volume_handle(volume: &PersistentVolume) -> Option<(&'static str, Text)> {
    let kind = Kind::of_volume(volume)?;
    let spec = &volume.spec;
    let handle = match kind {
        Kind::AwsEbs => ebs_handle(&spec.aws_elastic_block_store.as_ref()?.volume_id)?,
        Kind::GcePd => {
            let disk = &spec.gce_persistent_disk.as_ref()?.pd_name;
            let label = |key: &str| volume.meta.labels.value(key).filter(|zones| !zones.is_empty());
            match label(BETA_ZONE).or(label(LABEL_ZONE)) {
                None => gce_handle(UNSPECIFIED, disk),
                Some(zones) => match zones.split(ZONES_SEPARATOR).collect::<Vec<_>>().as_slice() {
                    [zone] => gce_handle(zone, disk),
                    [first, ..] => {
                        let region = first.rsplit_once('-').map_or(*first, |(region, _)| region);
                        format!("projects/{UNSPECIFIED}/regions/{region}/disks/{disk}").into()
                    }
                    [] => return None,
                },
            }
        }
        Kind::AzureDisk => spec.azure_disk.as_ref()?.disk_uri.clone(),
        Kind::Cinder => spec.cinder.as_ref()?.volume_id.clone(),
        Kind::Portworx => spec.portworx_volume.as_ref()?.volume_id.clone(),
        Kind::AzureFile | Kind::Vsphere => return None,
    };
    Some((kind.driver()?, handle))
}

fn gce_handle(zone: &str, disk: &str) -> Text {
    format!("projects/{UNSPECIFIED}/zones/{zone}/disks/{disk}").into()
}

/// `aws://zone/vol-id` names the same volume as `vol-id` (`KubernetesVolumeIDToEBSVolumeID`).
fn ebs_handle(id: &Text) -> Option<Text> {
    let Some(rest) = id.strip_prefix("aws://") else { return Some(id.clone()) };
    let path = rest.split_once('/').map_or("", |(_, path)| path).trim_matches('/');
    (path.starts_with("vol-") && !path.contains('/')).then(|| Text::from(path))
}

/// The node affinity of a volume as the CSI driver writes it (`translateTopologyFromInTreeToCSI`).
pub(super) fn translated_affinity(volume: &PersistentVolume, kind: Kind) -> Option<NodeSelector> {
    let affinity = volume.spec.node_affinity.as_ref().and_then(|affinity| affinity.required.as_ref());
    let Some(key) = kind.topology_key() else { return affinity.cloned() };
    let mut terms = affinity.cloned();
    let mentions = |key: &str| {
        let terms = affinity.into_iter().flat_map(|selector| &selector.node_selector_terms);
        terms.flat_map(|term| &term.match_expressions).any(|requirement| &*requirement.key == key)
    };
    let labels = &volume.meta.labels;
    let is_beta = !mentions(LABEL_ZONE)
        && (mentions(BETA_ZONE) || (!labels.contains_key(LABEL_ZONE) && labels.contains_key(BETA_ZONE)));
    let zone_key = if is_beta { BETA_ZONE } else { LABEL_ZONE };
    if has_values(affinity, zone_key) {
        rename(&mut terms, zone_key, key);
    } else if let Some(zones) = labels.value(zone_key) {
        add_zones(&mut terms, key, zones);
    }
    if is_beta && has_values(affinity, BETA_REGION) {
        rename(&mut terms, BETA_REGION, LABEL_REGION);
    }
    terms
}

fn has_values(affinity: Option<&NodeSelector>, key: &str) -> bool {
    let terms = affinity.into_iter().flat_map(|selector| &selector.node_selector_terms);
    terms
        .flat_map(|term| &term.match_expressions)
        .any(|requirement| &*requirement.key == key && !requirement.values.is_empty())
}

fn rename(affinity: &mut Option<NodeSelector>, from: &str, to: &str) {
    let terms = affinity.iter_mut().flat_map(|selector| &mut selector.node_selector_terms);
    for requirement in terms.flat_map(|term| &mut term.match_expressions) {
        if &*requirement.key == from {
            requirement.key = Text::from(to);
        }
    }
}

fn add_zones(affinity: &mut Option<NodeSelector>, key: &str, zones: &str) {
    let mut values: Vec<Text> =
        zones.split(ZONES_SEPARATOR).map(str::trim).filter(|zone| !zone.is_empty()).map(Text::from).collect();
    values.sort();
    values.dedup();
    if values.is_empty() {
        return;
    }
    let selector = affinity.get_or_insert_default();
    if selector.node_selector_terms.is_empty() {
        selector.node_selector_terms.push(NodeSelectorTerm::default());
    }
    let requirement =
        NodeSelectorRequirement { key: Text::from(key), operator: NodeSelectorOperator::In, values };
    for term in &mut selector.node_selector_terms {
        term.match_expressions.push(requirement.clone());
    }
}

#[cfg(test)]
mod tests {
    use replank_model::object::volume::AwsElasticBlockStore;

    use super::*;

    fn ebs(labels: &[(&str, &str)], id: &str) -> PersistentVolume {
        let mut volume = PersistentVolume::default();
        volume.meta.labels = labels.iter().copied().collect();
        volume.spec.aws_elastic_block_store =
            Some(AwsElasticBlockStore { volume_id: id.into(), ..Default::default() });
        volume
    }

    #[test]
    fn a_zone_label_becomes_affinity_to_the_drivers_topology() {
        let volume = ebs(&[(LABEL_ZONE, "eu-west-1b__eu-west-1a")], "aws://eu-west-1a/vol-1");
        let affinity = translated_affinity(&volume, Kind::AwsEbs).expect("made of the label");
        let requirement = &affinity.node_selector_terms[0].match_expressions[0];
        assert_eq!(&*requirement.key, "topology.ebs.csi.aws.com/zone");
        assert_eq!(requirement.values.iter().map(|v| &**v).collect::<Vec<_>>(), ["eu-west-1a", "eu-west-1b"]);
        assert_eq!(volume_handle(&volume), Some(("ebs.csi.aws.com", "vol-1".into())));
    }

    #[test]
    fn what_is_no_volume_id_has_no_handle() {
        assert_eq!(volume_handle(&ebs(&[], "aws://eu-west-1a/disk")), None);
        assert_eq!(volume_handle(&ebs(&[], "vol-7")), Some(("ebs.csi.aws.com", "vol-7".into())));
    }
}
