//! Volumes of pods, claims, persistent volumes and what the scheduler knows of storage.

use std::sync::Arc;

use crate::labels::{Annotations, Labels, TextMap};
use crate::list::List;
use crate::object::affinity::NodeSelector;
use crate::object::condition::Condition;
use crate::object::meta::Meta;
use crate::object::resources::ResourceRequirements;
use crate::object::resources::Resources;
use crate::quantity::Quantity;
use crate::selector::LabelSelector;
use crate::text::{Name, NodeName, Text, Uid};
use crate::time::Time;
use crate::wire::{wire, words};

words! {
    /// Who may mount a volume at once.
    pub enum AccessMode {
        /// One node, reading and writing.
        ReadWriteOnce = "ReadWriteOnce",
        /// Many nodes, reading.
        ReadOnlyMany = "ReadOnlyMany",
        /// Many nodes, reading and writing.
        ReadWriteMany = "ReadWriteMany",
        /// One pod, reading and writing.
        ReadWriteOncePod = "ReadWriteOncePod",
    }

    /// When a claim is bound.
    pub enum VolumeBindingMode {
        /// At once.
        Immediate = "Immediate",
        /// When a pod that uses it is placed.
        WaitForFirstConsumer = "WaitForFirstConsumer",
    }

    /// What becomes of a volume when its claim is gone.
    pub enum ReclaimPolicy {
        /// It stays.
        Retain = "Retain",
        /// It is deleted with its storage.
        Delete = "Delete",
        /// It is wiped (obsolete).
        Recycle = "Recycle",
    }

    /// `status.phase` of a claim.
    pub enum ClaimPhase {
        /// Not bound.
        Pending = "Pending",
        /// Bound to a volume.
        Bound = "Bound",
        /// Its volume is gone.
        Lost = "Lost",
    }

    /// `status.phase` of a volume.
    pub enum VolumePhase {
        /// Not yet looked at.
        Pending = "Pending",
        /// Free.
        Available = "Available",
        /// Bound to a claim.
        Bound = "Bound",
        /// Its claim is gone.
        Released = "Released",
        /// Reclaiming failed.
        Failed = "Failed",
    }
}

