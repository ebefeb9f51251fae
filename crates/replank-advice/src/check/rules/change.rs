//! Changes that several rules propose.

use replank_facts::plan::OnDeadline;
use replank_facts::remedy::{Edit, Remedy};
use replank_facts::workload::Workload;
use serde_json::json;

use super::super::survey::Survey;
use super::no_budget::new_budget;
use super::scale;

/// A plan that waits for batch pods.
pub(super) fn wait_for_batch(wait: &str) -> Edit {
    Edit::Plan { members: vec![("batch.wait", json!(wait)), ("batch.onDeadline", json!("pause"))] }
}

/// The same for what takes as long, where the plan does not wait already.
pub(super) fn waited_for(survey: &Survey<'_>, wait: &str, short: bool) -> Remedy {
    let batch = &survey.terms.batch;
    match batch.on_deadline {
        OnDeadline::Pause if short => Remedy::edit(wait_for_batch(wait)),
        OnDeadline::Pause => Remedy::look(match survey.plan {
            Some(_) => format!("the plan waits {} for it; raise batch.wait if it takes longer", batch.wait),
            None => format!(
                "a plan waits {} for it by default, and then pauses; set batch.wait if it takes longer",
                batch.wait
            ),
        }),
        OnDeadline::Evict | OnDeadline::Skip => {
            Remedy::look(format!("to have the roll wait for it, {}", wait_for_batch(wait)))
        }
    }
}

/// A plan that launches a node in each zone before it drains one.
pub(super) fn surge_per_zone(zones: impl Into<u64>) -> Remedy {
    Remedy::edit(Edit::plan("budget.surge", zones.into())).note("one new node per zone")
}

/// The same where the plan does so already, or by default.
pub(super) fn keep_surge_per_zone(survey: &Survey<'_>) -> Remedy {
    match survey.plan {
        Some(_) => Remedy::look("nothing to change: the plan's surge has a new node for each zone"),
        None => Remedy::look("keep the default surge, one new node per zone: budget: {surge: perZone}"),
    }
}

/// A second replica, and where no budget speaks for the pods one that lets them go one at a time; or in words what to do where a program cannot.
pub(super) fn twice(survey: &Survey<'_>, workload: &Workload) -> Result<Remedy, String> {
    let remedy = Remedy::edit(scale::up(survey, workload, 2)?);
    Ok(match new_budget(survey, workload, 2) {
        Ok(budget) => remedy.then(budget),
        Err(_) => remedy,
    })
}
