//! What can land where it should not: an audit of labels, taints, tolerations and affinity over a whole cluster.
//!
//! [`run`] looks at a View and says, workload by workload and taint by taint, what is on the wrong nodes, what can get there,
//! and what matches nothing. Whether a pod can land on a node is asked of the scheduler itself, not guessed from texts:
//! `audit/engine.rs` says exactly what is asked. Every finding names one object, says why with numbers, and what to do in a
//! form to be pasted. Remedies that send pods elsewhere were tried on the scheduler; corrected spellings, spread constraints,
//! strategies and the steps of a relabelling were not. The rules are in [`Rule`]; each has a file of its own.
//!
//! Left out are the nodes of Fargate, and pods of other schedulers than the default one.

mod absent;
mod addon;
mod capacity;
mod engine;
mod ground;
mod near;
mod options;
mod provisioners;
mod reads;
mod remedy;
mod rule;
mod rules;
mod survey;

use std::collections::BTreeSet;

use replank_model::text::GroupName;
use replank_model::view::View;

pub(crate) use capacity::is_spot;
pub use rule::{Finding, ObjectName, Rule, Severity};

use replank_facts::groups::GroupBy;
use survey::Survey;

pub use options::Options;

/// The groups of a cluster's nodes, as an audit names them.
#[must_use]
pub fn groups(view: &View, by: &GroupBy) -> BTreeSet<GroupName> {
    view.nodes.unordered().filter_map(|(_, node)| ground::group_of(node, by)).collect()
}

/// Everything that is found, the worst first, then by rule and object.
#[must_use]
pub fn run(view: &View, options: &Options) -> Vec<Finding> {
    let (survey, mut engine) = Survey::of(view, options);
    let mut findings: Vec<Finding> = rules::ALL.iter().flat_map(|rule| rule(&survey, &mut engine)).collect();
    Finding::sort(&mut findings);
    findings
}
