//! What a person can do about something that is waited for.

use replank_protocol::waiting::{DrainEnd, PodEnd, PodWait, RunWait, WaitingOn};

/// Nobody has so many pods under a budget that spares none of them: such a number (Argo's 9999) keeps pods until they have finished.
const KEEPS_ALL: i32 = 1_000;

/// The next step; nothing where time alone helps.
pub(crate) fn remedy(on: &WaitingOn) -> Option<String> {
    match on {
        WaitingOn::Pod(on) => pod(on),
        WaitingOn::PodEnd(PodEnd::Budgets { .. }) => {
            Some("let only one budget cover the pod: the eviction API refuses it otherwise".to_owned())
        }
        WaitingOn::Run(RunWait::Denied { webhook, .. }) => {
            Some(format!("ask who runs the webhook {webhook}, or delete its configuration"))
        }
        WaitingOn::DrainEnd(on) => end(on),
        WaitingOn::Migration(_)
        | WaitingOn::MigrationEnd(_)
        | WaitingOn::Run(_)
        | WaitingOn::RunEnd(_)
        | WaitingOn::PodEnd(_)
        | WaitingOn::Capacity(_)
        | WaitingOn::Roll(_)
        | WaitingOn::RollEnd(_)
        | WaitingOn::Interruption(_)
        | WaitingOn::InterruptionEnd(_)
        | WaitingOn::Scaling(_)
        | WaitingOn::ScalingEnd(_)
        | WaitingOn::Drain(_) => None,
    }
}

fn pod(on: &PodWait) -> Option<String> {
    match on {
        PodWait::Budget { needed, healthy, .. } if *needed >= KEEPS_ALL && healthy.saturating_mul(10) < *needed => Some(
            "such a budget keeps pods until they have finished, and goes with their Workflow: wait for them; see replank explain pdb-waits-for-batch"
                .to_owned(),
        ),
        PodWait::Budget { budget, healthy, needed } if healthy <= needed => Some(format!(
            "it ends when more than {needed} pods are healthy; if that never comes, scale the workload up, or relax the budget: kubectl -n {} edit pdb {}",
            budget.namespace, budget.name
        )),
        PodWait::Budget { .. } => None,
        PodWait::BudgetUncounted { budget, .. } => {
            Some(format!("see why: kubectl -n {} describe pdb {}", budget.namespace, budget.name))
        }
        PodWait::Batch { .. } => Some("to evict it at once, drain without --wait-batch".to_owned()),
        PodWait::Room { .. } => Some("add a node, or make room on those that stay".to_owned()),
        PodWait::Stuck { evidence, .. } if !evidence.finalizers.is_empty() => {
            Some("its controller has to remove the finalizer; --skip-wait-for-delete-timeout SECONDS leaves it behind".to_owned())
        }
        PodWait::Stuck { .. } => Some(
            "see the node's kubelet and runtime; --skip-wait-for-delete-timeout SECONDS leaves the pod behind".to_owned(),
        ),
        PodWait::Unrecorded | PodWait::Terminating { .. } | PodWait::Restart { .. } => None,
    }
}

fn end(on: &DrainEnd) -> Option<String> {
    match on {
        DrainEnd::RefusedPods { refused } => {
            let mut all: Vec<&str> = refused.iter().map(|one| one.class.remedy()).collect();
            all.dedup();
            Some(all.join("; "))
        }
        DrainEnd::DrainTimeout { .. } => {
            Some("pass a longer --timeout; what is left is named above".to_owned())
        }
        DrainEnd::Immovable { .. } => Some("see what is said of its pods".to_owned()),
        DrainEnd::Uncordoned => Some("drain it again, if it is still to be emptied".to_owned()),
        DrainEnd::NodeGone => None,
    }
}

#[cfg(test)]
mod tests {
    use replank_model::object::meta::Key;

    use super::*;

    #[test]
    fn a_budget_that_keeps_batch_pods_is_not_to_be_relaxed() {
        let next =
            |healthy, needed| pod(&PodWait::Budget { budget: Key::new("shop", "web"), healthy, needed });
        assert_eq!(next(3, 2), None);
        assert!(next(2, 2).is_some_and(|next| next.ends_with("kubectl -n shop edit pdb web")));
        assert!(next(1_999, 2_000).is_some_and(|next| next.ends_with("kubectl -n shop edit pdb web")));
        let batch = next(1, 9_999).expect("something can be done");
        assert!(batch.contains("wait for them") && !batch.contains("edit pdb"), "{batch}");
    }
}