wire! {
    /// core/v1 VolumeSource: at most one member is there; kinds that no decision reads are only in the raw JSON.
    pub struct VolumeSource {
        /// A claim.
        pub persistent_volume_claim: Option<ClaimSource>,
        /// A claim that lives and dies with the pod.
        pub ephemeral: Option<EphemeralVolume>,
        /// Scratch space on the node; lost when the pod moves.
        pub empty_dir: Option<EmptyDir>,
        /// A directory of the node.
        pub host_path: Option<HostPath>,
        /// A volume of a CSI driver, inline.
        pub csi: Option<CsiInline>,
        /// An EBS volume, inline.
        pub aws_elastic_block_store: Option<AwsElasticBlockStore>,
        /// A GCE disk, inline.
        pub gce_persistent_disk: Option<GcePersistentDisk>,
        /// An Azure disk, inline.
        pub azure_disk: Option<AzureDisk>,
        /// An iSCSI target, inline.
        pub iscsi: Option<Iscsi>,
        /// A Ceph block device, inline.
        pub rbd: Option<Rbd>,
        /// An OpenStack volume, inline.
        pub cinder: Option<VolumeId>,
        /// A Portworx volume, inline.
        pub portworx_volume: Option<VolumeId>,
        /// An Azure file share, inline.
        pub azure_file: Option<AzureFile>,
        /// A vSphere disk, inline.
        pub vsphere_volume: Option<VsphereVolume>,
        /// The files of an image.
        pub image: Option<ImageVolume>,
    }

    /// What is read of core/v1 CinderVolumeSource and PortworxVolumeSource.
    pub struct VolumeId {
        /// Volume id.
        #[serde(rename = "volumeID")]
        pub volume_id: Text,
    }

    /// core/v1 AzureFileVolumeSource, the share.
    pub struct AzureFile {
        /// Share name.
        pub share_name: Text,
    }

    /// core/v1 VsphereVirtualDiskVolumeSource, the path.
    pub struct VsphereVolume {
        /// Path of the disk.
        pub volume_path: Text,
    }

    /// core/v1 ImageVolumeSource.
    pub struct ImageVolume {
        /// The image.
        pub reference: Text,
        /// When it is pulled.
        pub pull_policy: Text,
    }

    /// core/v1 PersistentVolumeClaimVolumeSource.
    pub struct ClaimSource {
        /// Name of the claim in the pod's namespace.
        pub claim_name: Name,
        /// Whether all mounts are read-only.
        pub read_only: bool,
    }

    /// core/v1 EmptyDirVolumeSource.
    pub struct EmptyDir {
        /// Empty for disk, `Memory` for memory.
        pub medium: Text,
        /// Upper bound.
        pub size_limit: Option<Quantity>,
    }

    /// core/v1 HostPathVolumeSource.
    pub struct HostPath {
        /// Path on the node.
        pub path: Text,
        /// What is to be there; empty means that nothing is checked.
        pub r#type: Text,
    }

    /// core/v1 CSIVolumeSource.
    pub struct CsiInline {
        /// Driver name.
        pub driver: Text,
    }

    /// core/v1 AWSElasticBlockStoreVolumeSource.
    pub struct AwsElasticBlockStore {
        /// Volume id.
        #[serde(rename = "volumeID")]
        pub volume_id: Text,
        /// Partition.
        pub partition: i32,
        /// Whether read-only.
        pub read_only: bool,
    }

    /// core/v1 GCEPersistentDiskVolumeSource.
    pub struct GcePersistentDisk {
        /// Disk name.
        pub pd_name: Text,
        /// Whether read-only.
        pub read_only: bool,
    }

    /// core/v1 AzureDiskVolumeSource.
    pub struct AzureDisk {
        /// Disk name.
        pub disk_name: Text,
        /// Disk URI.
        #[serde(rename = "diskURI")]
        pub disk_uri: Text,
    }

    /// core/v1 ISCSIVolumeSource.
    pub struct Iscsi {
        /// Portal.
        pub target_portal: Text,
        /// Qualified name.
        pub iqn: Text,
        /// Unit number.
        pub lun: i32,
        /// Whether read-only.
        pub read_only: bool,
    }

    /// core/v1 RBDVolumeSource.
    pub struct Rbd {
        /// Monitors.
        pub monitors: Vec<Text>,
        /// Pool.
        pub pool: Text,
        /// Image.
        pub image: Text,
        /// Whether read-only.
        pub read_only: bool,
    }

    /// core/v1 PersistentVolumeClaim.
    pub struct PersistentVolumeClaim {
        /// Metadata.
        #[serde(rename = "metadata")]
        pub meta: Meta,
        /// What is asked for.
        pub spec: ClaimSpec,
        /// What was given.
        pub status: ClaimStatus,
    }

    /// core/v1 EphemeralVolumeSource.
    pub struct EphemeralVolume {
        /// The claim that is made with the pod.
        pub volume_claim_template: Option<Arc<PersistentVolumeClaimTemplate>>,
    }

    /// core/v1 PersistentVolumeClaimTemplate.
    pub struct PersistentVolumeClaimTemplate {
        /// Metadata of the claim.
        #[serde(rename = "metadata")]
        pub meta: ClaimTemplateMeta,
        /// Spec of the claim.
        pub spec: ClaimSpec,
    }

    /// Metadata of a claim template.
    pub struct ClaimTemplateMeta {
        /// Name (StatefulSets).
        pub name: Name,
        /// Labels.
        pub labels: Labels,
        /// Annotations.
        pub annotations: Annotations,
    }

    /// core/v1 PersistentVolumeClaimSpec.
    pub struct ClaimSpec {
        /// Who may mount it.
        pub access_modes: Vec<AccessMode>,
        /// Which volumes are acceptable.
        pub selector: Option<LabelSelector>,
        /// How much.
        pub resources: ResourceRequirements,
        /// The volume it is bound to.
        pub volume_name: Name,
        /// Absent: the default class; empty: no class.
        pub storage_class_name: Option<Name>,
        /// Filesystem or Block.
        pub volume_mode: Option<Text>,
        /// The class of attributes that the volume must have.
        pub volume_attributes_class_name: Option<Name>,
    }

    /// core/v1 PersistentVolumeClaimStatus.
    pub struct ClaimStatus {
        /// Where it is in its life; absent reads as Pending.
        pub phase: Option<ClaimPhase>,
        /// What it has.
        pub capacity: Resources,
        /// Who may mount it.
        pub access_modes: Vec<AccessMode>,
        /// Conditions.
        pub conditions: List<Condition>,
    }

    /// core/v1 PersistentVolume.
    pub struct PersistentVolume {
        /// Metadata.
        #[serde(rename = "metadata")]
        pub meta: Meta,
        /// What it is.
        pub spec: VolumeSpec,
        /// How it is.
        pub status: VolumeStatus,
    }

    /// core/v1 PersistentVolumeSpec.
    pub struct VolumeSpec {
        /// Size.
        pub capacity: Resources,
        /// Who may mount it.
        pub access_modes: Vec<AccessMode>,
        /// Class.
        pub storage_class_name: Name,
        /// The claim it is bound to or kept for.
        pub claim_ref: Option<ClaimRef>,
        /// What becomes of it afterwards.
        pub persistent_volume_reclaim_policy: Option<ReclaimPolicy>,
        /// Filesystem or Block.
        pub volume_mode: Option<Text>,
        /// The class of attributes it was made with.
        pub volume_attributes_class_name: Option<Name>,
        /// Where it can be reached from.
        pub node_affinity: Option<VolumeNodeAffinity>,
        /// A volume of a CSI driver.
        pub csi: Option<CsiVolume>,
        /// An EBS volume.
        pub aws_elastic_block_store: Option<AwsElasticBlockStore>,
        /// A GCE disk.
        pub gce_persistent_disk: Option<GcePersistentDisk>,
        /// An Azure disk.
        pub azure_disk: Option<AzureDisk>,
        /// An OpenStack volume.
        pub cinder: Option<VolumeId>,
        /// A Portworx volume.
        pub portworx_volume: Option<VolumeId>,
        /// An Azure file share.
        pub azure_file: Option<AzureFile>,
        /// A vSphere disk.
        pub vsphere_volume: Option<VsphereVolume>,
        /// A directory or disk of one node.
        pub local: Option<HostPath>,
        /// A directory of whichever node.
        pub host_path: Option<HostPath>,
    }

    /// The claim that a volume belongs to (core/v1 ObjectReference).
    pub struct ClaimRef {
        /// Namespace of the claim.
        pub namespace: Text,
        /// Name of the claim.
        pub name: Name,
        /// Uid of the claim; empty while only kept for it.
        pub uid: Uid,
    }

    /// core/v1 VolumeNodeAffinity.
    pub struct VolumeNodeAffinity {
        /// Which nodes reach it.
        pub required: Option<NodeSelector>,
    }

    /// core/v1 CSIPersistentVolumeSource.
    pub struct CsiVolume {
        /// Driver name.
        pub driver: Text,
        /// The driver's name for the volume.
        pub volume_handle: Text,
        /// Whether read-only.
        pub read_only: bool,
    }

    /// core/v1 PersistentVolumeStatus.
    pub struct VolumeStatus {
        /// Where it is in its life; absent reads as Pending.
        pub phase: Option<VolumePhase>,
        /// Since when.
        pub last_phase_transition_time: Option<Time>,
    }

    /// storage.k8s.io/v1 StorageClass.
    pub struct StorageClass {
        /// Metadata.
        #[serde(rename = "metadata")]
        pub meta: Meta,
        /// Who makes the volumes.
        pub provisioner: Text,
        /// When claims are bound; absent means Immediate.
        pub volume_binding_mode: Option<VolumeBindingMode>,
        /// What becomes of volumes; absent means Delete.
        pub reclaim_policy: Option<ReclaimPolicy>,
        /// Where volumes may be made.
        pub allowed_topologies: Vec<TopologySelectorTerm>,
        /// Parameters of the provisioner.
        pub parameters: TextMap,
    }

    /// core/v1 TopologySelectorTerm.
    pub struct TopologySelectorTerm {
        /// All must hold.
        pub match_label_expressions: Vec<TopologySelectorLabelRequirement>,
    }

    /// core/v1 TopologySelectorLabelRequirement.
    pub struct TopologySelectorLabelRequirement {
        /// Label key.
        pub key: Text,
        /// Acceptable values.
        pub values: Vec<Text>,
    }

    /// storage.k8s.io/v1 CSINode.
    pub struct CsiNode {
        /// Metadata; the name is the node's.
        #[serde(rename = "metadata")]
        pub meta: Meta,
        /// Drivers on the node.
        pub spec: CsiNodeSpec,
    }

    /// storage.k8s.io/v1 CSINodeSpec.
    pub struct CsiNodeSpec {
        /// Drivers.
        pub drivers: Vec<CsiNodeDriver>,
    }

    /// storage.k8s.io/v1 CSINodeDriver.
    pub struct CsiNodeDriver {
        /// Driver name.
        pub name: Text,
        /// The driver's name for the node.
        #[serde(rename = "nodeID")]
        pub node_id: Text,
        /// Node labels that the driver understands as topology.
        pub topology_keys: Vec<Text>,
        /// How many volumes the node takes.
        pub allocatable: Option<CsiNodeAllocatable>,
    }

    /// storage.k8s.io/v1 VolumeNodeResources.
    pub struct CsiNodeAllocatable {
        /// Number of volumes; absent means no limit.
        pub count: Option<i32>,
    }

    /// storage.k8s.io/v1 CSIDriver.
    pub struct CsiDriver {
        /// Metadata.
        #[serde(rename = "metadata")]
        pub meta: Meta,
        /// What it does.
        pub spec: CsiDriverSpec,
    }

    /// storage.k8s.io/v1 CSIDriverSpec.
    pub struct CsiDriverSpec {
        /// Whether volumes are attached to nodes; absent means yes.
        pub attach_required: Option<bool>,
        /// Whether the driver publishes capacity.
        pub storage_capacity: Option<bool>,
        /// Whether pods wait for a volume limit to be known.
        pub prevent_pod_scheduling_if_missing: Option<bool>,
    }

    /// storage.k8s.io/v1 CSIStorageCapacity.
    pub struct CsiStorageCapacity {
        /// Metadata.
        #[serde(rename = "metadata")]
        pub meta: Meta,
        /// Class it speaks of.
        pub storage_class_name: Name,
        /// Nodes it speaks of; absent means none.
        pub node_topology: Option<LabelSelector>,
        /// What is left.
        pub capacity: Option<Quantity>,
        /// Largest volume that can be made.
        pub maximum_volume_size: Option<Quantity>,
    }

    /// storage.k8s.io/v1 VolumeAttachment.
    pub struct VolumeAttachment {
        /// Metadata.
        #[serde(rename = "metadata")]
        pub meta: Meta,
        /// What is to be attached where.
        pub spec: VolumeAttachmentSpec,
        /// Whether it is.
        pub status: VolumeAttachmentStatus,
    }

    /// storage.k8s.io/v1 VolumeAttachmentSpec.
    pub struct VolumeAttachmentSpec {
        /// CSI driver.
        pub attacher: Text,
        /// Node.
        pub node_name: NodeName,
        /// Volume.
        pub source: VolumeAttachmentSource,
    }

    /// storage.k8s.io/v1 VolumeAttachmentSource.
    pub struct VolumeAttachmentSource {
        /// Name of the persistent volume.
        pub persistent_volume_name: Option<Name>,
    }

    /// storage.k8s.io/v1 VolumeAttachmentStatus.
    pub struct VolumeAttachmentStatus {
        /// Whether it is attached.
        pub attached: bool,
    }
}
