//! What is found before a roll begins: everything that would block it, interrupt somebody or take long.
//!
//! [`run`] looks at a View, with a plan at the pods on the nodes that it replaces, without one at all of them. Every finding
//! names one object, says why with numbers, and what to do in a form to be pasted. The rules are in [`Rule`]; each has a
//! file of its own.

mod finding;
mod lost;
mod reads;
mod rules;
mod survey;

use replank_model::view::View;

pub use finding::{Finding, ObjectName, Rule, Severity};
pub use rules::Images;

use replank_facts::coverage::Unanswered;
use replank_facts::group_facts::Facts;
use replank_facts::network::Network;
use replank_facts::plan::Plan;
use replank_facts::plan::RunOptions;
use replank_facts::termination::account::Account;
use survey::Survey;

/// Everything that is found, the worst first, then by rule and object.
#[must_use]
pub fn run(view: &View, plan: Option<&Plan>, options: &RunOptions) -> Vec<Finding> {
    run_beside(view, plan, options, &[])
}

/// What no run can do, whatever is on the nodes: new nodes of a version that the control plane or AWS does not have. Nothing of it shows in a
/// simulation.
#[must_use]
pub fn impossible(view: &View, plan: &Plan, options: &RunOptions) -> Vec<Finding> {
    let survey = Survey::of(view, Some(plan), options);
    let mut findings: Vec<Finding> = rules::IMPOSSIBLE.iter().flat_map(|rule| rule(&survey)).collect();
    Finding::sort(&mut findings);
    findings
}

/// At which nodes EKS's own update of their managed group would give up after 15 minutes, or may.
#[must_use]
pub fn managed_update(
    view: &View,
    plan: Option<&Plan>,
    options: &RunOptions,
    facts: &[Facts],
) -> Vec<Finding> {
    let survey = Survey { facts, ..Survey::of(view, plan, options) };
    let mut findings = rules::managed_update(&survey);
    Finding::sort(&mut findings);
    findings
}

/// What is missing of what tells the cluster of instances that go: hooks, rules, the queue, aws-node-termination-handler.
#[must_use]
pub fn termination_setup(
    view: &View,
    plan: Option<&Plan>,
    options: &RunOptions,
    account: &Account,
) -> Vec<Finding> {
    let mut findings = rules::termination_setup(&Survey::of(view, plan, options), account);
    Finding::sort(&mut findings);
    findings
}

/// What nodes of the group that nodes move into do not reach, or who does not reach them, by their security groups.
#[must_use]
pub fn group_network(
    view: &View,
    plan: Option<&Plan>,
    options: &RunOptions,
    network: &Network,
) -> Vec<Finding> {
    let mut findings = rules::group_network(&Survey::of(view, plan, options), network);
    Finding::sort(&mut findings);
    findings
}

/// What no file of an account says, and what is not judged for that reason.
#[must_use]
pub fn unanswered(
    view: &View,
    plan: Option<&Plan>,
    options: &RunOptions,
    account: &Account,
    network: &Network,
) -> Vec<Unanswered> {
    let survey = Survey::of(view, plan, options);
    let mut all = rules::network_unanswered(&survey, network);
    all.extend(rules::termination_unanswered(&survey, account));
    all
}

/// Nodes that run an image which is on a list, or a release that was abandoned, and what is wrong with the image that the plan names. It stands for what [`run`] finds of images.
#[must_use]
pub fn image_releases(
    view: &View,
    plan: Option<&Plan>,
    options: &RunOptions,
    images: &Images<'_>,
) -> Vec<Finding> {
    let mut findings = rules::image_releases(&Survey::of(view, plan, options), images);
    Finding::sort(&mut findings);
    findings
}

/// The same where it is known what the cloud says of node groups.
#[must_use]
pub fn run_beside(view: &View, plan: Option<&Plan>, options: &RunOptions, facts: &[Facts]) -> Vec<Finding> {
    let survey = Survey { facts, ..Survey::of(view, plan, options) };
    let mut findings: Vec<Finding> = rules::ALL.iter().flat_map(|rule| rule(&survey)).collect();
    Finding::sort(&mut findings);
    findings
}
