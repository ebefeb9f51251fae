//! Rows of each resource, in the order of its columns.

mod admission;
mod config;
mod metrics;
mod network;
mod node;
mod pod;
mod storage;
mod workload;

use serde_json::Value;

use super::look::Look;

/// The cells of an object; `None` where name and creation are all that is shown.
pub(super) fn cells(group: &str, plural: &str, look: Look<'_>) -> Option<Vec<Value>> {
    Some(match (group, plural) {
        ("", "pods") => pod::pod(look),
        ("", "nodes") => node::node(look),
        ("apps" | "batch" | "autoscaling" | "policy", plural) => workload::cells(plural, look)?,
        ("", "replicationcontrollers" | "podtemplates") => workload::cells(plural, look)?,
        ("", "services" | "endpoints") => network::cells(plural, look)?,
        ("networking.k8s.io" | "discovery.k8s.io", plural) => network::cells(plural, look)?,
        ("", "persistentvolumes" | "persistentvolumeclaims") => storage::cells(plural, look)?,
        ("storage.k8s.io" | "resource.k8s.io", plural) => storage::cells(plural, look)?,
        ("admissionregistration.k8s.io" | "rbac.authorization.k8s.io", plural) => {
            admission::cells(plural, look)?
        }
        ("certificates.k8s.io" | "apiregistration.k8s.io", plural) => admission::cells(plural, look)?,
        (_, plural) => config::cells(plural, look)?,
    })
}

/// What a row says about an object beyond its cells: a pod that has ended.
pub(super) fn conditions(group: &str, plural: &str, look: Look<'_>) -> Option<Value> {
    match (group, plural) {
        ("", "pods") => pod::conditions(look),
        _ => None,
    }
}
