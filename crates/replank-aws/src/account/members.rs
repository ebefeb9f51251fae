//! Groups and instances, by the names that callers use.

use std::collections::BTreeSet;
use std::sync::Arc;

use replank_model::object::cloud::{GroupKind, Instance, InstanceState, Lifecycle, NodeGroup};
use replank_model::text::Zone;
use replank_protocol::command::Refusal;
use serde_json::{Value, json};

use super::own::Account;
use crate::fault::Fault;
use crate::region::Region;

/// The group of an Auto Scaling group's name.
pub(crate) fn group(region: &dyn Region, name: &str) -> Option<Arc<NodeGroup>> {
    region.groups().into_iter().find(|group| &*group.auto_scaling_group == name)
}

/// The same, which has to be there.
///
/// # Errors
/// In Auto Scaling's words.
pub(crate) fn known_group(region: &dyn Region, name: &str) -> Result<Arc<NodeGroup>, Fault> {
    group(region, name).ok_or_else(|| {
        Fault::validation(format!("AutoScalingGroup name not found - AutoScalingGroup '{name}' not found"))
    })
}

/// Instances of a group that Auto Scaling lists.
pub(crate) fn members(region: &dyn Region, group: &NodeGroup) -> Vec<Arc<Instance>> {
    region.instances().into_iter().filter(|one| one.group == group.name && is_listed(one)).collect()
}

/// Whether Auto Scaling lists an instance.
pub(crate) fn is_listed(instance: &Instance) -> bool {
    let is_member = match instance.lifecycle {
        Lifecycle::Terminated | Lifecycle::Detached => false,
        Lifecycle::Pending
        | Lifecycle::PendingWait
        | Lifecycle::PendingProceed
        | Lifecycle::InService
        | Lifecycle::Terminating
        | Lifecycle::TerminatingWait
        | Lifecycle::TerminatingProceed
        | Lifecycle::Standby
        | Lifecycle::Warmed => true,
    };
    is_member && instance.state != InstanceState::Terminated
}

/// An instance that Auto Scaling lists.
///
/// # Errors
/// In its words.
pub(crate) fn known_instance(region: &dyn Region, id: &str) -> Result<Arc<Instance>, Fault> {
    let found = region.instances().into_iter().find(|one| one.id == *id && is_listed(one));
    found.ok_or_else(|| {
        Fault::validation(format!("Instance Id not found - No managed instance found for instance ID: {id}"))
    })
}

/// A refusal of the region, in Auto Scaling's terms.
pub(crate) fn refused(refusal: Refusal) -> Fault {
    match refusal {
        Refusal::Gone { message } | Refusal::Failed { message, .. } => Fault::validation(&*message),
        other @ (Refusal::Budget { .. }
        | Refusal::Conflict { .. }
        | Refusal::Denied { .. }
        | Refusal::Mismatch { .. }
        | Refusal::Late) => Fault::validation(other.to_string()),
    }
}

/// Zones that there are: those of all groups, or three where there is none.
pub(crate) fn zones(account: &Account, region: &dyn Region) -> Vec<Zone> {
    let known: BTreeSet<Zone> = region
        .groups()
        .iter()
        .flat_map(|group| group.zones.clone())
        .filter(|zone| !zone.is_empty())
        .collect();
    if !known.is_empty() {
        return known.into_iter().collect();
    }
    ["a", "b", "c"].iter().map(|letter| Zone::from(format!("{}{letter}", account.names.region()))).collect()
}

/// Tags that a group has: its own, and those that EKS gives the groups that it manages.
pub(crate) fn tags(account: &Account, group: &NodeGroup) -> Vec<(String, String)> {
    let mut tags: Vec<(String, String)> =
        group.tags.iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
    if group.kind == GroupKind::EksManaged {
        let cluster = account.names.cluster();
        let own = [
            ("eks:cluster-name".to_owned(), cluster.to_owned()),
            ("eks:nodegroup-name".to_owned(), group.name.to_string()),
            (format!("k8s.io/cluster-autoscaler/{cluster}"), "owned".to_owned()),
            ("k8s.io/cluster-autoscaler/enabled".to_owned(), "true".to_owned()),
            (format!("kubernetes.io/cluster/{cluster}"), "owned".to_owned()),
        ];
        for (key, value) in own {
            if !tags.iter().any(|(known, _)| *known == key) {
                tags.push((key, value));
            }
        }
        tags.sort();
    }
    tags
}

/// A tag as Auto Scaling shows it.
pub(crate) fn shown_tag(account: &Account, group: &NodeGroup, key: &str, value: &str) -> Value {
    let extra = account.groups.get(&*group.auto_scaling_group);
    let propagated = extra.map_or_else(
        || group.kind == GroupKind::EksManaged,
        |extra| extra.propagated.iter().any(|known| known == key),
    );
    json!({"ResourceId": &*group.auto_scaling_group, "ResourceType": "auto-scaling-group", "Key": key, "Value": value, "PropagateAtLaunch": propagated})
}
