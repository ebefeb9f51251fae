//! Who writes a live object, and at which version.
//!
//! `metadata.managedFields` has an entry for each manager, operation and version. Server-side apply by a manager replaces its
//! entry; an update at another version adds one and leaves the old one where it still owns a field. So an `Apply` entry tells
//! for certain what its manager sends, and of `Update` entries of one manager the newest one counts (apimachinery,
//! managedfields/internal/buildmanagerinfo.go; sigs.k8s.io/structured-merge-diff).

use std::collections::BTreeMap;

use super::{Scan, Use};
use crate::finding::{Confidence, Evidence};
use crate::object::Object;
use crate::source::{Node, Place};

/// Parts of the control plane: they are updated with it. `before-first-apply` stands for the writers before the first
/// server-side apply.
const CONTROL_PLANE: [&str; 7] = [
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "cloud-controller-manager",
    "kubelet",
    "kube-proxy",
    "before-first-apply",
];

/// Whether an object was shown by a cluster, and not written by a person.
pub(super) fn is_live(object: &Object<'_, '_>) -> bool {
    let has = |key: &str| object.node.path(&["metadata", key]).is_some_and(|node| node.text().is_some());
    has("uid") && has("resourceVersion")
}

/// Annotations by which the API server says that it writes an object anew whenever it starts: built-in roles (pkg/registry/rbac/rest) and flow schemas
/// (pkg/registry/flowcontrol/ensurer).
const RECONCILED: [&str; 2] =
    ["rbac.authorization.kubernetes.io/autoupdate", "apf.kubernetes.io/autoupdate-spec"];

/// Whether the API server keeps an object itself, so that what it says is changed by an upgrade and by nobody else.
pub(super) fn is_reconciled(object: &Object<'_, '_>) -> bool {
    let says = |key: &str| object.node.path(&["metadata", "annotations", key]).and_then(Node::text);
    RECONCILED.iter().any(|key| says(key) == Some("true"))
}

/// One entry.
#[derive(Clone, Copy)]
pub(super) struct Entry<'n> {
    pub(super) manager: &'n str,
    pub(super) operation: &'n str,
    pub(super) api_version: &'n str,
    pub(super) time: Option<&'n str>,
    pub(super) subresource: Option<&'n str>,
    /// Whether it owns the annotation of the last `kubectl apply`.
    pub(super) owns_last_applied: bool,
}

/// All entries that can be read.
pub(super) fn entries<'n>(object: &Object<'n, '_>) -> Vec<Entry<'n>> {
    let Some(fields) = object.node.path(&["metadata", "managedFields"]) else { return Vec::new() };
    fields.items().iter().filter_map(entry).collect()
}

fn entry<'n>(node: &'n Node<'_>) -> Option<Entry<'n>> {
    let annotation = format!("f:{}", super::applied::ANNOTATION);
    Some(Entry {
        manager: node.text_of("manager")?,
        operation: node.text_of("operation").unwrap_or("Update"),
        api_version: node.text_of("apiVersion")?,
        time: node.text_of("time"),
        subresource: node.text_of("subresource"),
        owns_last_applied: node.path(&["fieldsV1", "f:metadata", "f:annotations", &annotation]).is_some(),
    })
}

/// The entry that tells what each manager sends.
pub(super) fn current<'n>(entries: &[Entry<'n>]) -> Vec<Entry<'n>> {
    let mut by_manager: BTreeMap<(&str, Option<&str>), Entry<'n>> = BTreeMap::new();
    for entry in entries {
        let rank = |entry: &Entry<'n>| (entry.operation == "Apply", entry.time);
        by_manager
            .entry((entry.manager, entry.subresource))
            .and_modify(|known| {
                if rank(entry) > rank(known) {
                    *known = *entry;
                }
            })
            .or_insert(*entry);
    }
    by_manager.into_values().collect()
}

pub(super) fn scan(scan: &mut Scan<'_>, object: &Object<'_, '_>, place: &Place) {
    for entry in current(&entries(object)) {
        // Whose annotation it is, tells the annotation better.
        if CONTROL_PLANE.contains(&entry.manager) || entry.owns_last_applied {
            continue;
        }
        let confidence = if entry.operation == "Apply" { Confidence::High } else { Confidence::Medium };
        scan.used(Use {
            api_version: entry.api_version,
            kind: object.kind,
            name: object.name,
            namespace: object.namespace,
            holder: None,
            place: place.clone(),
            evidence: Evidence::Manager {
                manager: entry.manager.to_owned(),
                operation: entry.operation.to_owned(),
                time: entry.time.map(str::to_owned),
            },
            confidence,
        });
    }
}
