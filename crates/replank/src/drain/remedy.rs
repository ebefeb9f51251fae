//! What a person can do about something that is waited for.

use replank_protocol::waiting::{DrainEnd, PodEnd, PodWait, RunWait, WaitingOn};

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
