//! What keeps nodes, grouped: one entry for each thing that a person would have to change.

use std::collections::{BTreeMap, BTreeSet};

use replank_facts::workload::workload_of;
use replank_model::object::meta::Key;
use replank_model::view::View;
use replank_protocol::waiting::{PodEnd, PodWait, RollWait, RunEnd, Subject, Waiting, WaitingOn};

use super::result::Cause;
use crate::finding_entry::FindingEntry;

/// Groups what blocks; a finding about the same object is named with its remedy.
pub(super) fn causes(view: &View, blocking: &[Waiting], findings: &[FindingEntry]) -> Vec<Cause> {
    let mut grouped: BTreeMap<(&'static str, String), Grouped> = BTreeMap::new();
    for waiting in blocking.iter().filter(|waiting| !is_the_end(&waiting.on)) {
        let object = object_of(view, waiting);
        let group = grouped.entry((waiting.on.kind(), object)).or_insert_with(|| Grouped {
            reason: waiting.on.reason().to_string(),
            nodes: BTreeSet::new(),
            pods: BTreeSet::new(),
        });
        match &waiting.what {
            Subject::Pod(pod) => {
                group.pods.insert(pod.clone());
                group.nodes.extend(node_of(view, pod));
            }
            Subject::Node(node) => {
                group.nodes.insert(node.to_string());
            }
            Subject::Run
            | Subject::Group(_)
            | Subject::Bounds(_)
            | Subject::Instance(_)
            | Subject::Object(_)
            | Subject::Message(_) => {}
        }
    }
    let mut causes: Vec<Cause> = grouped
        .into_iter()
        .map(|((_, object), group)| {
            // The gravest is first in the list.
            let finding = findings.iter().find(|finding| finding.object == object);
            Cause {
                nodes: group.nodes.into_iter().collect(),
                pods: group.pods.len(),
                reason: group.reason,
                finding: finding.map(|finding| finding.id),
                remedy: finding.map(|finding| finding.remedy.clone()),
                object,
            }
        })
        .collect();
    causes.sort_by_key(|cause| (usize::MAX - cause.nodes.len(), cause.object.clone()));
    causes
}

/// Whether a blocked run went as far as the plan lets it: some nodes are replaced, and what is left is kept by what is on it. Where capacity, a
/// deadline, or the health of pods ended the run, more might have been done.
pub(super) fn went_as_far_as_it_goes(blocking: &[Waiting]) -> bool {
    let is_kept = |waiting: &Waiting| match (&waiting.what, &waiting.on) {
        (_, WaitingOn::RunEnd(RunEnd::Halted { .. } | RunEnd::Stalled { .. })) => true,
        (Subject::Bounds(_), _) => true,
        (_, WaitingOn::Roll(RollWait::Available { .. } | RollWait::ZoneMinimum { .. })) => false,
        // Its pods may fit on other new nodes than there are. A pod that fits on none is named itself.
        (Subject::Node(_), WaitingOn::Pod(PodWait::Room { .. })) => false,
        (Subject::Pod(_) | Subject::Node(_), WaitingOn::Pod(_) | WaitingOn::PodEnd(_)) => true,
        (Subject::Node(_), WaitingOn::Roll(_) | WaitingOn::RollEnd(_)) => true,
        (
            Subject::Run
            | Subject::Group(_)
            | Subject::Instance(_)
            | Subject::Pod(_)
            | Subject::Node(_)
            | Subject::Object(_)
            | Subject::Message(_),
            _,
        ) => false,
    };
    blocking.iter().all(is_kept)
}

struct Grouped {
    reason: String,
    nodes: BTreeSet<String>,
    pods: BTreeSet<Key>,
}

/// That the run has ended says nothing of why nodes are left.
fn is_the_end(on: &WaitingOn) -> bool {
    matches!(on, WaitingOn::RunEnd(RunEnd::Halted { .. } | RunEnd::Stalled { .. }))
}

/// What would have to be changed: the budget, the workload, or what waits.
fn object_of(view: &View, waiting: &Waiting) -> String {
    let budget = |key: &Key| format!("PodDisruptionBudget {key}");
    let workload = |key: &Key| {
        let pod = view.pods.by_key(key);
        let workload = pod.and_then(|pod| workload_of(view, pod));
        workload.map_or_else(|| format!("Pod {key}"), |workload| workload.to_string())
    };
    match (&waiting.what, &waiting.on) {
        (
            _,
            WaitingOn::Pod(
                PodWait::Budget { budget: key, .. } | PodWait::BudgetUncounted { budget: key, .. },
            ),
        ) => budget(key),
        (_, WaitingOn::PodEnd(PodEnd::Budgets { budgets })) => {
            budgets.first().map_or_else(String::new, budget)
        }
        (_, WaitingOn::Pod(PodWait::Room { pod, .. })) | (Subject::Pod(pod), _) => workload(pod),
        (
            what @ (Subject::Run
            | Subject::Group(_)
            | Subject::Bounds(_)
            | Subject::Instance(_)
            | Subject::Node(_)
            | Subject::Object(_)
            | Subject::Message(_)),
            _,
        ) => what.to_string(),
    }
}

fn node_of(view: &View, pod: &Key) -> Option<String> {
    Some(view.pods.by_key(pod)?.node.as_ref()?.to_string())
}

#[cfg(test)]
mod tests {
    use replank_facts::finding::{Finding, ObjectName, Severity};
    use replank_model::time::Time;

    use super::*;

    fn waiting(what: Subject, on: impl Into<WaitingOn>) -> Waiting {
        Waiting { what, on: on.into() }
    }

    fn by_budget(pod: &str) -> Waiting {
        let budget = Key::new("shop", "web");
        waiting(Subject::Pod(Key::new("shop", pod)), PodWait::Budget { budget, healthy: 2, needed: 2 })
    }

    #[test]
    fn what_one_change_would_free_is_one_cause_with_its_finding() {
        let finding = Finding {
            rule: (),
            severity: Severity::Blocking,
            object: ObjectName::new("PodDisruptionBudget", Key::new("shop", "web")),
            reason: "it never allows an eviction".to_owned(),
            remedy: "kubectl -n shop patch pdb web".into(),
        };
        let findings = [FindingEntry::untried("pdb-never-allows", &finding)];
        let halted = waiting(Subject::Run, RunEnd::Halted { at: Time::from_millis(0) });
        let all = [halted, by_budget("a"), by_budget("b")];
        let causes = causes(&View::default(), &all, &findings);
        let [cause] = causes.as_slice() else { panic!("one budget keeps both: {causes:?}") };
        assert_eq!((&*cause.object, cause.pods), ("PodDisruptionBudget shop/web", 2));
        assert_eq!(cause.finding, Some("pdb-never-allows"));
        assert_eq!(cause.remedy.as_deref(), Some("kubectl -n shop patch pdb web"));
        assert!(went_as_far_as_it_goes(&all));
    }

    #[test]
    fn a_run_that_lacked_nodes_or_time_did_not_go_as_far_as_it_could() {
        let node = Subject::Node("web-1".into());
        for short in [
            waiting(node, RollWait::Available { ready: 3, needed: 3 }),
            waiting(
                Subject::Node("web-2".into()),
                PodWait::Room { pod: Key::new("shop", "a"), message: "0/3 nodes are available".into() },
            ),
            waiting(Subject::Run, RunEnd::Deadline { at: Time::from_millis(0) }),
            waiting(Subject::Group("web".into()), RollWait::Turn { nodes: 1, active: 0, limit: 1 }),
        ] {
            assert!(!went_as_far_as_it_goes(&[by_budget("a"), short.clone()]), "{short}");
        }
    }
}
