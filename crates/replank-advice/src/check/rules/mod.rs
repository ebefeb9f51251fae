//! The rules, one file each.

mod bare_pod;
mod batch_unprotected;
mod batch_wait_unread;
mod change;
mod cordon_left;
mod cron_skips;
mod cron_soon;
mod daemon_chooses;
mod daemon_missing;
mod daemon_on_delete;
mod eks_ends_batch;
mod gated;
mod group_network;
mod group_parity;
mod host_port;
mod hpa_at_maximum;
mod hpa_beyond_nodes;
mod hpa_disabled;
mod image_release;
mod image_version;
mod kept_node;
mod label_by_hand;
mod left_to_provisioner;
mod leftover;
mod local_storage;
mod long_grace;
mod managed_update;
mod no_budget;
mod no_room;
mod node_not_ready;
mod old_image;
mod one_place;
mod other_scheduler;
mod own_taint;
mod pdb_never_allows;
mod pdb_not_counted;
mod pdb_selects;
mod pdb_several;
mod pdb_slow;
mod pdb_unready;
mod pdb_waits_for_batch;
mod pdb_weak;
mod pending_before;
mod pinned_to_group;
mod placed_apart;
mod pod_groups;
mod preempts;
mod proxy_drain;
mod rerun_unsafe;
mod result_unrecorded;
mod retry_without_limit;
mod scale;
mod short_grace;
mod shutdown_timing;
mod singleton;
mod spot_only;
#[cfg(test)]
mod stage;
mod stuck_before;
mod suspended_process;
mod template_version;
mod termination_setup;
mod tolerates_everything;
mod version_skew;
mod waits_in_vain;
mod webhook_backend;
mod worst;
mod zone_bound;

use super::finding::Finding;
use super::survey::Survey;

/// The rules about what no run can do.
pub(super) const IMPOSSIBLE: &[fn(&Survey<'_>) -> Vec<Finding>] = &[version_skew::find, old_image::find];

/// What the group that nodes move into lacks by its security groups: asked for besides.
pub(super) use group_network::find as group_network;
/// What no file says of security groups.
pub(super) use group_network::unanswered as network_unanswered;
/// Nodes whose image somebody does not want: asked for besides.
pub use image_release::Images;
pub(super) use image_release::find as image_releases;
/// The nodes at which EKS's own update would give up: asked for besides.
pub(super) use managed_update::find as managed_update;
/// Whether what tells the cluster of instances that go is sufficient: asked for besides.
pub(super) use termination_setup::find as termination_setup;
/// What no file says of it.
pub(super) use termination_setup::unanswered as termination_unanswered;

/// Every rule, as a function from what is looked at to what is found.
pub(super) const ALL: &[fn(&Survey<'_>) -> Vec<Finding>] = &[
    pdb_never_allows::find,
    pdb_not_counted::find,
    pdb_several::find,
    pdb_unready::find,
    pdb_waits_for_batch::find,
    pdb_slow::find,
    eks_ends_batch::find,
    pdb_weak::find,
    pdb_selects::find,
    no_budget::find,
    singleton::find,
    waits_in_vain::find,
    batch_unprotected::find,
    batch_wait_unread::find,
    rerun_unsafe::find,
    result_unrecorded::find,
    retry_without_limit::find,
    short_grace::find,
    cron_soon::find,
    cron_skips::find,
    no_room::find,
    preempts::find,
    node_not_ready::find,
    pending_before::find,
    gated::find,
    other_scheduler::find,
    bare_pod::find,
    local_storage::find,
    zone_bound::find,
    pinned_to_group::find,
    placed_apart::find,
    host_port::find,
    spot_only::find,
    hpa_at_maximum::find,
    hpa_beyond_nodes::find,
    hpa_disabled::find,
    long_grace::find,
    shutdown_timing::find,
    proxy_drain::find,
    one_place::find,
    tolerates_everything::find,
    webhook_backend::find,
    stuck_before::find,
    cordon_left::find,
    kept_node::find,
    own_taint::find,
    label_by_hand::find,
    daemon_missing::find,
    daemon_chooses::find,
    daemon_on_delete::find,
    leftover::find,
    group_parity::find,
    pod_groups::find,
    suspended_process::find,
    image_release::planned,
    image_version::find,
    template_version::find,
    old_image::find,
    left_to_provisioner::find,
    version_skew::find,
];
