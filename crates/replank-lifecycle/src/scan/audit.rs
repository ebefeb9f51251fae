//! Audit logs: who asks for versions that go.
//!
//! An event has the request's group, version and resource in `objectRef`, and the API server's own word for it in the
//! annotations `k8s.io/deprecated` and `k8s.io/removed-release` (apiserver, endpoints/filters). Events are gathered over all
//! texts, one finding for each caller and version.

use std::sync::Arc;

use super::{Scan, Use};
use crate::finding::{Confidence, Evidence, Finding};
use crate::judge::Measure;
use crate::source::{Node, Place};
use crate::table::Gvk;

pub use super::calls::Caller;
pub(super) use super::calls::Calls;

/// Takes in a document if it is an event, or a list of events. Whether it is.
pub(super) fn scan(scan: &mut Scan<'_>, name: &Arc<str>, root: &Node<'_>) -> bool {
    let events: &[Node<'_>] = match root.text_of("kind") {
        Some("EventList") => root.get("items").map(Node::items).unwrap_or_default(),
        Some(_) | None => std::slice::from_ref(root),
    };
    let mut any = false;
    for node in events.iter().filter(|node| node.text_of("auditID").is_some()) {
        any = true;
        event(scan, name, node);
    }
    any
}

fn event(scan: &mut Scan<'_>, name: &Arc<str>, node: &Node<'_>) {
    // A request has an event for each of its stages; the last one stands for it.
    if !matches!(node.text_of("stage"), Some("ResponseComplete" | "Panic") | None) {
        return;
    }
    scan.report.counts.requests += 1;
    let Some(of) = node.get("objectRef") else { return };
    let (Some(version), Some(resource)) = (of.text_of("apiVersion"), of.text_of("resource")) else { return };
    let group = of.text_of("apiGroup").unwrap_or_default();
    let rows: Vec<Gvk> = scan
        .measure
        .table
        .lookup_resource(group, Some(version), resource)
        .map(|row| row.gvk.clone())
        .collect();
    for used in rows {
        if scan.measure.judge(&used.api_version(), &used.kind).is_none() {
            continue;
        }
        let user = node.path(&["user", "username"]).and_then(Node::text).unwrap_or("unknown").to_owned();
        let agent = node.text_of("userAgent").unwrap_or("unknown");
        let agent = agent.split(" (").next().unwrap_or(agent).to_owned();
        let place = Place { source: name.clone(), line: node.at.line, column: node.at.column };
        let last = node.text_of("requestReceivedTimestamp").unwrap_or("unknown").to_owned();
        let calls = Calls { count: 1, last, first_seen: Some(place) };
        scan.report.callers.entry(Caller { used, user, agent }).or_default().add(calls);
    }
}

/// Callers of the control plane are updated with it; the garbage collector and the namespace controller ask for everything
/// that is served.
fn is_control_plane(user: &str) -> bool {
    [
        "system:apiserver",
        "system:kube-controller-manager",
        "system:kube-scheduler",
        "system:serviceaccount:kube-system:generic-garbage-collector",
        "system:serviceaccount:kube-system:namespace-controller",
        "system:serviceaccount:kube-system:resourcequota-controller",
    ]
    .contains(&user)
}

/// What is to be said of a caller.
pub(super) fn finding(measure: &Measure, caller: Caller, calls: Calls) -> Option<Finding> {
    let Caller { used, user, agent } = caller;
    let api_version = used.api_version();
    let judged = measure.judge(&api_version, &used.kind)?;
    let confidence = if is_control_plane(&user) { Confidence::Low } else { Confidence::High };
    let used = Use {
        api_version: &api_version,
        kind: &used.kind,
        name: "",
        namespace: None,
        holder: None,
        place: calls.first_seen?,
        evidence: Evidence::Called { user, agent, count: calls.count, last: calls.last },
        confidence,
    };
    Some(super::finding(measure, judged, used))
}
