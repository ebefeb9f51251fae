//! Workloads that had no Ready pod for a while, of which no finding warned.

use replank_model::object::meta::Key;
use replank_model::time::{Span, Time};
use replank_model::view::View;
use replank_sim::Workload;

use super::ids::OUTAGE;
use super::recorder::Recorder;
use super::served::{One, ReadyCount};
use crate::finding_entry::FindingEntry;

/// How long a workload had no Ready pod until now.
pub(super) fn dark(count: &ReadyCount, now: Time) -> Span {
    count.dark + count.dark_since.map_or(Span::ZERO, |since| now - since)
}

/// Whether what a workload had was lost for a while, though it was wanted: by evictions, or with an instance.
pub(super) fn is_short(view: &View, workload: &Workload, count: &ReadyCount) -> bool {
    desired(view, workload).is_some_and(|desired| count.min < desired.min(count.before))
}

/// Finds those that no other finding explains.
pub(super) fn find(view: &View, notes: &Recorder, now: Time, findings: &mut Vec<FindingEntry>) {
    for (workload, One { count, .. }) in notes.served.iter() {
        let dark = dark(count, now);
        let object = format!("{} {}/{}", workload.kind, workload.namespace, workload.name);
        let is_told = findings.iter().any(|finding| finding.object == object);
        if dark > Span::ZERO && count.before > 0 && is_short(view, workload, count) && !is_told {
            let reason = format!(
                "no pod was Ready for {} in the rehearsal, of {} at its start",
                dark.rounded(),
                count.before
            );
            findings.push(FindingEntry::seen(OUTAGE, &object, &reason));
        }
    }
}

/// Pods that a workload wants, where its kind says.
pub(super) fn desired(view: &View, workload: &Workload) -> Option<i32> {
    let key = Key::new(workload.namespace.clone(), &*workload.name);
    match &*workload.kind {
        "Deployment" => view.deployments.by_key(&key).map(|object| object.spec.replicas.unwrap_or(1)),
        "ReplicaSet" => view.replica_sets.by_key(&key).map(|object| object.spec.replicas.unwrap_or(1)),
        "StatefulSet" => view.stateful_sets.by_key(&key).map(|object| object.spec.replicas.unwrap_or(1)),
        "ReplicationController" => {
            view.replication_controllers.by_key(&key).map(|object| object.spec.replicas.unwrap_or(1))
        }
        _ => None,
    }
}
