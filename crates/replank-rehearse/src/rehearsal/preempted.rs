//! Pods that the scheduler removed for pods of higher priority, of which no finding warned.

use std::collections::BTreeMap;

use replank_model::object::condition::{self, ConditionStatus};
use replank_model::object::pod::Pod;
use replank_model::text::Uid;
use replank_model::view::View;
use replank_sim::series_of;

use crate::finding_entry::FindingEntry;

/// The rule that tells of them.
const PREEMPTS: &str = "preempts";

/// Notes them: what they belong to, and their names.
#[derive(Debug, Default)]
pub(super) struct Preempted(BTreeMap<Uid, (String, String)>);

impl Preempted {
    pub(super) fn changed(&mut self, view: &View, pod: &Pod) {
        let target = condition::find(&pod.status.conditions, "DisruptionTarget");
        let is_preempted = target.is_some_and(|target| {
            target.status == ConditionStatus::True && &*target.reason == "PreemptionByScheduler"
        });
        if is_preempted {
            let of = || match series_of(view, pod) {
                Some(workload) => format!("{} {}/{}", workload.kind, workload.namespace, workload.name),
                None => format!("Pod {}", pod.meta.key()),
            };
            self.0.entry(pod.meta.uid.clone()).or_insert_with(|| (of(), pod.meta.key().to_string()));
        }
    }

    pub(super) fn count(&self) -> usize {
        self.0.len()
    }

    /// Finds those that no finding names.
    pub(super) fn find(&self, findings: &mut Vec<FindingEntry>) {
        let mut by_owner: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (of, name) in self.0.values() {
            let is_told =
                findings.iter().any(|finding| finding.id == PREEMPTS && finding.reason.contains(name));
            if !is_told {
                by_owner.entry(of).or_default().push(name);
            }
        }
        for (of, mut names) in by_owner {
            names.sort_unstable();
            let reason =
                format!("preempted in the rehearsal for pods of higher priority: {}", names.join(", "));
            findings.push(FindingEntry::seen(PREEMPTS, of, &reason));
        }
    }
}
