//! Volumes that not every pod may share.

use replank_model::object::volume::VolumeSource;

/// Whether only one pod of a node may use the disk (`needsRestrictionsCheck`).
pub(super) fn is_restricted(source: &VolumeSource) -> bool {
    source.gce_persistent_disk.is_some()
        || source.aws_elastic_block_store.is_some()
        || source.rbd.is_some()
        || source.iscsi.is_some()
}
