//! What a check found, whatever the form it is shown in.

use replank_facts::coverage::Coverage;
use replank_model::time::Time;

use super::gate::Gated;
use super::preview::Fixed;
use crate::report::words::count;
use crate::snapshot::Places;

/// What was checked, and the outcome.
#[derive(Debug)]
pub(super) struct Checked {
    /// What was read, in a few words.
    pub(super) name: String,
    /// Files that were named.
    pub(super) sources: Vec<String>,
    /// When it was.
    pub(super) now: Time,
    /// The plan's name, if there is a plan.
    pub(super) plan: Option<String>,
    /// Nodes that are replaced.
    pub(super) nodes: usize,
    /// Node groups that are known.
    pub(super) groups: usize,
    /// What was found, the worst first, and what of it counts.
    pub(super) gated: Gated,
    /// Where objects were read, if that was asked for.
    pub(super) places: Places,
    /// What of the cluster could be seen.
    pub(super) coverage: Coverage,
    /// What the proved changes do, if that was asked for.
    pub(super) preview: Option<Vec<Fixed>>,
}

/// What the findings are for: the plan, or everything.
pub(super) fn scope(checked: &Checked) -> String {
    let nodes = count(checked.nodes, "node");
    match &checked.plan {
        Some(plan) => format!("{plan} replaces {nodes} of {}", checked.name),
        None => {
            let all = match checked.nodes {
                1 => "the only node".to_owned(),
                2 => "both nodes".to_owned(),
                _ => format!("all {nodes}"),
            };
            let as_if = match checked.groups {
                0 => "as if each were replaced by an identical one",
                _ => "as if every group were replaced by identical nodes",
            };
            format!("{all} of {}, {as_if}", checked.name)
        }
    }
}
